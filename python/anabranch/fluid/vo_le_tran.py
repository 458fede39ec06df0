"""Vo-Le-Tran (reconstruction) as differential equations: portions that follow rates, prices that follow loads.

```text
x  = P weight min(1 / q, most)      q the largest price of the path's links, P its portion of the connection
P' = kappa (x / y - P)              y the rate of the connection
l' = gain (load - c)                and not below 0
```

A step of length 1 is a round of the protocol, see its page of parameters; what is reconstructed, and why, is told in
``crates/proto/src/protocols/vo_le_tran.rs``. It rests where ``x / P`` is the same on all paths in use, and greatest on
the link of the greatest price: at upward max-min fair rates.
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


def vo_le_tran(
    problem: Problem,
    times: ArrayLike,
    *,
    price: ArrayLike = 0.05,
    gain: float = 0.002,
    kappa: float = 1.0,
    most: float = 100.0,
) -> Trajectory:
    """Follow Vo-Le-Tran (reconstruction) over time, from equal portions.

    Parameters
    ----------
    problem : Problem
        The defaults are for capacities in Mbit/s.
    times : array_like of float, shape (times,)
        Increasing, in rounds.
    price : array_like of float, shape () or (links,)
        At first, in 1 / the unit of rates; over 0. Links are those with a finite capacity, then finite demands.
    gain : float
        Step size of prices, in the inverse square of the unit of rates, by round.
    kappa : float
        Step size of portions, by round.
    most : float
        What a connection of weight 1 takes at most, where prices are low.

    Returns
    -------
    Trajectory
        Rates of the paths, prices of the links.
    """
    over, time = incidence(problem), checked_times(times)
    paths, links = len(over.connection), len(over.capacity)
    first = one_for_each("price", positive("price", price), links, "links")
    gained, speed, limit = positive("gain", gain), positive("kappa", kappa), positive("most", most)
    crosses = over.uses > 0.0

    def offers(prices: NDArray[np.float64]) -> NDArray[np.float64]:
        greatest = np.where(crosses, prices[:, None], 0.0).max(axis=0)
        return np.asarray(over.weight / np.maximum(greatest, 1.0 / limit))

    def change(_: float, both: NDArray[np.float64]) -> NDArray[np.float64]:
        portions, prices = np.exp(both[:paths]), np.maximum(both[paths:], 0.0)
        offer = offers(prices)
        shift = speed * (offer / over.totals(portions * offer) - 1.0)
        rise = gained * (over.uses @ (portions * offer) - over.capacity)
        return np.concatenate([shift, slowed(prices, rise, np.inf, 1.0 / limit)])

    equal = -np.log(over.totals(np.ones(paths)))
    found = follow(change, np.concatenate([equal, first]), time)
    prices = np.maximum(found[:, paths:], 0.0)
    rates = np.array([np.exp(row) * offers(own) for row, own in zip(found[:, :paths], prices, strict=True)])
    return Trajectory(time, rates, prices)
