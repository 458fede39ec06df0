"""The server: an address, the application on it, and an end that loses nothing."""

from __future__ import annotations

import secrets
import signal
import socket
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn

from anabranch.errors import ScenarioError
from anabranch.interrupts import ENDING, take
from anabranch.serve.app import make_app
from anabranch.serve.child import warm_up
from anabranch.serve.connections import Connection
from anabranch.serve.guard import is_loopback_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from anabranch.serve.app import Settings

END_S = 3
"""Requests under way may take so long once the server is to end."""


class Server(uvicorn.Server):
    """A server that every signal to end closes, the second one at once; it tells streams of events when it closes."""

    def __init__(self, config: uvicorn.Config, is_closing: Event) -> None:
        super().__init__(config)
        self.is_closing = is_closing

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take note of the signals that uvicorn leaves out, too, and of none that the caller ignores."""
        wanted = dict.fromkeys(ENDING, self.handle_exit)
        wanted |= {number: signal.SIG_IGN for number in ENDING if signal.getsignal(number) is signal.SIG_IGN}
        with super().capture_signals():
            before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take note of a signal."""
        if take(sig):
            self.is_closing.set()
            self.force_exit = self.should_exit
            super().handle_exit(sig, frame)


def serve(settings: Settings, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; then all jobs are stopped, and their results are kept.

    Parameters
    ----------
    ready : callable
        Given the address to open, with the token, once the server can be reached.

    Raises
    ------
    ScenarioError
        The address cannot be had, or the page was not built.
    """
    with _listening(host, port) as listener:
        is_closing = Event()
        app = make_app(settings, is_closing)
        config = uvicorn.Config(
            app,
            log_level="error",
            ws="none",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=END_S,
            http=Connection,
        )
        warm_up()
        ready(_address(host, listener.getsockname()[1], settings.token))
        Server(config, is_closing).run(sockets=[listener])


def token_for(host: str, given: str | None) -> str | None:
    """Give the token that a server needs: the given one, one made anew where others can reach it, else none.

    Raises
    ------
    ScenarioError
        The given one cannot stand in an address or a cookie.
    """
    if given is not None and not (given.isascii() and given.isprintable() and not set(given) & set(' ";,\\') and given):
        raise ScenarioError("--token: it must be letters, digits and signs without space, quotes, comma or semicolon")
    if given is None and not is_loopback_host(host):
        return secrets.token_urlsafe(24)
    return given


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ScenarioError(
            f"{host}, port {port}: no server can be there ({reason}); choose another --port, or 0 for any that is free"
        ) from error


def _address(host: str, port: int, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")
