"""Aggregation trees over step sizes of prices: where oscillation begins, and where convergence ends.

Step sizes are counted in times the bound of theorem 8.2 [teymoori2023, eq. 23], alike at all levels. In that unit

```text
eigenvalues are real                          up to 1
all values at once come to rest               up to 4 zeta / gamma, which is beta = 1 / (zeta K')
price before rate come to rest                up to 8 zeta^2 (2 - gamma / zeta) / gamma^2
```
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import positive
from anabranch.fluid.control import State
from anabranch.fluid.equilibrium import equilibrium
from anabranch.fluid.prices import Price
from anabranch.fluid.stability import eigenvalues, multipliers, tree_at_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

PUSH = 1e-4
"""So far from rest all rates begin, relative to it."""

FAR, ROUNDING = 1e-2, 1e-9
"""A distance over the one is of swings without end, one below the other none."""

STEPS = 4000
"""So long a difference equation is followed to tell whether it comes to rest."""

SWINGS = 1e-2
"""An imaginary part over this, by gamma / (2 zeta), is one; less is rounding, since eigenvalues of levels are equal."""

ROUNDS, WITHIN_A_ROUND = 3, 17
"""The number of step sizes that each round tries, between the last that holds and the first that does not."""


@dataclass(frozen=True, eq=False)
class Tree:
    """An aggregation tree with `Logistic` senders, and capacity 1 at the last link; see `tree_at_bound`."""

    breadth: int
    depth: int
    gamma: float

    def at(self, times: float) -> NDArray[np.complex128]:
        """Give the eigenvalues with step sizes that are multiples of the bound."""
        return eigenvalues(tree_at_bound(self.breadth, self.depth, self.gamma, times))

    def swinging(self, times: float) -> NDArray[np.complex128]:
        """Give the eigenvalues that have an imaginary part."""
        found = self.at(times)
        return found[np.abs(found.imag) > SWINGS * self.gamma / (2.0 * self.breadth)]

    def modulus(self, times: float, *, at_once: bool) -> float:
        """Give the greatest modulus of the `multipliers` with these step sizes."""
        control = tree_at_bound(self.breadth, self.depth, self.gamma, times)
        return float(np.abs(multipliers(control, at_once=at_once)).max())

    def pair(self, times: float) -> complex:
        """Give the eigenvalue of the rates of a link together, the one with an imaginary part of 0 or more, by formula.

        The greater one where both are real.
        """
        half = self.gamma / (2.0 * self.breadth)
        return complex(half * (-1.0 + np.emath.sqrt(1.0 - times)))

    def printed_pair(self, times: float) -> complex:
        """Give the eigenvalue by the printed formula, with 1/4 for 1 / (2 zeta)."""
        return self.pair(times) * self.breadth / 2.0

    @property
    def at_once_bound(self) -> float:
        """The step size ``1 / (zeta K')``, in times the bound."""
        return 4.0 * self.breadth / self.gamma

    def rests(self, times: ArrayLike, *, at_once: bool) -> NDArray[np.bool_]:
        """Follow the difference equation from near its rest, and tell for which step sizes it converges.

        Parameters
        ----------
        times : array_like of float, shape (settings,)
            Step sizes of prices, in times the bound; all are followed together.

        Returns
        -------
        ndarray of bool, shape (settings,)
            Whether no rate is as far from rest at the end as it was half of the way before.
        """
        factors = np.atleast_1d(positive("times", times))
        control = tree_at_bound(self.breadth, self.depth, self.gamma, 1.0)
        rest = equilibrium(control)
        price = Price(np.asarray(control.price.beta) * factors[:, None], relative=False)
        moved, shape = replace(control, price=price), (len(factors), 1)
        state = State(np.tile((1.0 + PUSH) * rest.rates, shape), np.tile(rest.prices, shape))
        distance = []
        for _ in range(STEPS):
            state = moved.step(state, at_once=at_once)
            distance.append(np.abs(state.rates / rest.rates - 1.0).max(axis=-1))
        halfway, end = (np.max(distance[until - STEPS // 10 : until], axis=0) for until in (STEPS // 2, STEPS))
        # What swings from end to end is far away at both times, what has come to rest is away by rounding.
        return np.asarray(((end < halfway) & (end < FAR)) | (end < ROUNDING))

    def rings_from(self) -> float:
        """Give the step size from which eigenvalues have imaginary parts, in times the bound."""
        return first_beyond(lambda times: np.array([self.swinging(own).size > 0 for own in times]), 0.1, 10.0)

    def unstable_from(self, *, at_once: bool) -> float:
        """Give the step size from which on the difference equation does not converge."""
        most = 100.0 * self.breadth**2 / self.gamma**2
        return first_beyond(lambda times: ~self.rests(times, at_once=at_once), 0.1, most)


def first_beyond(is_beyond: Callable[[NDArray[np.float64]], NDArray[np.bool_]], low: float, high: float) -> float:
    """Give the point between `low` and `high`, both over 0, at which a condition becomes true."""
    for _ in range(ROUNDS):
        tried = np.geomspace(low, high, WITHIN_A_ROUND)
        first = int(np.argmax(is_beyond(tried)))
        low, high = float(tried[max(first - 1, 0)]), float(tried[first])
    return math.sqrt(low * high)
