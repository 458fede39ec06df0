"""Algorithm 2 of weighted Vegas, followed step by step [cao2012, alg. 2]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem

LEAST = 1e-12
"""It ends when no weight changed by as much."""

CLOSE = 0.01
"""Rates that are nearer to the optimum, relative to the connection's rate there, are at it."""


@dataclass(frozen=True)
class WeightSteps:
    """What there was after each step."""

    rates: NDArray[np.float64]
    """Shape (steps, paths)."""
    prices: NDArray[np.float64]
    """Shape (steps, paths)."""
    converged: bool

    def until_close(self, aim: NDArray[np.float64], whole: NDArray[np.float64]) -> float:
        """Give the first step from which on every rate stays within 1 % of its aim; infinite if there is none.

        Parameters
        ----------
        aim : ndarray of float64, shape (paths,)
        whole : ndarray of float64, shape (paths,)
            What 1 % is of: the rate of the path's connection.
        """
        is_far = (np.abs(self.rates - aim) > CLOSE * whole).any(axis=1)
        last = int(np.flatnonzero(is_far)[-1]) + 1 if is_far.any() else 0
        return math.inf if last == len(self.rates) else float(last + 1)


def weight_steps(problem: Problem, weights: NDArray[np.float64], most: int) -> WeightSteps:
    """Follow the algorithm from these weights until nothing changes, or for so many steps."""
    solver = _core.weight_allocation(problem.core, weights)
    rates, prices = [], []
    while solver.steps < most:
        solver.advance()
        rates.append(solver.rates)
        prices.append(solver.path_prices)
        if solver.change < LEAST:
            break
    return WeightSteps(np.array(rates), np.array(prices), solver.change < LEAST)


def first_weights(paths: Paths, given: Mapping[str, tuple[float, ...]]) -> NDArray[np.float64]:
    """Give the weight of each path: as given for its connection, or the same for all paths of the connection.

    Raises
    ------
    ScenarioError
        A connection that is not there, or has not as many paths; weights that are not positive or do not add to 1.
    """
    names, offsets = paths.demands.core.names, paths.connection_offsets.tolist()
    weights = 1.0 / np.diff(paths.connection_offsets)[paths.connection]
    for name, own in given.items():
        if name not in names:
            raise ScenarioError(f"`weights`: there is no connection `{name}`; name one of {', '.join(names)}")
        first, end = offsets[names.index(name)], offsets[names.index(name) + 1]
        if len(own) != end - first:
            raise ScenarioError(f"`weights`: `{name}` has {len(own)}; it must have one for each of {end - first} paths")
        if min(own) <= 0.0 or not math.isclose(sum(own), 1.0, rel_tol=1e-9):
            raise ScenarioError(f"`weights`: those of `{name}` add to {sum(own):g}; they must be positive and add to 1")
        weights[first:end] = own
    return np.asarray(weights)
