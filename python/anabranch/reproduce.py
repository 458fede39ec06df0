"""Reproduce a paper: run its experiments, and set every printed number or claim beside ours."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.experiment import (
    Address,
    Check,
    Experiment,
    Quantity,
    Ratio,
    find_experiments,
    list_experiments,
    read_experiment,
)
from anabranch.experiment_figure import make_figure
from anabranch.folder import new_folder
from anabranch.outcome import execute, measure, measure_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from anabranch.experiment_figure import Figure
    from anabranch.outcome import Outcome, Simulations

    Progress = Callable[[str, float, float, int], None]

EQUAL = 1e-9
"""Numbers in a check with ``=`` may differ by this much."""


@dataclass(frozen=True)
class Row:
    """A printed number or claim, and ours.

    Attributes
    ----------
    item : str
        Table or figure.
    quantity : str
        What it is, with its unit.
    published : float, str or None
        As printed; text for a claim, and for a slip of the paper with what is right; None if the paper prints none.
    ours : float or str
    tolerance : float or None
        The most that ours may differ; None for a claim.
    within : bool
        Whether ours is within the tolerance of what is published (of what is right, for a slip; of what was recorded,
        if nothing is published), or the check holds.
    note : str
    borne_out : bool
        False for a claim whose check states what we found instead, so that the paper's sentence is not borne out.
    """

    item: str
    quantity: str
    published: float | str | None
    ours: float | str
    tolerance: float | None
    within: bool
    note: str
    borne_out: bool = True

    @property
    def verdict(self) -> str:
        """What the column ``within`` says to people."""
        if not self.within:
            return "NO"
        return "yes" if self.borne_out else "not borne out"


@dataclass(frozen=True)
class Made:
    """What a simulation took.

    Attributes
    ----------
    item, run : str
        Table or figure, and the name of the run.
    simulated_s, wall_s : float
        How much time was simulated, and how long that took.
    threads, packet_hops : int
        On how many threads, and how often a packet went over a link.
    """

    item: str
    run: str
    simulated_s: float
    wall_s: float
    threads: int
    packet_hops: int


class Rows(list[Row]):
    """Rows, the figures of their report, and the simulations that were made for them."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: list[Figure] = []
        self.made: list[Made] = []

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table of text and numbers."""
        columns = {name: [getattr(row, name) for row in self] for name in Row.__dataclass_fields__}
        text = {name: [None if v is None else _text(v) for v in columns[name]] for name in ("published", "ours")}
        return pl.DataFrame(columns | text, strict=False)


def verdicts(rows: Iterable[Row]) -> str:
    """Say how many rows there are, how many outside their band, and how many claims of the paper not borne out."""
    all_rows = list(rows)
    outside, refuted = sum(not row.within for row in all_rows), sum(not row.borne_out for row in all_rows)
    return f"{len(all_rows)} rows, {outside} outside their band, {refuted} claims not borne out"


def reproduce(
    name: str,
    item: str | None = None,
    *,
    scale: float = 1.0,
    experiments: str | Path | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Run the experiments of a paper.

    Parameters
    ----------
    name : str
        The paper, such as ``"upward-max-min"``.
    item : str, optional
        A table or figure, such as ``"table-7"``; all if not given.
    scale : float
        Simulate with so many times the random connections, over 0 and at most 1: a quick look, whose numbers are not
        those of the paper's size.
    experiments : path, optional
        Folder of experiments; ``./experiments`` or that of the source checkout if not given.
    progress : callable, optional
        Told which run is simulated and how far it is: its name, simulated time and duration in seconds, and events.

    Returns
    -------
    Rows
        A list of `Row`, one for each printed number or claim.

    Raises
    ------
    ScenarioError
        An unknown paper or item; a mistake in an experiment's files.
    """
    folder = find_experiments(experiments)
    papers = list_experiments(folder)
    if name not in papers:
        near = _core.nearest_name(name, list(papers))
        hint = f" (did you mean `{near}`?)" if near else ""
        raise ScenarioError(f"{folder}: there is no paper `{name}`{hint}; there is {', '.join(papers)}")
    if item is not None and item not in papers[name]:
        raise ScenarioError(f"{folder}: there is no `{item}` of {name}; there is {', '.join(papers[name])}")
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale is {scale}; it must be over 0 and at most 1")
    rows = Rows()
    simulations: Simulations = {}
    for own in papers[name] if item is None else [item]:
        _reproduce(scaled(read_experiment(folder / f"{name}-{own}"), scale), rows, simulations, progress)
    return rows


