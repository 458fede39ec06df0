"""Web servers for tests: good ones, and ones that break the rules. As a program it serves a folder.

A server runs in threads of this process. How it answers is a function from a request and the file to pieces of bytes;
after them the connection stays open for the next request, unless the function raises `HangupError`.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PIECE = 64 << 10


class HangupError(Exception):
    """The server closes the connection."""


@dataclass(frozen=True)
class Request:
    """A request: its path, and the first and the last byte of its range, if it has one."""

    path: str
    first: int | None
    last: int | None

    @property
    def is_ranged(self) -> bool:
        """Whether a part is asked for."""
        return self.first is not None


Behave = Callable[[Request, bytes], Iterator[bytes]]


@dataclass
class Server:
    """A running server: its URL, and the requests so far."""

    url: str
    port: int
    requests: list[Request] = field(default_factory=list)
    listener: socket.socket | None = None
    connections: list[socket.socket] = field(default_factory=list)

    def kill(self) -> None:
        """Close everything at once."""
        assert self.listener is not None
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    @property
    def asked_bytes(self) -> int:
        """The bytes of all ranges that were asked for, but for the first look."""
        ranges = [(request.first, request.last) for request in self.requests if request.is_ranged]
        return sum(last - first + 1 for first, last in ranges if last and first is not None)


def head(status: str, **headers: object) -> bytes:
    """Give the head of an answer; underscores in names of headers are dashes."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def pieces(content: bytes, rate_bps: float | None = None) -> Iterator[bytes]:
    """Give bytes piece by piece, at a rate if there is one."""
    for at in range(0, len(content), PIECE):
        piece = content[at : at + PIECE]
        yield piece
        if rate_bps is not None:
            time.sleep(8 * len(piece) / rate_bps)


def good(etag: str = '"1"', modified: str | None = None, rate_bps: float | None = None) -> Behave:
    """Answer as RFC 9110 says."""

    def answer(request: Request, content: bytes) -> Iterator[bytes]:
        extra = {"ETag": etag} | ({"Last_Modified": modified} if modified else {})
        if request.first is None or request.last is None:
            yield head("200 OK", Content_Length=len(content), **extra)
            yield from pieces(content, rate_bps)
            return
        if request.first >= len(content):
            yield head("416 Range Not Satisfiable", Content_Range=f"bytes */{len(content)}", Content_Length=0)
            return
        last = min(request.last, len(content) - 1)
        part = content[request.first : last + 1]
        span = f"bytes {request.first}-{last}/{len(content)}"
        yield head("206 Partial Content", Content_Range=span, Content_Length=len(part), **extra)
        yield from pieces(part, rate_bps)

    return answer


def whole(request: Request, content: bytes) -> Iterator[bytes]:
    """Send the whole file, whatever is asked for, and close, as `python -m http.server` does."""
    yield head("200 OK", Content_Length=len(content))
    yield from pieces(content)
    raise HangupError


def _serve(connection: socket.socket, server: Server, content: bytes, behave: Behave) -> None:
    """Answer requests until the client leaves."""
    with suppress(OSError, HangupError), connection, connection.makefile("rb") as lines:
        while line := lines.readline():
            path, found = line.split()[1].decode(), None
            while (header := lines.readline()) not in (b"\r\n", b""):
                found = re.match(rb"range: *bytes=(\d+)-(\d+)", header, re.IGNORECASE) or found
            request = Request(path, *map(int, found.groups())) if found else Request(path, None, None)
            server.requests.append(request)
            for piece in behave(request, content):
                connection.sendall(piece)


@contextmanager
def web_server(
    content: bytes, behave: Behave, port: int = 0, address: str = "127.0.0.1", wrap=None
) -> Iterator[Server]:
    """Serve content under any name."""
    listener = socket.create_server((address, port))
    port = listener.getsockname()[1]
    server = Server(f"{'https' if wrap else 'http'}://{address}:{port}/f.bin", port, listener=listener)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if wrap is not None:
                    connection = wrap(connection)
            except OSError:
                if listener.fileno() < 0:
                    return
                continue
            server.connections.append(connection)
            threading.Thread(target=_serve, args=(connection, server, content, behave), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.kill()
        thread.join(5)


def main() -> None:
    """Serve a file at an address and a port until it is killed: FILE ADDRESS PORT [whole].

    In this folder a file `PORT.up` tells that it listens.
    """
    file, address, port, *mode = sys.argv[1:]
    with web_server(Path(file).read_bytes(), whole if mode else good(), int(port), address):
        Path(f"{port}.up").touch()
        threading.Event().wait()


if __name__ == "__main__":
    main()
