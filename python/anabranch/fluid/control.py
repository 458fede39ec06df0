"""Loops under control: senders and links together, as a differential and as a difference equation.

As a difference equation, in each interval, by default

```text
for each level, the last loops first:   p of its links by the rates as they are,  then x of its loops by the new p and k
```

since the carrying capacity comes from behind. ``at_once`` takes all new values from old ones; then the printed step
sizes of [teymoori2023, fig. 4] swing for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from anabranch.fluid.arguments import not_negative, positive
from anabranch.fluid.loops import LAST
from anabranch.fluid.senders import Jump, LogJump, LogUtility

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anabranch.fluid.loops import Loops
    from anabranch.fluid.prices import Price
    from anabranch.fluid.senders import Gradual, Sender

LEAST_CAPACITY = 1e-12
"""A carrying capacity of 0 counts as this: there is nothing into which the loop goes on."""


@dataclass(frozen=True, eq=False)
class State:
    """Rates and prices at a time.

    Attributes
    ----------
    rates : ndarray of float64, shape (..., loops)
        In the unit of the capacities; 0 for a loop that is not there.
    prices : ndarray of float64, shape (..., links)
        Marking probabilities; see `Price` and `red`.
    """

    rates: NDArray[np.float64]
    prices: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Control:
    """The model of a control: loops, senders and prices, which make rates and prices change.

    Attributes
    ----------
    loops : Loops
    sender : Logistic, Deflated, Jump, LogUtility or LogJump
    price : Price
    weighting : {"scheduler", "marks"}
        How weights of loops count: a scheduler gives a loop of weight 2 what two loops have, so that its carrying
        capacity counts twice; or what is marked is divided by the weight [teymoori2023, eq. 11]. The latter gives
        shares in proportion to the weights for two loops at a link, not for more.
    least : float
        As a difference equation no rate falls below this, in the unit of the capacities: from 0 none returns. It is the
        initial rate in [teymoori2023, alg. 1].
    """

    loops: Loops
    sender: Sender
    price: Price
    weighting: Literal["scheduler", "marks"] = "scheduler"
    least: float = 1e-6

    def __post_init__(self) -> None:
        if self.weighting not in ("scheduler", "marks"):
            raise ValueError(f"weighting is {self.weighting!r}; it must be 'scheduler' or 'marks'")
        positive("least", self.least)

    def start(self, rate: ArrayLike, price: ArrayLike = 0.0) -> State:
        """Give a state to begin with.

        Parameters
        ----------
        rate : array_like of float, shape () or (loops,)
            0 for loops that are not there. Jumping senders take their rates from the prices instead, but for the 0.
        price : array_like of float, shape () or (links,)
            From 0 to what the price goes to at most.
        """
        rates = self._each("rate", not_negative("rate", rate), len(self.loops.onward), "loops")
        prices = self._each("price", not_negative("price", price), len(self.loops.capacity), "links")
        if (prices > self.price.most).any():
            raise ValueError(f"price has {prices.max():g}; it must be from 0 to {self.price.most:g}")
        if isinstance(self.sender, Jump | LogJump):
            rates = self.jumped(prices, rates > 0.0)
        return State(rates, prices)

    def change(self, state: State) -> State:
        """Give the derivatives of rates and prices; those of prices at an end that would go beyond it are 0.

        Raises
        ------
        ValueError
            The senders jump: they have no derivative.
        """
        if isinstance(self.sender, Jump | LogJump):
            raise ValueError("the rates of this sender jump, so they have no derivative; use `price_change`")  # noqa: TRY004
        return State(self._rise(self.sender, state), self.price_change(state))

    def price_change(self, state: State) -> NDArray[np.float64]:
        """Give the derivatives of the prices."""
        change = self.price.change(self.load(state.rates), self.drain(state.rates))
        return np.where(self.price.held(state.prices, change), 0.0, change)

    def step(self, state: State, *, at_once: bool = False) -> State:
        """Give the state after an interval.

        Parameters
        ----------
        at_once : bool
            Take all new values from old ones, instead of price before rate and last loop first.
        """
        if at_once:
            return State(self._moved(state), self._priced(state))
        rates, prices = state.rates.copy(), state.prices.copy()
        for loops, links in self.loops.order:
            prices[..., links] = self._priced(State(rates, prices))[..., links]
            rates[..., loops] = self._moved(State(rates, prices))[..., loops]
        return State(rates, prices)

    def jumped(self, prices: NDArray[np.float64], is_there: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give the rates of jumping senders at these prices."""
        rates = np.where(is_there, 1.0, 0.0) * np.ones((*prices.shape[:-1], 1))
        felt = self.felt(prices)
        for loops, _ in self.loops.order:
            new = self.sender.settled(self.carrying(rates), felt)
            rates[..., loops] = np.where(is_there, new, 0.0)[..., loops]
        return rates

    def carrying(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the carrying capacity of each loop [teymoori2023, eq. 10], times its weight under a scheduler."""
        loops = self.loops
        next_rate = np.where(loops.onward == LAST, np.inf, rates[..., loops.onward])
        share = loops.weight if self.weighting == "scheduler" else 1.0
        return np.asarray(share * np.maximum(np.minimum(next_rate, loops.own_limit), LEAST_CAPACITY))

    def felt(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the price of each loop: the probability of a mark on any of its links, or the sum of prices."""
        own = self._over_links(prices)
        return own / self.loops.weight if self.weighting == "marks" else own

    def load(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the load of each link."""
        return np.asarray(rates @ self.loops.crosses.astype(np.float64))

    def drain(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the capacity of each link; of a virtual queue the rate of the loop that it goes into."""
        outlet = self.loops.outlet
        return np.where(outlet == LAST, self.loops.capacity, rates[..., outlet])

    @property
    def adds_prices(self) -> bool:
        """Whether prices of links add up; they are marking probabilities otherwise."""
        return isinstance(self.sender, LogUtility | LogJump)

    def _over_links(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.adds_prices:
            return np.asarray(prices @ self.loops.crosses.T.astype(np.float64))
        marks = np.minimum(prices, 1.0)
        if self._only_link is not None:
            return marks[..., self._only_link]
        unmarked = np.where(self.loops.crosses, 1.0 - marks[..., None, :], 1.0)
        return np.asarray(1.0 - unmarked.prod(axis=-1))

    @cached_property
    def _only_link(self) -> NDArray[np.int64] | None:
        """The link of each loop, if none crosses more than one."""
        crosses = self.loops.crosses
        return crosses.argmax(axis=1) if (crosses.sum(axis=1) == 1).all() else None

    def _priced(self, state: State) -> NDArray[np.float64]:
        return self.price.stepped(state.prices, self.price.change(self.load(state.rates), self.drain(state.rates)))

    def _moved(self, state: State) -> NDArray[np.float64]:
        if isinstance(self.sender, Jump | LogJump):
            moved = self.sender.settled(self.carrying(state.rates), self.felt(state.prices))
        else:
            moved = state.rates + self._rise(self.sender, state)
        return np.where(state.rates > 0.0, np.maximum(moved, self.least), 0.0)

    def _rise(self, sender: Gradual, state: State) -> NDArray[np.float64]:
        is_there = state.rates > 0.0
        some = np.where(is_there, state.rates, 1.0)
        return np.where(is_there, sender.change(some, self.carrying(state.rates), self.felt(state.prices)), 0.0)

    def _each(self, name: str, values: NDArray[np.float64], length: int, of: str) -> NDArray[np.float64]:
        if values.shape not in ((), (length,)):
            raise ValueError(
                f"{name} has shape {values.shape}; it must be one number, or one for each of {length} {of}"
            )
        return np.array(np.broadcast_to(values, (length,)))


def iterate(control: Control, state: State, steps: int, *, at_once: bool = False) -> list[State]:
    """Give the state at the beginning and after each interval."""
    states = [state]
    for _ in range(steps):
        states.append(control.step(states[-1], at_once=at_once))
    return states