def scaled(experiment: Experiment, scale: float) -> Experiment:
    """Give an experiment with so many times the random connections."""
    if scale == 1.0:
        return experiment
    runs = {
        name: replace(run, sets=(*run.sets, *_fewer(run.scenario, scale))) if run.method == "simulate" else run
        for name, run in experiment.runs.items()
    }
    return replace(experiment, runs=runs)


def _fewer(scenario: Path, scale: float) -> list[str]:
    """Give what sets the counts of the random connections of a scenario to so many times what they are."""
    groups = tomllib.loads(scenario.read_text(encoding="utf-8")).get("traffic", [])
    return [f"traffic.{n}.count={max(1, round(scale * group['count']))}" for n, group in enumerate(groups)]


def _reproduce(experiment: Experiment, rows: Rows, simulations: Simulations, progress: Progress | None) -> None:
    timed = {run for figure in experiment.figures if figure.draw == "convergence" for run in figure.runs}
    outcomes: dict[str, Outcome] = {}
    for name, run in experiment.runs.items():
        tell = None if progress is None else partial(progress, f"{experiment.item}: {name}")
        before = len(simulations)
        outcomes[name] = execute(run, experiment.unit_bps, simulations, timed=name in timed, progress=tell)
        if len(simulations) > before:
            rows.made.append(_made(experiment.item, name, outcomes[name]))
    rows += [_row(experiment, quantity, outcomes) for quantity in experiment.quantities]
    rows.figures += [
        make_figure(plan, experiment.item, experiment.title, experiment.rates_in, outcomes)
        for plan in experiment.figures
    ]


def _made(item: str, run: str, outcome: Outcome) -> Made:
    assert outcome.simulated is not None, "it is a new simulation"
    meta = outcome.simulated.result.meta
    return Made(item, run, meta["reached_s"], meta["wall_s"], meta["threads"], meta["packet_hops"])


def _row(experiment: Experiment, quantity: Quantity, outcomes: dict[str, Outcome]) -> Row:
    place = experiment.folder / "expected.toml"
    if quantity.check is not None:
        holds, words = _judge(experiment, quantity.check, outcomes)
        shown = [f"{_text(measure_ratio(outcomes, r, place))} {_label(experiment, r)}" for r in quantity.show]
        ours = "; ".join([words, *shown])
        claim = (experiment.item, quantity.name, quantity.published, ours, None, holds, quantity.note)
        return Row(*claim, borne_out=quantity.borne_out)
    assert quantity.address is not None, "a quantity without a check has an address"
    value = measure(outcomes, quantity.address, place)
    unit = _unit(experiment, quantity.address)
    label = f"{quantity.address}, {unit}" if unit else str(quantity.address)
    aim, published, why = _aim(quantity, experiment.digits)
    notes = [why, quantity.note]
    if quantity.recorded is None and f"{value:.{experiment.digits}f}" == f"{aim:.{experiment.digits}f}":
        notes.append("matches to the printed digit" if quantity.right is None else "ours is right to that digit")
    within = abs(value - aim) <= quantity.tolerance
    note = "; ".join(n for n in notes if n)
    found = value if math.isfinite(value) else _text(value)
    return Row(experiment.item, label, published, found, quantity.tolerance, within, note)


