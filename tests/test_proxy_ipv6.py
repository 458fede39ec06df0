"""A proxy over IPv6, alone and beside IPv4, to targets with addresses of IPv6."""

from __future__ import annotations

import hashlib
import http.server
import shutil
import socket
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from anabranch import _core
from running_programs import LONG_S, end, start
from test_proxy import Quiet, curl, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def has_ipv6() -> bool:
    """Whether this machine has the loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as own:
            own.bind(("::1", 0))
    except OSError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="the program curl is missing"),
    pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6"),
]


class Server(http.server.ThreadingHTTPServer):
    """A web server at an address of IPv6."""

    address_family = socket.AF_INET6


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, bytes]]:
    data = hashlib.sha256(b"x").digest() * 100_000
    (tmp_path / "file").write_bytes(data)
    server = Server(("::1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://[::1]:{server.server_port}/file", data
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("via", ["::1", "127.0.0.2=127.0.0.1,::1=::1"])
def test_curl_fetches_over_ipv6(tmp_path: Path, web: tuple[str, bytes], via: str) -> None:
    url, data = web
    token, port = str(tmp_path / "token"), free_port(socket.SOCK_DGRAM)
    listen = [word for at in (f"[::1]:{port}", f"127.0.0.1:{port}") for word in ("--listen", at)]
    exit_ = start("exit", "--token-file", token, *listen, "--allow", "[::1]")
    at = exit_.until("anabranch proxy ").split("'")[1]
    assert at.startswith(f"anabranch://[::1]:{port}/")
    proxy = start("proxy", at, "--token-file", token, "--via", via, "--socks", "[::1]:0")
    try:
        door = proxy.until("socks5h://")
        assert door.startswith("socks5h://[::1]:")
        count = len(via.split(","))
        deadline = time.monotonic() + LONG_S
        while not any(line.count(" - ") == count for line in proxy.lines if line.startswith("connected")):
            assert time.monotonic() < deadline, proxy.lines
            time.sleep(0.05)
        done = curl("-x", door, url)
        assert (done.returncode, done.stdout == data) == (0, True), (done.stderr, proxy.lines)
    finally:
        end(proxy, exit_)
