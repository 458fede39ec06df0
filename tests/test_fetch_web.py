"""Files fetched from ordinary web servers: over the loopback, by the command line, from good servers and bad ones."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import random
import re
import shlex
import signal
import ssl
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from anabranch.errors import shortened
from bad_servers import BAD, STUCK, lies_about_range, silent, status
from labs import PROGRAM
from web_servers import HangupError, Request, Server, good, head, pieces, web_server, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

MB = 1_000_000
CONTENT = random.Random(1).randbytes(6 * MB)
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
OTHER = CONTENT[: 3 * MB] + bytes([CONTENT[3 * MB] ^ 1]) + CONTENT[3 * MB + 1 :]
"""A file of the same size that differs in one bit."""

MOST_RSS_KB = 400_000
"""The most memory of a fetch: chunks that wait to be written, and what the command itself takes."""

MOST_S = 30
"""The longest time that a fetch takes in the end, whatever servers do."""


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `anabranch fetch` to its end."""
    command = [*PROGRAM, "fetch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


def peak_kb(pid: int) -> int:
    """Give the most memory that a process has had since it began its program; 0 if it has ended."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) if found else 0


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Give what a command has said, in one line."""
    assert "Traceback" not in done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_two_mirrors_bring_a_file_together_and_its_hash_is_told(tmp_path: Path) -> None:
    with web_server(CONTENT, good(rate_bps=2e8)) as one, web_server(CONTENT, good('"other"', rate_bps=2e8)) as two:
        done = run(one.url, two.url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f.bin").read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.bin"], "nothing else is left"
    assert f"sha256 {SHA256[7:]}" in done.stdout
    assert "not verified: no hash was given" in done.stdout
    for server in (one, two):
        line = next(line for line in done.stdout.splitlines() if line.startswith(f"  127.0.0.1:{server.port}: "))
        assert "MB" in line, "each has brought a part"


def test_mirrors_are_fetched_from_over_several_addresses(tmp_path: Path) -> None:
    with web_server(CONTENT, good()) as server:
        done = run(server.url, "--via", "127.0.0.1,127.0.0.2", "--hash", SHA256, "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    paths = {stream["path"].split()[1]: stream["bytes"] for stream in report["end"]["streams"]}
    assert set(paths) == {"127.0.0.1", "127.0.0.2"}
    assert all(paths.values())
    assert report["start"]["test_start"]["protocol"] == "TCP"
    assert report["end"]["file"]["sha256"] == SHA256[7:]
    assert report["end"]["file"]["proof"] == "whole"


@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "sha1", "md5"])
def test_a_file_with_the_given_hash_is_verified_and_another_is_removed(tmp_path: Path, algorithm: str) -> None:
    given = f"{algorithm}:{hashlib.new(algorithm, CONTENT).hexdigest()}"
    with web_server(CONTENT, good()) as server, web_server(OTHER, good()) as wrong:
        done = run(server.url, "--hash", given, "--to", tmp_path / "x")
        assert done.returncode == 0, done.stderr
        weak = algorithm in {"sha1", "md5"}
        assert (f"verified by {algorithm} alone, which shows damage, but not malice" in done.stdout) == weak
        assert (f"verified: the whole by {algorithm}" in done.stdout) != weak
        done = run(wrong.url, "--hash", given, "--to", tmp_path / "y")
    assert done.returncode == 1
    assert f"not {given}, so what came was removed" in said(done)
    assert not list(tmp_path.glob("y*"))


def metalink(urls: list[str], *, pieces: bool = True, content: bytes = CONTENT, name: str = "real.iso") -> str:
    """Give the text of a Metalink file."""
    length = 1 << 20
    hashes = "".join(
        f"<hash>{hashlib.sha1(content[at : at + length]).hexdigest()}</hash>" for at in range(0, len(content), length)
    )
    listed = f'<pieces length="{length}" type="sha-1">{hashes}</pieces>' if pieces else ""
    mirrors = "".join(f'<url priority="{number}">{url}</url>' for number, url in enumerate(urls, 1))
    return (
        f'<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="{name}"><size>{len(content)}</size>'
        f'<hash type="sha-256">{hashlib.sha256(content).hexdigest()}</hash>{listed}{mirrors}</file></metalink>'
    )


