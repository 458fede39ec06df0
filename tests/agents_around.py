"""Agents that run as processes on this machine, and what they answer."""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anabranch as ab
from anabranch.agents.files import folder_of, make_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = [str(Path(sys.executable).with_name("anabranch"))]
PORTS = (20_000, 32_000)
"""The ports that programs of tests have."""

NODES = ["west", "mid town", "São"]

LINE = [
    {"source": "west", "target": "mid town", "capacity": "20 Mbit/s", "delay": "2 ms", "two_way": True},
    {"source": "mid town", "target": "São", "capacity": "10 Mbit/s", "two_way": True},
]
"""Two links one after the other."""


def anabranch(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def free_ports(count: int, kind: socket.SocketKind) -> list[int]:
    """Give ports that are free now, below those that the system gives to programs without one of their own."""
    ports: list[int] = []
    for port in random.sample(range(*PORTS), PORTS[1] - PORTS[0]):
        with socket.socket(socket.AF_INET, kind) as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise AssertionError(f"of the ports {PORTS[0]} to {PORTS[1]} fewer than {count} are free")


@dataclass
class Agents:
    """Agents that run, by their nodes."""

    log: Path
    configs: dict[str, Path] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def get(self, node: str, path: str) -> tuple[int, Any, str]:
        """Give the status, the headers and the text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[node], timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def json(self, node: str, path: str) -> Any:
        """Give an answer in JSON."""
        status, _, text = self.get(node, path)
        assert status == 200, text
        return json.loads(text)

    def start(self, node: str) -> None:
        """Start an agent."""
        command = [*PROGRAM, "agent", "--config", str(self.configs[node])]
        with self.log.open("a") as log:
            self.processes[node] = subprocess.Popen(command, stderr=log)

    def wait_until_it_answers(self, node: str) -> None:
        """Wait until an agent has started."""
        deadline = time.monotonic() + 60
        while True:
            try:
                self.json(node, "/api/v1/agent")
            except OSError:
                assert self.processes[node].poll() is None, "an agent has ended"
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.05)
            else:
                return

    def stop(self, node: str) -> None:
        """Let an agent end."""
        self.processes[node].terminate()
        self.processes[node].wait(timeout=20)

    def wait_for(self, node: str, is_so: Callable[[dict[str, float]], bool]) -> None:
        """Wait until the rates of the sessions of an agent, by their names, are so."""
        deadline = time.monotonic() + 60
        rates: dict[str, float] = {}
        while not is_so(rates):
            assert time.monotonic() < deadline, rates
            try:
                sessions = self.json(node, "/api/v1/sessions")["sessions"]
            except OSError:
                assert self.processes[node].poll() is None, "an agent has ended"
                sessions = []
            rates = {own["name"]: own["rate_bps"] for own in sessions}
            time.sleep(0.05)

    def edit(self, node: str, old: str, new: str) -> None:
        """Change the file of an agent, and have it read again."""
        text = self.configs[node].read_text()
        assert old in text
        self.configs[node].write_text(text.replace(old, new))
        self.processes[node].send_signal(signal.SIGHUP)


@contextmanager
def three_agents(folder: Path, more: dict[str, str]) -> Iterator[Agents]:
    """Run three agents in a line, each with more in its file."""
    ports = free_ports(6, socket.SOCK_DGRAM)
    neighbours, doors = ports[:3], ports[3:]
    network = ab.read_scenario(ab.scenario(links=LINE)).network
    make_network(network, folder / "net", {node: f"127.0.0.1:{p}" for node, p in zip(NODES, neighbours, strict=True)})
    agents = Agents(folder / "log", ports=dict(zip(NODES, free_ports(3, socket.SOCK_STREAM), strict=True)))
    # The path of a socket is short, and folders of tests have long names.
    with tempfile.TemporaryDirectory() as states:
        for number, node in enumerate(NODES):
            config = folder / "net" / folder_of(node) / "agent.toml"
            text = config.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{doors[number]}")
            text = text.replace(
                'state = "state"', f'state = "{states}/{number}"\nhttp = "127.0.0.1:{agents.ports[node]}"'
            )
            config.write_text(text + more.get(node, ""))
            agents.configs[node] = config
        try:
            for node in NODES:
                agents.start(node)
            yield agents
        finally:
            for process in agents.processes.values():
                process.terminate()
            for node in agents.processes:
                agents.stop(node)
    said = agents.log.read_text()
    assert not re.search("panicked|Traceback", said), said
