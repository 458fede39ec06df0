"""A published experiment: its folder says what is run, and what the paper printed.

A folder ``<paper>-<item>`` holds ``experiment.toml``, ``expected.toml`` and ``README.md``; being there is all the
registration it needs. ``experiment.toml``::

    paper = "upward-max-min"
    item = "table-7"
    title = "Rates in Scenario 1"
    scenario = "../upward-max-min-scenario-1/scenario.toml"
    rates_in = "Mbit/s"                 the unit of all rates in the rows, and of the solvers' arithmetic

    [[run]]
    name = "iewf"                       the first word of the quantities that it gives
    method = "iewf"                     or c-slen, lp, progressive-filling, pseudo-code, given, weight-allocation,
                                        proportional, simulate
    stop_change = "0.001 Mbit/s"        these three: see `anabranch.solve`
    unit = "0.05 Mbit/s"
    passes = 1000
    capacities_times = 10.0             capacities and demands ten times those of the scenario

    [[run]]
    name = "d-slen"
    method = "simulate"                 the scenario is run; one run of it serves all experiments of a call
    set = ["run.duration=5 s"]          values in place of those in the scenario
    seed = 1                            instead of the scenario's
    seeds = 10                          instead: seeds 1 to 10, or those of a list; numbers are means over them, with
                                        the interval that holds the true mean with a confidence of 95 %

    [[run]]
    name = "optimal"
    method = "proportional"             solved anew whenever connections come or go or capacities change
    set = ["connection.0.stop=3 s"]

    [[run]]
    name = "algorithm-2"
    method = "weight-allocation"        algorithm 2 of weighted Vegas, step by step
    weights = { c1 = [0.05, 0.95] }     at first; for connections not named the same on all paths
    passes = 20                         so many steps at most

    [[figure]]                          optional, see `anabranch.experiment_figure`

``expected.toml`` holds a ``[[quantity]]`` for each printed number or claim. A number is named by run, measure (see
`MEASURES`) and, of some measures, whose it is: ``iewf load l3``. It has one of ``published`` (as printed),
``published`` with ``right`` and ``why`` where the paper slips, or ``recorded`` (ours, where the paper prints none); or
``against``, which ours is judged by instead, with ``published`` or without: a number, or what another run gives,
``optimal mean-rate c1``. A number may be a quotient of two: ``lia mean-load l3 / lia capacity l3``. A
claim has a name in words, ``published`` in words, and a ``check`` that decides: ``c-slen steps < iewf steps``. With
``borne_out = false`` the check states what we found instead, and the paper's sentence is not borne out by it. With
``window = ["0 s", "0.5 s"]`` only turns, errors, queues and means of that time count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from anabranch.errors import ScenarioError
from anabranch.experiment_figure import FigurePlan, read_figure
from anabranch.experiment_table import Table, read_toml
from anabranch.simulated_means import OF_TIME
from anabranch.simulated_measures import OF_SPREAD

if TYPE_CHECKING:
    from collections.abc import Mapping

Method = Literal[
    "c-slen",
    "iewf",
    "lp",
    "progressive-filling",
    "pseudo-code",
    "given",
    "weight-allocation",
    "proportional",
    "simulate",
]
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
    "mean-granted": ("connection or subflow", "rate", "simulate"),
    "mean-load": ("link", "rate", "over-time"),
    "utilisation": ("link", "of the capacity", "over-time"),
    "mean-wait": ("link", "ms", "simulate"),
    "deviation": ("run", "rate", "over-time"),
    "subflow-deviation": ("run", "rate", "over-time"),
    "dropped": ("", "packets", "simulate"),
    "events": ("", "events", "simulate"),
    "wall": ("", "s", "simulate"),
}
"""What can be measured of a run: whose it is, if of anyone; its unit; and of what kind of run, if not of all.

Rates of a simulated run are those just before the first connection leaves, and so are what follows from them: loads,
the overload, the residual. `anabranch.simulated_measures` says what the others mean.
"""

WINDOWED = ("turns", "turning", "most-turns", "longest-queue", *OF_SPREAD, *OF_TIME)
"""Measures that a quantity with a window takes in that time only."""

OVER_TIME: tuple[Method, ...] = ("simulate", "proportional")
"""Methods that give rates over time, and take values in place of those in the scenario."""

METHODS_OF: dict[str, tuple[Method, ...]] = {
    "": get_args(Method),
    "solve": tuple(method for method in get_args(Method) if method != "simulate"),
    "simulate": ("simulate",),
    "over-time": OVER_TIME,
}
"""The methods of the kinds of run that measures are of."""

CHECK = re.compile(r"\s*(.+?)\s*(<=|>=|<|>|=)\s*(.+?)\s*")


@dataclass(frozen=True)
class Run:
    """One computation: a solve, the paper's pseudo-code, rates given to be checked, or simulations."""

    name: str
    method: Method
    scenario: Path
    stop_change_bps: float | None
    unit_bps: float | None
    tolerance: float
    passes: int
    reading: str
    path_rates: tuple[float, ...]
    capacities_times: float = 1.0
    sets: tuple[str, ...] = ()
    seed: int | None = None
    seeds: tuple[int, ...] = ()
    """It is simulated with each, and numbers are means; once if there are none."""
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Experiment:
    """A folder, read and checked."""

    folder: Path
    paper: str
    item: str
    title: str
    rates_in: str
    unit_bps: float
    """One of `rates_in`."""
    runs: dict[str, Run]
    figures: tuple[FigurePlan, ...]
    quantities: tuple[Quantity, ...]
    digits: int
    """Decimals that the paper prints."""

    def unit_of(self, address: Address) -> str:
        """Give the unit of a measured number."""
        unit = MEASURES[address.measure][1]
        return self.rates_in if unit == "rate" else unit


