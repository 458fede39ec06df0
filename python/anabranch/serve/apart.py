"""Work that may take long, in processes of its own that do not keep the server from ending."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, TypeVar

from anabranch.errors import ScenarioError
from anabranch.serve.child import done

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MOST_S = 120.0
"""Nobody waits longer; nothing works longer either."""

REMEDY = "make it smaller, or run it by `anabranch run --out` in this folder"

_places = BoundedSemaphore(2)
"""So many scenarios are read at a time; the others wait."""


async def apart(work: Callable[..., T], *arguments: object, memory: str | None = None) -> T:
    """Do the work in a process of its own; give what it gives, raise what it raises.

    Raises
    ------
    ScenarioError
        It takes too long, or its process ends.
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
            give: Callable[[], None] = partial(
                answer.set_result, done(work, *arguments, most_s=MOST_S, remedy=REMEDY, memory=memory)
            )
        except Exception as raised:
            give = partial(answer.set_exception, raised)
        finally:
            _places.release()
        # The server may have ended meanwhile, and its loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(put, give)

    Thread(target=do, name="scenario", daemon=True).start()
    try:
        # It is ended in time; what it waits for may not be.
        return await asyncio.wait_for(answer, 2 * MOST_S)
    except TimeoutError as error:
        raise ScenarioError(f"it cannot be read in {MOST_S:g} s; {REMEDY}") from error
