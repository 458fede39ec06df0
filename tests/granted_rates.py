"""What agents grant together, beside what links carry and what is fair."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import anabranch as ab
from fairness_judge import loads_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from agent_processes import Wish

Path = tuple[str, ...]
Granted = dict[tuple[str, Path], float]
"""The rate of each path of each session by its name, in bit/s."""

ROUNDING = 1e-6
"""What rounding makes of a rate that is all of a link, as a part of it."""

SLIGHT = 1e-4
"""An overload by less than this part is none: under d-SLEN a link leaves a rate as it is that is too high by 1e-5, for
each session on it, and portions of sessions with several paths move by as much from round to round."""
"""Sums of rates that are full have rounding errors of less than this part: rates are multiples of 2^-60 bit/s or whole,
and the least, under d-SLEN, is a millionth of the rate of a session."""

NEAR = 0.01
"""How far a rate may be from the only fair one, as a part of it."""

LEVEL = 0.03
"""How far levels of sessions on one link may be apart, as a part of the higher. Each rate may be near the fair one, and
d-SLEN takes small steps in the end where paths of a session have nearly the same level: 10 s for the last hundredth."""


def granted(shown: Mapping[str, Any]) -> Granted:
    """Give the rates that agents show."""
    return {
        (session.get("name") or f"{node} {session['number']}", tuple(path["links"])): path["rate_bps"]
        for node, state in shown.items()
        for session in state["sessions"]
        for path in session["paths"]
    }


@dataclass
class Watch:
    """Looks at all agents again and again, and notes where more is granted than links carry.

    No path may ever have more than each of its links: agents know that without each other. A sum over sessions of
    several agents is another thing, since rates that fall and rates that rise are told to sources one after the other:
    what counts here is how long a link stays overloaded, and by how much. Agents are looked at one after the other,
    too, so that a rate counts as the least of those in two looks on end; no rate that moved between looks adds up with
    one that took its place. What comes over a hop that is cut does not load the links after it.
    """

    most_bps: dict[str, float]
    """What can be granted of each link."""
    before: Granted = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)
    """When the overload of a link began, for those that are overloaded."""
    longest_s: float = 0.0
    """The longest overload so far."""
    worst: float = 0.0
    """The greatest so far, as a part of what the link carries."""
    glimpse: float = 0.0
    """The greatest in one look alone, which may be of rates that were not granted at the same time."""
    wrong: list[str] = field(default_factory=list)
    """Paths that had more than a link of theirs."""
    episodes: list[tuple[float, str, float, float]] = field(default_factory=list)
    """Overloads that have ended: when they began, the link, how long they lasted and the greatest excess."""
    peaks: dict[str, float] = field(default_factory=dict)

    def see(self, rates: Granted, now: float, cut: Collection[str] = ()) -> None:
        """Take what agents show at a time, at which some links are cut."""
        for (name, path), bps in rates.items():
            most = min((self.most_bps[link] for link in path), default=math.inf)
            if bps > most * (1 + ROUNDING):
                self.wrong.append(f"{name} over {path}: {bps} of {most}")
        sums: dict[str, float] = defaultdict(float)
        single: dict[str, float] = defaultdict(float)
        for key, bps in rates.items():
            for link in itertools.takewhile(lambda link: link not in cut, key[1]):
                sums[link] += min(bps, self.before.get(key, 0.0))
                single[link] += bps
        self.glimpse = max(self.glimpse, *(single[link] / most - 1 for link, most in self.most_bps.items()))
        self.before = rates
        for link, most in self.most_bps.items():
            excess = sums[link] / most - 1
            if excess <= SLIGHT:
                self._end(link, now)
                continue
            begin = self.since.setdefault(link, now)
            self.peaks[link] = max(self.peaks.get(link, 0.0), excess)
            self.worst = max(self.worst, excess)
            self.longest_s = max(self.longest_s, now - begin)

    def _end(self, link: str, now: float) -> None:
        if link in self.since:
            begin = self.since.pop(link)
            self.episodes.append((begin, link, now - begin, self.peaks.pop(link)))


@dataclass
class Fair:
    """What is fair for some sessions."""

    network: ab.Network
    share: float
    wishes: list[Wish]

    def __post_init__(self) -> None:
        core = self.network.core
        names = [str(name) for name in core.link_names]
        self.most_bps = {name: self.share * float(bps) for name, bps in zip(names, core.capacity_bps, strict=True)}
        self.paths = {wish.name: self._paths(wish, names) for wish in self.wishes}

    def _paths(self, wish: Wish, names: list[str]) -> list[Path]:
        """Give the paths of a session over links that are up; there may be none."""
        found = ab.find_paths(ab.demands(self.network, [wish.source], [wish.to]), wish.paths, metric="hops")
        offsets, links = found.path_offsets, found.path_links
        return [tuple(names[link] for link in links[begin:end]) for begin, end in itertools.pairwise(offsets)]

    def problem(self) -> ab.Problem:
        """Give the sessions as the solvers take them."""
        number = {link: place for place, link in enumerate(self.most_bps)}
        paths = [path for wish in self.wishes for path in self.paths[wish.name]]
        owner = [place for place, wish in enumerate(self.wishes) for _ in self.paths[wish.name]]
        return ab.Problem(
            list(self.most_bps.values()),
            np.cumsum([0, *map(len, paths)]),
            [number[link] for path in paths for link in path],
            owner,
            demand=[math.inf if wish.demand_bps is None else wish.demand_bps for wish in self.wishes],
            weight=[wish.weight for wish in self.wishes],
            reserved=[wish.reserved_bps for wish in self.wishes],
        )

    def rates(self) -> dict[str, float]:
        """Give the rates of the central solver, in bit/s."""
        if not self.wishes:
            return {}
        rates = ab.solve(self.problem(), fairness="max-min").connection_rates
        return dict(zip((wish.name for wish in self.wishes), map(float, rates), strict=True))

    def fault(self, shown: Mapping[str, Any], is_exact: bool) -> str | None:
        """Say what is not yet as it is in the end: sessions, paths, or rates that are not fair.

        Under SLBN (`is_exact`) rates are those of the central solver. Under d-SLEN they are upward max-min fair, of
        which there may be several: no session could gain by taking from those with a higher level alone.
        """
        there = {session.get("name", ""): session for state in shown.values() for session in state["sessions"]}
        if there.keys() != self.paths.keys():
            return f"there are {sorted(there)}, not {sorted(self.paths)}"
        for name, session in there.items():
            if not self.paths[name]:
                if session["rate_bps"] > 0.0:
                    return f"{name} has {session['rate_bps']}, and no path"
                continue
            paths = [tuple(path["links"]) for path in session["paths"]]
            if paths != self.paths[name] or session["state"] != "active":
                return f"{name} is {session['state']} and has {paths}, not {self.paths[name]}"
            if not all(path["works"] for path in session["paths"]):
                return f"{name} does without a path: {session['paths']}"
        rates = {name: sum(path["rate_bps"] for path in session["paths"]) for name, session in there.items()}
        if is_exact:
            fair = self.rates()
            return next((f"{n} has {rates[n]}, not {fair[n]}" for n in fair if not near(rates[n], fair[n])), None)
        paths = ((wish.name, p) for wish in self.wishes if self.paths[wish.name] for p in there[wish.name]["paths"])
        return self._unfair([path["rate_bps"] for _, path in paths])

    def _unfair(self, rates: Iterable[float]) -> str | None:
        """Say which session could gain by taking from those alone that have a higher level."""
        problem, own = self.problem(), np.array(list(rates))
        load, totals = loads_of(problem, own)
        if (load > problem.capacity * (1 + SLIGHT)).any():
            return f"a link is overloaded: {dict(zip(self.most_bps, load, strict=True))}"
        if (totals > problem.demand * (1 + ROUNDING)).any():
            return f"a demand is exceeded: {totals}"
        levels = (totals - problem.reserved) / problem.weight
        carried = self._carried(problem, own)
        for path, session in enumerate(problem.path_connection):
            if totals[session] >= problem.demand[session] * (1 - LEVEL):
                continue
            links = problem.path_links[problem.path_offsets[path] : problem.path_offsets[path + 1]]
            if all(self._gives(problem, levels, carried[link], int(session), link, totals) for link in links):
                return f"{self.wishes[session].name} could have more over path {path}: {totals}"
        return None

    @staticmethod
    def _carried(problem: ab.Problem, rates: Any) -> dict[int, dict[int, float]]:
        """Give what each link carries of each session."""
        carried: dict[int, dict[int, float]] = {link: defaultdict(float) for link in range(len(problem.capacity))}
        for path, session in enumerate(problem.path_connection):
            for link in problem.path_links[problem.path_offsets[path] : problem.path_offsets[path + 1]]:
                carried[int(link)][int(session)] += rates[path]
        return carried

    @staticmethod
    def _gives(
        problem: ab.Problem, levels: Any, carried: dict[int, float], session: int, link: int, totals: Any
    ) -> bool:
        """Whether a session could have more of a link, from its room or from sessions with a higher level."""
        capacity, own = problem.capacity[link], levels[session]
        slack = LEVEL * max(abs(own), totals[session])
        larger = sum(bps for other, bps in carried.items() if levels[other] - slack > own)
        return sum(carried.values()) < (1 - LEVEL) * capacity or larger > LEVEL * min(capacity, totals[session])


def near(rate: float, wanted: float) -> bool:
    """Whether a rate is the wanted one."""
    return abs(rate - wanted) <= NEAR * wanted + 1.0
