"""One scenario in simulated time, and with agents as programs: the same rates, as soon, and in the same order.

Links take the same time in both. In simulated time nothing else does; between programs there are QUIC, the kernel and
the processor.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from agent_processes import AgentProcesses, Wish, wait
from anabranch import _core
from labs import ATTEMPTS
from relays import Relays, Weather

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="each agent has an address of its own on this machine"),
]

DELAY_S = 0.02

LINKS = [("a", "b", 10), ("b", "c", 20), ("c", "d", 40), ("a", "e", 16), ("e", "c", 30)]
"""Ends and capacities in Mbit/s."""

SESSIONS = [("A", "a", "b", 1), ("B", "a", "c", 1), ("C", "b", "d", 1), ("D", "c", "d", 1), ("E", "e", "d", 1)]
SESSIONS.append(("F", "a", "d", 2))
"""Names, ends and numbers of paths; all begin at once. Under SLBN each has one path."""

LASTS_S = 4.0
"""How long they are watched."""

RISE_S = 0.2
"""The time for which a higher rate has to be granted until agents tell it."""

NEAR = 0.01
"""A rate has settled when it stays within this part of where it ends."""

CYCLES = (2, 3)
"""How many cycles sooner and later rates may settle between programs: sessions begin some milliseconds one after the
other, and meet in other cycles, and what is left of a difference falls by half with each of them."""

LATE_S = 0.06
"""How much longer as many cycles may take between programs."""


def links() -> list[dict[str, object]]:
    """Give the links as a scenario has them."""
    own = ({"source": a, "target": b, "capacity": f"{most} Mbit/s"} for a, b, most in LINKS)
    return [{**link, "delay": f"{DELAY_S} s", "two_way": True} for link in own]


def paths(count: int, protocol: str) -> int:
    """Give the number of paths of a session under a protocol."""
    return count if protocol == "d-slen" else 1


@dataclass
class Course:
    """How the rate of a session went: times in seconds since it began, and rates in bit/s."""

    steps: list[tuple[float, float]]

    @property
    def final_bps(self) -> float:
        return self.steps[-1][1]

    @property
    def settled_s(self) -> float:
        """When the rate was where it ends, for good."""
        off = [place for place, (_, bps) in enumerate(self.steps) if abs(bps / self.final_bps - 1) > NEAR]
        return self.steps[off[-1] + 1 if off else 0][0]


def simulated(protocol: str) -> dict[str, Course]:
    """Run the scenario in simulated time."""
    connections = [
        {"name": name, "source": a, "target": b, "paths": paths(count, protocol)} for name, a, b, count in SESSIONS
    ]
    text = str(ab.scenario(links=links(), connections=connections))
    sets = [f"defaults.connection.protocol={protocol}", f"run.duration={LASTS_S} s", 'run.record=["grants"]']
    rates = ab.run(text, sets=sets).rates()
    rows = {name: rates.filter(rates["name"] == name) for name, *_ in SESSIONS}
    return {
        name: Course(risen(list(zip(own["time_s"].to_list(), own["granted_bps"].to_list(), strict=True))))
        for name, own in rows.items()
    }


def risen(steps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Let rates rise as late as agents do: the least that was granted in the last while counts, at first nothing."""

    def least(now: float) -> float:
        before = [bps for time_s, bps in steps if time_s <= now - RISE_S]
        return min([before[-1] if before else 0.0] + [bps for time_s, bps in steps if now - RISE_S < time_s <= now])

    times = sorted({time_s + late for time_s, _ in steps for late in (0.0, RISE_S)})
    return [(time_s, bps) for time_s, bps in zip(times, map(least, times), strict=True) if bps > 0.0]


