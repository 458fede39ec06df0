"""Many connections through a proxy, clients that mean harm, and programs that are killed."""

from __future__ import annotations

import asyncio
import resource
import shutil
import socket
import struct
import sys
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from anabranch import _core
from running_programs import LONG_S, Lines, end, start
from test_proxy import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
    pytest.mark.skipif(shutil.which("sh") is None, reason="the program sh is missing"),
]

MANY = 1000
FEW = ("sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh")
"""Words before a command that leave it few open files, as systems do."""

PATIENCE_S = 10
"""For how long a proxy waits for what a client wants."""


class Pair:
    """A proxy over two paths and its exit, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        token = ("--token-file", str(folder / "token"))
        listen = ("--listen", f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}", "--allow", "127.0.0.1")
        self.exit_words = ("exit", *token, *listen)
        self.exit = start(*self.exit_words, before=FEW)
        url = self.exit.until("anabranch proxy ").split("'")[1]
        self.door = free_port(socket.SOCK_STREAM)
        doors = ("--socks", f"127.0.0.1:{self.door}", "--http", f"127.0.0.1:{free_port(socket.SOCK_STREAM)}")
        self.proxy_words = ("proxy", url, *token, "--via", "127.0.0.2,127.0.0.3", *doors)
        self.proxy = start(*self.proxy_words, before=FEW)
        self.http = int(self.proxy.until("http://").rsplit(":", 1)[1])
        self.proxy.until("connected over")

    def connect(self, port: int) -> socket.socket:
        """Connect to a port of this machine; an error if the proxy refuses."""
        own = socket.create_connection(("127.0.0.1", self.door), timeout=LONG_S)
        own.sendall(b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + struct.pack(">H", port))
        answer = b""
        while len(answer) < 12:
            more = own.recv(12 - len(answer))
            if not more:
                raise ConnectionError(f"it ends after {answer!r}")
            answer += more
        if answer[3]:
            raise ConnectionError(f"it is refused: {answer[3]}")
        return own

    def passes(self, port: int) -> bool:
        """Whether a connection passes before long."""
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            try:
                with self.connect(port) as own:
                    own.sendall(b"hello")
                    return own.recv(5) == b"hello"
            except OSError:
                time.sleep(0.1)
        return False


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    yield pair
    end(pair.proxy, pair.exit)


@pytest.fixture
def echo() -> Iterator[int]:
    """Give the port of a target that sends everything back."""

    def answer(own: socket.socket) -> None:
        with closing(own), suppress(OSError):
            while came := own.recv(4096):
                own.sendall(came)

    door = socket.create_server(("127.0.0.1", 0), backlog=1024)

    def serve() -> None:
        while True:
            try:
                own, _ = door.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(own,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield door.getsockname()[1]
    door.close()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process have the files of both ends of all connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 3 * MANY:
        pytest.skip(f"a process may have {before[1]} open files here, and {3 * MANY} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def memory_mb(program: Lines) -> float:
    """Give the memory of a program."""
    with open(f"/proc/{program.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1000


async def exchanges(door: int, port: int, count: int) -> list[bytes]:
    """Open connections at once to a target that echoes; give what comes back over each while all are open."""
    are_open = asyncio.Barrier(count)

    async def one(number: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", door)
        writer.write(b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + struct.pack(">H", port))
        await reader.readexactly(12)
        await are_open.wait()
        writer.write(b"%06d" % number)
        back = await reader.readexactly(6)
        writer.close()
        await writer.wait_closed()
        return back

    async with asyncio.timeout(2 * LONG_S):
        return await asyncio.gather(*map(one, range(count)))


def test_a_thousand_connections_pass_at_once(many_files: None, pair: Pair, echo: int) -> None:
    assert asyncio.run(exchanges(pair.door, echo, MANY)) == [b"%06d" % number for number in range(MANY)]
    assert max(map(memory_mb, (pair.proxy, pair.exit))) < 300


def test_clients_that_say_nothing_are_given_up_and_hold_nobody_up(pair: Pair, echo: int) -> None:
    silent = [socket.create_connection(("127.0.0.1", pair.door)) for _ in range(100)]
    silent += [socket.create_connection(("127.0.0.1", pair.http)) for _ in range(100)]
    for own in silent[::2]:
        # Half of them begin, and stop in the middle.
        own.sendall(b"\x05" if own.getpeername()[1] == pair.door else b"GET http://127.0.0.1/ HT")
    assert pair.passes(echo)
    deadline = time.monotonic() + 2 * PATIENCE_S
    for own in silent:
        own.settimeout(max(0.1, deadline - time.monotonic()))
        with closing(own), suppress(ConnectionResetError):
            while own.recv(4096):
                pass


def test_a_head_without_end_is_refused_and_takes_no_memory(pair: Pair, echo: int) -> None:
    before = memory_mb(pair.proxy)
    own = socket.create_connection(("127.0.0.1", pair.http), timeout=LONG_S)
    with closing(own):
        own.sendall(b"GET http://127.0.0.1/ HTTP/1.1\r\n")
        sent = 0
        with suppress(OSError):
            while sent < 50_000_000:
                own.sendall(b"x: " + b"y" * 60_000 + b"\r\n")
                sent += 60_005
        assert sent < 50_000_000, "it reads on and on"
    assert memory_mb(pair.proxy) < before + 20
    assert pair.passes(echo)


def test_after_the_proxy_was_killed_programs_hear_of_it_and_the_next_one_serves(pair: Pair, echo: int) -> None:
    live = pair.connect(echo)
    pair.proxy.process.kill()
    pair.proxy.process.wait(LONG_S)
    with closing(live), suppress(ConnectionResetError):
        assert live.recv(1) == b""
    pair.proxy = start(*pair.proxy_words)
    assert pair.passes(echo)


def test_after_the_exit_was_killed_connections_are_reset_and_the_next_one_serves(pair: Pair, echo: int) -> None:
    live = pair.connect(echo)
    live.sendall(b"whole")
    assert live.recv(5) == b"whole"
    pair.exit.process.kill()
    pair.exit.process.wait(LONG_S)
    pair.exit = start(*pair.exit_words)
    live.settimeout(LONG_S)
    with closing(live), pytest.raises(ConnectionResetError):
        live.recv(1)
    assert pair.passes(echo)
