"""Connections whose traffic an agent keeps to rates, when an uplink fails and when the agent is killed."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from anabranch import _core
from labs import FIRST, PROGRAM
from namespaces import skip_unless_enforced
from routed import SHARE, Lab, Session, wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="rates of other programs are enforced on Linux"),
]

LINK_BPS = 10e6
CONNECTIONS = 8
"""Eight connections at once use all paths of a session."""

FLOOR_BPS = 64_000.0
"""What a path may send when its agent has been killed."""

SOON_S = 8.0
"""The longest time until traffic is where it should be: connections wait longer and longer before they try again."""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a ring of four nodes, with a session from one to the opposite over both ways."""
    skip_unless_enforced()
    ends = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")]
    links = [{"source": a, "target": b, "capacity": f"{LINK_BPS / 1e6:g} Mbit/s", "two_way": True} for a, b in ends]
    lab = Lab(ab.read_scenario(ab.scenario(links=links)).network, tmp_path / "net", "d-slen")
    try:
        # Acknowledgements come over the cable that stays up: routes of the lab are as they are.
        lab.routers["d"].shell(f"ip route replace 10.100.{lab.number('a')}.0/24 via {lab.address('c', 'd', 4)}")
        lab.sessions["bulk"] = Session("bulk", "a", "d", 5201)
        lab.begin()
        wait("rates are granted", lambda: granted(lab) > 0.99 * 2 * SHARE * LINK_BPS, 30)
        wait("they are enforced", lambda: lab.ask("a", "show")["enforcement"]["sessions"] == 1, 20)
        yield lab
    finally:
        lab.end()


def granted(lab: Lab) -> float:
    """Give the granted rate of the session, in bit/s."""
    sessions = lab.ask("a", "show")["sessions"]
    return float(sessions[0]["rate_bps"]) if sessions else 0.0


class Traffic:
    """Connections between hosts that send all they can, and what has come over each."""

    def __init__(self, lab: Lab) -> None:
        own = lab.sessions["bulk"]
        self.came = [0] * CONNECTIONS
        self._is_over = False
        listener: socket.socket = lab.hosts[own.target].inside(lambda: socket.create_server(("0.0.0.0", own.port)))
        self._sockets, self._threads = [], []
        with listener:
            for number in range(CONNECTIONS):
                place = (lab.host(own.target), own.port)
                sender: socket.socket = lab.hosts[own.source].inside(lambda p=place: socket.create_connection(p, 20))
                taken, _ = listener.accept()
                for one in (sender, taken):
                    one.settimeout(0.2)
                self._sockets += [sender, taken]
                self._threads.append(threading.Thread(target=self._send, args=(sender,)))
                self._threads.append(threading.Thread(target=self._take, args=(taken, number)))
        for thread in self._threads:
            thread.start()

    def _send(self, sender: socket.socket) -> None:
        while not self._is_over:
            with suppress(TimeoutError):
                sender.send(bytes(1 << 14))

    def _take(self, taken: socket.socket, number: int) -> None:
        while not self._is_over:
            with suppress(TimeoutError):
                self.came[number] += len(taken.recv(1 << 16))

    def end(self) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()


@contextmanager
def traffic(lab: Lab) -> Iterator[Traffic]:
    """Let connections send, and end them."""
    own = Traffic(lab)
    try:
        yield own
    finally:
        own.end()


def measured(lab: Lab, seconds: float) -> dict[str, float]:
    """Give the rates at the wires of the first router by where they lead, in bit/s: frames with all headers."""
    before, begin = lab.wires(), time.monotonic()
    time.sleep(seconds)
    after, took = lab.wires(), time.monotonic() - begin
    return {b: 8 * (after[a, b].bytes - before[a, b].bytes) / took for a, b in lab.links if a == "a"}


def until(lab: Lab, what: str, wanted: dict[str, tuple[float, float]]) -> float:
    """Wait until rates at wires are within bounds; how long it took, in seconds."""
    begin = time.monotonic()
    while True:
        rates = measured(lab, 0.5)
        if all(low <= rates[to] <= high for to, (low, high) in wanted.items()):
            return time.monotonic() - begin - 0.5
        assert time.monotonic() - begin < SOON_S, f"{what}: {rates}, not {wanted}"


FULL = (0.9 * SHARE * LINK_BPS, 1.02 * LINK_BPS)
NOTHING = (0.0, 0.02 * LINK_BPS)


def test_connections_go_on_over_the_other_uplink_and_come_back(lab: Lab) -> None:
    with traffic(lab) as own:
        until(lab, "both uplinks are used", {"b": FULL, "c": FULL})
        lab.routers["a"].shell(f"ip link set w{lab.device('b')} down")
        moved = until(lab, "all traffic is on the other", {"b": NOTHING, "c": FULL})
        before, begin = list(own.came), time.monotonic()
        while any(now == then for now, then in zip(own.came, before, strict=True)):
            assert time.monotonic() - begin < SOON_S, f"a connection stands still: {before} {own.came}"
            time.sleep(0.1)
        went_on = time.monotonic() - begin
        lab.routers["a"].shell(f"ip link set w{lab.device('b')} up")
        back = until(lab, "both are used again", {"b": FULL, "c": FULL})
        print(f"moved after {moved:.1f} s, all connections went on {went_on:.1f} s later, back after {back:.1f} s")


def test_an_agent_that_is_killed_leaves_paths_at_the_floor_and_its_next_start_cleans_up(lab: Lab) -> None:
    with traffic(lab):
        until(lab, "both uplinks are used", {"b": FULL, "c": FULL})
        lab.agents["a"].send_signal(signal.SIGKILL)
        lab.agents["a"].wait()
        killed = time.monotonic()
        # Frames that waited in the device go at the old rate, and a path may send one large one at once.
        time.sleep(0.5)
        rates = measured(lab, 4.0)
        floor = {"b": (0.0, 1.25 * FLOOR_BPS + 8 * 1600 / 4), "c": (0.0, 1.25 * FLOOR_BPS + 8 * 1600 / 4)}
        assert all(low <= rates[to] <= high for to, (low, high) in floor.items()), rates
        print(f"from 0.5 s to {time.monotonic() - killed:.1f} s after the kill: {rates}")
        command = (*FIRST, *PROGRAM, "agent", "--config", lab.config("a"))
        lab.agents["a"] = lab.routers["a"].start(*command)
        wait("rates are granted again", lambda: granted(lab) > 0.99 * 2 * SHARE * LINK_BPS, 30)
        back = until(lab, "both uplinks are used again", {"b": FULL, "c": FULL})
        print(f"back {back:.1f} s after rates were granted, {time.monotonic() - killed:.1f} s after the kill")
    lab.agents["a"].send_signal(signal.SIGTERM)
    assert lab.agents["a"].wait(20) == 0
    assert "anabranch" not in lab.routers["a"].shell("nft list tables")
    assert "htb" not in lab.routers["a"].shell("tc qdisc show")
    assert "0xab" not in lab.routers["a"].shell("ip rule show; ip -6 rule show")
