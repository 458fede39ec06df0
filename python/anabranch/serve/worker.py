"""Threads for long work that do not keep the server from ending."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, TypeVar

from fastapi import HTTPException

from anabranch.serve.child import done

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MOST_S = 120.0
"""The most seconds that work may wait for a place, and the most that it may take then."""

BUSY = "the server is busy with what others ask for; ask again in some minutes"
REMEDY = "make it smaller, or run it by `anabranch run --out` in this folder"

_places = BoundedSemaphore(2)
"""The number of scenarios that are read at a time; others wait."""


async def apart(work: Callable[..., T], *arguments: object, memory: str | None = None) -> T:
    """Do the work in a process of its own; give what it gives, raise what it raises.

    Raises
    ------
    HTTPException
        No place has come free for it.
    ScenarioError
        It takes too long, or its process ends.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def put(give: Callable[[], None]) -> None:
        if not answer.done():
            give()

    def do() -> None:
        give = partial(answer.set_exception, HTTPException(503, BUSY))
        if _places.acquire(timeout=MOST_S):
            try:
                give = partial(answer.set_result, done(work, *arguments, most_s=MOST_S, remedy=REMEDY, memory=memory))
            except Exception as raised:
                give = partial(answer.set_exception, raised)
            finally:
                _places.release()
        # The server may have ended meanwhile, and its loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(put, give)

    Thread(target=do, name="scenario", daemon=True).start()
    return await answer
