"""Rows with real packets: each quantity whose runs say how to run live is measured and judged there too.

A run with ``live = { set = ["link.0.capacity=20 Mbit/s"], duration = "15 s" }`` also runs in a laboratory of real
packets, once. Its simulation in the same network is measured beside it. Live verdicts are not held to verdicts on
record, since laboratories vary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.reproduce.execute.live import Lived, go_live
from anabranch.reproduce.judge import row_of
from anabranch.reproduce.rows import LiveReading, item_name
from anabranch.reproduce.spec.quantity import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.outcomes.kinds import Outcome
    from anabranch.reproduce.rows import Row
    from anabranch.reproduce.spec.quantity import PaperQuantity
    from anabranch.runs.simulate import Progress


def run_live(experiment: Experiment, progress: Callable[[str], Progress | None]) -> tuple[dict[str, Lived], list[str]]:
    """Carry out with real packets the runs that say how; give these, and the reasons why others are left out."""
    found: dict[str, Lived] = {}
    refused: dict[str, list[str]] = {}
    for name, run in experiment.runs.items():
        if run.live is None:
            continue
        lived = go_live(run, experiment.unit_bps, progress(f"{name}, live"))
        if isinstance(lived, Lived):
            found[name] = lived
        else:
            refused.setdefault(lived, []).append(name)
    own = item_name(experiment.item)
    return found, [f"{own} has no live {', '.join(names)}: {reason}" for reason, names in refused.items()]


def live_readings(
    experiment: Experiment, quantity: PaperQuantity, lived: Mapping[str, Lived]
) -> tuple[LiveReading, ...]:
    """Measure and judge a quantity with real packets, under each reading whose runs were all carried out."""
    found = []
    for name, alone in _each_alone(quantity):
        runs = {run for ratio in alone.ratios for address in ratio.addresses for run in address.runs}
        if not runs <= lived.keys():
            continue
        live: dict[str, tuple[Outcome, ...]] = {run: (lived[run].live,) for run in runs}
        alike: dict[str, tuple[Outcome, ...]] = {run: (lived[run].simulated,) for run in runs}
        try:
            row, beside = (row_of(experiment, alone, outcomes) for outcomes in (live, alike))
        except ScenarioError:
            # A window after the end of the live run, say.
            continue
        is_valid = all(lived[run].is_valid for run in runs)
        found.append(LiveReading(name, row.ours, beside.ours, row.verdict, is_valid))
    return tuple(found)


def with_live(experiment: Experiment, rows: list[Row], lived: Mapping[str, Lived]) -> list[Row]:
    """Give rows, one for each quantity, with what real packets gave."""
    pairs = zip(rows, experiment.quantities, strict=True)
    return [replace(row, live=live_readings(experiment, quantity, lived)) for row, quantity in pairs]


def _each_alone(quantity: PaperQuantity) -> list[tuple[str, PaperQuantity]]:
    """Give a quantity with each of its readings alone, by the names of these."""
    if isinstance(quantity, Claim):
        return [(own.reading, replace(quantity, readings=(own,))) for own in quantity.readings]
    return [(one.reading, replace(quantity, readings=(one,))) for one in quantity.readings]
