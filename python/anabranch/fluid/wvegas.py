"""Weighted Vegas as differential equations: rates and weights that follow prices, prices that follow loads [cao2012].

```text
x' = kappa x (alpha / y - q)        q the sum of the prices of the path's links, y the rate of its connection
l' = gamma (load - c) / c           and not below 0                                                [cao2012, eq. 12]
```

This is the paper's equation 11 with the step size ``theta = kappa x``; algorithm 1 has ``theta = x / q``, which makes
``x = k alpha / q`` with the weight ``k = x / y``. Both rest where every path in use has the price ``alpha / y``: at
proportionally fair rates. differs: excess is taken by the capacity. Algorithm 1 itself, step by step, is
`anabranch._core.weight_adjustment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import one_for_each, positive
from anabranch.fluid.incidence import incidence
from anabranch.fluid.prices import slowed
from anabranch.fluid.trajectory import Trajectory, checked_times, follow

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anabranch.model.problem import Problem

FARTHEST = 1e4
"""Rates count as at most so many times the greatest capacity."""


def wvegas(
    problem: Problem,
    times: ArrayLike,
    *,
    rates: ArrayLike | None = None,
    kappa: float = 1.0,
    gamma: float = 1.0,
) -> Trajectory:
    """Follow weighted Vegas over time.

    Parameters
    ----------
    problem : Problem
        A weight is a connection's alpha.
    times : array_like of float, shape (times,)
        Increasing, in the unit that step sizes are by.
    rates : array_like of float, shape (paths,), optional
        At first, over 0; a hundredth of the least capacity on the path if not given.
    kappa, gamma : float
        Step sizes of rates and of prices.

    Returns
    -------
    Trajectory
        Rates of the paths; prices of the links with a finite capacity, then of finite demands. A price has the unit of
        weight by rate.
    """
    over, time = incidence(problem), checked_times(times)
    paths = len(over.connection)
    first = one_for_each(
        "rates", positive("rates", over.least_capacity / 100.0 if rates is None else rates), paths, "paths"
    )
    scale = over.weight.min() / over.capacity.max()
    farthest = np.log(FARTHEST * over.capacity.max())
    speed, gain = positive("kappa", kappa), positive("gamma", gamma)

    def change(_: float, both: NDArray[np.float64]) -> NDArray[np.float64]:
        # Steps that are tried and given up again may go anywhere.
        own, prices = np.exp(np.minimum(both[:paths], farthest)), np.maximum(both[paths:], 0.0)
        pull = speed * (over.weight / over.totals(own) - prices @ over.uses)
        rise = gain * (over.uses @ own / over.capacity - 1.0)
        return np.concatenate([pull, slowed(prices, rise, np.inf, scale)])

    found = follow(change, np.concatenate([np.log(first), np.zeros(len(over.capacity))]), time)
    return Trajectory(time, np.exp(found[:, :paths]), np.maximum(found[:, paths:], 0.0))
