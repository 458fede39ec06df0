"""A number or claim of a paper: what is measured for it, and how ours is judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from anabranch.reproduce.measures.dynamics import OF_SPREAD
from anabranch.reproduce.measures.of_simulations import OF_TIME, OF_WAITS
from anabranch.reproduce.measures.samples import OF_SAMPLES, SAMPLED
from anabranch.reproduce.spec.run import OVER_TIME, Method

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

    Window = tuple[float, float] | None

Comparison = Literal["<=", ">=", "<", ">", "="]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)

MEASURES: dict[str, tuple[str, str, str]] = {
    "rate": ("connection", "rate", ""),
    "subflow": ("subflow", "rate", ""),
    "load": ("link", "rate", ""),
    "capacity": ("link", "rate", ""),
    "total": ("", "rate", ""),
    "overload": ("", "of the capacity", ""),
    "oversaturated": ("", "links", ""),
    "residual": ("", "of the level", ""),
    "passes": ("", "passes", "solve"),
    "distance": ("run", "of the rate", ""),
    "farthest": ("run", "of the rate", ""),
    "steps-to": ("run", "steps", "solve"),
    "undersaturated": ("run", "links", ""),
    "steps": ("", "steps", "solve"),
    "converged": ("", "1 if so", "solve"),
    "time": ("", "us", "solve"),
    "queue": ("link", "packets", "simulate"),
    "largest-queue": ("", "packets", "simulate"),
    "queue-alone": ("", "packets", "simulate"),
    "queue-per-subflow": ("", "packets", "simulate"),
    "subflows-per-link": ("", "subflows", "simulate"),
    "longest-queue": ("", "packets", "simulate"),
    **dict.fromkeys(OF_SPREAD, ("sources or bottlenecks", "of the rate", "simulate")),
    "mean-completion": ("", "s", "simulate"),
    "completed": ("", "connections", "simulate"),
    "join-settling": ("", "s", "simulate"),
    "fair-join-settling": ("", "s", "simulate"),
    "join-span": ("", "s", "simulate"),
    "leave-settling": ("", "s", "simulate"),
    "leave-settling-median": ("", "s", "simulate"),
    "leaves": ("", "leaves", "simulate"),
    "settled-leaves": ("", "leaves", "simulate"),
    "unsettled-leaves": ("", "leaves", "simulate"),
    "unsettled-span": ("", "s", "simulate"),
    "slow-leaves": ("", "leaves", "simulate"),
    "short-leaves": ("", "leaves", "simulate"),
    "unsettled": ("", "connections", "simulate"),
    "turns": ("connection or subflow", "turns", "simulate"),
    "turning-time": ("connection", "s", "simulate"),
    "late-turns": ("connection", "turns", "simulate"),
    "turning": ("", "subflows", "simulate"),
    "most-turns": ("", "turns", "simulate"),
    "last-turn": ("", "s", "simulate"),
    "steady": ("connection", "s", "simulate"),
    "off-fair": ("connection", "s", "simulate"),
    "sent": ("connection", "s", "simulate"),
    "completion": ("connection", "s", "simulate"),
    "agreeing": ("run", "connections", "simulate"),
    "peak-overload": ("", "of the capacity", "simulate"),
    "mean-rate": ("connection or subflow", "rate", "over-time"),
    "average-rate": ("connection or pattern", "rate", "over-time"),
    "least-rate": ("connection or pattern", "rate", "over-time"),
    "most-rate": ("connection or pattern", "rate", "over-time"),
    "transfer-rate": ("connection or pattern", "rate", "simulate"),
    "lost": ("connection or pattern", "of what was sent", "simulate"),
    "marked": ("connection or pattern", "of the packets", "simulate"),
    "jain": ("connection or pattern", "", "over-time"),
    "mean-rtt": ("subflow", "ms", "simulate"),
    "mean-granted": ("connection or subflow", "rate", "simulate"),
    "mean-pace": ("connection or pattern", "rate", "simulate"),
    "mean-window": ("connection or pattern", "kB", "simulate"),
    "marked-share": ("connection or pattern", "of the packets", "simulate"),
    "mean-load": ("link", "rate", "over-time"),
    "mean-capacity": ("link", "rate", "over-time"),
    "utilisation": ("link", "of the capacity", "over-time"),
    "mean-wait": ("link", "ms", "simulate"),
    "mean-backlog": ("link", "kB", "simulate"),
    **dict.fromkeys(OF_WAITS, ("link or subflow", "ms", "simulate")),
    **{name: (*SAMPLED[what], "simulate") for name, (_, what) in OF_SAMPLES.items()},
    "deviation": ("run", "rate", "over-time"),
    "subflow-deviation": ("run", "rate", "over-time"),
    "dropped": ("", "packets", "simulate"),
    "after": ("series, and a step", "", "fluid"),
    "settling": ("phase, the step it begins at", "steps", "fluid"),
    "crossings": ("series", "crossings", "fluid"),
    "gamma": ("", "", "fluid"),
    "beta": ("", "", "fluid"),
    "real-part": ("", "", "fluid"),
    "imaginary-part": ("", "", "fluid"),
    "swinging-real-part": ("", "", "fluid"),
    "rings-from": ("", "times the bound", "fluid"),
    "at-once-from": ("", "times the bound", "fluid"),
    "in-turn-from": ("", "times the bound", "fluid"),
    "events": ("", "events", "simulate"),
    "wall": ("", "s", "simulate"),
}
"""What can be measured of a run: whose it is, if of anyone; its unit; and of what kind of run, if not of all.

