"""Lines of a proxy that are not alike: what options say of them, what they carry, and what agents grant."""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from anabranch import _core
from anabranch.commands.clients import accounts
from anabranch.commands.lines import Line, Lines, Meters, read_lines
from anabranch.commands.usage import Usage, current
from anabranch.errors import ScenarioError
from command import run
from diamond_agents import running_diamond
from running_programs import LONG_S, end, start
from running_programs import Lines as Program
from test_proxy import free_port
from test_proxy_accounts import Target, connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
]

VIA = "127.0.0.2,127.0.0.3"


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    yield target
    target.door.close()


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    programs: list[Program] = []
    yield programs
    end(*programs)


def pair(programs: list[Program], folder: Path, *options: str, at_exit: tuple[str, ...] = ()) -> tuple[Program, int]:
    """Run an exit and a proxy with options over two paths; the proxy, and its port for SOCKS."""
    token = folder / "exit.token"
    listen = ("--listen", "127.0.0.1:0", "--allow", "127.0.0.1", "--watch", "127.0.0.1:0")
    exit_ = start("exit", "--token-file", str(token), *listen, *at_exit)
    programs.append(exit_)
    url = exit_.until("anabranch proxy").split("'")[1]
    return again(programs, url, token, *options)


def again(programs: list[Program], url: str, token: Path, *options: str) -> tuple[Program, int]:
    """Run a proxy of an exit."""
    port = free_port(socket.SOCK_STREAM)
    door = ("--socks", f"127.0.0.1:{port}", "--watch", "127.0.0.1:0")
    proxy = start("proxy", url, "--token-file", str(token), "--via", VIA, *door, *options)
    programs.append(proxy)
    proxy.until("connected over 127.0.0.2 - 127.0.0.1")
    return proxy, port


def shown(program: Program) -> list[dict[str, Any]]:
    """Give the lines that a program shows, once there are two."""
    at = program.until("shown at ").removeprefix("shown at ")
    deadline = time.monotonic() + LONG_S
    while True:
        with urllib.request.urlopen(f"{at}api/v1/status") as answer:
            lines = [line for peer in json.load(answer)["peers"] for line in peer["lines"]]
        if len(lines) == 2 and all(line["state"] == "up" for line in lines):
            return lines
        assert time.monotonic() < deadline, lines
        time.sleep(0.05)


def received(port: int, target: Target, seconds: float) -> float:
    """Receive all that comes through a proxy for a time; the mean rate in bit/s."""
    peer = connect(f"socks5h://127.0.0.1:{port}", target.port)
    assert peer is not None
    with peer:
        peer.sendall(b"s")
        count, begin = 0, time.monotonic()
        while time.monotonic() < begin + seconds:
            count += len(peer.recv(1 << 18))
        return 8 * count / (time.monotonic() - begin)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_both_ends_know_what_is_said_of_lines(programs: list[Program], tmp_path: Path, target: Target) -> None:
    options = ("--weight", "127.0.0.3=0.5", "--limit", "127.0.0.3=4 Mbit/s", "--limit", "127.0.0.2=4 Mbit/s")
    proxy, port = pair(programs, tmp_path, "--control", "nmcc", "--groups", "3,4", *options)
    for program in (programs[0], proxy):
        said = [(line["weight"], line["group"], line["most_bps"]) for line in shown(program)]
        assert said == [(1, 3, 4e6), (0.5, 4, 4e6)]
    # Headers take some 5 %.
    assert 4e6 < received(port, target, 2) < 8e6


def test_a_metered_line_is_a_backup_once_it_has_carried_what_it_may(
    programs: list[Program], tmp_path: Path, target: Target
) -> None:
    kept = tmp_path / "lines.json"
    options = ("--metered", "127.0.0.2=2 MB/month", "--metered-file", str(kept))
    proxy, port = pair(programs, tmp_path, *options)
    assert [line["is_backup"] for line in shown(proxy)] == [False, False]
    received(port, target, 1)
    proxy.until("127.0.0.2 has carried its 2 MB of this month: it carries data only while no other works")
    for program in (programs[0], proxy):
        wait_until(lambda program=program: [line["is_backup"] for line in shown(program)] == [True, False])
    before = [line["received_bytes"] for line in shown(proxy)]
    received(port, target, 1)
    more = [line["received_bytes"] - bytes_ for line, bytes_ in zip(shown(proxy), before, strict=True)]
    assert more[0] < 100_000 < more[1], more
    # Another proxy cannot keep the same file at the same time, and one that comes later knows what it says.
    url = programs[0].until("anabranch proxy").split("'")[1]
    done = run("proxy", url, "--token-file", str(tmp_path / "exit.token"), "--via", VIA, *options)
    assert done.returncode == 2
    assert "another program keeps it" in done.stderr
    end(programs.pop())
    period, count = json.loads(kept.read_text())["127.0.0.2"].values()
    assert period == current("month")
    assert count > 2_000_000
    later, _ = again(programs, url, tmp_path / "exit.token", *options)
    later.until("127.0.0.2 has carried its 2 MB of this month")


def test_what_metered_lines_carry_counts_once(tmp_path: Path) -> None:
    meters = Meters(Usage.read(tmp_path / "lines.json"))
    meters.add("wwan0", [1], "day")
    # A line that is made again begins from what it had, and a count that falls for a moment is none.
    for carried in ([5, 100], [5, 80], [5, 130], [], [9, 131]):
        meters.follow(carried, at_once=True)
    assert meters.used() == [("wwan0", 131)]
    later = Meters(Usage.read(tmp_path / "lines.json"))
    later.add("wwan0", [0], "day")
    later.follow([10], at_once=True)
    assert later.used() == [("wwan0", 141)]
    assert Usage.read(tmp_path / "lines.json").begin("wwan0", "day") == 141


