"""A network of agents, each a process with a folder of its own, and a relay on each hop between two of them."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.agents.files import folder_of, issue_certificate, make_network
from relays import Relay, Relays
from wall_clock import WallClock

if TYPE_CHECKING:
    from collections.abc import Callable

    import anabranch as ab

PROGRAM = [str(Path(sys.executable).with_name("anabranch"))]
PORT = 4434
SOON_S = 20.0
"""The longest time for an agent to start, on a machine that other tests use too."""

APPLICATION = """
import json, sys
from anabranch.agents.session import AgentSession
config, wishes = sys.argv[1], json.loads(sys.argv[2])
with AgentSession(config, wishes.pop("to"), **wishes) as session:
    print("open", flush=True)
    sys.stdin.read()
"""
"""A program that holds a session until its input ends, or until it is killed."""

_networks = itertools.count()


def _host() -> str:
    """Give the first three numbers of addresses that no other network of this machine has."""
    place = (os.getpid() * 8 + next(_networks) % 8) % (250 * 250)
    return f"127.{1 + place // 250}.{1 + place % 250}"


@dataclass
class Wish:
    """A session, as it is asked for."""

    name: str
    source: str
    to: str
    paths: int = 1
    weight: float = 1.0
    demand_bps: float | None = None
    reserved_bps: float = 0.0
    is_application: bool = False
    """Whether a program asks for it, and not the file of the agent."""

    def table(self) -> str:
        """Give the session as the file of an agent has it."""
        lines = [f'name = "{self.name}"', f'to = "{self.to}"', f"paths = {self.paths}"]
        lines += [f"weight = {self.weight:g}"] if self.weight != 1.0 else []
        lines += [f'demand = "{self.demand_bps:.0f} bit/s"'] if self.demand_bps is not None else []
        lines += [f'reserved = "{self.reserved_bps:.0f} bit/s"'] if self.reserved_bps else []
        return "\n[[session]]\n" + "\n".join(lines) + "\n"

    def wishes(self) -> str:
        """Give the arguments of `AgentSession`."""
        own = {"to": self.to, "name": self.name, "paths": self.paths, "weight": self.weight}
        own |= {} if self.demand_bps is None else {"demand": self.demand_bps}
        own |= {"reserved": self.reserved_bps} if self.reserved_bps else {}
        return json.dumps(own)


@dataclass
class AgentProcesses:
    """The network: its files, its relays and its processes."""

    network: ab.Network
    folder: Path
    protocol: str
    relays: Relays
    preload: Path | None = None
    """The shared object that moves the clocks of agents, if it is there."""
    gap: str = "20 ms"
    share: float = 0.97
    hops: dict[tuple[str, str], Relay] = field(default_factory=dict)
    wishes: dict[str, Wish] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    clocks: dict[str, WallClock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes: list[str] = list(self.network.core.node_names)
        host = _host()
        self._places = {node: f"{host}.{number}" for number, node in enumerate(self.nodes, 1)}
        # The path of a socket is short, and folders of tests have long names.
        self._states = tempfile.TemporaryDirectory()
        make_network(
            self.network,
            self.folder,
            {node: f"{place}:{PORT}" for node, place in self._places.items()},
            protocol=self.protocol,
        )
        core = self.network.core
        for a, b in zip(core.link_source, core.link_target, strict=True):
            called, caller = sorted((self.nodes[int(a)], self.nodes[int(b)]))
            if (called, caller) not in self.hops:
                self.hops[called, caller] = self.relays.add((self._places[called], PORT))
        self._bases = {node: self._base(node) for node in self.nodes}
        for number, node in enumerate(self.nodes):
            if self.preload is not None:
                self.clocks[node] = WallClock(self.preload, Path(self._states.name) / f"clock-{number}")
            self.write(node)

    def __enter__(self) -> AgentProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill whatever still runs."""
        for process in (*self.programs.values(), *self.running.values()):
            process.kill()
        for process in (*self.programs.values(), *self.running.values()):
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
            if process.stdout is not None:
                process.stdout.close()
        self._states.cleanup()

    def config(self, node: str) -> Path:
        """The file of an agent."""
        return self.folder / folder_of(node) / "agent.toml"

    def socket(self, node: str) -> Path:
        """The socket by which programs of the machine ask an agent."""
        return Path(self._states.name) / str(self.nodes.index(node)) / "agent.sock"

    def log(self, node: str) -> Path:
        """What an agent has said."""
        return self.folder / folder_of(node) / "log"

    def _base(self, node: str) -> str:
        """Give the file of an agent without sessions: of two neighbours the later calls the other, by the relay."""
        text = self.config(node).read_text()
        text = text.replace("127.0.0.1:4435", f"{self._places[node]}:4435")
        state = Path(self._states.name) / str(self.nodes.index(node))
        text = text.replace('state = "state"', f'state = "{state}"\nshare = {self.share}\ngap = "{self.gap}"')
        for (called, caller), relay in self.hops.items():
            if caller == node:
                direct = f'{self._places[called]}:{PORT}"'
                head, sign, neighbours = text.partition("[neighbours]")
                assert direct in neighbours
                text = head + sign + neighbours.replace(direct, '{}:{}"'.format(*relay.address))
        return text

    def write(self, node: str) -> None:
        """Write the file of an agent, with the sessions that are in files."""
        own = (wish for wish in self.wishes.values() if wish.source == node and not wish.is_application)
        self.config(node).write_text(self._bases[node] + "".join(wish.table() for wish in own))

    def start(self, node: str) -> None:
        """Start an agent."""
        clock = self.clocks[node].environment if node in self.clocks else {}
        with self.log(node).open("a") as log:
            command = [*PROGRAM, "agent", "--config", str(self.config(node))]
            self.running[node] = subprocess.Popen(command, stderr=log, env=os.environ | clock)

    def kill(self, node: str) -> None:
        """Kill an agent, which can say nothing."""
        process = self.running.pop(node)
        process.kill()
        process.wait()

    def stop(self, node: str) -> int:
        """Let an agent end; its exit code."""
        process = self.running.pop(node)
        process.send_signal(signal.SIGTERM)
        return process.wait(timeout=SOON_S)

    def answers(self, node: str) -> bool:
        """Whether an agent answers."""
        try:
            self.ask(node, "show")
        except OSError:
            return False
        return True

    def wait_until_all_answer(self) -> None:
        """Wait until all agents that were started answer."""
        for node in self.running:
            wait(f"the agent of {node} answers", lambda node=node: self.answers(node), SOON_S)

    def ask(self, node: str, question: str) -> Any:
        """Ask an agent as `anabranch agent` does, without a start of Python.

        Raises
        ------
        OSError
            The agent does not answer.
        ValueError
            It refuses.
        """
        with socket.socket(socket.AF_UNIX) as speaker:
            speaker.settimeout(10)
            speaker.connect(str(self.socket(node)))
            speaker.sendall(question.encode())
            speaker.shutdown(socket.SHUT_WR)
            answer = json.loads(b"".join(iter(lambda: speaker.recv(1 << 16), b"")) or b'{"error": "nothing"}')
        if "error" in answer:
            raise OSError(answer["error"]) if answer["error"] == "nothing" else ValueError(answer["error"])
        return answer["answer"]

    def shown(self) -> dict[str, Any]:
        """Give what all agents show that run."""
        found = {}
        for node in list(self.running):
            try:
                found[node] = self.ask(node, "show")
            except OSError:
                continue
        return found

    def open(self, wish: Wish) -> None:
        """Let a program ask for a session; it holds the session until it is killed."""
        command = [sys.executable, "-c", APPLICATION, str(self.config(wish.source)), wish.wishes()]
        pipe = subprocess.PIPE
        with self.log(wish.source).with_name("applications").open("a") as log:
            self.programs[wish.name] = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log)

    def kill_program(self, name: str) -> None:
        """Kill the program of a session, which does not leave."""
        program = self.programs.pop(name)
        program.kill()
        program.communicate()

    def leave(self) -> None:
        """Let all sessions end: those in files by their files, and those of programs with these."""
        for program in self.programs.values():
            program.communicate(timeout=SOON_S)
        self.programs.clear()
        self.wishes.clear()
        for node in self.running:
            self.write(node)
            self.ask(node, "reload")

    def certificate(self, node: str) -> Path:
        """The certificate of an agent, with its key."""
        return self.config(node).with_name("agent.pem")

    def issue(self, node: str, days: int = 365) -> None:
        """Give an agent a new certificate of its own, which it has not read yet."""
        beside = self.certificate(node).with_name("new.pem")
        issue_certificate(self.folder, node, beside, days=days, is_agent=True)
        os.replace(beside, self.certificate(node))

    def said(self) -> str:
        """Give all that agents have said."""
        return "\n".join(f"--- {node}\n{self.log(node).read_text()}" for node in self.nodes if self.log(node).exists())


def wait(what: str, holds: Callable[[], bool], seconds: float, step_s: float = 0.05) -> float:
    """Wait until something holds; give how long it took, in seconds."""
    begin = time.monotonic()
    while not holds():
        assert time.monotonic() - begin < seconds, f"{what}: not within {seconds:g} s"
        time.sleep(step_s)
    return time.monotonic() - begin