Rates of a simulated run are those just before the first connection leaves, and so are what follows from them: loads,
the overload, the residual. `anabranch.reproduce.measures.dynamics` says what the others mean.
"""

WINDOWED = ("turns", "turning", "most-turns", "longest-queue", *OF_SPREAD, *OF_TIME, *OF_SAMPLES)
"""Measures that a quantity with a window takes in that time only."""

METHODS_OF: dict[str, tuple[Method, ...]] = {
    "": tuple(method for method in get_args(Method) if method != "fluid"),
    "solve": tuple(method for method in get_args(Method) if method not in ("simulate", "fluid")),
    "simulate": ("simulate",),
    "fluid": ("fluid",),
    "over-time": OVER_TIME,
}
"""The methods of the kinds of run that measures are of."""

WHICH = {
    "": "not fluid",
    "solve": "solved",
    "simulate": "simulated",
    "fluid": "fluid",
    "over-time": "simulated or proportional",
}
"""How these kinds are called."""

CHECK = re.compile(r"([^<>=]+)(<=|>=|<|>|=)(.+)", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """What of a run is meant: ``iewf load l3``."""

    run: str
    measure: str
    subject: str
    window_s: tuple[float, float] | None = None
    """The time that counts; all if None."""

    @property
    def runs(self) -> list[str]:
        """Give the runs that it needs: its own, and one that this is set beside."""
        return [self.run, self.subject] if MEASURES[self.measure][0] == "run" else [self.run]

    def __str__(self) -> str:
        window = "" if self.window_s is None else f"from {self.window_s[0]:g} to {self.window_s[1]:g} s"
        return " ".join(word for word in (self.run, self.measure, self.subject, window) if word)


@dataclass(frozen=True)
class Ratio:
    """One measured number, or a quotient of two: ``iewf steps / c-slen steps``."""

    top: Address
    bottom: Address | None = None

    def __str__(self) -> str:
        return str(self.top) if self.bottom is None else f"{self.top} / {self.bottom}"

    @property
    def addresses(self) -> list[Address]:
        """The numbers it is made of."""
        return [self.top] if self.bottom is None else [self.top, self.bottom]


@dataclass(frozen=True)
class Check:
    """What decides a claim: two numbers and how they must compare."""

    left: Ratio
    comparison: Comparison
    right: Ratio | float


@dataclass(frozen=True)
class Quantity:
    """A number or claim of the paper, and how ours is judged against it."""

    name: str
    measured: Ratio | None
    published: float | str | None
    right: float | None
    why: str
    recorded: float | None
    against: Ratio | float | None
    check: Check | None
    show: tuple[Ratio, ...]
    tolerance: float
    borne_out: bool
    note: str
    times: float
    """A factor on what is measured."""


def read_quantity(table: Table, runs: Mapping[str, Run], tolerance: float) -> Quantity:
    """Read a ``[[quantity]]`` of an experiment with these runs; `tolerance` if it has none of its own.

    Raises
    ------
    ScenarioError
        A wrong key or value, a run or measure that is not there, a quantity that nothing judges, or two things.
    """
    name = table.text("name")
    table.call_it(name)
    published = table.number_or_text("published")
    check_text = table.text("check", "")
    right, recorded, why = table.optional_number("right"), table.optional_number("recorded"), table.text("why", "")
    window = table.window_s("window")
    check = _check(table, check_text, runs, window) if check_text else None
    quantity = Quantity(
        name=name,
        measured=None if check else read_ratio(table, "name", name, runs, window),
        published=published,
        right=right,
        why=why,
        recorded=recorded,
        against=_against(table, runs, window),
        check=check,
        show=tuple(read_ratio(table, "show", text, runs, window) for text in table.texts("show")),
        tolerance=table.positive("tolerance", tolerance),
        borne_out=table.flag("borne_out", default=True),
        note=table.text("note", ""),
        times=table.positive("times", 1.0),
    )
    _refuse_undecided(table, quantity)
    table.finish()
    return quantity


def _refuse_undecided(table: Table, quantity: Quantity) -> None:
    """Refuse a quantity that nothing judges, or two things."""
    if not quantity.borne_out and (quantity.check is None or quantity.published is None):
        remedy = "say in words what is `published`, and give a `check` that states what we found instead"
        raise table.error("borne_out", "only a claim of the paper can be borne out or not", remedy)
    if quantity.check is not None:
        numbers = (quantity.recorded, quantity.right, quantity.against)
        if isinstance(quantity.published, float) or any(number is not None for number in numbers):
            raise table.error("check", "a claim is given a number besides", "say in words what is published")
        return
    if isinstance(quantity.published, str):
        raise table.error("published", "it is text, and there is no check", "give the number, or a check that decides")
    if quantity.against is not None:
        if quantity.recorded is not None or quantity.right is not None:
            raise table.error("against", "there is another number to judge ours by", "give one of them")
        return
    if (quantity.published is None) == (quantity.recorded is None):
        remedy = "give the printed number as `published`; or, where none is printed, ours as `recorded`"
        raise table.error("published", "there must be exactly one of `published` and `recorded`", remedy)
    if (quantity.right is None) != (not quantity.why):
        raise table.error("right", "a slip has both `right` and `why`", "give the other too")
    if quantity.right is not None and quantity.published is None:
        raise table.error("right", "nothing is published that could be wrong", "give `published` too")


def _against(table: Table, runs: Mapping[str, Run], window_s: Window) -> Ratio | float | None:
    given = table.number_or_text("against")
    return read_ratio(table, "against", given, runs, window_s) if isinstance(given, str) else given


def _check(table: Table, text: str, runs: Mapping[str, Run], window_s: Window) -> Check:
    found = CHECK.fullmatch(text)
    if found is None:
        raise table.error("check", f"`{text}` compares nothing", "write such as `c-slen steps < iewf steps`")
    left, sign, right = (word.strip() for word in found.groups())
    comparison = next(word for word in COMPARISONS if word == sign)
    try:
        bound: Ratio | float = float(right)
    except ValueError:
        bound = read_ratio(table, "check", right, runs, window_s)
    return Check(read_ratio(table, "check", left, runs, window_s), comparison, bound)


def is_like(name: str, pattern: str) -> bool:
    """Tell whether a name matches a pattern in which ``*`` is any text; in time that grows as the two together."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *between, last = rest
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for part in between:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def read_ratio(table: Table, key: str, text: str, runs: Mapping[str, Run], window_s: Window) -> Ratio:
    """Read a number, or the quotient of two, from the value of a key.

    Raises
    ------
    ScenarioError
        A run or measure that is not there, or not of that kind; runs that do not fit together.
    """
    top, slash, bottom = text.partition(" / ")
    own = _address(table, key, top, runs, window_s)
    ratio = Ratio(own, _address(table, key, bottom, runs, window_s) if slash else None)
    own_runs = [runs[run] for address in ratio.addresses for run in address.runs]
    counts = {(len(run.seeds), run.margin) for run in own_runs if run.seeds}
    if len(counts) > 1:
        raise table.error(key, f"`{text}`: its runs have different numbers of seeds", "give them as many")
    return ratio


