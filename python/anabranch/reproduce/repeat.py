"""Repetition: runs are simulated with more seeds until their margins of error are small.

The margin of error of a number is the half-width of its 95 % interval by Student's t, relative to its mean. A run with
``seeds = { margin = 0.01, least = 10, most = 100 }`` is simulated with seeds 1 to 10, then with five more at a time,
until the margin of every number that the item measures of it is at most 0.01, or it has had 100. The numbers are the
same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.reproduce.execute.execute import execute
from anabranch.reproduce.measures.evaluate import estimate_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from anabranch.estimate import Estimate
    from anabranch.reproduce.execute.execute import Simulations
    from anabranch.reproduce.measures.address import Ratio
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.outcomes.kinds import Outcome
    from anabranch.reproduce.spec.quantity import PaperQuantity
    from anabranch.reproduce.spec.run import Run
    from anabranch.runs.simulate import Progress

STEP = 5
"""The number of seeds that are added at a time."""


def repeat(
    outcomes: dict[str, tuple[Outcome, ...]],
    runs: Mapping[str, Run],
    quantities: Iterable[PaperQuantity],
    place: Path,
    unit_bps: float,
    simulations: Simulations,
    progress: Callable[[str], Progress | None],
) -> None:
    """Simulate runs with more seeds, until their numbers are within their margins or they have had the most.

    Parameters
    ----------
    outcomes : dict
        The outcomes of each run with its first seeds; they are replaced by those with more.
    runs : mapping of str to Run
        The runs of the experiment.
    place : Path
        The file of the quantities.
    progress : callable
        Gives the callable that the progress of a run of this name is reported to.
    """
    ratios = list(dict.fromkeys(ratio for quantity in quantities for ratio in quantity.ratios))
    while wanting := {run for ratio in ratios for run in _to_repeat(outcomes, runs, ratio, place)}:
        for name, run in runs.items():
            if name not in wanting or run.margin is None:
                continue
            more = tuple(range(1, min(len(outcomes[name]) + STEP, run.margin.most) + 1))
            outcomes[name] = execute(replace(run, seeds=more), unit_bps, simulations, progress=progress(name))


def margin_of(found: Estimate) -> float:
    """Give the half-width of the interval by the mean; 0 if the number is certain or infinite."""
    if not found.half_width or not math.isfinite(found.mean):
        return 0.0
    return found.half_width / abs(found.mean) if found.mean else math.inf


def missed(runs: Mapping[str, Run], ratio: Ratio, found: Estimate) -> str:
    """Say by how much a number missed the margin of its runs; nothing if it did not or they have none."""
    for address in ratio.addresses:
        margin = runs[address.run].margin
        if margin is not None and margin_of(found) > margin.share:
            return f"margin {100.0 * margin_of(found):.2g} % of the mean after {found.count} seeds"
    return ""


def _to_repeat(outcomes: Outcomes, runs: Mapping[str, Run], ratio: Ratio, place: Path) -> list[str]:
    """Give the runs of a number that is not sure enough, of which another seed would make it surer."""
    margins = {name: runs[name].margin for address in ratio.addresses for name in address.runs}
    most = {name: margin.most for name, margin in margins.items() if margin is not None}
    fewest = min((len(outcomes[name]) for name in most), default=0)
    own = [name for name, count in most.items() if len(outcomes[name]) == fewest < count]
    if not own or not missed(runs, ratio, estimate_ratio(outcomes, ratio, place)):
        return []
    return own
