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
"""The algorithm ends when no weight changes by as much."""


@dataclass(frozen=True)
class WeightSteps:
    """The rates and prices of paths after each step.

    Attributes
    ----------
    rates, prices : ndarray of float64, shape (steps, paths)
    converged : bool
    """

    rates: NDArray[np.float64]
    prices: NDArray[np.float64]
    converged: bool


def weight_steps(problem: Problem, weights: NDArray[np.float64], most: int) -> WeightSteps:
    """Follow the algorithm from these weights until nothing changes, for `most` steps at most."""
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
    """Give the weight of each path: as given for its connection, or equal for all paths of the connection.

    Raises
    ------
    ScenarioError
        A name that no connection has; a wrong number of weights; weights that are not positive or do not add to 1.
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
