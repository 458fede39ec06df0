"""Files shared and fetched by the command line, over the loopback; what is there after either side is killed."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import random
import shlex
import signal
import socket
import struct
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from anabranch import _core
from anabranch.commands.fetch_notices import Notices
from anabranch.commands.fetch_progress import ProgressView, time_text
from anabranch.transfer.fetch import fetch, fetch_all
from anabranch.transfer.fetched import FetchState
from labs import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

MB = 1_000_000
CHUNK = 256 << 10


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a file of 60 MB, a larger one with nothing in it, and one below another folder."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "x").write_bytes(random.Random(1).randbytes(60 * MB))
    with (folder / "large").open("wb") as file:
        file.truncate(600 * MB)
    (folder / "maps").mkdir()
    (folder / "maps" / "rhine map").write_bytes(b"abc")
    return folder


@contextmanager
def sharer(
    path: Path, home: Path, port: int = 0, command: str = "share"
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `anabranch share` or `send`, and give it with its URL."""
    program = [*PROGRAM, command, str(path), "--listen", f"127.0.0.1:{port}"]
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            # What is printed can be pasted: `anabranch fetch 'URL'`; the URL of a folder has room for a name.
            said = shlex.split(process.stdout.readline())
            assert said[:2] == ["anabranch", "fetch"]
            yield process, said[2].replace("/?", "/NAME?")
        finally:
            process.kill()


