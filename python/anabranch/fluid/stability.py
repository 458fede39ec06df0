"""Whether loops return to rest after a small push: the Jacobian there, its eigenvalues, and the bound of theorem 8.2.

With `Logistic` senders, zeta loops at a link and the excess not taken by the capacity, the loops of one link and its
price have the eigenvalues

```text
-gamma / zeta          zeta - 1 times
roots of  s^2 + (gamma / zeta) s + gamma beta K' = 0,    K' = K zeta^(d - delta), the rate that the link drains at
```

both with negative real parts for all gamma and beta over 0: without delay nothing is unstable. The bound
[teymoori2023, eq. 23] is where the roots cease to be real: a rule against swinging, and not one for stability. What is
unstable beyond some step size is the difference equation, whose `multipliers` are then greater than 1:

```text
all values at once            from beta K' = 1 / zeta on, for any gamma
price before rate             from gamma beta K' = 2 (2 - gamma / zeta) on
```

differs: the paper calls the bound necessary and sufficient for stability, prints its equation 32 without a minus, gamma
for beta in equation 33, and the root with 1/4 for 1 / (2 zeta), which is right for zeta = 2 only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import count, positive
from anabranch.fluid.control import Control
from anabranch.fluid.equilibrium import equilibrium
from anabranch.fluid.loops import LAST, tree
from anabranch.fluid.prices import Price
from anabranch.fluid.senders import Jump, Logistic, LogJump

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.fluid.control import State

IDLE = 1e-9
"""A link that lacks more, relative to its capacity, has a price that stays at 0."""


def jacobian(control: Control, state: State) -> NDArray[np.float64]:
    """Give the derivatives of the changes by rates and prices, from formulas [teymoori2023, eq. 31-33].

    Parameters
    ----------
    state : State
        At rest, or any other in which all rates are over 0.

    Returns
    -------
    ndarray of float64, shape (loops + links, loops + links)
        Rates first. The rows of prices that stay at 0 are 0.

    Raises
    ------
    ValueError
        The senders jump: they have no derivative.
    """
    sender, loops = control.sender, control.loops
    if isinstance(sender, Jump | LogJump):
        raise ValueError("the rates of this sender jump, so they have no slope; take one that moves them")  # noqa: TRY004
    rates, carrying, felt = state.rates, control.carrying(state.rates), control.felt(state.prices)
    by_rate, by_carrying, by_price = sender.slopes(rates, carrying, felt)
    whole = np.zeros((len(rates) + len(state.prices),) * 2)
    here = np.arange(len(rates))
    whole[here, here] = by_rate
    bound = np.flatnonzero((loops.onward != LAST) & (rates[loops.onward] <= loops.own_limit))
    share = loops.weight[bound] if control.weighting == "scheduler" else 1.0
    whole[bound, loops.onward[bound]] += by_carrying[bound] * share
    whole[: len(rates), len(rates) :] = by_price[:, None] * _felt_slopes(control, state.prices)
    whole[len(rates) :, : len(rates)] = np.where(_idle(control, state)[:, None], 0.0, _price_slopes(control, rates))
    return whole


def eigenvalues(control: Control, state: State | None = None) -> NDArray[np.complex128]:
    """Give the eigenvalues at a state, by default at rest, by real part; without those of prices that stay at 0.

    Real parts below 0: the state is stable. An imaginary part: it swings on the way there.
    """
    state = equilibrium(control) if state is None else state
    moving = np.concatenate([np.ones(len(state.rates), dtype=bool), ~_idle(control, state)])
    found = np.linalg.eigvals(jacobian(control, state)[np.ix_(moving, moving)])
    return np.sort_complex(found)


def multipliers(control: Control, *, at_once: bool = False) -> NDArray[np.complex128]:
    """Give the factors of a small distance from rest in an interval of the difference equation.

    The eigenvalues of `Control.step` at rest: with one greater than 1, loops do not come to rest. All at once it is
    1 + s for each of the `eigenvalues`. In turn, each part of a step is a step of its own with the rest as it is.

    Parameters
    ----------
    at_once : bool
        As for `Control.step`.
    """
    state = equilibrium(control)
    slopes, loops = jacobian(control, state), len(state.rates)
    one = np.eye(len(slopes))
    parts = [np.arange(len(slopes))]
    if not at_once:
        parts = [own for first, links in control.loops.order for own in (links + loops, first)]
    whole = one
    for part in parts:
        moved = one.copy()
        moved[part] += slopes[part]
        whole = moved @ whole
    moving = np.concatenate([np.ones(loops, dtype=bool), ~_idle(control, state)])
    return np.asarray(np.linalg.eigvals(whole[np.ix_(moving, moving)]), dtype=np.complex128)


def swing_bound(gamma: float, breadth: int, depth: int, level: int, capacity: float = 1.0) -> float:
    """Give the greatest step size of prices with which a tree converges without oscillation.

    Parameters
    ----------
    gamma : float
        Of the `Logistic` senders at this level.
    breadth, depth : int
        Of the tree, zeta and delta in the paper.
    level : int
        From 1, the sources, to `depth`, the last link; d in the paper.
    capacity : float
        Of the last link, K in the paper.

    Returns
    -------
    float
        Beta of a `Price` that is not relative [teymoori2023, eq. 23].
    """
    if count("level", level) > count("depth", depth):
        raise ValueError(f"level is {level}; it must be 1 to {depth}, the depth")
    exponent = depth - level - 2
    bound = (
        positive("gamma", gamma) * float(count("breadth", breadth)) ** exponent / (4.0 * positive("capacity", capacity))
    )
    return float(bound)


def tree_at_bound(breadth: int, depth: int, gamma: float, times: float, capacity: float = 1.0) -> Control:
    """Give the aggregation tree of theorem 8.2, with step sizes of prices that are multiples of the bound.

    Parameters
    ----------
    breadth, depth, gamma, capacity
        As of `swing_bound`.
    times : float
        Over 0.
    """
    loops = tree(breadth, depth, capacity)
    beta = np.empty(len(loops.capacity))
    for back, (_, links) in enumerate(loops.order):
        beta[links] = positive("times", times) * swing_bound(gamma, breadth, depth, depth - back, capacity)
    return Control(loops, Logistic(gamma), Price(beta, relative=False))


def _idle(control: Control, state: State) -> NDArray[np.bool_]:
    """Tell which prices are 0 and stay there, because there is room."""
    drain = control.drain(state.rates)
    return np.asarray((state.prices <= 0.0) & (control.load(state.rates) < drain * (1.0 - IDLE)))


def _felt_slopes(control: Control, prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give how what loops feel changes with each price, shape (loops, links)."""
    crosses = control.loops.crosses
    dulled = control.loops.weight[:, None] if control.weighting == "marks" else 1.0
    if control.adds_prices:
        return crosses / dulled
    unmarked = np.where(crosses, 1.0 - np.minimum(prices, 1.0), 1.0)
    others = np.stack([np.delete(unmarked, link, axis=1).prod(axis=1) for link in range(len(prices))], axis=1)
    return np.asarray(np.where(crosses & (prices < 1.0), others, 0.0) / dulled)


def _price_slopes(control: Control, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give how the derivatives of prices change with each rate, shape (links, loops)."""
    loops, price = control.loops, control.price
    drain = control.drain(rates)
    beta = np.broadcast_to(np.asarray(price.beta, dtype=np.float64), drain.shape)
    unit = beta / drain if price.relative else beta
    slopes = loops.crosses.T * unit[:, None]
    virtual = np.flatnonzero(loops.outlet != LAST)
    less = unit * (control.load(rates) / drain if price.relative else 1.0)
    slopes[virtual, loops.outlet[virtual]] -= less[virtual]
    return np.asarray(slopes)
