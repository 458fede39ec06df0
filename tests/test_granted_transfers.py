"""Measurements and transfers of files at the rates that agents grant."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from agents_around import PROGRAM, anabranch
from anabranch import _core
from anabranch.agents.followed import FollowedGroups, numbered
from diamond_agents import SHARE, running_diamond

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths over several addresses of one machine need Linux"),
    pytest.mark.slow,
]

VIA = ("--via", "127.0.0.2=127.0.0.1,127.0.0.3=127.0.0.1")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the agents of the diamond, and give the file of a."""
    with running_diamond(tmp_path_factory.mktemp("granted")) as files:
        yield files["a"]


@pytest.fixture
def url() -> Iterator[str]:
    """Serve measurements."""
    server = _core.Perf.serve("127.0.0.1:0", None, None, None)
    told = server.wait(20)
    assert told is not None
    yield told[1]
    server.stop()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Give a file of 2 MB."""
    file = tmp_path / "x"
    file.write_bytes(bytes(range(250)) * 8000)
    return file


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a process, whatever happens."""
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def enough(parts: list[float], least: float) -> bool:
    """Whether a part of what is granted is enough; none may be more than 1, and a busy machine loses some."""
    assert max(parts) <= 1, parts
    assert len(parts) < 5, parts
    return parts[-1] >= least


@pytest.mark.alone
def test_perf_sends_over_each_path_what_is_granted_there(config: Path, url: str) -> None:
    parts: list[float] = []
    while True:
        done = anabranch("perf", url, *VIA, "--grant", f"{config}:d", "--time", "3", "--json")
        assert done.returncode == 0, done
        end = json.loads(done.stdout)["end"]
        wide, narrow = (stream["bytes"] for stream in end["streams"])
        # Headers of IP, UDP and QUIC take some 5 %.
        parts.append(end["sum_received"]["bits_per_second"] / (20e6 * SHARE))
        # What the wider path loses to a busy machine shows in both; its rate is four times that of the other.
        if enough(parts, 0.8) and wide > 3 * narrow:
            return


@pytest.mark.alone
def test_a_server_sends_what_its_agent_grants_to_its_client(config: Path, url: str) -> None:
    parts: list[float] = []
    while True:
        words = ("--reverse", "--grant", f"{config}:d", "--demand", "5 Mbit/s", "--time", "3")
        done = anabranch("perf", url, *words, "--json")
        assert done.returncode == 0, done
        parts.append(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 5e6)
        if enough(parts, 0.8):
            return


@pytest.mark.alone
@pytest.mark.parametrize("by", ["share", "fetch"])
def test_files_are_sent_at_the_granted_rate(config: Path, shared: Path, tmp_path: Path, by: str) -> None:
    grant = ("--grant", f"{config}:d", "--demand", "8 Mbit/s")
    command = [*PROGRAM, "share", str(shared), "--listen", "127.0.0.1:0", *(grant if by == "share" else ())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sharer, ending(sharer):
        assert sharer.stdout is not None
        place = sharer.stdout.readline().split()[-1].strip("'")
        parts: list[float] = []
        while True:
            begin = time.monotonic()
            target = tmp_path / f"y{len(parts)}"
            done = anabranch("fetch", place, "--to", target, "--json", *(grant if by == "fetch" else ()))
            assert done.returncode == 0, done
            assert target.read_bytes() == shared.read_bytes()
            report = json.loads(done.stdout)
            seconds = report["end"]["sum_received"]["seconds"]
            assert seconds <= time.monotonic() - begin
            parts.append(8 * shared.stat().st_size / seconds / 8e6)
            if enough(parts, 0.7):
                return


def test_a_grant_that_cannot_be_is_refused_with_its_reason(config: Path, url: str, shared: Path) -> None:
    for words, said in (
        (("perf", url, "--grant", f"{config}:nowhere"), "there is no node `nowhere`"),
        (("perf", url, "--grant", str(config)), "names no node; one is agent.toml:Nice"),
        (("perf", url, "--grant", "no.toml:d"), "no.toml"),
        (("perf", url, "--demand", "1 Mbit/s"), "--demand is for --grant"),
        (("perf", "-s", "--grant", f"{config}:d"), "a server does what its clients ask for; give --grant"),
        (("share", shared, "--grant", f"{config}:nowhere"), "there is no node `nowhere`"),
        (("send", shared, "--grant", f"{config}:a"), "it ends where it begins"),
        (("fetch", url, url, "--grant", f"{config}:d"), "there are 1 for 2 URLs"),
        (("fetch", "http://127.0.0.1:1/x", "--grant", f"{config}:d"), "web servers send at the rates of their kernels"),
    ):
        done = anabranch(*words)
        assert done.returncode == 2, done
        assert said in done.stderr, done


def test_groups_follow_the_agent_and_stay_while_it_is_away() -> None:
    answers: list[list[int] | None] = [[5, 6, 6], None, [7, 7, 9]]

    def ask() -> list[int]:
        answer = answers.pop() if len(answers) > 1 else answers[0]
        if answer is None:
            raise ab.ScenarioError("no agent answers")
        return answer

    groups = FollowedGroups(ask, [4, 4, 4])
    assert groups() == [0, 0, 0]
    seen, deadline = [groups()], time.monotonic() + 10
    while seen[-1] != [0, 1, 1]:
        assert time.monotonic() < deadline, seen
        if groups() != seen[-1]:
            seen.append(groups())
        time.sleep(0.02)
    assert seen == [[0, 0, 0], [0, 0, 1], [0, 1, 1]]
    assert numbered([3, 1, 3, 2]) == [0, 1, 0, 2]
