"""Work that may take long, in threads that do not keep the server from ending."""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

AT_ONCE = 2
"""So many scenarios are read at a time; the others wait."""

_places = asyncio.Semaphore(AT_ONCE)


async def apart(work: Callable[[], T]) -> T:
    """Do the work in a thread of its own, which ends with the process; give what it gives, raise what it raises."""
    async with _places:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def put(value: T | None, error: BaseException | None) -> None:
            if answer.cancelled():
                return
            if error is None:
                answer.set_result(value)  # type: ignore[arg-type]
            else:
                answer.set_exception(error)

        def do() -> None:
            value, error = None, None
            try:
                value = work()
            except Exception as raised:
                error = raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(put, value, error)

        Thread(target=do, name="scenario", daemon=True).start()
        return await answer
