"""Repetition until numbers are sure: runs are simulated with more seeds until their margins of error are small.

The margin of error of a number is the half-width of its 95 % interval by Student's t, relative to its mean. A run with
``seeds = { margin = 0.01, least = 10, most = 100 }`` is simulated with seeds 1 to 10, then with five more at a time,
until the margin of every number that is measured of it for the item is at most 0.01, or it has had 100. So the numbers
are the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.reproduce.execute.outcome import execute
from anabranch.reproduce.measures.registry import estimate_ratio
from anabranch.reproduce.spec.quantity import Ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from anabranch.estimate import Estimate
    from anabranch.reproduce.execute.outcome import Outcome, Simulations
    from anabranch.reproduce.spec.quantity import Quantity
    from anabranch.runs.simulate import Progress

STEP = 5
"""So many seeds are added at a time."""


def repeat(
    outcomes: dict[str, Outcome],
    quantities: Iterable[Quantity],
    place: Path,
    unit_bps: float,
    simulations: Simulations,
    progress: Callable[[str], Progress | None],
) -> None:
    """Simulate runs with more seeds, until their numbers are within their margins or they have had the most.

    Parameters
    ----------
    outcomes : dict
        Runs by name with their first seeds; in place of these come those with more.
    place : Path
        The file of the quantities.
    progress : callable
        Gives what is told how far a run of this name is.
    """
    ratios = list(dict.fromkeys(ratio for quantity in quantities for ratio in measured_for(quantity)))
    while wanting := {run for ratio in ratios for run in _to_repeat(outcomes, ratio, place)}:
        for name in outcomes:
            run = outcomes[name].run
            if name not in wanting or run.margin is None:
                continue
            more = tuple(range(1, min(len(run.seeds) + STEP, run.margin.most) + 1))
            outcomes[name] = execute(replace(run, seeds=more), unit_bps, simulations, progress=progress(name))


def measured_for(quantity: Quantity) -> list[Ratio]:
    """Give all that is measured for a quantity."""
    check = quantity.check
    own = [quantity.measured, quantity.against, *quantity.show, *((check.left, check.right) if check else ())]
    return [ratio for ratio in own if isinstance(ratio, Ratio)]


def margin_of(found: Estimate) -> float:
    """Give the half-width of the interval by the mean; 0 if there is nothing to be surer of."""
    if not found.half_width or not math.isfinite(found.mean):
        return 0.0
    return found.half_width / abs(found.mean) if found.mean else math.inf


def missed(outcomes: dict[str, Outcome], ratio: Ratio, found: Estimate) -> str:
    """Say by how much a number missed the margin of its runs; nothing if it did not or they have none."""
    for address in ratio.addresses:
        margin = outcomes[address.run].run.margin
        if margin is not None and margin_of(found) > margin.share:
            return f"margin {100.0 * margin_of(found):.2g} % of the mean after {found.count} seeds"
    return ""


def _to_repeat(outcomes: dict[str, Outcome], ratio: Ratio, place: Path) -> list[str]:
    """Give the runs that another seed of would make a number surer that is not sure enough."""
    runs = {name: outcomes[name].run for address in ratio.addresses for name in address.runs}
    fewest = min((len(run.seeds) for run in runs.values() if run.margin is not None), default=0)
    own = [name for name, run in runs.items() if run.margin is not None and len(run.seeds) == fewest < run.margin.most]
    if not own or not missed(outcomes, ratio, estimate_ratio(outcomes, ratio, place)):
        return []
    return own
