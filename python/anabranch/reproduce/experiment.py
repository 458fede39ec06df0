"""A published experiment: a folder that says which runs it has, and what the paper prints.

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
                                        proportional, simulate, fluid
    stop_change = "0.001 Mbit/s"        these three are parameters of `anabranch.solve`
    unit = "0.05 Mbit/s"
    passes = 1000
    capacities_times = 10.0             capacities and demands ten times those of the scenario

    [[run]]
    name = "d-slen"
    method = "simulate"                 the scenario is run; one run of it serves all experiments of a call
    set = ["run.duration=5 s"]          values in place of those in the scenario
    seed = 1                            instead of the scenario's
    seeds = 10                          instead: seeds 1 to 10, or those of a list; numbers are means over them, with
                                        the interval that holds the true mean with a confidence of 95 %; or as many as
                                        it takes, { margin = 0.01, least = 10, most = 100 }:
                                        `anabranch.reproduce.repeat`

    [[run]]
    name = "phone"
    method = "simulate"
    traces = { "link.1" = ["static-1"] }    links follow traces, as `anabranch.reproduce.spec.traces` says

    [[run]]
    name = "optimal"
    method = "proportional"             solved anew whenever connections come or go or capacities change
    set = ["connection.0.stop=3 s"]

    [[run]]
    name = "lgc"
    method = "fluid"                    an equation, followed: `anabranch.reproduce.spec.fluid`
    fluid = { model = "chain", ... }    such experiments need neither scenario nor rates_in

    [[run]]
    name = "algorithm-2"
    method = "weight-allocation"        algorithm 2 of weighted Vegas, step by step
    weights = { c1 = [0.05, 0.95] }     the first weights; equal on all paths of other connections
    passes = 20                         the greatest number of steps

    [[figure]]                          optional: `anabranch.reproduce.figures` has the kinds

``expected.toml`` holds a ``[[quantity]]`` for each printed number or claim. A number is named by run, measure (one of
`anabranch.reproduce.measures`) and, for some measures, the thing that it belongs to: ``iewf load l3``; or it is a
quotient of two, ``lia mean-load l3 / lia capacity l3``. It has one of ``published`` (as printed), ``published`` with
``right`` and ``why`` where the paper slips, or ``recorded`` (ours, where the paper prints none); or ``against``, with
``published`` or without it: a number that ours is judged by instead, given or of another run, ``optimal mean-rate c1``.
A claim has a name in words, ``published`` in words, and a ``check`` that decides: ``c-slen steps < iewf steps``. With
``borne_out = false`` the check states what we found instead, and the paper's sentence is not borne out by it. With
``times = 0.965`` the number is multiplied by this before it is shown and judged. With ``window = ["0 s", "0.5 s"]``
measures whose row says ``windowed`` count only that time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import ScenarioError
from anabranch.reproduce.figures.kind import PaperFigure, read_figure
from anabranch.reproduce.measures.address import Address
from anabranch.reproduce.spec.quantity import Defaults, PaperQuantity, read_quantity
from anabranch.reproduce.spec.run import Run, read_run
from anabranch.reproduce.spec.table import read_toml
from anabranch.reproduce.spec.traces import TracePlan, read_traces


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
    traces: dict[str, TracePlan]
    """By their names; what its runs follow."""
    figures: tuple[PaperFigure[Any], ...]
    quantities: tuple[PaperQuantity, ...]

    def unit_of(self, address: Address) -> str:
        """Give the unit of a measured number."""
        unit = address.row.unit
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
    title, own_scenario = table.text("title"), table.text("scenario", "")
    scenario = place / own_scenario if own_scenario else None
    traces = read_traces(table, place)
    runs: dict[str, Run] = {}
    for own in table.tables("run"):
        run = read_run(own, place, scenario, traces)
        if run.name in runs:
            raise own.error("name", f"there are two runs `{run.name}`", "give each its own name")
        runs[run.name] = run
    for run in runs.values():
        for rival in run.rivals:
            if rival not in runs or rival == run.name:
                raise table.error(
                    "run", f"`{run.name}` has the rival `{rival}`, which is no other run", "mend `rivals`"
                )
    if not runs:
        raise table.error("run", "there is none", "add a [[run]] with a name and a method")
    is_fluid = all(run.fluid is not None for run in runs.values())
    rates_in = table.text("rates_in", *([""] if is_fluid else []))
    unit_bps = 1.0 if is_fluid else table.rate_bps("rates_in", per="1 ")
    if not unit_bps:
        raise table.error("rates_in", "it is empty", 'give a unit of rate, such as "Mbit/s"')
    figures = tuple(read_figure(own, item, runs) for own in table.tables("figure"))
    table.finish()
    expected = read_toml(place / "expected.toml")
    margin = expected.optional_number("margin")
    defaults = Defaults(expected.whole("digits", 2), expected.positive("tolerance", 0.01), margin or 0.0)
    quantities = tuple(read_quantity(own, runs, defaults) for own in expected.tables("quantity"))
    expected.finish()
    return Experiment(place, paper, item, title, rates_in, unit_bps, runs, traces, figures, quantities)


def find_experiments(experiments: str | Path | None = None) -> Path:
    """Give the folder of experiments: the one named, or ``./experiments``, or that of the source checkout.

    Raises
    ------
    ScenarioError
        None of them holds an experiment.
    """
    checkout = Path(__file__).resolve().parents[3] / "experiments"
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