def read_experiment(folder: str | Path) -> Experiment:
    """Read a folder's ``experiment.toml`` and ``expected.toml``.

    Raises
    ------
    ScenarioError
        A file that is missing or not TOML, an unknown key, a value of a wrong type, a name that nothing has; with
        file, key and remedy.
    """
    place = Path(folder)
    table = read_toml(place / "experiment.toml")
    paper, item = table.text("paper"), table.text("item")
    if place.name != f"{paper}-{item}":
        raise table.error("item", f"the folder is called `{place.name}`", f"call it `{paper}-{item}`")
    title, rates_in = table.text("title"), table.text("rates_in")
    unit_bps = table.rate_bps("rates_in", per="1 ")
    if not unit_bps:
        raise table.error("rates_in", "it is empty", 'give a unit of rate, such as "Mbit/s"')
    scenario = place / table.text("scenario")
    runs: dict[str, Run] = {}
    for own in table.tables("run"):
        run = _run(own, place, scenario)
        if run.name in runs:
            raise own.error("name", f"there are two runs `{run.name}`", "give each a name of its own")
        runs[run.name] = run
    if not runs:
        raise table.error("run", "there is none", "add a [[run]] with a name and a method")
    figures = tuple(read_figure(own, item, runs) for own in table.tables("figure"))
    table.finish()
    expected = read_toml(place / "expected.toml")
    digits, tolerance = expected.whole("digits", 2), expected.positive("tolerance", 0.01)
    quantities = tuple(_quantity(own, runs, tolerance) for own in expected.tables("quantity"))
    expected.finish()
    return Experiment(place, paper, item, title, rates_in, unit_bps, runs, figures, quantities, digits)


def _run(table: Table, folder: Path, scenario: Path) -> Run:
    name, method = table.text("name"), table.choice("method", get_args(Method))
    if not re.fullmatch(r"\S+", name):
        raise table.error("name", f"`{name}` has a blank or is empty", "quantities begin with it, so make it one word")
    own_scenario = table.text("scenario", "")
    run = Run(
        name=name,
        method=method,
        scenario=folder / own_scenario if own_scenario else scenario,
        stop_change_bps=table.rate_bps("stop_change"),
        unit_bps=table.rate_bps("unit"),
        tolerance=table.positive("tolerance", 1e-3),
        passes=table.whole("passes", 10_000, least=1),
        reading=table.choice("reading", ("as-printed", "as-meant"), "as-meant"),
        path_rates=tuple(table.numbers("path_rates")),
        capacities_times=table.positive("capacities_times", 1.0),
        sets=tuple(table.texts("set")),
        seed=table.optional_whole("seed"),
        seeds=table.seeds("seeds"),
        weights=table.lists_of_numbers("weights"),
    )
    _refuse_seeds(table, run)
    if run.weights and method != "weight-allocation":
        raise table.error("weights", f"the method is {method}", 'leave it out; it is for method = "weight-allocation"')
    if (method == "given") != bool(run.path_rates):
        raise table.error("path_rates", f"the method is {method}", 'give path_rates with method = "given", and only so')
    if method == "pseudo-code" and run.stop_change_bps is None:
        raise table.error("stop_change", "it is missing", "the pseudo-code stops by it; give the paper's")
    if run.sets and method not in OVER_TIME:
        raise table.error(
            "set", f"the method is {method}", f"leave it out; it is for methods {' and '.join(OVER_TIME)}"
        )
    if method in OVER_TIME and run.capacities_times != 1.0:
        raise table.error("capacities_times", f"the method is {method}", "leave it out, and `set` capacities instead")
    table.finish()
    return run


