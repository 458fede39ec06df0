"""A network of routers in namespaces with a host behind each, an agent beside each router, and SRv6 between them.

Two devices stand for each link: a wire, which a `tbf` holds to the capacity of the link, and the device over it
(macvlan) that the agent shapes. So what the agent does is measured by something that it does not touch.
"""

import json
import os
import re
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx as nx

import anabranch as ab
from anabranch.agents.files import folder_of, make_network
from labs import FIRST, PROGRAM
from namespaces import Counted, Machine

SHARE = 0.92
"""The part of a link that agents grant: acknowledgements and control packets take more of links as slow as these."""

GAP = "10 ms"
"""Least time between control packets of a path."""

MOST_PATHS = {"d-slen": 2, "slbn": 1}
"""How many paths a session has under a protocol."""

QUEUE_BYTES = 65_536
"""The bound of the queue of a wire."""

ENDS, UNPACKS = "e", "4"


@dataclass
class Session:
    """Traffic from the host of a node to that of another, to one port."""

    name: str
    source: str
    target: str
    port: int

    def text(self, address: str, paths: int) -> str:
        match = f'{{ to = ["{address}"], protocol = "tcp", ports = [{self.port}] }}'
        return f'\n[[session]]\nname = "{self.name}"\nto = "{self.target}"\npaths = {paths}\nmatch = [{match}]\n'