def _aim(quantity: Quantity, digits: int) -> tuple[float, float | str | None, str]:
    """Give what ours is judged against, what the row shows as published, and why they differ."""
    if quantity.right is not None:
        assert isinstance(quantity.published, float), "the reader asks for it"
        shown = f"{quantity.published:.{digits}f} (a slip for {quantity.right:.{digits}f})"
        return quantity.right, shown, f"the paper's slip: {quantity.why}"
    if isinstance(quantity.published, float):
        return quantity.published, quantity.published, ""
    assert quantity.recorded is not None, "the reader asks for one of the two"
    return quantity.recorded, None, f"ours on record: {_text(quantity.recorded)}"


def _judge(experiment: Experiment, check: Check, outcomes: dict[str, Outcome]) -> tuple[bool, str]:
    place = experiment.folder / "expected.toml"
    left = measure_ratio(outcomes, check.left, place)
    right = measure_ratio(outcomes, check.right, place) if isinstance(check.right, Ratio) else check.right
    holds = {
        "<=": left <= right,
        ">=": left >= right,
        "<": left < right,
        ">": left > right,
        "=": abs(left - right) <= EQUAL,
    }[check.comparison]
    named = f" {check.right}" if isinstance(check.right, Ratio) else ""
    sign = check.comparison if holds else f"not {check.comparison}"
    return holds, f"{_text(left)} {check.left} {sign} {_text(right)}{named}"


def _label(experiment: Experiment, ratio: Ratio) -> str:
    unit = "" if ratio.bottom is not None else _unit(experiment, ratio.top)
    return f"{ratio} ({unit})" if unit else str(ratio)


def _unit(experiment: Experiment, address: Address) -> str:
    """Give the unit of a measured number; nothing if the measure's name says it."""
    unit = experiment.unit_of(address)
    return "" if unit in address.measure.split("-") else unit


def report(rows: Iterable[Row], folder: str | Path) -> None:
    """Write rows and figures to a new folder: ``rows.json``, ``report.md``, and each figure with its numbers as CSV.

    Parameters
    ----------
    rows : Rows or iterable of Row
        From `reproduce`; a plain list gives no figures.

    Raises
    ------
    ScenarioError
        The folder exists or cannot be made.
    """
    all_rows = list(rows)
    figures, made = (rows.figures, rows.made) if isinstance(rows, Rows) else ([], [])
    with new_folder(folder) as aside:
        text = json.dumps([asdict(row) for row in all_rows], indent=1, ensure_ascii=False)
        (aside / "rows.json").write_text(text + "\n", encoding="utf-8")
        (aside / "report.md").write_text(_markdown(all_rows, figures, made), encoding="utf-8")
        for figure in figures:
            figure.write(aside)


def _markdown(rows: list[Row], figures: list[Figure], made: list[Made]) -> str:
    lines = ["# Published and ours", "", f"{verdicts(rows)}."]
    for item in dict.fromkeys(row.item for row in rows):
        lines += ["", f"## {item.replace('-', ' ').capitalize()}", ""]
        lines += ["| quantity | published | ours | tolerance | within | note |", "|---|---:|---:|---:|---|---|"]
        for row in (r for r in rows if r.item == item):
            verdict = row.verdict if row.verdict == "yes" else f"**{row.verdict}**"
            cells = [row.quantity, row.published, row.ours, row.tolerance, verdict, row.note]
            lines.append("| " + " | ".join("" if c is None else _text(c).replace("|", "\\|") for c in cells) + " |")
        for figure in (f for f in figures if f.item == item):
            file = figure.plan.file
            lines += ["", f"![{figure.title}]({file}.svg)", "", figure.plan.caption]
            lines += ["", f"Numbers: [{file}.csv]({file}.csv)"]
    if made:
        lines += ["", "## What the simulations took", ""]
        lines += ["| item | run | simulated | took | threads | packet-hops | a second |"]
        lines += ["|---|---|---:|---:|---:|---:|---:|"]
    for m in made:
        times, hops = f"{m.simulated_s:g} s | {m.wall_s:.3g} s", f"{m.packet_hops:,} | {m.packet_hops / m.wall_s:.3g}"
        lines.append(f"| {m.item} | {m.run} | {times} | {m.threads} | {hops} |")
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    if value == math.inf:
        return "never"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
