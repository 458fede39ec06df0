"""Numbers measured on the outcomes of runs, and their means over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.reproduce.measures.registry import EVER, AnotherRun

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anabranch.reproduce.measures.address import Address, Ratio
    from anabranch.reproduce.outcomes.kinds import Outcome

    Outcomes = Mapping[str, tuple[Outcome, ...]]
    """The outcomes of each run, by its name: one for each combination of seeds and traces."""


def measured(outcomes: Mapping[str, Outcome], address: Address, place: Path) -> float:
    """Give one number of runs with one seed each; `place` is the file that asks for it.

    Raises
    ------
    ScenarioError
        There is no such connection, subflow or link, or the run does not give this number.
    """
    row, run = address.row, outcomes[address.run]
    try:
        subject = []
        if isinstance(row.of, AnotherRun):
            subject = [row.of.find(outcomes, address.subject)]
        elif row.of is not None:
            subject = [row.of.find(run, address.subject)]
        window = [address.window_s or EVER] if row.windowed else []
        return float(row.function(run, *subject, *window))
    except ScenarioError as error:
        raise ScenarioError(f"{place}: `{address}`: {error}") from error


def values(outcomes: Outcomes, ratio: Ratio, place: Path, count: int | None = None) -> list[float]:
    """Give one number, or the quotient of two, for each seed that all runs have, or for the first `count` of them."""
    needed = {run: outcomes[run] for address in ratio.addresses for run in address.runs}
    seeds = seeds_of(outcomes, [ratio]) if count is None else count
    return [_ratio(_with_seed(needed, number), ratio, place) for number in range(seeds)]


def seeds_of(outcomes: Outcomes, ratios: Iterable[Ratio]) -> int:
    """Give the number of seeds that all runs of some numbers have; 1 if none has several."""
    needed = {run for ratio in ratios for address in ratio.addresses for run in address.runs}
    return min((len(outcomes[run]) for run in needed if len(outcomes[run]) > 1), default=1)


def estimate_ratio(outcomes: Outcomes, ratio: Ratio, place: Path) -> Estimate:
    """Give one number, or the quotient of two, for each seed, as a mean with its interval.

    If the two have different numbers of seeds, the mean is over the seeds that both have.
    """
    return estimate(values(outcomes, ratio, place))


def _with_seed(outcomes: Outcomes, number: int) -> dict[str, Outcome]:
    """Give the outcome of each run with one of its seeds, or its only one."""
    return {name: own[number] if len(own) > 1 else own[0] for name, own in outcomes.items()}


def _ratio(outcomes: Mapping[str, Outcome], ratio: Ratio, place: Path) -> float:
    top = measured(outcomes, ratio.top, place)
    return top if ratio.bottom is None else quotient(top, measured(outcomes, ratio.bottom, place))


def quotient(top: float, bottom: float) -> float:
    """Give one number by another: 1 if they are equal, also 0 by 0; infinite if the latter alone is 0."""
    if top == bottom:
        return 1.0
    return top / bottom if bottom else math.copysign(math.inf, top)
