"""Hops on which somebody misbehaves: sessions that do not cross them keep their rates.

The one is a machine on the way between two agents, which has no certificate. The other is a neighbour with a good
certificate; `crates/live/examples/misbehaving_neighbour.rs` is that program, which `cargo test` builds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from agent_processes import AgentProcesses, Wish, wait
from anabranch import _core
from granted_rates import granted
from relays import Relays, Weather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="each agent has an address of its own on this machine"),
]

ROOT = Path(__file__).parents[1]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/examples/misbehaving_neighbour"

LINKS = [("a", "b", 20), ("b", "c", 10), ("b", "z", 30)]
"""A line, and a neighbour `z` of its middle."""

WATCHED = {"long": ("a", "c"), "short": ("a", "b"), "back": ("c", "a")}
"""Sessions that do not cross the hop between `b` and `z`."""

CROSSING = ("a", "z")

FAIR_BPS = dict.fromkeys(WATCHED, 9.7e6)
"""Each has 97 % of the narrow link, or half of 97 % of the wide one."""

FAIR_BESIDE_BPS = {"long": 9.2e6, "short": 9.2e6, "back": 9.7e6, "crossing": 1e6}
"""The same beside the session over the hop, which asks for 1 Mbit/s of the wide link."""

LASTS_S = 4.0


@contextmanager
def network(folder: Path, absent: str | None = None) -> Iterator[AgentProcesses]:
    """Run the agents, but for one that is absent, until sessions have their rates."""
    links = [{"source": a, "target": b, "capacity": f"{most} Mbit/s", "two_way": True} for a, b, most in LINKS]
    own = ab.read_scenario(ab.scenario(links=links)).network
    with Relays(5) as relays, AgentProcesses(own, folder / "net", "d-slen", relays) as agents:
        for name, (source, to) in WATCHED.items():
            agents.wishes[name] = Wish(name, source, to)
        if absent is None:
            agents.wishes["crossing"] = Wish("crossing", *CROSSING, demand_bps=1e6)
        for node in agents.nodes:
            agents.write(node)
            if node != absent:
                agents.start(node)
        agents.wait_until_all_answer()
        fair = FAIR_BESIDE_BPS if absent is None else FAIR_BPS
        wait("rates are fair", lambda: all(is_fair(agents, fair)), 20)
        yield agents


def rates(agents: AgentProcesses) -> dict[str, float]:
    """Give the rates of sessions by name, in bit/s."""
    return {name: bps for (name, _), bps in granted(agents.shown()).items()}


def is_fair(agents: AgentProcesses, fair: dict[str, float]) -> list[bool]:
    own = rates(agents)
    return [abs(own.get(name, 0.0) / bps - 1) < 0.01 for name, bps in fair.items()]


def watched(agents: AgentProcesses, wanted: dict[str, float]) -> dict[str, float]:
    """Look at sessions for a while; for which part of the looks each had its rate, within 1 %."""
    looks, good, begin = 0, dict.fromkeys(wanted, 0), time.monotonic()
    while time.monotonic() < begin + LASTS_S:
        own = rates(agents)
        looks += 1
        for name, bps in wanted.items():
            good[name] += abs(own.get(name, 0.0) / bps - 1) < 0.01
        time.sleep(0.05)
    return {name: count / looks for name, count in good.items()}


def randomly(chance: random.Random) -> Callable[[bytes], list[bytes]]:
    """Add bytes of chance to what passes."""
    return lambda datagram: [datagram, *(chance.randbytes(chance.randint(1, 1400)) for _ in range(3))]


def truncated(chance: random.Random) -> Callable[[bytes], list[bytes]]:
    """Add a part of each datagram, and one with a byte that is other."""

    def change(datagram: bytes) -> list[bytes]:
        place = chance.randrange(len(datagram))
        other = datagram[:place] + bytes([datagram[place] ^ chance.randint(1, 255)]) + datagram[place + 1 :]
        return [datagram, datagram[:place], other]

    return change


def replayed(chance: random.Random) -> Callable[[bytes], list[bytes]]:
    """Send earlier datagrams again, three for each."""
    kept: deque[bytes] = deque(maxlen=1000)

    def change(datagram: bytes) -> list[bytes]:
        kept.append(datagram)
        return [datagram, *(kept[chance.randrange(len(kept))] for _ in range(3))]

    return change


@pytest.mark.parametrize("way", [randomly, truncated, replayed])
def test_who_is_between_two_agents_without_a_certificate_can_say_nothing(
    way: Callable[[random.Random], Callable[[bytes], list[bytes]]], tmp_path: Path
) -> None:
    with network(tmp_path) as agents:
        wanted = FAIR_BESIDE_BPS
        relay = agents.hops["b", "z"]
        came = relay.came
        relay.weather = Weather(changed=way(random.Random(7)))
        found = watched(agents, wanted)
        assert relay.came - came > 100
        # Not even the session that crosses the hop notices.
        assert all(part == 1.0 for part in found.values()), found
        counts = [own["counts"] for own in agents.shown().values()]
        assert not any(own["false_messages"] or own["given_up"] for own in counts), counts


WAYS = ["random", "truncated", "long", "news", "renewals", "forged", "packets", "again"]


@pytest.mark.parametrize("way", WAYS)
def test_a_neighbour_with_a_good_certificate_takes_no_rates_from_others(way: str, tmp_path: Path) -> None:
    if not PROGRAM.is_file():
        pytest.skip(f"the program that misbehaves is not there: cargo build --example {PROGRAM.name}")
    with network(tmp_path, absent="z") as agents:
        place = "{}:{}".format(*agents.hops["b", "z"].address)
        authority = agents.certificate("z").with_name("authority.pem")
        command = [str(PROGRAM), way, str(agents.certificate("z")), str(authority), "z", "z-b", place]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            try:
                found = watched(agents, FAIR_BPS)
            finally:
                program.kill()
            assert program.stdout is not None
            said = list(map(int, program.stdout.read().split()))
        print(way, found, f"{len(said)} calls ended, with {sum(said)} messages")
        assert said or agents.hops["b", "z"].came > 1000
        # Each renewal that it costs takes some cycles of sessions; there is one a second at most.
        assert all(part > 0.8 for part in found.values()), found
        wait("rates are fair afterwards", lambda: all(is_fair(agents, FAIR_BPS)), 10)
        assert all(process.poll() is None for process in agents.running.values()), agents.said()