class Listener:
    """Opens a session by the socket of an agent, and notes each rate that it is told."""

    def __init__(self, agents: AgentProcesses, wish: Wish) -> None:
        self.steps: list[tuple[float, float]] = []
        self._speaker = socket.socket(socket.AF_UNIX)
        self._speaker.connect(str(agents.socket(wish.source)))
        self._line = f"open {wish.wishes()}\n".encode()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def open(self) -> None:
        self.begun = time.monotonic()
        self._speaker.sendall(self._line)
        self._thread.start()

    def _listen(self) -> None:
        with self._speaker.makefile("r") as lines:
            for line in lines:
                now, said = time.monotonic(), json.loads(line)
                if "rates_bps" in said:
                    self.steps.append((now - self.begun, sum(said["rates_bps"])))

    def close(self) -> Course:
        self._speaker.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._speaker.close()
        # Before the first answers rates are 0.
        return Course([step for step in self.steps if step[1] > 0.0])


def between_programs(folder: Path, protocol: str) -> dict[str, Course]:
    """Let programs open the sessions at agents whose hops take as long as the links of the scenario."""
    network = ab.read_scenario(ab.scenario(links=links())).network
    with (
        Relays(1) as relays,
        AgentProcesses(network, folder, protocol, relays, gap="2 ms", share=1.0) as agents,
    ):
        for relay in agents.hops.values():
            relay.weather = Weather(delay_s=DELAY_S)
        for node in agents.nodes:
            agents.start(node)
        agents.wait_until_all_answer()
        wait("all agents know each other", lambda: are_together(agents), 20)
        listeners = {name: Listener(agents, Wish(name, a, b, paths(count, protocol))) for name, a, b, count in SESSIONS}
        for listener in listeners.values():
            listener.open()
        time.sleep(LASTS_S)
        return {name: listener.close() for name, listener in listeners.items()}


def are_together(agents: AgentProcesses) -> bool:
    """Whether all neighbours are up, and renewals of the start are over: all agents are in one generation."""
    shown = agents.shown().values()
    states = [near["state"] for own in shown for near in own["neighbours"]]
    return set(states) == {"up"} and len({own["generation"] for own in shown}) == 1


def cycle_s(name: str) -> float:
    """Give the time in which a packet of a session comes back, over its longest path."""
    hops = {"A": 1, "B": 2, "C": 2, "D": 1, "E": 2, "F": 3}
    return 2 * hops[name] * DELAY_S


def differences(live: dict[str, Course], beside: dict[str, Course]) -> list[str]:
    """Say what differs more than it may."""
    wrong = []
    for name, course in live.items():
        own = beside[name]
        if abs(course.final_bps / own.final_bps - 1) > NEAR:
            wrong.append(f"{name} ends with {course.final_bps:.0f} bit/s, and with {own.final_bps:.0f} in simulation")
        sooner, later = (count * cycle_s(name) for count in CYCLES)
        if not own.settled_s - sooner - DELAY_S / 2 <= course.settled_s <= own.settled_s + later + LATE_S:
            wrong.append(f"{name} settles after {course.settled_s:.3f} s, and {own.settled_s:.3f} s in simulation")
    for one in beside:
        for other in beside:
            # Those that settle at about the same time have no order.
            is_before = beside[one].settled_s + CYCLES[1] * cycle_s(one) + LATE_S < beside[other].settled_s
            if is_before and live[one].settled_s >= live[other].settled_s:
                wrong.append(f"{one} settles before {other} in simulation, and not between programs")
    return wrong


@pytest.mark.parametrize("protocol", ["d-slen", "slbn"])
def test_agents_settle_where_the_simulation_does_and_in_the_same_order(protocol: str, tmp_path: Path) -> None:
    beside = simulated(protocol)
    for attempt in range(ATTEMPTS):
        live = between_programs(tmp_path / f"net-{attempt}", protocol)
        wrong = differences(live, beside)
        for name, course in live.items():
            own = beside[name]
            print(
                f"{protocol} {name}: {own.final_bps / 1e6:.3f} and {course.final_bps / 1e6:.3f} Mbit/s after "
                f"{own.settled_s:.3f} and {course.settled_s:.3f} s"
            )
        if not wrong:
            break
    assert not wrong