@dataclass
class Lab:
    """The network, with its machines and agents."""

    network: ab.Network
    folder: Path
    protocol: str
    routers: dict[str, Machine] = field(default_factory=dict)
    hosts: dict[str, Machine] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    agents: dict[str, "subprocess.Popen[Any]"] = field(default_factory=dict)
    programs: dict[str, list["subprocess.Popen[Any]"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes: list[str] = list(self.network.core.node_names)
        core = self.network.core
        ends = zip(core.link_source, core.link_target, core.capacity_bps, core.link_names, strict=True)
        self.links = {(self.nodes[a], self.nodes[b]): (float(bps), str(name)) for a, b, bps, name in ends}
        self.graph = nx.DiGraph(list(self.links))
        for node in self.nodes:
            self.routers[node], self.hosts[node] = Machine.new(), Machine.new()
        for node in self.nodes:
            self._attach(node)
        for pair in self.links:
            if self.number(pair[0]) < self.number(pair[1]):
                self._join(*pair)
        for node in self.nodes:
            self._route(node)
        self.devices = {pair: self._indices(*pair) for pair in self.links}

    def number(self, node: str) -> int:
        return self.nodes.index(node) + 1

    def router(self, node: str) -> str:
        return f"10.255.0.{self.number(node)}"

    def host(self, node: str) -> str:
        return f"10.100.{self.number(node)}.2"

    def segment(self, node: str, what: str) -> str:
        return f"fc00:{self.number(node):x}::{what}"

    def address(self, node: str, other: str, family: int) -> str:
        """Give the address of a node on its cable with another."""
        low, high = sorted((self.number(node), self.number(other)))
        side = 1 if self.number(node) == low else 2
        return f"10.{low}.{high}.{side}" if family == 4 else f"fd00:{low:x}:{high:x}::{side}"

    def device(self, other: str) -> str:
        return f"to{self.number(other)}"

    def _attach(self, node: str) -> None:
        """Join the host of a node to its router."""
        router, host, number = self.routers[node], self.hosts[node], self.number(node)
        router.shell(f"ip link add host type veth peer name router netns {host.pid}")
        router.shell(f"ip addr add 10.100.{number}.1/24 dev host; ip link set host up")
        router.shell(f"ip addr add {self.router(node)}/32 dev lo; ip -6 addr add {self.segment(node, '1')}/128 dev lo")
        host.shell(f"ip addr add {self.host(node)}/24 dev router; ip link set router up")
        host.shell(f"ip route add default via 10.100.{number}.1")

    def _join(self, a: str, b: str) -> None:
        """Join two routers; the cables have room for segments."""
        there, back = self.device(b), self.device(a)
        self.routers[a].shell(
            f"ip link add w{there} mtu 2000 type veth peer name w{back} mtu 2000 netns {self.routers[b].pid}"
        )
        for node, other, name in ((a, b, there), (b, a, back)):
            bps = self.links[node, other][0]
            self.routers[node].shell(
                f"ip link set w{name} up; ip link add {name} link w{name} mtu 2000 type macvlan mode private\n"
                f"echo 1 > /proc/sys/net/ipv6/conf/{name}/seg6_enabled\n"
                f"ip addr add {self.address(node, other, 4)}/24 dev {name}; ip link set {name} up\n"
                f"ip -6 addr add {self.address(node, other, 6)}/64 dev {name} nodad\n"
                f"tc qdisc add dev w{name} root tbf rate {bps:.0f}bit burst 4500 limit {QUEUE_BYTES}"
            )

    def _route(self, node: str) -> None:
        """Write the routes of a router: the shortest by hops, those over a cable itself first."""
        lines = []
        paths = nx.single_source_shortest_path(self.graph, node)
        for target in self.nodes:
            if target == node:
                continue
            other = paths[target][1]
            four, six, device = self.address(other, node, 4), self.address(other, node, 6), self.device(other)
            lines += [
                f"ip route add {net} via {four}" for net in (f"10.100.{self.number(target)}.0/24", self.router(target))
            ]
            lines.append(f"ip -6 route add fc00:{self.number(target):x}::/32 via {six} dev {device}")
        first = self.device(next(iter(self.graph[node])))
        lines.append(f"ip -6 route add {self.segment(node, ENDS)} encap seg6local action End dev {first}")
        lines.append(
            f"ip -6 route add {self.segment(node, UNPACKS)} encap seg6local action End.DX4 nh4 0.0.0.0 dev {first}"
        )
        self.routers[node].shell("\n".join(lines))

    def _indices(self, node: str, other: str) -> tuple[int, int]:
        found = self.routers[node].shell("ip -o link")
        name = self.device(other)
        upper, wire = (re.search(rf"^(\d+): {device}@", found, re.MULTILINE) for device in (name, f"w{name}"))
        assert upper, found
        assert wire, found
        return int(upper[1]), int(wire[1])

    def begin(self) -> None:
        """Write the files of the agents, and start them."""
        addresses = {node: f"{self.router(node)}:4434" for node in self.nodes}
        make_network(self.network, self.folder, addresses, protocol=self.protocol)
        segments = "\n[segments]\n" + "".join(
            f'"{node}" = {{ end = "{self.segment(node, ENDS)}", unpack = "{self.segment(node, UNPACKS)}" }}\n'
            for node in self.nodes
        )
        for node in self.nodes:
            links = "".join(
                f'\n[links."{name}"]\ninterface = "{self.device(other)}"\ncapacity = "{bps / 1e6:g} Mbit/s"\n'
                for (one, other), (bps, name) in self.links.items()
                if one == node
            )
            file = self.config(node)
            self.bases[node] = (
                f'share = {SHARE}\ngap = "{GAP}"\n'
                + file.read_text()
                + '\n[enforce]\nbackend = "kernel"\n'
                + links
                + segments
            )
            self.write(node)
            command = (*FIRST, *PROGRAM, "agent", "--config", file)
            with (self.folder / f"{self.number(node)}.log").open("w") as log:
                self.agents[node] = self.routers[node].start(*command, stderr=log)
        for node in self.nodes:
            wait(f"the agent of {node} runs", lambda node=node: self.ask(node, "show")["neighbours"] is not None, 60)

    def config(self, node: str) -> Path:
        return self.folder / folder_of(node) / "agent.toml"

    def write(self, node: str) -> None:
        own = [session for session in self.sessions.values() if session.source == node]
        text = self.bases[node] + "".join(
            session.text(self.host(session.target), MOST_PATHS[self.protocol]) for session in own
        )
        self.config(node).write_text(text)

    def ask(self, node: str, question: str) -> Any:
        """Ask an agent as `anabranch agent` does, without a start of Python."""
        with socket.socket(socket.AF_UNIX) as speaker:
            speaker.settimeout(10)
            # Paths of sockets are short.
            folder = os.open(self.config(node).parent, os.O_PATH)
            try:
                speaker.connect(f"/proc/self/fd/{folder}/state/agent.sock")
            finally:
                os.close(folder)
            speaker.sendall(question.encode())
            speaker.shutdown(socket.SHUT_WR)
            answer = json.loads(b"".join(iter(lambda: speaker.recv(1 << 16), b"")))
        assert "error" not in answer, answer
        return answer["answer"]

    def set(self, changed: list[Session], is_there: bool) -> None:
        """Let sessions come or go, by the files of their agents."""
        for session in changed:
            if is_there:
                self.sessions[session.name] = session
            else:
                del self.sessions[session.name]
        for node in dict.fromkeys(session.source for session in changed):
            self.write(node)
            self.ask(node, "reload")

    def stop(self, session: str) -> None:
        """End the programs of a session."""
        for process in self.programs.pop(session, []):
            process.kill()

    def shown(self) -> dict[str, Any]:
        """Give what agents show of all sessions, by name."""
        answers = (self.ask(node, "show") for node in dict.fromkeys(own.source for own in self.sessions.values()))
        return {session["name"]: session for answer in answers for session in answer["sessions"]}

    def classes(self) -> dict[tuple[str, str], dict[int, Counted]]:
        """Give what is counted at each class of each link."""
        return {pair: self.routers[pair[0]].classes(self.devices[pair][0]) for pair in self.links}

    def wires(self) -> dict[tuple[str, str], Counted]:
        """Give what is counted at each wire."""
        return {pair: self.routers[pair[0]].queue(self.devices[pair][1]) for pair in self.links}

    def fair(self, **options: Any) -> dict[str, float]:
        """Give the rates that the central solver finds for the sessions that are there, in bit/s."""
        order = list(self.sessions.values())
        scaled = {name: SHARE * bps for bps, name in self.links.values()}
        demands = ab.demands(self.network, [own.source for own in order], [own.target for own in order])
        allocation = ab.solve(
            self.network.with_capacities(scaled), demands, paths=MOST_PATHS[self.protocol], metric="hops", **options
        )
        return dict(zip(self.sessions, map(float, allocation.connection_rates), strict=True))

    def end(self) -> None:
        for machine in (*self.hosts.values(), *self.routers.values()):
            machine.end()


def wait(what: str, holds: Any, seconds: float) -> float:
    """Wait until something holds; give how long it took."""
    begin = time.monotonic()
    while True:
        try:
            if holds():
                return time.monotonic() - begin
        except OSError:
            pass
        assert time.monotonic() - begin < seconds, f"{what}: not within {seconds} s"
        time.sleep(0.05)
