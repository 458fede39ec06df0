"""Senders, which set the rates of loops: by carrying capacity and marks, or by prices alone.

```text
Logistic     x' = gamma x (1 - x / k - p)                                                  [teymoori2023, eq. 4, 9]
Deflated     x' = gamma x (log_phi2(1 - p) - log_phi1(x / k))                              [teymoori2023, eq. 7, 14]
Jump         x  = k (1 - p)^(ln phi1 / ln phi2)                                            [teymoori2023, eq. 15]
LogUtility   x' = gamma (1 / x - p)                                                        [teymoori2023, eq. 18]
LogJump      x  = 1 / p
```

The first is from [teymoori2016], the next two are from [teymoori2021]. k is the carrying capacity, p the probability
that a packet is marked on any link of the loop; for the last two it is the sum of the links' prices, in 1 / the unit of
rates. As a difference equation x rises by x' in each interval.

differs: the paper says that Deflated with equal bases is Logistic. They settle at the same rates, and are not the same
on the way there. Its equation 18 lacks 1 / x and swaps the price: as printed the rate can only grow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from anabranch.fluid.arguments import base, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Slopes: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

MOST_MARKED = 0.999
"""Where the logarithm of 1 - p counts, a greater p counts as this."""


@dataclass(frozen=True, eq=False)
class Logistic:
    """Logistic growth towards the unmarked part of the carrying capacity [teymoori2023, eq. 4, 9].

    Attributes
    ----------
    gamma : array_like of float
        Growth rate, by unit of time or interval; one for all loops, or an array that fits their last axis.
    """

    gamma: ArrayLike

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)

    def change(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give x'."""
        return np.asarray(np.asarray(self.gamma) * x * (1.0 - x / k - p))

    def slopes(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> Slopes:
        """Give how x' changes with x, k and p [teymoori2023, eq. 31, 32]; differs: the sign of 32, misprinted."""
        gamma = np.asarray(self.gamma)
        return gamma * (1.0 - 2.0 * x / k - p), gamma * (x / k) ** 2, -gamma * x

    def settled(self, k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the rate at which x' is 0 [teymoori2023, eq. 19]."""
        return np.asarray(k * np.maximum(1.0 - p, 0.0))


@dataclass(frozen=True, eq=False)
class Jump:
    """The equilibrium rate of Deflated, without delay: the sender of the dual algorithm [teymoori2023, eq. 15].

    Attributes
    ----------
    phi_1, phi_2 : float
        Bases over 1; the greater phi_1 beside phi_2, the less is marked. With equal ones x = k (1 - p).
    """

    phi_1: float = 10.0
    phi_2: float = 5.0

    def __post_init__(self) -> None:
        base("phi_1", self.phi_1), base("phi_2", self.phi_2)

    def settled(self, k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the rate."""
        return np.asarray(k * (1.0 - np.minimum(p, MOST_MARKED)) ** (math.log(self.phi_1) / math.log(self.phi_2)))


@dataclass(frozen=True, eq=False)
class Deflated:
    """Growth by logarithms, with fewer marks: the sender of the primal algorithm [teymoori2023, eq. 7, 14].

    Attributes
    ----------
    gamma : array_like of float
        As of `Logistic`.
    phi_1, phi_2 : float
        As of `Jump`.
    """

    gamma: ArrayLike
    phi_1: float = 10.0
    phi_2: float = 5.0

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)
        base("phi_1", self.phi_1), base("phi_2", self.phi_2)

    def change(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give x'."""
        return np.asarray(np.asarray(self.gamma) * x * self._pull(x, k, p))

    def slopes(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> Slopes:
        """Give how x' changes with x, k and p."""
        gamma, ln_1, ln_2 = np.asarray(self.gamma), math.log(self.phi_1), math.log(self.phi_2)
        unmarked = 1.0 - np.minimum(p, MOST_MARKED)
        return gamma * (self._pull(x, k, p) - 1.0 / ln_1), gamma * x / (k * ln_1), -gamma * x / (unmarked * ln_2)

    def settled(self, k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the rate at which x' is 0 [teymoori2023, eq. 20]."""
        return Jump(self.phi_1, self.phi_2).settled(k, p)

    def _pull(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        # A loop that is not there has rate 0, and keeps it.
        share = np.where(x > 0.0, x / k, 1.0)
        unmarked = 1.0 - np.minimum(p, MOST_MARKED)
        return np.asarray(np.log(unmarked) / math.log(self.phi_2) - np.log(share) / math.log(self.phi_1))


@dataclass(frozen=True, eq=False)
class LogUtility:
    """The controller of a logarithmic utility, without a carrying capacity [teymoori2023, eq. 18].

    Attributes
    ----------
    gamma : array_like of float
        Step size, in the square of the unit of rates by unit of time or interval.
    """

    gamma: ArrayLike

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)

    def change(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give x'."""
        return np.asarray(np.asarray(self.gamma) * (1.0 / x - p))

    def slopes(self, x: NDArray[np.float64], k: NDArray[np.float64], p: NDArray[np.float64]) -> Slopes:
        """Give how x' changes with x, k and p."""
        gamma = np.asarray(self.gamma) * np.ones_like(x)
        return -gamma / x**2, np.zeros_like(gamma), -gamma

    def settled(self, k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the rate at which x' is 0; infinite where the price is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / p)


@dataclass(frozen=True, eq=False)
class LogJump:
    """The equilibrium rate of LogUtility, without delay.

    Attributes
    ----------
    most : float
        It goes no further than this where prices are low; in the unit of rates.
    """

    most: float = 1.0

    def __post_init__(self) -> None:
        positive("most", self.most)

    def settled(self, k: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the rate."""
        return np.asarray(1.0 / np.maximum(p, 1.0 / self.most))


Gradual: TypeAlias = Logistic | Deflated | LogUtility
"""Senders that move their rate."""

Jumping: TypeAlias = Jump | LogJump
"""Senders whose rate is a function of the prices, and of the rates of later loops."""

Sender: TypeAlias = Gradual | Jumping
