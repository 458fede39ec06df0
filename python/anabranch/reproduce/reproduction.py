"""Reproduce a paper: run its experiments, and put every printed number or claim beside ours."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.interrupts import held_interrupts
from anabranch.reproduce.execute.execute import execute
from anabranch.reproduce.experiment import Experiment, find_experiments, read_experiment
from anabranch.reproduce.figures.kind import gather_figure
from anabranch.reproduce.measures.address import Address, Ratio
from anabranch.reproduce.measures.evaluate import estimate_ratio
from anabranch.reproduce.outcomes.kinds import Simulated
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.repeat import missed, repeat
from anabranch.reproduce.rows import ReproductionInterrupted, Row, Rows, SimulationCost, item_name, text_of
from anabranch.reproduce.size import sized
from anabranch.reproduce.spec.quantity import Against, Check, Claim, Number, PaperQuantity, Printed, Recorded, Slip
from anabranch.reproduce.spec.traces import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from anabranch.reproduce.execute.execute import Simulations
    from anabranch.reproduce.figures.kind import GatheredFigure
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.outcomes.kinds import Outcome
    from anabranch.reproduce.outcomes.simulation import Simulation

    Progress = Callable[[str, float, float, int], None]
    EachItem = Callable[[Rows, list[GatheredFigure]], None]

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
        Simulate large networks with this many times the random connections, over links of this many times the
        capacity, over 0 and at most 1: a quick look, whose numbers are not those of the paper's size and not judged.
    experiments : path, optional
        Folder of experiments; ``./experiments`` or that of the source checkout if not given.
    progress : callable, optional
        Called with the progress of a simulation: the run, simulated time and duration in seconds, and events.
    each_item : callable, optional
        Called with all rows and the new figures as soon as a table or figure of the paper is done. The rows then keep
        figures without their numbers, which may be gigabytes for a whole paper.

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
    timed = {run for figure in experiment.figures for run in figure.timed}
    outcomes: dict[str, tuple[Outcome, ...]] = {}

    def tell(name: str) -> Callable[[float, float, int], None] | None:
        return None if progress is None else partial(progress, f"{experiment.item}: {name}")

    place = experiment.folder / "experiment.toml"
    known = {id(simulated) for simulated in simulations.values()}
    for name, run in experiment.runs.items():
        outcomes[name] = execute(run, experiment.unit_bps, simulations, timed=name in timed, progress=tell(name))
    expected, unit_bps = experiment.folder / "expected.toml", experiment.unit_bps
    repeat(outcomes, experiment.runs, experiment.quantities, expected, unit_bps, simulations, tell)
    made = []
    for name, own in outcomes.items():
        simulated = [one.simulation for one in own if isinstance(one, Simulated)]
        new = {id(one) for one in simulated} - known
        if new:
            made.append(_cost(experiment.item, name, simulated))
            known |= new
    found = [_row(experiment, quantity, outcomes) for quantity in experiment.quantities]
    figures = []
    for figure in experiment.figures:
        title = f"{item_name(experiment.item)}: {figure.heading.title or experiment.title}"
        figures.append(gather_figure(figure, experiment.item, title, experiment.rates_in, outcomes, place))
    # All at once: a signal may come before.
    rows.experiments.append(experiment)
    rows.made += made
    rows.figures += figures
    rows += found if experiment is whole else [replace(row, within=None) for row in found]


def _cost(item: str, run: str, simulated: list[Simulation]) -> SimulationCost:
    metas = [one.result.meta for one in simulated]
    time_s, wall_s, hops = (sum(meta[key] for meta in metas) for key in ("reached_s", "wall_s", "packet_hops"))
    return SimulationCost(item, run, time_s, wall_s, metas[0]["threads"], hops)


def _row(experiment: Experiment, quantity: PaperQuantity, outcomes: Outcomes) -> Row:
    if isinstance(quantity, Claim):
        return _claim(experiment, quantity, outcomes)
    return _number(experiment, quantity, outcomes)


def _claim(experiment: Experiment, claim: Claim, outcomes: Outcomes) -> Row:
    place = experiment.folder / "expected.toml"
    holds, words, seeds = _judge(experiment, claim.check, outcomes)
    shown = [f"{estimate_ratio(outcomes, r, place)} {_label(experiment, r)}" for r in claim.show]
    ours = "; ".join([words, *shown])
    row = (experiment.item, claim.name, claim.published, ours, None, holds, claim.note)
    return Row(*row, borne_out=claim.borne_out, seeds=seeds)


def _number(experiment: Experiment, number: Number, outcomes: Outcomes) -> Row:
    place, digits = experiment.folder / "expected.toml", experiment.digits
    found = estimate_ratio(outcomes, number.measured, place) * number.times
    unit = "" if number.measured.bottom is not None else _unit(experiment, number.measured.top)
    name = str(number.measured) if number.times == 1.0 else f"{number.times:.4g} x {number.measured}"
    label = f"{name}, {unit}" if unit else name
    against = None
    if isinstance(number.aim, Against):
        given = number.aim.number
        aim = against = estimate_ratio(outcomes, given, place).mean if isinstance(given, Ratio) else given
        published: float | str | None = number.published
        why = ""
    else:
        aim, published, why = _aim(number.aim, digits)
    notes = [why, number.note, missed(experiment.runs, number.measured, found)]
    if isinstance(number.aim, Printed | Slip) and f"{found.mean:.{digits}f}" == f"{aim:.{digits}f}":
        is_slip = isinstance(number.aim, Slip)
        notes.append("ours is right to that digit" if is_slip else "matches to the printed digit")
    return Row(
        experiment.item,
        label,
        published,
        found.mean if math.isfinite(found.mean) else text_of(found.mean),
        number.tolerance,
        abs(found.mean - aim) <= number.tolerance,
        "; ".join(n for n in notes if n),
        half_width=found.half_width,
        seeds=_several(found),
        against=against,
        difference=found.mean - aim if math.isfinite(found.mean) else None,
    )


def _several(found: Estimate) -> int | None:
    return found.count if found.count > 1 else None


def _aim(aim: Printed | Slip | Recorded, digits: int) -> tuple[float, float | str | None, str]:
    """Give the number that ours is judged by, the text that the row shows as published, and why they differ."""
    if isinstance(aim, Slip):
        shown = f"{aim.published:.{digits}f} (a slip for {aim.right:.{digits}f})"
        return aim.right, shown, f"the paper's slip: {aim.why}"
    if isinstance(aim, Printed):
        return aim.published, aim.published, ""
    return aim.recorded, None, f"ours on record: {text_of(aim.recorded)}"


def _judge(experiment: Experiment, check: Check, outcomes: Outcomes) -> tuple[bool, str, int | None]:
    """Tell whether a claim holds for means over seeds, in words too, and the number of seeds, if there are several."""
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
