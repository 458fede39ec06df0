"""Measures of solvers: how long they take, and whether they converge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce.measures.rates_on_paths import check_alike
from anabranch.reproduce.measures.registry import AnotherRun, UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import ON_PATHS, SOLVED, WEIGHT_ALLOCATED

if TYPE_CHECKING:
    from anabranch.reproduce.outcomes.kinds import OnPaths, Solved, WeightAllocated

REMEDY = "steps are of iewf and pseudo-code, times of runs in a figure"


@measure("passes", unit="passes", runs=SOLVED)
def passes(run: Solved) -> float:
    """Give the number of passes that the solver took."""
    return float(run.passes)


@measure("steps", unit="steps", runs=SOLVED)
def steps(run: Solved) -> float:
    """Give the number of steps within the passes, for methods that count them."""
    if run.steps is None:
        raise UnmeasuredError(f"the run does not give this; {REMEDY}")
    return float(run.steps)


@measure("converged", unit="1 if so", runs=SOLVED)
def converged(run: Solved) -> float:
    """Give 1 if the solver converged, and 0 if it did not."""
    return float(run.converged)


@measure("time", unit="us", runs=SOLVED)
def time(run: Solved) -> float:
    """Give the time that all passes took; it may be shown and never decides."""
    if run.trace is None:
        raise UnmeasuredError(f"the run does not give this; {REMEDY}")
    return float(run.trace.time_us.sum())


@measure("steps-to", of=AnotherRun(ON_PATHS), unit="steps", runs=WEIGHT_ALLOCATED)
def steps_to(run: WeightAllocated, other: OnPaths) -> float:
    """Give the first step from which on no subflow is farther than 1 % from its rate in the other run.

    Relative to its connection's rate there.
    """
    check_alike(run, other)
    return run.until_close(other.path_rates, other.connection_rates[other.paths.connection])