def test_a_mirror_with_a_damaged_piece_is_left_out_by_the_metalink_file(tmp_path: Path) -> None:
    with web_server(CONTENT, good(rate_bps=3e7)) as right, web_server(OTHER, good()) as wrong:
        (tmp_path / "f.meta4").write_text(metalink([wrong.url, right.url]))
        done = run("f.meta4", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "real.iso").read_bytes() == CONTENT
        assert "refused: it sent something else for chunk 2" in done.stdout
        assert "verified: each piece by the Metalink file, the whole by sha256" in done.stdout
        with web_server(metalink([right.url]).encode(), good()) as host:
            done = run(host.url.replace("f.bin", "f.meta4"), "--to", tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == CONTENT, done.stderr


def test_all_files_of_a_metalink_file_go_into_a_folder(tmp_path: Path) -> None:
    with web_server(CONTENT, good()) as server:
        files = [metalink([server.url], name=name) for name in ("a/one", "two")]
        both = files[0].replace("</metalink>", files[1][files[1].index("<file") :])
        (tmp_path / "both.meta4").write_text(both)
        assert run("both.meta4", "--list", cwd=tmp_path).stdout == "6 MB  one\n6 MB  two\n"
        done = run("both.meta4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["one", "two"]
    assert done.stdout.splitlines()[-1].startswith("2 files, 12 MB; ")


def test_a_server_without_ranges_sends_the_whole_file_and_a_repeated_fetch_keeps_what_came(tmp_path: Path) -> None:
    calls = iter([False, True])

    def breaks_off(request: Request, content: bytes) -> Iterator[bytes]:
        # The first answer is only looked at; the second breaks off in the middle.
        yield head("200 OK", Content_Length=len(content))
        if next(calls, False):
            yield from pieces(content[: 3 * MB])
            raise HangupError
        yield from pieces(content)

    with web_server(CONTENT, breaks_off) as server:
        done = run(server.url, "--hash", SHA256, "--to", tmp_path / "x")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert "sends no parts of files: the whole file comes from one mirror" in said(done)
    assert "lost once, and connected again" in done.stdout


def test_a_server_as_python_has_it_will_do(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "a file").write_bytes(CONTENT)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "from"))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            done = run(f"http://127.0.0.1:{server.server_port}/a%20file", cwd=tmp_path)
        finally:
            server.shutdown()
    assert (tmp_path / "a file").read_bytes() == CONTENT, done.stderr


@pytest.mark.parametrize("other", [CONTENT[:-1], CONTENT], ids=["size", "time"])
def test_mirrors_that_disagree_are_refused(tmp_path: Path, other: bytes) -> None:
    modified = ["Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"]
    with (
        web_server(CONTENT, good(modified=modified[0])) as one,
        web_server(other, good(modified=modified[1])) as two,
    ):
        done = run(one.url, two.url, "--to", tmp_path / "x")
        assert done.returncode == 1
        words = said(done)
        assert "the mirrors may have different files" in words
        assert "--hash" in words
        assert all(server.url in words for server in (one, two))
        assert not list(tmp_path.iterdir())
        if other == CONTENT:
            assert run(one.url, two.url, "--hash", SHA256, "--to", tmp_path / "x").returncode == 0


