"""Relays as programs: a chain of two between a proxy and its exit, each with a control of its own."""

from __future__ import annotations

import hashlib
import http.server
import json
import shutil
import socket
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from anabranch import _core
from command import run
from running_programs import LONG_S, Lines, end, start
from test_proxy import Quiet, curl, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="the program curl is missing"),
]

BYTES = 5_000_000


class Chain:
    """An exit, two relays and a proxy, which run as programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ports = [free_port(socket.SOCK_DGRAM) for _ in range(3)]
        token = self.token("exit")
        exit_ = start("exit", *token, "--listen", f"127.0.0.1:{ports[0]}", "--allow", "127.0.0.1")
        self.programs: list[Lines] = [exit_]
        url, last = self.url(exit_), token[1]
        for number, control in enumerate(["cubic", "bbr"], start=1):
            token = self.token(f"relay{number}")
            relay = start(
                *("relay", url, "--exit-token-file", last, *token, "--listen", f"127.0.0.1:{ports[number]}"),
                *("--via", "127.0.0.2,127.0.0.3", "--control", control, "--watch", "127.0.0.1:0"),
            )
            self.programs.append(relay)
            url, last = self.url(relay), token[1]
        self.proxy = start("proxy", url, "--token-file", last, "--via", "127.0.0.4", "--socks", "127.0.0.1:0")
        self.programs.append(self.proxy)
        self.socks = self.proxy.until("socks5h://")

    def token(self, name: str) -> tuple[str, str]:
        return "--token-file", str(self.folder / f"{name}.token")

    @staticmethod
    def url(program: Lines) -> str:
        return program.until("anabranch proxy ").split("'")[1]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    chain = Chain(tmp_path_factory.mktemp("chain"))
    yield chain
    end(*chain.programs)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, bytes]]:
    folder = tmp_path_factory.mktemp("web")
    data = b"".join(hashlib.sha256(b"%d" % part).digest() for part in range(BYTES // 32))
    (folder / "large.bin").write_bytes(data)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/large.bin", data
    server.shutdown()
    server.server_close()


def test_curl_fetches_over_two_relays(chain: Chain, web: tuple[str, bytes]) -> None:
    url, data = web
    done = curl("-x", chain.socks, url)
    assert done.returncode == 0, (done.stderr, [program.lines for program in chain.programs])
    assert done.stdout == data


def test_what_the_exit_does_not_allow_is_told(chain: Chain) -> None:
    done = curl("-x", chain.socks, "http://127.0.0.2:80/")
    assert done.returncode == 97, done.stderr


def test_a_relay_shows_its_exit_and_its_proxies(chain: Chain) -> None:
    at = chain.programs[2].until("shown at ").removeprefix("shown at ")
    deadline = time.monotonic() + LONG_S
    while True:
        shown = json.loads(run("show", at, "--json").stdout)
        lines = [[line["state"] for line in peer["lines"]] for peer in shown["peers"]]
        if lines == [["up", "up"], ["up"]]:
            break
        assert time.monotonic() < deadline, shown
    assert (shown["kind"], shown["control"]) == ("relay", "BBR")
    done = run("show", at, "--seconds", "0.2")
    assert done.stdout.startswith("relay at ")
    assert "127.0.0.3" in done.stdout


def test_a_relay_that_is_killed_is_found_again(chain: Chain, web: tuple[str, bytes]) -> None:
    url, data = web
    first = chain.programs[1]
    command = first.process.args
    first.process.kill()
    first.process.wait(LONG_S)
    assert isinstance(command, list)
    chain.programs[1] = start(*command[command.index("relay") :])
    deadline = time.monotonic() + LONG_S
    while (done := curl("-x", chain.socks, url)).returncode:
        assert time.monotonic() < deadline, done.stderr
    assert done.stdout == data
