"""Work that may take long, in threads that do not keep the server from ending."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, TypeVar

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MOST_S = 120.0
"""Nobody waits longer."""

_places = BoundedSemaphore(2)
"""So many scenarios are read at a time; the others wait."""


async def apart(work: Callable[[], T]) -> T:
    """Do the work in a thread of its own, which ends with the process; give what it gives, raise what it raises.

    Raises
    ------
    ScenarioError
        It takes too long.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def put(give: Callable[[], None]) -> None:
        if not answer.done():
            give()

    def do() -> None:
        if not _places.acquire(timeout=MOST_S):
            return
        try:
            give: Callable[[], None] = partial(answer.set_result, work())
        except Exception as raised:
            give = partial(answer.set_exception, raised)
        finally:
            _places.release()
        # The server may have ended meanwhile, and its loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(put, give)

    Thread(target=do, name="scenario", daemon=True).start()
    try:
        return await asyncio.wait_for(answer, MOST_S)
    except TimeoutError as error:
        raise ScenarioError(
            f"it cannot be read in {MOST_S:g} s; make it smaller, or run it by `anabranch run --out` in this folder"
        ) from error