def fetcher(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start `anabranch fetch`."""
    command = [*PROGRAM, "fetch", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """Wait for a program that is to end with this code."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    return out, err


def digest(path: Path) -> str:
    """Give the hash of a file by other means than its fetcher's."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_a_file_is_fetched_over_two_paths_and_named_as_it_is_shared(shared: Path, tmp_path: Path) -> None:
    with sharer(shared, tmp_path) as (_, url):
        assert url.startswith("anabranch://127.0.0.1:")
        there = tmp_path / "there"
        there.mkdir()
        out, _ = finished(fetcher(url.replace("NAME", "x"), "--via", "127.0.0.1,127.0.0.2", "--to", there))
        assert digest(there / "x") == digest(shared / "x")
        assert "127.0.0.2 - 127.0.0.1" in out
        finished(fetcher(url.replace("NAME", "maps/rhine%20map"), "--to", there))
        assert (there / "rhine map").read_bytes() == b"abc"
    with sharer(shared / "maps" / "rhine map", tmp_path) as (_, url):
        assert "/rhine%20map?pin=" in url
        for to in ("one", "two"):
            finished(fetcher(url, "--to", there / to))
            assert (there / to).read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("maps/rhine%20map", "rhine map"),
        ("maps%2Frhine%3Fmap", "rhine?map"),
        ("a;b=1#c?", "a;b=1#c"),
        ("a%252Fb", "a%2Fb"),
        ("maps/", None),
        ("", None),
    ],
)
def test_a_url_names_the_file_that_stands_last_in_it(path: str, name: str | None) -> None:
    assert _core.url_name(f"anabranch://host.example:4433/{path}") == name


def test_a_file_with_an_odd_name_keeps_it(tmp_path: Path) -> None:
    odd = tmp_path / "a;b=1 #c?100% é"
    odd.write_bytes(b"abc")
    (tmp_path / "there").mkdir()
    with sharer(odd, tmp_path) as (_, url):
        finished(fetcher(url, "--to", tmp_path / "there"))
    assert [file.name for file in (tmp_path / "there").iterdir()] == [odd.name]


def test_a_file_is_sent_until_somebody_has_it(shared: Path, tmp_path: Path) -> None:
    with sharer(shared / "large", tmp_path, command="send") as (process, url):
        _, err = finished(fetcher(url.replace("/large?", "/maps/rhine%20map?"), "--to", tmp_path / "y"), 1)
        assert "it shares no such file" in err
        leaving = fetcher(url, "--to", tmp_path / "x")
        while not (tmp_path / "x.part").exists() and leaving.poll() is None:
            time.sleep(0.001)
        leaving.send_signal(signal.SIGINT)
        finished(leaving, 130)
        assert process.stderr is not None
        assert process.stderr.readline() == "waiting until somebody fetches it\n"
        assert "took" in process.stderr.readline()
        assert "took" in process.stderr.readline()
        assert process.poll() is None, "nobody has it yet"
        finished(fetcher(url, "--to", tmp_path / "x"))
        assert digest(tmp_path / "x") == digest(shared / "large")
        (tmp_path / "x").unlink()
        assert process.wait(timeout=10) == 0


def test_all_who_send_a_file_hear_that_it_is_there(shared: Path, tmp_path: Path) -> None:
    small = shared / "maps" / "rhine map"
    with (
        sharer(small, tmp_path, command="send") as (one, first),
        sharer(small, tmp_path, command="send") as (two, second),
    ):
        finished(fetcher(first, second, "--to", tmp_path / "x"))
        assert one.wait(timeout=10) == two.wait(timeout=10) == 0
    for number in (signal.SIGINT, signal.SIGTERM):
        with sharer(small, tmp_path, command="send") as (process, _):
            process.send_signal(number)
            assert process.wait(timeout=10) == 128 + number, "nobody has it"


@pytest.mark.parametrize(
    ("path", "code", "reason"),
    [(".", 2, "is no regular file"), ("none", 2, "there is no such file or folder"), ("a:b", 2, "rename the file")],
)
def test_what_is_no_file_is_not_sent(tmp_path: Path, path: str, code: int, reason: str) -> None:
    (tmp_path / "a:b").touch()
    command = [*PROGRAM, "send", str(tmp_path / path), "--listen", "127.0.0.1:0"]
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path)}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr


def test_rates_are_told_in_the_shape_of_iperf3(shared: Path, tmp_path: Path) -> None:
    with sharer(shared, tmp_path) as (_, url):
        out, _ = finished(fetcher(url.replace("NAME", "x"), "--to", tmp_path / "x", "--json"))
    report = json.loads(out)
    assert report["end"]["sum_received"]["bytes"] == 60 * MB
    assert sum(each["sum"]["bytes"] for each in report["intervals"]) == 60 * MB
    stream = report["end"]["streams"][0]
    assert stream["bytes"] > 60 * MB, "with headers"
    assert stream["bits_per_second"] == pytest.approx(8 * stream["bytes"] / stream["seconds"])


def test_what_cannot_be_is_refused_with_its_reason(shared: Path, tmp_path: Path) -> None:
    with sharer(shared, tmp_path) as (_, url):
        two, nmcc = 2 * [url.replace("NAME", "x")], ("--control", "nmcc")
        for arguments, code, reason in (
            (("ftp://x:1/y",), 2, "it begins with none of http://, https:// and anabranch://"),
            ((url.replace("NAME", "../x"),), 2, "leads out of the shared directory"),
            ((url.replace("NAME", ""), url.replace("NAME", "x")), 2, "goes with those of the same folder"),
            ((url.replace("NAME", ""), "--hash", 64 * "0"), 2, "is a folder; a hash is that of one file"),
            ((url.replace("NAME", "none/"),), 1, "there is no file below `none/`"),
            ((url.replace("NAME", "x"), "--control", "lgc"), 2, "needs the capacities of its links"),
            (
                (url.replace("NAME", "x"), "--control", "formulas"),
                2,
                "Formulas needs its formulas, which stand in a scenario file that `anabranch live` runs; choose one of",
            ),
            (
                (*two, "--via", "127.0.0.1,127.0.0.2", "--groups", "0,1,2", *nmcc),
                2,
                "is needed: 2 for all URLs or 4 for",
            ),
            ((*two, *nmcc, *3 * ("--groups", "0")), 2, "groups has 3 numbers; one for each path is needed: 1 for all"),
            ((url.replace("NAME", "x"), "--groups", "0,1"), 2, "groups has 2 numbers; one for each path is needed: 1"),
            ((url.replace("NAME", "x"), "--groups", "0"), 2, "leave out the groups of paths, or choose nmcc"),
            ((url.replace("NAME", "x"), "--groups", "-1", *nmcc), 2, "-1 is no number of a group of paths"),
            ((url.replace("NAME", "x"), "--groups", "4294967296"), 2, "one is a whole number from 0 to 4294967295"),
            (
                (changed_pin(url).replace("NAME", "x"),),
                1,
                "it is not the server that was meant, or has a new certificate",
            ),
            ((changed_pin(url).replace("NAME", "x"),), 1, "the server's certificate has the fingerprint"),
            ((url.replace("NAME", "x"), "--control", "d-slen"), 2, "needs links that take part in it"),
            ((url.replace("NAME", "x"), "--via", "none0"), 2, "`none0` is neither an address nor an interface"),
            ((url.replace("NAME", "x"), "--to", tmp_path / "no" / "x"), 2, "there is no such folder"),
            ((url.replace("NAME", "y"), "--to", tmp_path / "y"), 1, "it shares no such file"),
            ((url.replace("NAME", "x"), "--to", tmp_path / "y", "--hash", "12"), 2, "is not a BLAKE3 hash"),
        ):
            _, err = finished(fetcher(*arguments, "--patience", "1"), code)
            assert reason in err, err
            assert "Traceback" not in err
            assert "unexpected error" not in err
        # With two URLs there are two numbers, however they are given.
        finished(fetcher(*two, *nmcc, "--groups", "0", "--groups", "1", "--to", tmp_path / "z"))
    assert not list(tmp_path.glob("y*"))


def changed_pin(url: str) -> str:
    """Give a URL with another fingerprint."""
    return url[:-1] + ("0" if url[-1] != "0" else "1")


def test_sharers_with_different_files_are_refused_unless_a_hash_says_which(tmp_path: Path) -> None:
    files = {}
    for name, content in (("good", b"good" * MB), ("evil", b"evil" * MB)):
        (tmp_path / name).mkdir()
        files[name] = tmp_path / name / "f"
        files[name].write_bytes(content)
    to = tmp_path / "to"
    to.mkdir()
    with sharer(tmp_path / "good", tmp_path) as (_, good), sharer(tmp_path / "evil", tmp_path) as (_, evil):
        urls = [url.replace("NAME", "f") for url in (good, evil)]
        for order in (urls, urls[::-1]):
            _, err = finished(fetcher(*order, "--to", to), 1)
            said = " ".join(err.split())
            assert "the sharers have different files" in said
            assert "--hash" in said
            assert all(url.split("?")[0] in said for url in urls)
            assert not list(to.iterdir())
        with sharer(files["good"], tmp_path) as (_, alone):
            right = alone.split("&hash=")[1]
            out, _ = finished(fetcher(*urls[::-1], "--hash", right, "--to", to / "a"))
            assert "it has another file by this name" in out
            finished(fetcher(urls[1], alone, "--to", to / "b"))
            assert digest(to / "a") == digest(to / "b") == digest(files["good"])
            _, err = finished(fetcher(alone, urls[1] + "&hash=" + "0" * 64, "--to", to / "c"), 2)
            assert "a fetch is for one file" in " ".join(err.split())


def test_the_url_of_a_file_brings_no_other_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"abc")
    with sharer(file, tmp_path) as (_, url):
        assert "?pin=" in url
        assert "&hash=" in url
        file.write_bytes(b"abcd")
        _, err = finished(fetcher(url, "--to", tmp_path / "x"), 1)
        assert "it has another file by this name" in " ".join(err.split())
        finished(fetcher(url.split("&hash=")[0], "--to", tmp_path / "x"))
        assert (tmp_path / "x").read_bytes() == b"abcd"


def test_a_fetch_writes_nothing_outside_its_folder(shared: Path, tmp_path: Path) -> None:
    outside, to = tmp_path / "outside", tmp_path / "to"
    outside.mkdir()
    to.mkdir()
    with sharer(shared / "maps", tmp_path) as (_, url):
        for end in (".part", ".part.journal"):
            link = to / f"x{end}"
            link.symlink_to(outside / "new")
            _, err = finished(fetcher(url.replace("NAME", "rhine%20map"), "--to", to / "x"), 1)
            assert "is a symbolic link" in " ".join(err.split())
            link.unlink()
    assert not list(outside.iterdir())
    assert not list(to.iterdir())


def test_a_file_with_the_longest_name_is_fetched(tmp_path: Path) -> None:
    name = 255 * "n"
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / name).write_bytes(b"abc")
    (tmp_path / "to").mkdir()
    with sharer(tmp_path / "from", tmp_path) as (_, url):
        finished(fetcher(url.replace("NAME", name), "--to", tmp_path / "to"))
    assert [path.name for path in (tmp_path / "to").iterdir()] == [name]


def test_a_source_that_brought_nothing_has_its_reason_in_the_summary(shared: Path, tmp_path: Path) -> None:
    with sharer(shared / "maps", tmp_path) as (process, gone):
        process.kill()
        process.wait()
    with sharer(shared / "maps", tmp_path) as (_, url):
        urls = [each.replace("NAME", "rhine%20map") for each in (gone, url)]
        out, _ = finished(fetcher(*urls, "--to", tmp_path / "x"))
    line = next(line for line in out.splitlines() if line.startswith(f"  {gone.split('/')[2]}: "))
    assert "timed out" in line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_keep_what_has_come(shared: Path, tmp_path: Path, number: signal.Signals) -> None:
    with sharer(shared, tmp_path) as (_, url):
        process = fetcher(url.replace("NAME", "large"), "--to", tmp_path / "x")
        journal = tmp_path / "x.part.journal"
        while not (journal.exists() and journal.stat().st_size > 200) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        _, err = finished(process, 128 + number)
        assert "the same command goes on from here" in err
        out, _ = finished(fetcher(url.replace("NAME", "large"), "--to", tmp_path / "x"))
        assert "of it were there" in out
        (tmp_path / "x").unlink()


def journalled(target: Path) -> int:
    """Give how many chunks the journal lists."""
    journal = target.with_name(target.name + ".part.journal")
    return max(journal.stat().st_size - 64, 0) // 8 if journal.exists() else 0


MOMENTS = 5
"""So often either side is killed."""


def wait_for_chunks(target: Path, running: subprocess.Popen[str], chunks: int) -> None:
    """Wait until the journal of an unfinished file lists so many, or the fetch is over."""
    while journalled(target) < chunks and running.poll() is None:
        time.sleep(0.0005)


def test_a_fetch_goes_on_after_its_fetcher_was_killed(shared: Path, tmp_path: Path) -> None:
    target, rng = tmp_path / "x", random.Random(1)
    with sharer(shared, tmp_path) as (_, url):
        for _ in range(MOMENTS):
            running = fetcher(url.replace("NAME", "x"), "--to", target)
            wait_for_chunks(target, running, rng.randrange(60 * MB // CHUNK - 30))
            running.kill()
            running.communicate()
            there = journalled(target)
            fetched = fetch([url.replace("NAME", "x")], target)
            # What was listed is not sent again: whole chunks but the last of the file, and perhaps half a record.
            if running.returncode < 0:
                assert fetched.was_there_bytes >= (there - 1) * CHUNK
            assert fetched.was_there_bytes + fetched.state.brought_bytes == 60 * MB
            assert digest(target) == digest(shared / "x")
            target.unlink()


def test_a_fetch_goes_on_after_its_sharer_was_killed(shared: Path, tmp_path: Path) -> None:
    target, rng = tmp_path / "x", random.Random(2)
    for _ in range(MOMENTS):
        with sharer(shared, tmp_path) as (process, url):
            running = fetcher(url.replace("NAME", "x"), "--to", target, "--json")
            wait_for_chunks(target, running, rng.randrange(60 * MB // CHUNK - 30))
            process.kill()
            process.wait()
        port = int(url.split(":")[2].split("/")[0])
        with sharer(shared, tmp_path, port) as (_, again):
            assert again == url, "it is known by the same fingerprint"
            out, _ = finished(running)
        assert json.loads(out)["end"]["sum_received"]["bytes"] == 60 * MB, "nothing counts twice"
        assert digest(target) == digest(shared / "x")
        target.unlink()


def test_a_folder_is_listed_and_fetched_whole(tmp_path: Path) -> None:
    source, to = tmp_path / "from", tmp_path / "to"
    (source / "maps" / "2026").mkdir(parents=True)
    files = {"a": b"", "maps/rhine map": 3 * MB * b"x", "maps/2026/é?": b"abc"}
    for name, content in files.items():
        (source / name).write_bytes(content)
    with sharer(source, tmp_path) as (process, url):
        assert process.stderr is not None
        assert process.stderr.readline() == "serving 3 files, 3 MB: a, maps/2026/é?, maps/rhine map\n"
        assert f"/a?pin={url[-64:]}" in process.stderr.readline(), "a whole command for one of them"
        out, _ = finished(fetcher(url.replace("NAME", ""), "--list"))
        assert out == "0 bytes  a\n3 bytes  maps/2026/é?\n   3 MB  maps/rhine map\n"
        out, _ = finished(fetcher(url.replace("NAME", "maps/rhine%20map"), "--list", "--json"))
        assert json.loads(out)[1] == {"name": "rhine map", "size_bytes": 3 * MB}
        out, _ = finished(fetcher(url.replace("NAME", ""), "--to", to))
        assert out.splitlines()[-1].startswith("3 files, 3 MB; 3 MB came in ")
        there = {path.relative_to(to).as_posix(): path.read_bytes() for path in to.rglob("*") if path.is_file()}
        assert there == files
        # Again, with one of them damaged and one gone.
        (to / "maps" / "rhine map").unlink()
        out, _ = finished(fetcher(url.replace("NAME", ""), "--to", to))
        assert "3 bytes of it were there" in out
        (to / "a").write_bytes(b"mine")
        _, err = finished(fetcher(url.replace("NAME", ""), "--to", to), 1)
        assert "is another file" in " ".join(err.split())
        there = fetch_all([url.replace("NAME", "maps/"), url.replace("NAME", "maps/")], tmp_path / "below")
        assert [fetched.path.relative_to(tmp_path / "below").as_posix() for fetched in there] == [
            "2026/é?",
            "rhine map",
        ]


def test_a_folder_is_not_written_through_a_link(tmp_path: Path) -> None:
    source, to, outside = tmp_path / "from", tmp_path / "to", tmp_path / "outside"
    (source / "maps").mkdir(parents=True)
    (source / "maps" / "x").write_bytes(b"abc")
    to.mkdir()
    outside.mkdir()
    (to / "maps").symlink_to(outside)
    with sharer(source, tmp_path) as (_, url):
        _, err = finished(fetcher(url.replace("NAME", ""), "--to", to), 1)
    assert "is a symbolic link" in err
    assert not list(outside.iterdir())


def test_a_lost_server_is_told_in_the_summary(shared: Path, tmp_path: Path) -> None:
    with sharer(shared, tmp_path) as (dies, first), sharer(shared, tmp_path) as (_, second):
        urls = [url.replace("NAME", "large") for url in (first, second)]
        running = fetcher(*urls, "--to", tmp_path / "x")
        wait_for_chunks(tmp_path / "x", running, 50)
        dies.kill()
        out, _ = finished(running)
    line = next(line for line in out.splitlines() if first.split("/")[2] in line)
    assert "(lost: " in line or "(silent for the last " in line


def test_a_server_of_the_wrong_kind_says_which_command_it_is_for(shared: Path, tmp_path: Path) -> None:
    with sharer(shared, tmp_path) as (_, url):
        perf = subprocess.run([*PROGRAM, "perf", url.replace("NAME", "")], capture_output=True, text=True, check=False)
        assert perf.returncode == 1
        assert "this is a share" in perf.stderr
        assert "anabranch fetch" in perf.stderr
    with subprocess.Popen([*PROGRAM, "perf", "--serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        for arguments in ((url.replace("/?", "/x?"),), (url, "--list")):
            _, err = finished(fetcher(*arguments, "--to", tmp_path / "x"), 1)
            assert "this is `anabranch perf --serve`, which has no files" in " ".join(err.split())
        server.kill()


def test_an_address_that_is_taken_is_told_with_the_option(shared: Path, tmp_path: Path) -> None:
    with sharer(shared, tmp_path) as (_, url):
        address = url.split("/")[2]
        for command, option in ((("share", shared, "--listen"), "--listen"), (("perf", "--serve"), "--serve")):
            words = [*PROGRAM, *map(str, command), address]
            ended = subprocess.run(
                words, capture_output=True, text=True, check=False, env=os.environ | {"HOME": str(tmp_path)}
            )
            assert ended.returncode == 1
            assert "Address already in use" in ended.stderr
            assert f"choose another address or port by `{option}`" in " ".join(ended.stderr.split())


def test_an_interface_that_cannot_reach_this_machine_itself_is_told(shared: Path, tmp_path: Path) -> None:
    outward = [name for _, name in socket.if_nameindex() if name != "lo"]
    usable = []
    for name in outward:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
            request = struct.pack("256s", name.encode())
            usable.append((name, fcntl.ioctl(probe.fileno(), 0x8915, request)))
    if not usable:
        pytest.skip("this machine has no interface with an IPv4 address but the loopback")
    name = usable[0][0]
    with sharer(shared, tmp_path) as (_, url):
        _, err = finished(fetcher(url.replace("NAME", "x"), "--via", name, "--to", tmp_path / "x"), 1)
    assert f"interface `{name}` cannot reach 127.0.0.1" in " ".join(err.split())


def state(time_s: float, there: int, **source: object) -> FetchState:
    """Give a state with one source."""
    row = {"source": "a:1", "standing": "sending", "why": None, "brought_bytes": there, "silence_s": 0.0, "losses": 0}
    return FetchState(time_s, 100 * MB, 0, [row | {"is_mirror": False, "takes_ranges": None, "paths": []} | source])


def test_the_bar_has_the_total_rate_and_the_time_left() -> None:
    console = Console(force_terminal=True, width=100, file=io.StringIO())
    with ProgressView(console, Notices(60.0)) as show:
        # 10 MB in each second are 80 Mbit/s; 70 MB are left.
        for second in range(4):
            show(state(second, 10 * MB * second), "")
        shown = console.file.getvalue()
        assert "30 MB of 100 MB, 80 Mbit/s, 7 s left" in shown
        show(state(4, 30 * MB, standing="lost", why="timed out"), "")
        show(state(5, 30 * MB, silence_s=2.2), "")
    shown = console.file.getvalue()
    assert "lost: timed out" in shown
    assert shown.count("a:1 cannot be reached (timed out); it is tried again, and the fetch ends after 60 s") == 1
    assert "silent for 2 s" in shown


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (185, "3:05 min"), (7800, "2:10 h")])
def test_times_are_read_at_a_glance(seconds: float, text: str) -> None:
    assert time_text(seconds) == text