def interrupted(url: str, target: Path, *options: object) -> int:
    """Start a fetch and kill it when some chunks are listed; give how many are."""
    journal = target.with_name(target.name + ".part.journal")
    command = [*PROGRAM, "fetch", url, "--to", str(target), *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (journal.exists() and journal.stat().st_size >= 64 + 8 * 6):
            time.sleep(0.002)
        process.kill()
    return (journal.stat().st_size - 64) // 8


def test_a_fetch_goes_on_after_its_fetcher_was_killed(tmp_path: Path) -> None:
    with web_server(CONTENT, good(rate_bps=5e7)) as server:
        there = interrupted(server.url, tmp_path / "x")
        server.requests.clear()
        done = run(server.url, "--to", tmp_path / "x")
        assert done.returncode == 0, done.stderr
        assert server.asked_bytes <= len(CONTENT) - (there - 1) * (256 << 10), "what was there is not asked for again"
    assert "of it were there" in done.stdout
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_that_has_changed_is_not_mixed_with_what_is_there(tmp_path: Path) -> None:
    with web_server(CONTENT, good(rate_bps=5e7)) as server:
        interrupted(server.url, tmp_path / "x")
        port = server.port
    with web_server(OTHER, good('"2"'), port) as server:
        done = run(server.url, "--to", tmp_path / "x")
        assert done.returncode == 1
        assert "the file has changed there since the fetch began; remove the unfinished file" in said(done)
        assert not (tmp_path / "x").exists()
        for path in tmp_path.iterdir():
            path.unlink()
        assert run(server.url, "--to", tmp_path / "x").returncode == 0
    assert (tmp_path / "x").read_bytes() == OTHER


def test_two_versions_with_one_weak_tag_are_not_mixed(tmp_path: Path) -> None:
    times = ("Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT")
    with web_server(CONTENT, good('W/"1"', times[0], rate_bps=5e7)) as server:
        interrupted(server.url, tmp_path / "x")
        port = server.port
    with web_server(OTHER, good('W/"1"', times[1]), port) as server:
        done = run(server.url, "--to", tmp_path / "x")
    assert done.returncode == 1
    assert "the file has changed there since the fetch began" in said(done)
    assert not (tmp_path / "x").exists()


SIZE_ALONE = (
    "nothing proves that the servers have the same bytes: they agree in size alone; give the hash of the file (--hash"
)


def test_mirrors_that_agree_in_size_alone_are_used_together_with_a_warning(tmp_path: Path) -> None:
    time_of = {"modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    for number, (one, two, options, is_warned) in enumerate(
        [
            ({}, {}, (), True),
            (time_of, {}, (), True),
            (time_of, time_of, (), False),
            ({}, {}, ("--hash", SHA256), False),
        ]
    ):
        with (
            web_server(CONTENT, good(rate_bps=2e8, **one)) as first,
            web_server(CONTENT, good('"2"', rate_bps=2e8, **two)) as second,
        ):
            done = run(first.url, second.url, *options, "--to", tmp_path / str(number))
            assert done.returncode == 0, done.stderr
            assert done.stderr.count(SIZE_ALONE) == is_warned, (one, two, options)
            assert len(done.stderr.splitlines()) == is_warned, "the line is not broken"
            via = ("--via", "127.0.0.1,127.0.0.2")
            done = run(first.url, *via, *options, "--to", tmp_path / f"alone-{number}")
            assert SIZE_ALONE not in done.stderr, "one mirror agrees with itself"


def test_a_server_that_refuses_connections_is_told_at_once_and_nothing_is_promised(tmp_path: Path) -> None:
    with web_server(b"", good()) as server:
        gone = server.url
    place = gone.split("/")[2]
    command = [*PROGRAM, "fetch", gone, "--to", str(tmp_path / "x"), "--patience", "6"]
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        waited_s = time.monotonic() - begin
        out, rest = process.communicate(timeout=30)
    assert waited_s < 6, "long before the end"
    assert first.startswith(f"{place} cannot be reached (Connection refused")
    assert first.endswith("it is tried again, and the fetch ends after 6 s without any server (--patience)\n")
    assert (process.returncode, out) == (1, "")
    assert len(rest.splitlines()) == 1, "it is told once"
    assert "no source was reached for 6 s" in rest
    assert "nothing of the file has come" in rest
    assert "go on" not in rest
    assert not list(tmp_path.iterdir())


def test_ctrl_c_before_anything_came_promises_nothing(tmp_path: Path) -> None:
    with web_server(b"", good()) as server:
        gone = server.url
    command = [*PROGRAM, "fetch", gone, "--to", str(tmp_path / "x")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "stopped; nothing of the file has come yet\n"


def test_a_file_that_changes_during_the_fetch_is_not_mixed(tmp_path: Path) -> None:
    count = iter(range(1000))

    def changes(request: Request, content: bytes) -> Iterator[bytes]:
        return good(f'"{next(count) // 3}"', rate_bps=1e8)(request, content)

    with web_server(CONTENT, changes) as server:
        done = run(server.url, "--to", tmp_path / "x", "--patience", 1)
    assert done.returncode == 1
    assert "the file has changed there since the fetch began" in said(done)
    assert not (tmp_path / "x").exists()


def test_ctrl_c_keeps_what_came(tmp_path: Path) -> None:
    journal = tmp_path / "x.part.journal"
    with web_server(CONTENT, good(rate_bps=3e7)) as server:
        command = [*PROGRAM, "fetch", server.url, "--to", str(tmp_path / "x")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not (journal.exists() and journal.stat().st_size > 100):
                time.sleep(0.002)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "the same command goes on from here" in err
        assert "of it were there" in run(server.url, "--to", tmp_path / "x").stdout


@contextmanager
def sharer(folder: Path, home: Path) -> Iterator[str]:
    """Share a folder, and give the URL of its file."""
    command = [*PROGRAM, "share", str(folder), "--listen", "127.0.0.1:0"]
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield shlex.split(process.stdout.readline())[-1].replace("/?", "/f.bin?")
        finally:
            process.kill()


def test_chunks_of_mirrors_beside_a_sharer_are_verified_by_its_tree(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "f.bin").write_bytes(CONTENT)
    with (
        sharer(tmp_path / "from", tmp_path) as own,
        web_server(CONTENT, good()) as right,
        web_server(OTHER, good()) as wrong,
        web_server(CONTENT[:-1], good()) as short,
    ):
        done = run(own, right.url, wrong.url, short.url, "--hash", SHA256, "--json", "--to", tmp_path / "x")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").read_bytes() == CONTENT
    report = json.loads(done.stdout)
    assert report["start"]["test_start"]["protocol"] == "QUIC and TCP"
    sources = {source["source"]: source for source in report["end"]["sources"]}
    assert sources[f"127.0.0.1:{short.port}"]["why"] == f"its file has {len(CONTENT) - 1} bytes, not {len(CONTENT)}"
    assert report["end"]["file"]["proof"] == "tree"


def test_a_dead_mirror_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    with web_server(CONTENT, good(rate_bps=2e7)) as dies, web_server(CONTENT, good(rate_bps=2e7)) as lives:
        timer = threading.Timer(1.0, dies.kill)
        timer.start()
        done = run(dies.url, lives.url, "--hash", SHA256, "--to", tmp_path / "x")
        timer.join()
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if f":{dies.port}: " in line)
    assert "(lost: " in line
    assert f"127.0.0.1:{dies.port} is lost (" in done.stderr
    assert "it is tried again while the others go on" in done.stderr
    assert (tmp_path / "x").read_bytes() == CONTENT


# Servers that break the rules.


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_server_alone_is_refused_with_its_reason(tmp_path: Path, kind: str) -> None:
    behave, reason = BAD[kind]
    with web_server(CONTENT, behave) as server:
        begin = time.monotonic()
        command = [*PROGRAM, "fetch", server.url, "--to", str(tmp_path / "x"), "--patience", "1"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            most_kb = 0
            while process.poll() is None:
                most_kb = max(most_kb, peak_kb(process.pid))
                time.sleep(0.02)
            words = " ".join(process.stderr.read().split())
    assert process.returncode == 1
    assert reason in words
    assert time.monotonic() - begin < MOST_S
    assert 0 < most_kb < MOST_RSS_KB
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", [*BAD, "lies-about-range", *STUCK])
def test_a_bad_server_beside_a_good_one_neither_stops_nor_corrupts_a_fetch(tmp_path: Path, kind: str) -> None:
    behave = {"lies-about-range": lies_about_range, **STUCK}.get(kind) or BAD[kind][0]
    with web_server(CONTENT, behave) as bad, web_server(CONTENT, good(rate_bps=5e7)) as right:
        (tmp_path / "f.meta4").write_text(metalink([bad.url, right.url]))
        begin = time.monotonic()
        fetched = ab.fetch([str(tmp_path / "f.meta4")], tmp_path / "x")
    assert time.monotonic() - begin < MOST_S
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert fetched.proof == "pieces"


def test_a_silent_server_alone_is_given_up(tmp_path: Path) -> None:
    with web_server(CONTENT, silent) as server:
        done = run(server.url, "--to", tmp_path / "x", "--patience", "1")
    assert done.returncode == 1
    assert "no source was reached for 1 s" in said(done)


def test_a_file_of_which_the_size_is_not_told_is_refused(tmp_path: Path) -> None:
    def endless(request: Request, content: bytes) -> Iterator[bytes]:
        yield head("200 OK", Connection="close")
        yield from pieces(content)
        raise HangupError

    with web_server(CONTENT, endless) as server:
        done = run(server.url, "--to", tmp_path / "x")
        assert done.returncode == 1
        assert "it does not say how large the file is" in said(done)
        (tmp_path / "f.meta4").write_text(metalink([server.url], pieces=False))
        assert run("f.meta4", cwd=tmp_path).returncode == 0, "a Metalink file says it"
    assert (tmp_path / "real.iso").read_bytes() == CONTENT


def test_an_empty_file_is_fetched(tmp_path: Path) -> None:
    for number, behave in enumerate((good(), whole)):
        with web_server(b"", behave) as server:
            done = run(server.url, "--to", tmp_path / str(number))
        assert done.returncode == 0, done.stderr
        assert (tmp_path / str(number)).read_bytes() == b""


def test_redirects_are_followed_and_lead_to_no_weaker_connection(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    options = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    extensions = ("subjectAltName=IP:127.0.0.1", "basicConstraints=critical,CA:FALSE")
    command = ["openssl", "req", "-x509", *options.split(), "-keyout", str(key), "-out", str(tmp_path / "own.pem")]
    command += [word for extension in extensions for word in ("-addext", extension)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", key)
    wrap = partial(context.wrap_socket, server_side=True)
    with ExitStack() as stack:
        plain = stack.enter_context(web_server(CONTENT, good()))
        secure = stack.enter_context(web_server(CONTENT, good(), wrap=wrap))
        up = stack.enter_context(web_server(b"", status("302 Found", Location=secure.url)))
        down = stack.enter_context(web_server(b"", status("302 Found", Location=plain.url), wrap=wrap))
        trusted = ("--authorities", tmp_path / "own.pem")
        for number, url in enumerate((secure.url, up.url)):
            done = run(url, *trusted, "--to", tmp_path / str(number))
            assert done.returncode == 0, done.stderr
            assert (tmp_path / str(number)).read_bytes() == CONTENT
        done = run(secure.url, "--to", tmp_path / "x")
        assert done.returncode == 1
        assert "certificate" in said(done)
        done = run(down.url, *trusted, "--to", tmp_path / "x")
        assert done.returncode == 1
        assert "it redirects from https to http" in said(done)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("http://127.0.0.1:1/",), "names no file"),
        (("http://user:word@127.0.0.1:1/x",), "it has a user name"),
        (("ftp://127.0.0.1/x",), "it begins with none of http://, https:// and anabranch://"),
        (("ftp://127.0.0.1/x",), "'anabranch://HOST:PORT/FILE?pin=FINGERPRINT', in quotes for the shell"),
        (("http://127.0.0.1:1/x", "--hash", "crc32:12345678"), "`crc32` is no hash function"),
        (("http://127.0.0.1:1/x", "--hash", "sha256:12"), "it must be 64 hexadecimal digits"),
        (("http://127.0.0.1:1/x", "--groups", "0"), "groups are for paths from sharers"),
        (("http://127.0.0.1:1/x", "--via", "none0"), "`none0` is neither an address nor an interface"),
        (("bad.meta4",), "bad.meta4 is not a Metalink file that can be used: it is not XML"),
        (("ftp.meta4",), "`f` has no mirror by http or https"),
    ],
)
def test_wrong_input_is_refused_with_exit_code_2(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    (tmp_path / "bad.meta4").write_text("what?")
    (tmp_path / "ftp.meta4").write_text('<metalink><file name="f"><url>ftp://x/f</url></file></metalink>')
    done = run(*words, cwd=tmp_path)
    assert reason in said(done)
    assert done.returncode == 2
    assert len(shortened(done.stderr)) < 1000


def test_a_file_that_is_there_is_verified_or_left_alone(tmp_path: Path) -> None:
    with web_server(CONTENT, good()) as server:
        (tmp_path / "x").write_bytes(CONTENT)
        done = run(server.url, "--hash", SHA256, "--to", tmp_path / "x")
        assert "6 MB of it were there" in done.stdout, done.stderr
        assert "no hash says whether it is the same file" in said(run(server.url, "--to", tmp_path / "x"))
        (tmp_path / "x").write_bytes(OTHER)
        assert "is another file" in said(run(server.url, "--hash", SHA256, "--to", tmp_path / "x"))
    assert (tmp_path / "x").read_bytes() == OTHER
    assert server.asked_bytes == 0


def test_servers_are_counted(tmp_path: Path) -> None:
    """The helper itself: ranges of one byte are looks."""
    server = Server("", 0, [Request("/", 0, 0), Request("/", 5, 9), Request("/", None, None)])
    assert server.asked_bytes == 5
