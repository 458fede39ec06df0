"""Files fetched from plain web servers over shaped links, in labs: how fast, and what happens when a server dies."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from pathlib import Path

import pytest

from labs import ATTEMPTS, PROGRAM, emulate, refusal, two_links, words

pytestmark = pytest.mark.alone

MB = 1_000_000
SIZE = 40 * MB
LONG = 130 * MB
LARGE = 300 * MB
RATES_MBPS = (80, 40)
SERVER = Path(__file__).with_name("web_servers.py")

TWO_LINKS = two_links(RATES_MBPS, (10, 10))
"""West is 10.0.0.1 and 10.0.1.1, east is 10.0.0.2 and 10.0.1.2."""

URLS = ("http://10.0.0.1:8001/x", "http://10.0.1.1:8002/x")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file without a pattern."""
    path = tmp_path_factory.mktemp("from") / "x"
    path.write_bytes(random.Random(1).randbytes(SIZE))
    return path


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a longer one, of which the beginning and the end are a small part."""
    path = tmp_path_factory.mktemp("from") / "x"
    path.write_bytes(random.Random(2).randbytes(LONG))
    return path


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give one that takes 22 s, of which the beginning and the end are a part that does not count."""
    path = tmp_path_factory.mktemp("from") / "x"
    generator = random.Random(3)
    path.write_bytes(b"".join(generator.randbytes(LARGE // 3) for _ in range(3)))
    return path


@pytest.fixture(autouse=True)
def _lab() -> None:
    if (why := refusal()) is not None:
        pytest.skip(f"no labs here: {why}")


def hash_of(file: Path) -> str:
    """Give the hash of a file by other means than its fetcher's."""
    with file.open("rb") as opened:
        return "sha256:" + hashlib.file_digest(opened, "sha256").hexdigest()


def server(file: Path, number: int, *mode: str) -> str:
    """Give the command line of a web server."""
    return words(sys.executable, SERVER, file, f"10.0.{number}.1", str(8001 + number), *mode)


def fetched(folder: Path, file: Path, serve: list[str], *urls: str, before: str = "") -> dict:
    """Fetch the file from west to east; give what the fetch reports."""
    fetch = words(*PROGRAM, "fetch", *(urls or URLS), "--to", "x", "--hash", hash_of(file), "--json")
    ports = [url[-6:-2] for url in urls or URLS if url.startswith("http")]
    up = " && ".join(f"[ -e {port}.up ]" for port in ports)
    line = f"until {up}; do sleep 0.05; done; {before} {fetch} > report 2> said"
    emulate(folder, TWO_LINKS, at={"east": line}, serve=[("west", command) for command in serve], timeout_s=120)
    assert (folder / "x").exists(), (folder / "said").read_text()
    assert hash_of(folder / "x") == hash_of(file)
    report: dict = json.loads((folder / "report").read_text())
    return report


def steady_mbps(report: dict) -> float:
    """Give the rate without the first second, in which windows grow, and the end, in which the file is hashed."""
    sums = [each["sum"] for each in report["intervals"][1:-1]]
    return 8e-6 * sum(each["bytes"] for each in sums) / (sums[-1]["end"] - sums[0]["start"])


def test_two_mirrors_over_two_links_have_nine_tenths_of_both(tmp_path: Path, long_file: Path) -> None:
    report = fetched(tmp_path, long_file, [server(long_file, 0), server(long_file, 1)])
    # Headers of TCP, IP and Ethernet take 5 % of the links.
    assert steady_mbps(report) > 0.9 * sum(RATES_MBPS), report["end"]
    streams = sorted(stream["bytes"] for stream in report["end"]["streams"])
    assert streams[1] / streams[0] == pytest.approx(RATES_MBPS[0] / RATES_MBPS[1], rel=0.15)


@pytest.mark.slow
def test_a_large_file_comes_at_nine_tenths_of_both_links_from_its_first_second_to_its_last(
    tmp_path: Path, large_file: Path
) -> None:
    # With slow start, the last chunks and the hash. Headers take 5 % of the links: 115 Mbit/s are left of 120. A busy
    # machine may take more than the test leaves, so it may try again.
    best_mbps = 0.0
    for _ in range(ATTEMPTS):
        report = fetched(tmp_path, large_file, [server(large_file, 0), server(large_file, 1)])
        whole = report["end"]["sum_received"]
        assert whole["bytes"] == LARGE
        best_mbps = max(best_mbps, 8e-6 * LARGE / whole["seconds"])
        if best_mbps > 0.9 * sum(RATES_MBPS):
            break
    assert best_mbps > 0.9 * sum(RATES_MBPS), report["end"]


def test_one_mirror_over_two_interfaces_has_nine_tenths_of_both(tmp_path: Path, long_file: Path) -> None:
    # The server is at one address of west; each path of east leads to the address at its own end.
    serve = [words(sys.executable, SERVER, long_file, "0.0.0.0", "8001")]
    via = "10.0.0.2=10.0.0.1,10.0.1.2=10.0.1.1"
    report = fetched(tmp_path, long_file, serve, URLS[0], "--via", via)
    assert steady_mbps(report) > 0.9 * sum(RATES_MBPS), report["end"]
    assert len(report["end"]["sources"]) == 1


def test_a_server_that_is_killed_does_not_stop_the_fetch(tmp_path: Path, file: Path) -> None:
    doomed = f"{server(file, 0)} & echo $! > pid; wait"
    some = "[ -s x.part.journal ] && [ $(stat -c %s x.part.journal) -gt 500 ]"
    kill = f"until {some}; do sleep 0.02; done; kill -9 $(cat pid); sleep 60"
    report = fetched(tmp_path, file, [doomed, server(file, 1), kill])
    dead, lives = report["end"]["sources"]
    assert (dead["source"], dead["standing"]) == ("10.0.0.1:8001", "lost")
    lost, *others = (tmp_path / "said").read_text().splitlines()
    assert lost.startswith("10.0.0.1:8001 is lost (")
    assert lost.endswith("); it is tried again while the others go on")
    assert not others, "the one that lives is not complained of"
    assert 0 < dead["brought_bytes"] < SIZE / 2
    assert dead["brought_bytes"] + lives["brought_bytes"] == SIZE


def test_servers_without_ranges_are_done_without(tmp_path: Path, file: Path) -> None:
    report = fetched(tmp_path, file, [server(file, 0, "whole"), server(file, 1)])
    whole, parts = report["end"]["sources"]
    assert whole["why"] == "it sends no parts of files, and others do"
    assert parts["brought_bytes"] == SIZE
    # With the beginning and the end.
    assert report["end"]["sum_received"]["bits_per_second"] > 0.8e6 * RATES_MBPS[1]


def test_a_fetch_that_is_killed_in_a_lab_goes_on(tmp_path: Path, file: Path) -> None:
    fetch = words(*PROGRAM, "fetch", *URLS, "--to", "x", "--hash", hash_of(file))
    report = fetched(tmp_path, file, [server(file, 0), server(file, 1)], before=f"timeout -s KILL 2.5 {fetch};")
    assert 0 < report["end"]["file"]["was_there_bytes"] < SIZE
    assert os.path.getsize(tmp_path / "x") == SIZE
