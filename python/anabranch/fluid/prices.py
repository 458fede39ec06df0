"""Prices of links: marking probabilities or prices, from the backlog or from the excess over the capacity.

```text
p' = beta (y - C) / C      from 0 to 1: Dual1                                     [teymoori2023, eq. 6, 16]
b' = y - C,  p = min(1, b / max_th):  RED as a dual algorithm                      [teymoori2023, eq. 17]
```

y is the sum of the rates that come, C the capacity, or of a virtual queue the rate of the loop that it goes into.
differs: the paper prints beta (y - C), where beta depends on the unit; `relative=False` is that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LEAST_DRAIN = 1e-12
"""The least rate of draining; a slower one counts as this, so that no excess is infinite."""

NEAR = 1e-6
"""So near to its end, relative to what prices are like, a price slows down over time."""


@dataclass(frozen=True, eq=False)
class Price:
    """A price that integrates the excess.

    Attributes
    ----------
    beta : array_like of float
        Step size, by unit of time or interval; one for all links, or an array that fits their last axis. If not
        `relative`, by unit of rate besides.
    relative : bool
        Whether the excess is taken by the capacity.
    most : float
        Where it ends: at 1, if it is a probability.
    """

    beta: ArrayLike
    relative: bool = True
    most: float = 1.0

    def __post_init__(self) -> None:
        positive("beta", self.beta)
        positive("most", self.most, infinite=True)

    def change(self, load: NDArray[np.float64], drain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the growth rate of prices that are not at a bound."""
        excess = load - drain
        return np.asarray(
            np.asarray(self.beta) * (excess / np.maximum(drain, LEAST_DRAIN) if self.relative else excess)
        )

    def held(self, price: NDArray[np.float64], change: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which prices are at a bound and would cross it."""
        return np.asarray(((price <= 0.0) & (change < 0.0)) | ((price >= self.most) & (change > 0.0)))

    def stepped(self, price: NDArray[np.float64], change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give prices after an interval."""
        return np.asarray(np.clip(price + change, 0.0, self.most))


def slowed(
    price: NDArray[np.float64], change: NDArray[np.float64], most: float, scale: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give price changes that slow down near the bounds of prices, since integrators need smooth functions.

    Parameters
    ----------
    scale : float or ndarray of float64
        What prices are like: within a millionth of it they slow down.
    """
    room = np.where(change < 0.0, price, most - price) / (NEAR * scale)
    return np.asarray(change * np.clip(room, 0.0, 1.0))


def red(max_threshold: float) -> Price:
    """Give RED as a dual algorithm: the price is the backlog over its greatest threshold [teymoori2023, eq. 17].

    Parameters
    ----------
    max_threshold : float
        In the unit of rates times that of time, which is an interval for a difference equation.

    Returns
    -------
    Price
        Its values are backlog by `max_threshold`, and may be over 1. What is over 1 marks all.
    """
    return Price(1.0 / float(positive("max_threshold", max_threshold)), relative=False, most=np.inf)
