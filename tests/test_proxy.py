"""A proxy and its exit as programs: curl goes through them over two paths, and tokens and passwords are held to."""

import hashlib
import http.server
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from anabranch import _core
from anabranch.commands.tokens import kept_token, read_password
from anabranch.errors import ScenarioError
from command import run
from running_programs import LONG_S, Lines, end, start

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
]

BYTES = 20_000_000


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A web server that says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def free_port(kind: int) -> int:
    with closing(socket.socket(socket.AF_INET, kind)) as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


@dataclass
class Pair:
    """A proxy and an exit that run."""

    proxy: Lines
    exit: Lines
    token_file: Path
    url: str
    socks: str
    http: str


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Give a web server with a large file: its URL, and the file."""
    folder = tmp_path_factory.mktemp("web")
    file = folder / "large.bin"
    file.write_bytes(b"".join(hashlib.sha256(b"%d" % part).digest() for part in range(BYTES // 32)))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/large.bin", file
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Run an exit that allows this machine, and a proxy over two paths to it."""
    folder = tmp_path_factory.mktemp("pair")
    token, at = folder / "exit.token", f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    exit_ = start("exit", "--token-file", str(token), "--listen", at, "--allow", "127.0.0.1", "--allow", "localhost")
    url = exit_.until("anabranch proxy ").split("'")[1]
    proxy = start(
        *("proxy", url, "--token-file", str(token), "--via", "127.0.0.2,127.0.0.3", "--control", "olia"),
        *("--socks", "127.0.0.1:0", "--http", "127.0.0.1:0"),
    )
    try:
        socks, door = proxy.until("socks5h://"), proxy.until("http://")
        yield Pair(proxy, exit_, token, url, socks, door)
    finally:
        end(proxy, exit_)


def curl(*arguments: str) -> "subprocess.CompletedProcess[bytes]":
    if shutil.which("curl") is None:
        pytest.skip("the program curl is missing")
    command = ["curl", "--silent", "--show-error", "--max-time", str(LONG_S), *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=2 * LONG_S)


@pytest.mark.parametrize("way", ["socks", "http", "connect"])
def test_curl_fetches_through_the_proxy(pair: Pair, web: tuple[str, Path], way: str) -> None:
    url, file = web
    through = ["-x", pair.socks if way == "socks" else pair.http, *(["--proxytunnel"] if way == "connect" else [])]
    for _ in range(5):
        done = curl(*through, url)
        assert done.returncode == 0, (done.stderr, pair.proxy.lines)
        assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(file.read_bytes()).digest()
    assert not any(line.startswith("no connection") for line in pair.proxy.lines), pair.proxy.lines


def test_both_paths_are_open(pair: Pair) -> None:
    deadline = time.monotonic() + LONG_S
    while not any("127.0.0.2" in line and "127.0.0.3" in line for line in pair.proxy.lines):
        assert time.monotonic() < deadline, pair.proxy.lines
        time.sleep(0.02)


def test_nobody_who_leaves_sends_the_proxy_a_signal(pair: Pair) -> None:
    for own in (pair.proxy, pair.exit):
        status = Path(f"/proc/{own.process.pid}/status").read_text(encoding="ascii")
        ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), 16)
        assert ignored >> (signal.SIGPIPE - 1) & 1


def test_a_program_that_leaves_amid_an_answer_ends_nothing_else(pair: Pair, web: tuple[str, Path]) -> None:
    url, file = web
    port = int(url.split(":")[2].split("/")[0])
    for _ in range(10):
        with closing(socket.create_connection(("127.0.0.1", int(pair.socks.rsplit(":", 1)[1])), LONG_S)) as program:
            program.sendall(b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + port.to_bytes(2, "big"))
            program.sendall(b"GET /large.bin HTTP/1.0\r\n\r\n")
            # The answers of SOCKS take 12 bytes.
            with program.makefile("rb") as answer:
                assert len(answer.read(1000)) == 1000
    done = curl("-x", pair.socks, url)
    assert done.stdout == file.read_bytes(), (done.stderr, pair.proxy.lines)


