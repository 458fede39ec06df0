"""Web servers that do other than they should, each a behaviour for `web_servers.web_server`."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from web_servers import HangupError, Request, good, head, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator


def wrong_range(request: Request, content: bytes) -> Iterator[bytes]:
    """Send the beginning of the file, whatever part is asked for."""
    assert request.first is not None
    assert request.last is not None
    length = request.last - request.first + 1
    span = f"bytes 0-{length - 1}/{len(content)}"
    yield head("206 Partial Content", Content_Range=span, Content_Length=length)
    yield from pieces(content[:length])


def lies_about_range(request: Request, content: bytes) -> Iterator[bytes]:
    """Say that the beginning of the file is the part that is asked for."""
    assert request.first is not None
    assert request.last is not None
    length = request.last - request.first + 1
    span = f"bytes {request.first}-{request.last}/{len(content)}"
    yield head("206 Partial Content", Content_Range=span, Content_Length=length)
    yield from pieces(content[:length])


def short_body(request: Request, content: bytes) -> Iterator[bytes]:
    """End the answer early."""
    for at, piece in enumerate(good()(request, content)):
        yield piece[: len(piece) // 2] if at else piece
        if at == 1:
            raise HangupError


def long_body(request: Request, content: bytes) -> Iterator[bytes]:
    """Send more than what is asked for, in chunks without end."""
    span = f"bytes {request.first}-{request.last}/{len(content)}"
    yield head("206 Partial Content", Content_Range=span, Transfer_Encoding="chunked")
    while True:
        yield b"10000\r\n" + bytes(1 << 16) + b"\r\n"


def garbage(request: Request, content: bytes) -> Iterator[bytes]:
    """Answer with random bytes."""
    yield random.Random(1).randbytes(100_000)
    raise HangupError


def endless_head(request: Request, content: bytes) -> Iterator[bytes]:
    """Send headers without end."""
    yield b"HTTP/1.1 206 Partial Content\r\n"
    while True:
        yield b"X-More: " + b"x" * 1000 + b"\r\n"


def endless_informational(request: Request, content: bytes) -> Iterator[bytes]:
    """Send 103 Early Hints without end."""
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100
        time.sleep(0.01)


def slow_head(request: Request, content: bytes) -> Iterator[bytes]:
    """Send one byte of the head a second."""
    for byte in head("206 Partial Content", Content_Length=1):
        yield bytes([byte])
        time.sleep(1)


def silent(request: Request, content: bytes) -> Iterator[bytes]:
    """Answer nothing."""
    time.sleep(60)
    yield b""


def slow_body(request: Request, content: bytes) -> Iterator[bytes]:
    """Send ten bytes of the body a second, after a good first look."""
    if request.last == 0:
        yield from good()(request, content)
        return
    span = f"bytes {request.first}-{request.last}/{len(content)}"
    yield head("206 Partial Content", Content_Range=span)
    while True:
        yield b"0123456789"
        time.sleep(1)


def compressed(request: Request, content: bytes) -> Iterator[bytes]:
    """Send the file compressed, though it was asked not to."""
    yield head("200 OK", Content_Encoding="gzip", Content_Length=10)
    yield b"0123456789"


def several_parts(request: Request, content: bytes) -> Iterator[bytes]:
    """Send several parts."""
    yield head("206 Partial Content", Content_Type="multipart/byteranges; boundary=x", Content_Length=1)
    yield b"x"


def status(line: str, **headers: object) -> object:
    """Answer with a status."""

    def answer(request: Request, content: bytes) -> Iterator[bytes]:
        yield head(line, Content_Length=0, **headers)

    return answer


BAD = {
    "wrong-range": (wrong_range, "than those that were asked for"),
    "short-body": (short_body, "it ended the answer after"),
    "long-body": (long_body, "it sent more than what was asked for"),
    "garbage": (garbage, "it does not speak HTTP as it should"),
    "endless-head": (endless_head, "it does not speak HTTP as it should"),
    "compressed": (compressed, "it sends the file compressed (gzip)"),
    "several-parts": (several_parts, "it sends several parts at once"),
    "no-file": (status("404 Not Found"), "it has no such file (404 Not Found)"),
    "forbidden": (status("403 Forbidden"), "it refuses (403 Forbidden)"),
    "busy": (status("503 Service Unavailable"), "it cannot send now (503 Service Unavailable)"),
    "loop": (status("302 Found", Location="/again"), "it redirects more than 10 times"),
    "nowhere": (status("302 Found"), "it redirects (302 Found) without saying where to"),
    "elsewhere": (status("302 Found", Location="ftp://x/y"), "`ftp` is not http or https"),
}
STUCK = {"slow-head": slow_head, "silent": silent, "slow-body": slow_body, "informational": endless_informational}