def test_a_line_is_no_backup_any_more_when_its_period_is_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Own:
        def carried(self) -> list[int]:
            return [1000]

        def say(self, said: Any) -> None:
            self.said = said

    meters = Meters(Usage.read(tmp_path / "lines.json"))
    meters.add("wwan0", [0], "day")
    own, lines = Own(), Lines([Line("wwan0", False, metered=(900, "day"))], meters=meters)
    lines.follow(own)  # type: ignore[arg-type]
    assert own.said[0][0][0]
    meters.renew("wwan0")
    lines.follow(own)  # type: ignore[arg-type]
    assert not own.said[0][0][0]
    said = capsys.readouterr().err
    assert "wwan0 has its 900 bytes of this day: it carries data again" in said


@pytest.mark.parametrize(
    ("each", "groups", "said"),
    [
        (([], ["wwan0"], []), None, "--weight: `wwan0` says nothing of a line; write --weight NAME=0.5"),
        ((["wlan1=1 Mbit/s"], [], []), None, "--limit: there is no line over `wlan1`; there are wlan0, wwan0"),
        ((["wlan0=1 Mbit/s"] * 2, [], []), None, "--limit: `wlan0` is there twice"),
        ((["wlan0=1 kbit/s"], [], []), None, "--limit wlan0: it must be at least 64 kbit/s"),
        ((["wlan0=fast"], [], []), None, "--limit wlan0: "),
        (([], ["wlan0=-1"], []), None, "--weight wlan0: it must be 0, or from 0.001 to 1000"),
        (([], ["wlan0=nan"], []), None, "--weight wlan0: it must be 0, or from 0.001 to 1000"),
        (([], [], ["wwan0=2 GB"]), None, "--metered wwan0: `2 GB` is no amount in a day, week, month, ever"),
        (([], [], ["wwan0=0 B/day"]), None, "--metered wwan0: it must be at least a byte"),
        (([], [], []), ["0,1,2"], "--groups: there are 3 numbers for 2 lines; give one for each"),
    ],
)
def test_mistakes_say_what_where_and_what_would_do(
    each: tuple[list[str], list[str], list[str]], groups: list[str] | None, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_lines(("wlan0", "wwan0"), each, tmp_path / "m.json" if each[2] else None, groups, is_redundant=False)
    assert said in str(raised.value)


def test_options_that_nothing_is_there_for_are_refused(tmp_path: Path) -> None:
    for places, words, said in (
        ((None, None), {"groups": ["0,1"]}, "--groups: there is one path"),
        (("wlan0", None), {"is_redundant": True}, "--redundant sends over two lines"),
        (("wlan0", None), {"metered_in": tmp_path / "x"}, "--metered-file is for --metered"),
    ):
        with pytest.raises(ScenarioError, match=said):
            read_lines(places, ([], [], []), **{"metered_in": None, "groups": None, "is_redundant": False} | words)
    token = tmp_path / "exit.token"
    token.write_text("0123456789abcdef0123456789abcdef\n")
    done = run(
        "proxy", f"anabranch://127.0.0.1:1/?pin={64 * '0'}", "--token-file", str(token), "--via", VIA, "--groups", "0,0"
    )
    assert done.returncode == 2
    assert "takes paths as they are" in done.stderr, done


def test_clients_name_agents_that_grant_rates(tmp_path: Path) -> None:
    file = tmp_path / "clients.toml"
    file.write_text(
        '[office]\ntoken-file = "t"\ngrant = "agent.toml:Lyon"\ndemand = "5 Mbit/s"\n[guest]\ntoken-file="u"'
    )
    assert accounts(None, file, with_targets=True)[2] == {"office": (f"{tmp_path}/agent.toml:Lyon", "5 Mbit/s")}
    for text, said in (
        ("grant = 5", r"\[office\] grant must be a text"),
        ('demand = "5 Mbit/s"', r"\[office\] demand is that of a grant"),
    ):
        file.write_text(f'[office]\ntoken-file = "t"\n{text}\n')
        with pytest.raises(ScenarioError, match=said):
            accounts(None, file, with_targets=True)


@pytest.mark.slow
@pytest.mark.alone
def test_what_passes_is_no_more_than_agents_grant_in_each_direction(
    programs: list[Program], tmp_path: Path, target: Target
) -> None:
    with running_diamond(tmp_path) as files:
        clients = tmp_path / "clients.toml"
        clients.write_text(f'[office]\ntoken-file = "office.token"\ngrant = "{files["d"]}:a"\ndemand = "4 Mbit/s"\n')
        at_exit = ("--clients", str(clients))
        grant = ("--grant", f"{files['a']}:d", "--demand", "3 Mbit/s")
        listen = ("--listen", "127.0.0.1:0", "--allow", "127.0.0.1", "--watch", "127.0.0.1:0")
        exit_ = start("exit", *at_exit, *listen)
        programs.append(exit_)
        url = exit_.until("anabranch proxy").split("'")[1]
        _, port = again(programs, url, tmp_path / "office.token", *grant)
        down = received(port, target, 3)
        assert 0.75 < down / 4e6 < 1, down
        peer = connect(f"socks5h://127.0.0.1:{port}", target.port)
        assert peer is not None
        with peer:
            peer.settimeout(0.1)
            peer.sendall(b"r")
            begin = time.monotonic()
            while time.monotonic() < begin + 4:
                try:
                    peer.send(bytes(1 << 14))
                except TimeoutError:
                    continue
                if time.monotonic() < begin + 1:
                    first, at = target.received.get(b"r", 0), time.monotonic()
            up = 8 * (target.received[b"r"] - first) / (time.monotonic() - at)
        assert 0.75 < up / 3e6 < 1, up