def test_curl_says_why_a_target_is_not_reached(pair: Pair) -> None:
    nobody = free_port(socket.SOCK_STREAM)
    for through, target, said in (
        (pair.socks, f"127.0.0.1:{nobody}", b"(5)"),
        (pair.socks, "127.0.0.9:80", b"(2)"),
        (pair.socks, "169.254.169.254:80", b"(2)"),
    ):
        done = curl("-x", through, f"http://{target}/")
        assert done.returncode == 97, done.stderr
        assert said in done.stderr, done.stderr
    done = curl("-x", pair.http, "--include", f"http://127.0.0.1:{nobody}/")
    assert done.stdout.startswith(b"HTTP/1.1 502"), done.stdout
    assert b"proxy-status: anabranch; error=connection_refused" in done.stdout.lower()


def test_who_has_another_token_is_not_served(pair: Pair, web: tuple[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.token"
    assert kept_token(other) == kept_token(other) != kept_token(pair.token_file)
    assert other.stat().st_mode & 0o777 == 0o600
    own = start("proxy", pair.url, "--token-file", str(other), "--http", "127.0.0.1:0")
    try:
        own.until("no connection to the exit: the exit does not know the token")
        done = curl("-x", own.until("http://"), "--include", web[0])
        assert done.stdout.startswith(b"HTTP/1.1 503"), done.stdout
        assert b"the exit cannot be reached" in done.stdout
    finally:
        end(own)
    deadline = time.monotonic() + LONG_S
    while not any("did not show the token" in line for line in pair.exit.lines):
        assert time.monotonic() < deadline, pair.exit.lines
        time.sleep(0.02)


def test_programs_show_the_password_where_there_is_one(pair: Pair, web: tuple[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("user:a secret\n")
    door = ("--socks", "127.0.0.1:0", "--password-file", str(file))
    own = start("proxy", pair.url, "--token-file", str(pair.token_file), *door)
    try:
        through = own.until("socks5h://")
        assert curl("-x", through, "--proxy-user", "user:a secret", web[0]).returncode == 0
        assert curl("-x", through, "--proxy-user", "user:another", web[0]).returncode == 97
        assert curl("-x", through, web[0]).returncode == 97
    finally:
        end(own)


def test_mistakes_say_what_where_and_what_would_do(tmp_path: Path) -> None:
    url = "anabranch://127.0.0.1:9/?pin=" + "0" * 64
    token, short, empty = tmp_path / "token", tmp_path / "short", tmp_path / "empty"
    kept_token(token)
    short.write_text("short\n")
    empty.write_text("\n")
    for arguments, said in (
        (("exit", "--token-file", str(short)), "a token has 16 to 256"),
        (("exit", "--token-file", str(empty)), f"{empty}: it must have one line"),
        (("exit", "--token-file", str(token), "--allow", "*"), "`*` allows nothing; write `public`"),
        (("exit", "--token-file", str(token), "--listen", "here"), "`here` is no address to listen at"),
        (("exit", "--token-file", str(token), "--control", "no"), "there is no protocol `no`"),
        (("exit", "--token-file", str(token), "--key", str(token)), "a certificate and its key go together"),
        (("proxy", url, "--token-file", str(tmp_path / "none")), "none"),
        (("proxy", "x", "--token-file", str(token)), "anabranch://"),
        (("proxy", url, "--token-file", str(token), "--backup", "wwan0"), "so name these, too"),
        (("proxy", url, "--token-file", str(token), "--socks", "0.0.0.0:0"), "everybody who reaches 0.0.0.0:0"),
        (("proxy", url, "--token-file", str(token), "--password-file", str(token)), "a name, a colon and a password"),
    ):
        done = run(*arguments)
        assert done.returncode != 0, arguments
        assert said in done.stderr, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
    for text in ("user", ":secret", "user:", "u" * 256 + ":x", "user:x\nmore:y"):
        short.write_text(text)
        with pytest.raises(ScenarioError):
            read_password(short)