def _refuse_seeds(table: Table, run: Run) -> None:
    """Refuse seeds of what draws nothing, and one seed beside several."""
    key = "seeds" if run.seeds else "seed"
    if run.method != "simulate" and (run.seeds or run.seed is not None):
        raise table.error(key, f"the method is {run.method}", 'leave it out; it is for method = "simulate"')
    if run.seeds and run.seed is not None:
        raise table.error("seeds", "there is a `seed` besides", "give one of them")


def _quantity(table: Table, runs: dict[str, Run], tolerance: float) -> Quantity:
    name = table.text("name")
    table.call_it(name)
    published = table.number_or_text("published")
    check_text = table.text("check", "")
    right, recorded, why = table.optional_number("right"), table.optional_number("recorded"), table.text("why", "")
    window = table.window_s("window")
    check = _check(table, check_text, runs, window) if check_text else None
    quantity = Quantity(
        name=name,
        measured=None if check else _ratio(table, "name", name, runs, window),
        published=published,
        right=right,
        why=why,
        recorded=recorded,
        against=_against(table, runs, window),
        check=check,
        show=tuple(_ratio(table, "show", text, runs, window) for text in table.texts("show")),
        tolerance=table.positive("tolerance", tolerance),
        borne_out=table.flag("borne_out", default=True),
        note=table.text("note", ""),
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


def _against(table: Table, runs: dict[str, Run], window_s: tuple[float, float] | None) -> Ratio | float | None:
    given = table.number_or_text("against")
    return _ratio(table, "against", given, runs, window_s) if isinstance(given, str) else given


def _check(table: Table, text: str, runs: dict[str, Run], window_s: tuple[float, float] | None) -> Check:
    found = CHECK.fullmatch(text)
    if found is None:
        raise table.error("check", f"`{text}` compares nothing", "write such as `c-slen steps < iewf steps`")
    left, sign, right = found.groups()
    comparison = next(word for word in COMPARISONS if word == sign)
    try:
        bound: Ratio | float = float(right)
    except ValueError:
        bound = _ratio(table, "check", right, runs, window_s)
    return Check(_ratio(table, "check", left, runs, window_s), comparison, bound)


def _ratio(table: Table, key: str, text: str, runs: dict[str, Run], window_s: tuple[float, float] | None) -> Ratio:
    top, slash, bottom = text.partition(" / ")
    own = _address(table, key, top, runs, window_s)
    ratio = Ratio(own, _address(table, key, bottom, runs, window_s) if slash else None)
    counts = {len(runs[run].seeds) for address in ratio.addresses for run in address.runs} - {0}
    if len(counts) > 1:
        raise table.error(key, f"`{text}`: its runs have different numbers of seeds", "give them as many")
    return ratio


def _address(table: Table, key: str, text: str, runs: dict[str, Run], window_s: tuple[float, float] | None) -> Address:
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
    if kind and method not in METHODS_OF[kind]:
        which = {"solve": "solved", "simulate": "simulated", "over-time": "simulated or proportional"}[kind]
        remedy = f"`{measure}` is of runs that are {which}; see the measures in docs/how-to/reproduce.md"
        raise table.error(key, f"`{text}`: the method of run `{run}` is {method}", remedy)
    others = METHODS_OF["" if kind == "solve" else kind]
    if whose == "run" and (subject not in runs or runs[subject].method not in others):
        what = {"simulate": "simulated run", "over-time": "run over time"}.get(kind, "run")
        raise table.error(key, f"`{text}`: there is no {what} `{subject}`", "name one of the [[run]] tables")
    return Address(run, measure, subject.strip(), window_s if measure in WINDOWED else None)


def find_experiments(experiments: str | Path | None = None) -> Path:
    """Give the folder of experiments: the one named, or ``./experiments``, or that of the source checkout.

    Raises
    ------
    ScenarioError
        None of them holds an experiment.
    """
    checkout = Path(__file__).resolve().parents[2] / "experiments"
    places = [Path(experiments)] if experiments is not None else [Path("experiments"), checkout]
    for place in places:
        if any(place.glob("*/experiment.toml")):
            return place
    tried = " or ".join(str(place) for place in places)
    remedy = "go to a checkout of anabranch, or name its folder with --experiments (in Python: experiments=...)"
    raise ScenarioError(f"there are no experiments in {tried}; {remedy}")


def list_experiments(folder: Path) -> dict[str, list[str]]:
    """Give the papers of a folder of experiments, each with its items in the order of their numbers."""
    papers: dict[str, list[str]] = {}
    for file in folder.glob("*/experiment.toml"):
        table = read_toml(file)
        papers.setdefault(table.text("paper"), []).append(table.text("item"))
    return {paper: sorted(papers[paper], key=_by_number) for paper in sorted(papers)}


def _by_number(item: str) -> tuple[bool, list[tuple[int, str]]]:
    """Tables before figures, and ``table-10`` after ``table-9``."""
    parts = [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", item) if part]
    return not item.startswith("table"), parts
