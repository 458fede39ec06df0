"""A trial that runs: agents as processes, to which happens what a plan says, and what comes of it."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_processes import SOON_S, AgentProcesses, wait
from granted_rates import Fair, Watch, granted
from relays import Relays, Weather
from trial_plans import Happening, Plan, drawn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOOK_S = 0.1
"""Time between looks at all agents."""

REST_S = 1.1
"""For so long rates have to stay before they count as settled: longer than a renewal may wait for its turn."""

PATIENCE_S = 60.0
"""The longest wait for rates to settle; what is asserted is less."""

EXPIRED_AFTER_S = 1.1
"""A certificate for 0 days ends with the second in which it was issued."""

BROKEN_S = 1.8
"""A connection ends after a second of silence, which is counted from the last sign of life that an end has sent."""

NOISE = Weather(loss=0.1, jitter_s=0.1)


@dataclass
class Outcome:
    """What came of a trial."""

    seed: int
    protocol: str
    agents: int
    kinds: list[str]
    regained_s: float
    """From the beginning of what lasts until all rates were fair with it."""
    settled_s: float
    """From its end until all rates were fair without it."""
    held_off_s: float
    """For how much of this some neighbour was held off."""
    clear_s: float
    """From the leaving of all sessions until nothing of them was left."""
    longest_overload_s: float
    worst_overload: float
    worst_glimpse: float
    overloads: list[tuple[float, str, float, float]]
    is_central: bool
    """Whether rates are those of the central solver."""
    late_s: float
    """The longest time that it took to look at all agents: some of them, or the test, had to wait for the machine."""
    wrong: list[str] = field(default_factory=list)


def _hop(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


class Trial:
    """A trial that runs."""

    def __init__(self, plan: Plan, agents: AgentProcesses) -> None:
        self.plan, self.agents = plan, agents
        self.hops = list(agents.hops)
        core, nodes = plan.network.core, agents.nodes
        ends = zip(core.link_source, core.link_target, core.link_names, strict=True)
        self.links = {str(link): _hop(nodes[int(a)], nodes[int(b)]) for a, b, link in ends}
        """The hop of each link."""
        self.cut: Counter[tuple[str, str]] = Counter()
        self.noises = 0
        self.down: Counter[str] = Counter()
        """How many things keep an agent from running now."""
        self.gone: set[str] = set()
        self.alone: set[str] = set()
        """Agents with which nobody speaks, since their certificates have expired."""
        self.watch = Watch(Fair(plan.network, agents.share, []).most_bps)
        self.begun = self.since = time.monotonic()
        self.late_s = 0.0
        self.log: list[str] = []

    def look(self) -> dict[str, Any]:
        """Look at all agents."""
        begin = time.monotonic()
        shown = self.agents.shown()
        now = time.monotonic()
        self.late_s = max(self.late_s, now - begin)
        self.watch.see(granted(shown), now - self.begun, self.cut_links())
        return shown

    def cut_links(self) -> set[str]:
        """Give the links over which nothing passes now."""
        return {name for name, hop in self.links.items() if self.cut[hop]}

    def look_until(self, when: float) -> None:
        """Look at all agents again and again until a time."""
        while time.monotonic() < when:
            self.look()
            time.sleep(max(0.0, min(LOOK_S, when - time.monotonic())))

    def say(self, what: str) -> None:
        self.log.append(f"{time.monotonic() - self.begun:.2f} {what}")

    def begin(self) -> None:
        """Start all agents and programs, and wait until rates are fair."""
        for wish in self.plan.wishes:
            self.agents.wishes[wish.name] = wish
        for node in self.agents.nodes:
            self.agents.write(node)
            self.agents.start(node)
        self.agents.wait_until_all_answer()
        for wish in self.plan.wishes:
            if wish.is_application:
                self.agents.open(wish)
        self.settle(time.monotonic())

    def fair(self) -> Fair:
        """Give what is fair for the sessions that are there, over the links that are up."""
        up = set(self.agents.running)
        wishes = [wish for wish in self.plan.wishes if wish.name not in self.gone and wish.source in up]
        is_up = {
            name: up.issuperset(hop) and self.alone.isdisjoint(hop) and not self.cut[hop]
            for name, hop in self.links.items()
        }
        down = {name: 0.0 for name in self.links if not is_up[name]}
        return Fair(self.plan.network.with_capacities(down), self.agents.share, wishes)

    def settle(self, begin: float) -> tuple[float, float]:
        """Wait until rates are fair, and stay so; how long it took from `begin` on, and for how much of it somebody was
        held off.
        """
        fair = self.fair()
        since, held_off = None, 0.0
        while True:
            shown, now = self.look(), time.monotonic()
            states = {near["state"] for state in shown.values() for near in state["neighbours"]}
            if "held-off" in states:
                held_off = now - begin
            fault = fair.fault(shown, self.plan.protocol == "slbn")
            if fault is None and since is not None and now - since >= REST_S:
                return since - begin, held_off
            since = None if fault is not None else since or now
            if now - begin > PATIENCE_S:
                raise AssertionError(f"rates are not fair after {PATIENCE_S:g} s: {fault}\n{self.told(shown)}")
            time.sleep(LOOK_S)

    def happen(self) -> None:
        """Let all happen."""
        moments: list[tuple[float, int, Callable[[], None], str]] = []
        for number, own in enumerate(self.plan.happenings):
            begin, end = self.actions(own)
            moments.append((own.after_s, 2 * number, begin, f"{own} begins"))
            moments.append((own.after_s + own.lasts_s, 2 * number + 1, end, f"{own.kind} {own.what} ends"))
        start = time.monotonic()
        for after_s, _, act, what in sorted(moments, key=lambda moment: moment[:2]):
            self.look_until(start + after_s)
            self.say(what)
            act()

    def actions(self, own: Happening) -> tuple[Callable[[], None], Callable[[], None]]:
        """Give what begins and what ends something."""
        node = self.agents.nodes[own.what % len(self.agents.nodes)]
        hop = self.hops[own.what % len(self.hops)]
        if own.kind == "agent":
            return lambda: self.fall(node), lambda: self.rise(node)
        if own.kind == "application":
            return lambda: self.kill_program(own.what), lambda: None
        if own.kind == "partition":
            return lambda: self.weather(hop, 1, 0), lambda: self.weather(hop, -1, 0)
        if own.kind == "noise":
            return lambda: self.weather(None, 0, 1), lambda: self.weather(None, 0, -1)
        if own.kind == "clock":
            return lambda: self.move_clock(node, own), lambda: self.rise(node) if own.restarts else None
        if own.kind == "swapped":
            return lambda: self.swap(node, own), lambda: self.mend(node)
        return lambda: self.expire(node), lambda: self.mend(node)

    def last(self) -> tuple[float, float, float]:
        """Let happen what lasts, and mend it: how long it takes until rates are fair with it and after it, and for how
        much of the latter somebody was held off.
        """
        own = self.plan.last
        begin, end = self.actions(own)
        self.say(f"{own} lasts")
        self.since = time.monotonic()
        begin()
        regained, _ = self.settle(self.since)
        self.say(f"regained after {regained:.2f}")
        end()
        settled, held_off = self.settle(time.monotonic())
        self.say(f"settled after {settled:.2f}")
        return regained, settled, held_off

    def fall(self, node: str) -> None:
        self.down[node] += 1
        if node in self.agents.running:
            self.agents.kill(node)

    def rise(self, node: str) -> None:
        """Start an agent again, if nothing keeps it down any more."""
        self.down[node] -= 1
        if self.down[node] == 0 and node not in self.agents.running:
            self.agents.start(node)
            begin = time.monotonic()
            while not self.agents.answers(node):
                assert time.monotonic() - begin < SOON_S, f"{node} does not answer"
                assert self.agents.running[node].poll() is None, f"{node} does not start: {self.agents.said()}"
                self.look_until(time.monotonic() + LOOK_S / 2)

    def kill_program(self, what: int) -> None:
        names = sorted(self.agents.programs)
        if names:
            name = names[what % len(names)]
            self.agents.kill_program(name)
            self.gone.add(name)

    def weather(self, hop: tuple[str, str] | None, cuts: int, noises: int) -> None:
        self.noises += noises
        if hop is not None:
            self.cut[hop] += cuts
        for one, relay in self.agents.hops.items():
            relay.weather = Weather(is_cut=True) if self.cut[one] else NOISE if self.noises else Weather()

    def move_clock(self, node: str, own: Happening) -> None:
        if node in self.agents.clocks:
            self.agents.clocks[node].move(own.ahead_s)
        if own.restarts:
            self.fall(node)

    def swap(self, node: str, own: Happening) -> None:
        """Give an agent the certificate of another, which it does not take, neither while it runs nor at its start."""
        other = self.agents.nodes[(self.agents.nodes.index(node) + 1) % len(self.agents.nodes)]
        shutil.copy(self.agents.certificate(other), self.agents.certificate(node))
        # Until it is mended, the agent cannot start again.
        was_down = self.down[node] > 0
        self.down[node] += 1
        if was_down:
            return
        assert not self.takes_files(node), "an agent took the certificate of another"
        if own.restarts:
            self.agents.kill(node)
            self.agents.start(node)
            wait("an agent with the certificate of another ends", self.has_ended(node), SOON_S)
            assert self.agents.running.pop(node).returncode == 1, self.agents.said()

    def has_ended(self, node: str) -> Callable[[], bool]:
        return lambda: self.agents.running[node].poll() is not None

    def takes_files(self, node: str) -> bool:
        """Have an agent read its files again; whether it takes them."""
        reason = ""
        try:
            self.agents.ask(node, "reload")
        except ValueError as error:
            reason = str(error)
        assert not reason or "nothing has changed" in reason, reason
        return not reason

    def expire(self, node: str) -> None:
        """Give an agent a certificate that expires at once, and break its connections, so that it needs others."""
        # Until it is mended, the agent cannot start again.
        self.down[node] += 1
        if node not in self.agents.running:
            return
        # Where its clock is ahead the agent refuses it, as it does where the second ends too early.
        is_taken = False
        for _ in range(3):
            self.agents.issue(node, days=0)
            is_taken = self.takes_files(node)
            if is_taken:
                break
        self.look_until(time.monotonic() + EXPIRED_AFTER_S)
        own = [hop for hop in self.hops if node in hop]
        self.since = time.monotonic()
        for hop in own:
            self.weather(hop, 1, 0)
        self.look_until(time.monotonic() + BROKEN_S)
        for hop in own:
            self.weather(hop, -1, 0)
        if is_taken:
            self.alone.add(node)

    def mend(self, node: str) -> None:
        """Give an agent a certificate of its own that is valid."""
        self.agents.issue(node)
        self.alone.discard(node)
        if node in self.agents.running:
            self.agents.ask(node, "reload")
        self.rise(node)

    def told(self, shown: dict[str, Any]) -> str:
        """Print the course of the trial, which shows the reason of a failure."""
        lines = [f"seed {self.plan.seed}, {self.plan.protocol}", *self.log]
        for node, state in shown.items():
            near = {own["node"]: own["state"] for own in state["neighbours"]}
            lines.append(f"{node}: {near} generation {state['generation']} {state['counts']}")
            for own in state["sessions"]:
                paths = [("+".join(p["links"]), round(p["rate_bps"]), p["works"], p.get("limit")) for p in own["paths"]]
                lines.append(f"  {own.get('name')} {own['state']} {own.get('demand_bps')} {own['weight']} {paths}")
        return "\n".join(lines)

    def end(self) -> float:
        """Let all sessions leave; how long it takes until agents hold nothing of them."""
        self.agents.leave()
        begin = time.monotonic()
        while True:
            shown = self.look()
            # A link that counts anything is among the links.
            left = [node for node, own in shown.items() if own["sessions"] or own["links"] or own["packets_in_flight"]]
            if not left and all(own["is_clear"] for own in shown.values()) and len(shown) == len(self.agents.nodes):
                break
            assert time.monotonic() - begin < PATIENCE_S, f"something stays behind at {left}\n{self.told(shown)}"
            time.sleep(LOOK_S / 2)
        took = time.monotonic() - begin
        lies = {node: own["counts"]["false_messages"] for node, own in shown.items()}
        assert not any(lies.values()), f"nobody lies: {lies}\n{self.told(shown)}"
        codes = {node: self.agents.stop(node) for node in list(self.agents.running)}
        assert not any(codes.values()), f"{codes}\n{self.agents.said()}"
        said = self.agents.said()
        assert "panicked" not in said, said
        assert "Traceback" not in said, said
        return took


def run(seed: int, folder: Path, preload: Path | None) -> Outcome:
    """Run the trial of a seed in a folder."""
    plan = drawn(seed)
    with (
        Relays(seed) as relays,
        AgentProcesses(plan.network, folder / "net", plan.protocol, relays, preload) as agents,
    ):
        trial = Trial(plan, agents)
        try:
            trial.begin()
            trial.happen()
            trial.say("all has happened")
            trial.settle(time.monotonic())
            regained_s, settled_s, held_off_s = trial.last()
            fair, shown = trial.fair().rates(), trial.look()
            rates = {own["name"]: own["rate_bps"] for state in shown.values() for own in state["sessions"]}
            is_central = all(abs(rates[name] - bps) <= 0.01 * bps + 1 for name, bps in fair.items())
            clear_s = trial.end()
        except AssertionError as error:
            shown = agents.shown()
            raise AssertionError(f"{error}\n{trial.told(shown)}") from error
    watch = trial.watch
    return Outcome(
        seed,
        plan.protocol,
        len(agents.nodes),
        [own.kind for own in (*plan.happenings, plan.last)],
        regained_s,
        settled_s,
        held_off_s,
        clear_s,
        watch.longest_s,
        watch.worst,
        watch.glimpse,
        watch.episodes,
        is_central,
        trial.late_s,
        watch.wrong,
    )
