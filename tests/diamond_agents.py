"""Agents of a diamond of two paths from a to d, over two addresses of this machine."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anabranch as ab
from agents_around import PROGRAM, anabranch, free_ports
from anabranch.agents.files import make_network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CAPACITIES = {"a-b": 16, "b-d": 16, "a-c": 4, "c-d": 4}
"""The capacities of a diamond, in Mbit/s."""

LINKS = '[links."a-b"]\nsource = "127.0.0.2"\n[links."a-c"]\nsource = "127.0.0.3"\n'
SHARE = 0.97
"""The part of each link that is granted."""


@contextmanager
def running_diamond(folder: Path) -> Iterator[dict[str, Path]]:
    """Run the agents, and give the file of each node once all rates are granted."""
    tables = [
        {"name": name, "source": name[0], "target": name[2], "capacity": f"{mbps} Mbit/s", "two_way": True}
        for name, mbps in CAPACITIES.items()
    ]
    network = ab.read_scenario(ab.scenario(links=tables)).network
    nodes = network.core.node_names
    ports = free_ports(2 * len(nodes), socket.SOCK_DGRAM)
    hops, doors = ports[: len(nodes)], ports[len(nodes) :]
    make_network(network, folder / "net", {n: f"127.0.0.1:{port}" for n, port in zip(nodes, hops, strict=True)})
    files = [folder / "net" / node / "agent.toml" for node in nodes]
    for file, door in zip(files, doors, strict=True):
        text = file.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{door}")
        file.write_text(re.sub(r"\n\[links\..*", "", text, flags=re.DOTALL) + (LINKS if "/a/" in str(file) else ""))
    running = [subprocess.Popen([*PROGRAM, "agent", "--config", str(file)]) for file in files]
    try:
        with ab.AgentSession(wait_for(files[0]), "d", name="first") as session:
            deadline = time.monotonic() + 20
            while sum(session.rates_bps) < 0.98 * 20e6 * SHARE:
                assert time.monotonic() < deadline, session.rates_bps
                time.sleep(0.05)
        yield dict(zip(nodes, files, strict=True))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(10)


def wait_for(file: Path) -> Path:
    """Wait until an agent answers."""
    deadline = time.monotonic() + 20
    while "no agent answers" in anabranch("agent", "show", "--config", file).stderr:
        assert time.monotonic() < deadline, "the agent has not started"
        time.sleep(0.05)
    return file
