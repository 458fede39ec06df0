"""Access control: requests that are refused before a route sees them, and the headers of all answers.

On a loopback address no token is needed, so only pages of this server itself may ask. A name in ``Host`` that is none
of this computer is how another site's name is bound to this address (DNS rebinding), and a request that changes
something must be one that other sites' pages cannot send (JSON, from this origin). On any other address everybody needs
the token.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.exceptions import HTTPException

from anabranch.serve.pages import plain_page, policy

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY_BYTES = 4 << 20
"""The most bytes in the body of a request; the largest scenarios in use have some hundred kilobytes."""

MOST_REQUESTS = 300
"""The most simultaneous requests, including streams of events."""

COOKIE = "anabranch_token_"
"""The name of a cookie before the port: browsers send cookies to all ports, and each may be another server's."""

YEAR_S = 365 * 24 * 3600
SAFE = "GET"
METHODS = (SAFE, "POST", "DELETE")

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}
"""On every answer; a route that sends a page says what may run in it."""


class Refused(HTTPException):
    """A request that is refused."""


class Guard:
    """The guard in front of all routes: it refuses requests or passes them on.

    Parameters
    ----------
    token : str, optional
        What everybody must know; nothing on a loopback address if not given.
    """

    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self.app = app
        self.token = token
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = _Answer(send)
        self.under_way += 1
        try:
            _check_number(self.under_way)
            _check_method(scope["method"])
            if self.token is None:
                _check_host(headers)
            elif (given := self._check_token(scope, headers)) is not None:
                answer.cookie = _cookie(given, headers)
            if scope["method"] != SAFE:
                _check_origin(headers)
                _check_kind(scope["method"], headers)
            await self.app(scope, _Body(receive, headers).receive, answer.send)
        except Refused as refused:
            if not answer.has_begun:
                await _refuse(answer.send, refused, is_page=scope["path"] == "/")
        finally:
            self.under_way -= 1

    def _check_token(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Make sure that the token is known; give it if it stands in the address, so that a cookie may keep it."""
        asked: str = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if scope["path"] == "/" and self._is_it(asked):
            return asked
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_it(bearer.strip()):
            return None
        if any(self._is_it(value) for value in _cookies(headers)):
            return None
        words = "a token is needed; open the address that `anabranch serve` has printed, which has it"
        raise Refused(401, words, {"www-authenticate": "Bearer"})

    def _is_it(self, text: str) -> bool:
        assert self.token is not None
        return secrets.compare_digest(text.encode("utf-8", "replace"), self.token.encode())


class _Body:
    """The body of a request, up to the limit, however it says that it is long."""

    def __init__(self, receive: Receive, headers: dict[str, str]) -> None:
        self.inner = receive
        self.size = 0
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and (len(length) > 12 or int(length) > MOST_BODY_BYTES):
            raise _too_long()

    async def receive(self) -> Message:
        message = await self.inner()
        self.size += len(message.get("body", b""))
        if self.size > MOST_BODY_BYTES:
            raise _too_long()
        return message


class _Answer:
    """Puts the headers on an answer that all have, and the cookie."""

    def __init__(self, send: Send) -> None:
        self.inner = send
        self.cookie: str | None = None
        self.has_begun = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            there = {name.lower() for name, _ in message["headers"]}
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
            if b"cache-control" not in there:
                own.append((b"cache-control", b"no-store"))
            if self.cookie is not None:
                own.append((b"set-cookie", self.cookie.encode()))
            message["headers"] = [*message["headers"], *own]
        await self.inner(message)


def _check_number(under_way: int) -> None:
    if under_way > MOST_REQUESTS:
        raise Refused(503, f"{MOST_REQUESTS} requests are under way; close a page of this server, and ask again")


def _check_method(method: str) -> None:
    if method not in METHODS:
        allowed = ", ".join(METHODS)
        raise Refused(405, f"{method[:20]} is not served; there is {allowed}", {"allow": allowed})


def _check_host(headers: dict[str, str]) -> None:
    """Make sure that the host is named as this computer."""
    name = _host_name(headers.get("host", ""))
    if name != "localhost" and not _is_loopback(name):
        raise Refused(421, "the host in the address is not this computer; open http://127.0.0.1 and the port instead")


def _check_origin(headers: dict[str, str]) -> None:
    """Make sure that a request that changes something comes from a page of this server, or from no page."""
    site = headers.get("sec-fetch-site", "same-origin")
    origin = headers.get("origin")
    if site not in ("same-origin", "none") or (origin is not None and _netloc(origin) != headers.get("host", "")):
        raise Refused(403, "this page belongs to another server, which may not change anything here")


def _check_kind(method: str, headers: dict[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method == "POST" and kind != "application/json":
        raise Refused(415, "the body must be JSON; send it as Content-Type: application/json")


def is_loopback_host(host: str) -> bool:
    """Whether only this computer can reach a server on this address."""
    return host == "localhost" or _is_loopback(host)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.netloc == host and "@" not in host else ""


def _netloc(origin: str) -> str | None:
    try:
        return str(urlsplit(origin).netloc)
    except ValueError:
        return None


def _cookies(headers: dict[str, str]) -> list[str]:
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    own = _cookie_name(headers)
    return [value for name, _, value in pairs if name == own]


def _cookie_name(headers: dict[str, str]) -> str:
    """Name the cookie after the port as the browser knows it, which may lead here through a tunnel."""
    try:
        port = urlsplit(f"//{headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"{COOKIE}{port or 80}"


def _cookie(token: str, headers: dict[str, str]) -> str:
    return f"{_cookie_name(headers)}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age={YEAR_S}"


def _too_long() -> Refused:
    return Refused(413, f"the body is longer than {MOST_BODY_BYTES >> 20} MiB; a scenario may name files instead")


async def _refuse(send: Send, refused: Refused, *, is_page: bool) -> None:
    if is_page and refused.status_code == 401:
        page = plain_page("anabranch: a token is needed", f"<p>{escape(refused.detail.capitalize())}.</p>")
        body, kind, own = page.encode(), "text/html; charset=utf-8", {"content-security-policy": policy(page)}
    else:
        body, kind, own = json.dumps({"error": refused.detail}).encode(), "application/json", {}
    own |= {"content-type": kind, "content-length": str(len(body)), **(refused.headers or {})}
    headers = [(name.encode(), value.encode()) for name, value in own.items()]
    # What was not read of the body is not waited for.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
