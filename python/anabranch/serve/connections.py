"""Connections that are closed if no complete request comes, so that open connections cannot block others."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

HEAD_S = 10.0
"""The head of a request, or the first byte of it, is waited for so long."""

BODY_S = 30.0
"""And its body; the longest that is served needs some 1.1 Mbit/s."""

MOST_WAITING = 200
"""The most connections without a complete request; for one more, the connection that has waited longest is closed."""

WAITED_FOR = {h11.IDLE: HEAD_S, h11.SEND_BODY: BODY_S}


class Connection(H11Protocol):
    """A connection that gives up when its peer is too slow, however few bytes still come."""

    def __init__(self, *args: Any, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.part: object = None
        self.waits_since: float | None = None
        self.limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait; make room if too many do."""
        super().connection_made(transport)
        self._look()
        waiting = [(other.waits_since, id(other), other) for other in self._others() if other.waits_since is not None]
        if len(waiting) >= MOST_WAITING:
            min(waiting)[-1].give_up()

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close; what was answered before still goes out."""
        self._stop()
        self.transport.close()

    def _look(self) -> None:
        """Set the limit where another part of a request is waited for than before; bytes of the same do not move it."""
        part = self.conn.their_state if self.conn.their_state in WAITED_FOR else None
        if part is self.part:
            return
        self._stop()
        if part is not None and not self.transport.is_closing():
            self.part = part
            self.waits_since = monotonic()
            self.limit = self.loop.call_later(WAITED_FOR[part], self.give_up)

    def _stop(self) -> None:
        if self.limit is not None:
            self.limit.cancel()
        self.part, self.waits_since, self.limit = None, None, None

    def _others(self) -> list[Connection]:
        return [other for other in self.connections if isinstance(other, Connection) and other is not self]
