"""The events of a job, as server-sent events.

``progress`` is how far it is; ``samples`` that there are more of them (the data are asked for apart, since they are
numbers by the thousand); ``done`` and ``failed`` end the stream. The id of each event is how many samples are known by
then: a client that reconnects with it receives the later ones, and all without it.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anabranch.serve.jobs import Job

LOOK_S = 0.1
"""So often a job is looked at."""

PROGRESS_S = 0.25
QUIET_S = 15.0
"""After so long without an event a comment is sent, so that nobody takes the connection for dead."""


async def events(job: Job, known: int, is_closing: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Give the events of a job to a client that knows some samples, until the job ends."""
    known = known if 0 <= known <= job.count or job.is_over else 0
    told, said = -PROGRESS_S, time.monotonic()
    last = ""
    while True:
        # Before the rest is looked at: what comes after this is told when it is seen next.
        is_over = job.is_over
        now = time.monotonic()
        if job.count > known and not is_over:
            data = json.dumps({"first": known, "count": job.count})
            known = job.count
            yield _event("samples", data, known)
            said = now
        facts = job.facts()
        text = facts.model_dump_json()
        if is_over:
            yield _event("failed" if job.state == "failed" else "done", text, known)
            return
        seen = f"{facts.state} {facts.time_s} {facts.events}"
        if seen != last and now - told >= PROGRESS_S:
            last, told, said = seen, now, now
            yield _event("progress", text, known)
        if is_closing():
            return
        if now - said > QUIET_S:
            said = now
            yield b": still here\n\n"
        await asyncio.sleep(LOOK_S)


def known_samples(last_event_id: str | None) -> int:
    """Give how many samples somebody knows by the id of the last event; none if that is no such id."""
    text = last_event_id or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def _event(kind: str, data: str, known: int) -> bytes:
    return f"id: {known}\nevent: {kind}\ndata: {data}\n\n".encode()
