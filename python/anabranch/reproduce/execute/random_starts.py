"""The iterations of [cao2012] from many random starts, compared with the optimum at each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch import _core
from anabranch.reproduce.outcomes.kinds import CLOSE, FromStarts
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem
    from anabranch.reproduce.spec.starts import Starts

LEAST_RATE = 1e-9
"""The rate below which the marginal utility of a connection is that at this rate: that at 0 is infinite."""


def from_starts(problem: Problem, paths: Paths, starts: Starts, most: int, tolerance: float) -> FromStarts:
    """Follow an iteration from random starts for a number of steps.

    In each start a connection has a rate between 0.1 and 2 times the optimal one, and parts of it, drawn evenly among
    all divisions, on its paths.
    """
    best = solve(problem, fairness="proportional").path_rates
    whole = problem.core.sum_by_connection(best)
    draw = np.random.default_rng(1)
    steps = np.empty(starts.count)
    for number in range(starts.count):
        shares = draw.exponential(size=len(paths))
        shares /= problem.core.sum_by_connection(shares)[paths.connection]
        rates = shares * (whole * draw.uniform(0.1, 2.0, size=len(whole)))[paths.connection]
        steps[number] = _steps_until_close(_iterate(problem, paths, starts, rates), problem, whole, most)
    return FromStarts(paths, tolerance, lambda: (problem, best), steps)


def _steps_until_close(
    rates: Iterator[NDArray[np.float64]], problem: Problem, whole: NDArray[np.float64], most: int
) -> float:
    """Give the step from which on all rates of connections are within 1 % of the optimum; infinite without one."""
    last = 0
    for step in range(1, most + 1):
        own = problem.core.sum_by_connection(next(rates))
        if (np.abs(own - whole) > CLOSE * whole).any():
            last = step
    return np.inf if last == most else last + 1.0


def _iterate(
    problem: Problem, paths: Paths, starts: Starts, rates: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Give the rates of paths after each step."""
    if starts.algorithm == "gradient":
        yield from _gradient(problem, paths, starts, rates)
        return
    if starts.algorithm == "weight-adjustment":
        solver: _core.WeightAdjustment | _core.WeightAllocation = _core.weight_adjustment(
            problem.core, rates, starts.gamma
        )
    else:
        solver = _core.weight_allocation(problem.core, rates / problem.core.sum_by_connection(rates)[paths.connection])
    while True:
        solver.advance()
        yield solver.rates


def _gradient(
    problem: Problem, paths: Paths, starts: Starts, rates: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Follow equations 11 and 12 with the utility log y: prices by loads, then rates by prices."""
    use = np.zeros((len(problem.capacity), len(paths)))
    use[paths.path_links, np.repeat(np.arange(len(paths)), np.diff(paths.path_offsets))] = 1.0
    is_limited = np.isfinite(problem.capacity)
    capacity = np.where(is_limited, problem.capacity, 0.0)
    prices = np.zeros(len(capacity))
    while True:
        prices = np.where(is_limited, np.maximum(prices - starts.gamma * (capacity - use @ rates), 0.0), 0.0)
        whole = np.maximum(problem.core.sum_by_connection(rates)[paths.connection], LEAST_RATE)
        rates = np.maximum(rates + starts.theta * (1.0 / whole - use.T @ prices), 0.0)
        yield rates
