"""Reproduce a paper: run its experiments, and set every printed number or claim beside ours."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.interrupts import held_interrupts
from anabranch.reproduce.execute.outcome import execute
from anabranch.reproduce.measures.registry import estimate_ratio
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.repeat import missed, repeat
from anabranch.reproduce.rows import Made, ReproductionInterrupted, Row, Rows, text_of
from anabranch.reproduce.spec.experiment import Experiment, find_experiments, read_experiment
from anabranch.reproduce.spec.figure import item_name, make_figure
from anabranch.reproduce.spec.quantity import Address, Check, Quantity, Ratio
from anabranch.reproduce.spec.size import sized
from anabranch.reproduce.spec.traces import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from anabranch.reproduce.execute.outcome import Outcome, Simulations
    from anabranch.reproduce.spec.figure import Figure

    Progress = Callable[[str, float, float, int], None]
    EachItem = Callable[[Rows, list[Figure]], None]

EQUAL = 1e-9
"""Numbers in a check with ``=`` may differ by this much."""


def reproduce(
    name: str,
    item: str | None = None,
    *,
    scale: float = 1.0,
    experiments: str | Path | None = None,
    progress: Progress | None = None,
    each_item: EachItem | None = None,
) -> Rows:
    """Run the experiments of a paper.

    Parameters
    ----------
    name : str
        The paper, such as ``"upward-max-min"``.
    item : str, optional
        A table or figure, such as ``"table-7"``; all if not given.
    scale : float
        Simulate large networks with so many times the random connections, over links of so many times the capacity,
        over 0 and at most 1: a quick look, whose numbers are not those of the paper's size, and are not judged.
    experiments : path, optional
        Folder of experiments; ``./experiments`` or that of the source checkout if not given.
    progress : callable, optional
        Told which run is simulated and how far it is: its name, simulated time and duration in seconds, and events.
    each_item : callable, optional
        Given all rows until then and the new figures as soon as a table or figure of the paper is done. Figures of the
        rows are then without what they are drawn from, which may be gigabytes for a whole paper.

    Returns
    -------
    Rows
        A list of `Row`, one for each printed number or claim.

    Raises
    ------
    ScenarioError
        An unknown paper or item; a mistake in an experiment's files.
    ReproductionInterrupted
        Ctrl-C; a KeyboardInterrupt with the rows of the tables and figures that are done.
    """
    folder = find_experiments(experiments)
    papers = read_papers(folder)
    if name not in papers:
        near = _core.nearest_name(name, list(papers))
        hint = f" (did you mean `{near}`?)" if near else ""
        raise ScenarioError(f"{folder}: there is no paper `{name}`{hint}; there is {', '.join(sorted(papers))}")
    paper = papers[name]
    if item is not None and item not in paper.items:
        raise ScenarioError(f"{folder}: there is no `{item}` of {name}; there is {', '.join(paper.items)}")
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale is {scale}; it must be over 0 and at most 1")
    rows = Rows(paper=paper)
    rows.scale = scale
    rows.not_done = list(paper.items) if item is None else [item]
    try:
        wanted = [read_experiment(folder / f"{name}-{own}") for own in rows.not_done]
        _reproduce_all(wanted, rows, progress, each_item)
    except KeyboardInterrupt as stopped:
        raise ReproductionInterrupted(rows) from stopped
    return rows


def _reproduce_all(wanted: list[Experiment], rows: Rows, progress: Progress | None, each_item: EachItem | None) -> None:
    simulations: Simulations = {}
    for number, experiment in enumerate(wanted):
        known = len(rows.figures)
        lacking = missing(experiment.traces)
        if lacking is None:
            _reproduce(experiment, rows, simulations, progress)
        else:
            own = item_name(experiment.item)
            rows.left_out.append(f"{own} is left out: it follows traces in {lacking}, which are not there")
        rows.not_done = [later.item for later in wanted[number + 1 :]]
        _forget(simulations, wanted[number + 1 :])
        if each_item is None:
            continue
        # A signal must not lose what has just been done.
        with held_interrupts() as interrupts:
            each_item(rows, rows.figures[known:])
        rows.figures[known:] = [figure.without_data() for figure in rows.figures[known:]]
        if interrupts.came:
            raise KeyboardInterrupt


def _forget(simulations: Simulations, experiments: Iterable[Experiment]) -> None:
    """Drop the simulations of scenarios that none of the experiments runs."""
    needed = {run.scenario.resolve() for experiment in experiments for run in experiment.runs.values()}
    for key in [key for key in simulations if key[0] not in needed]:
        del simulations[key]


def _reproduce(whole: Experiment, rows: Rows, simulations: Simulations, progress: Progress | None) -> None:
    experiment = sized(whole, rows.scale)
    timed = {run for figure in experiment.figures if figure.draw == "convergence" for run in figure.runs}
    outcomes: dict[str, Outcome] = {}

    def tell(name: str) -> Callable[[float, float, int], None] | None:
        return None if progress is None else partial(progress, f"{experiment.item}: {name}")

    place = experiment.folder / "experiment.toml"
    known = {id(simulated) for simulated in simulations.values()}
    for name, run in experiment.runs.items():
        outcomes[name] = execute(run, experiment.unit_bps, simulations, timed=name in timed, progress=tell(name))
    repeat(outcomes, experiment.quantities, experiment.folder / "expected.toml", experiment.unit_bps, simulations, tell)
    made = []
    for name, outcome in outcomes.items():
        own = {id(one.simulated) for one in (outcome, *outcome.others) if one.simulated is not None}
        if not known.issuperset(own):
            made.append(_made(experiment.item, name, outcome))
            known |= own
    found = [_row(experiment, quantity, outcomes) for quantity in experiment.quantities]
    figures = [
        make_figure(plan, experiment.item, experiment.title, experiment.rates_in, outcomes, place)
        for plan in experiment.figures
    ]
    # All at once: a signal may come before.
    rows.experiments.append(experiment)
    rows.made += made
    rows.figures += figures
    rows += found if experiment is whole else [replace(row, within=None) for row in found]


def _made(item: str, run: str, outcome: Outcome) -> Made:
    metas = [one.simulated.result.meta for one in (outcome, *outcome.others) if one.simulated is not None]
    time_s, wall_s, hops = (sum(meta[key] for meta in metas) for key in ("reached_s", "wall_s", "packet_hops"))
    return Made(item, run, time_s, wall_s, metas[0]["threads"], hops)


def _row(experiment: Experiment, quantity: Quantity, outcomes: dict[str, Outcome]) -> Row:
    place = experiment.folder / "expected.toml"
    if quantity.check is not None:
        holds, words, seeds = _judge(experiment, quantity.check, outcomes)
        shown = [f"{estimate_ratio(outcomes, r, place)} {_label(experiment, r)}" for r in quantity.show]
        ours = "; ".join([words, *shown])
        claim = (experiment.item, quantity.name, quantity.published, ours, None, holds, quantity.note)
        return Row(*claim, borne_out=quantity.borne_out, seeds=seeds)
    assert quantity.measured is not None, "a quantity without a check has a measure"
    found = estimate_ratio(outcomes, quantity.measured, place) * quantity.times
    against = quantity.against
    if isinstance(against, Ratio):
        against = estimate_ratio(outcomes, against, place).mean
    unit = "" if quantity.measured.bottom is not None else _unit(experiment, quantity.measured.top)
    name = str(quantity.measured) if quantity.times == 1.0 else f"{quantity.times:.4g} x {quantity.measured}"
    label = f"{name}, {unit}" if unit else name
    aim, published, why = _aim(quantity, experiment.digits, against)
    notes = [why, quantity.note, missed(outcomes, quantity.measured, found)]
    is_judged_by_print = quantity.recorded is None and quantity.against is None
    if is_judged_by_print and f"{found.mean:.{experiment.digits}f}" == f"{aim:.{experiment.digits}f}":
        notes.append("matches to the printed digit" if quantity.right is None else "ours is right to that digit")
    return Row(
        experiment.item,
        label,
        published,
        found.mean if math.isfinite(found.mean) else text_of(found.mean),
        quantity.tolerance,
        abs(found.mean - aim) <= quantity.tolerance,
        "; ".join(n for n in notes if n),
        half_width=found.half_width,
        seeds=_several(found),
        against=against,
        difference=found.mean - aim if math.isfinite(found.mean) else None,
    )


def _several(found: Estimate) -> int | None:
    return found.count if found.count > 1 else None


def _aim(quantity: Quantity, digits: int, against: float | None) -> tuple[float, float | str | None, str]:
    """Give what ours is judged against, what the row shows as published, and why they differ."""
    if against is not None:
        return against, quantity.published, ""
    if quantity.right is not None:
        assert isinstance(quantity.published, float), "the reader asks for it"
        shown = f"{quantity.published:.{digits}f} (a slip for {quantity.right:.{digits}f})"
        return quantity.right, shown, f"the paper's slip: {quantity.why}"
    if isinstance(quantity.published, float):
        return quantity.published, quantity.published, ""
    assert quantity.recorded is not None, "the reader asks for one of the two"
    return quantity.recorded, None, f"ours on record: {text_of(quantity.recorded)}"


def _judge(experiment: Experiment, check: Check, outcomes: dict[str, Outcome]) -> tuple[bool, str, int | None]:
    """Tell whether a claim holds, of means over seeds; say so in words; and over how many seeds, if several."""
    place = experiment.folder / "expected.toml"
    left = estimate_ratio(outcomes, check.left, place)
    given = check.right
    right = estimate_ratio(outcomes, given, place) if isinstance(given, Ratio) else estimate([given])
    holds = {
        "<=": left.mean <= right.mean,
        ">=": left.mean >= right.mean,
        "<": left.mean < right.mean,
        ">": left.mean > right.mean,
        "=": abs(left.mean - right.mean) <= EQUAL,
    }[check.comparison]
    named = f" {given}" if isinstance(given, Ratio) else ""
    sign = check.comparison if holds else f"not {check.comparison}"
    return holds, f"{left} {check.left} {sign} {right}{named}", _several(left) or _several(right)


def _label(experiment: Experiment, ratio: Ratio) -> str:
    unit = "" if ratio.bottom is not None else _unit(experiment, ratio.top)
    return f"{ratio} ({unit})" if unit else str(ratio)


def _unit(experiment: Experiment, address: Address) -> str:
    """Give the unit of a measured number; nothing if the measure's name says it."""
    unit = experiment.unit_of(address)
    return "" if unit in address.measure.split("-") else unit