def _address(
    table: Table, key: str, text: str, runs: Mapping[str, Run], window_s: tuple[float, float] | None
) -> Address:
    words = text.split(maxsplit=2)
    run, measure, subject = (*words, "", "", "")[:3]
    if run not in runs:
        raise table.error(key, f"`{text}`: there is no run `{run}`", f"begin with one of {', '.join(runs)}")
    if measure not in MEASURES:
        known = ", ".join(MEASURES)
        raise table.error(key, f"`{text}`: there is no measure `{measure}`", f"the second word must be one of {known}")
    whose, _, kind = MEASURES[measure]
    if bool(whose) != bool(subject):
        remedy = f"say whose it is: the name of a {whose}" if whose else f"leave `{subject}` out"
        raise table.error(key, f"`{text}` does not say what it must", remedy)
    method = runs[run].method
    if method not in METHODS_OF[kind]:
        which = WHICH[kind]
        remedy = f"`{measure}` is of runs that are {which}; see the measures in docs/how-to/reproduce.md"
        raise table.error(key, f"`{text}`: the method of run `{run}` is {method}", remedy)
    others = METHODS_OF["" if kind == "solve" else kind]
    if whose == "run" and (subject not in runs or runs[subject].method not in others):
        what = {"simulate": "simulated run", "over-time": "run over time"}.get(kind, "run")
        raise table.error(key, f"`{text}`: there is no {what} `{subject}`", "name one of the [[run]] tables")
    return Address(run, measure, subject.strip(), window_s if measure in WINDOWED else None)
