"""Equilibria of loops: rates and prices at which nothing changes [teymoori2023, eq. 8, 19-22, 29, 30]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import base, count
from anabranch.fluid.control import State
from anabranch.fluid.loops import LAST
from anabranch.fluid.senders import MOST_MARKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.fluid.control import Control

HIGHEST = 1e300
"""Where the search for a price ends."""


def marking(loops: int, phi_1: float = 10.0, phi_2: float = 5.0) -> float:
    """Give the marking probability at rest for a number of loops at a link [teymoori2023, eq. 8, 22].

    Parameters
    ----------
    loops : int
        That share the link, S in the paper.
    phi_1, phi_2 : float
        Bases, over 1; with equal ones it is (S - 1) / S, as for `Logistic`.

    Notes
    -----
    differs: the paper's example, 0.1897 for five loops and the bases 10 and 2, takes the inner logarithm to the base 10
    and the outer one to e. The formula gives 0.3840.
    """
    ratio = math.log(base("phi_2", phi_2)) / math.log(base("phi_1", phi_1))
    return 1.0 - math.exp(-ratio * math.log(count("loops", loops)))


def equilibrium(control: Control) -> State:
    """Give the rates and prices at which nothing changes.

    Found link by link from the last one on: the rates of later loops are the carrying capacities of earlier ones. A
    link has the price at which the loops that cross it use just its capacity, or none if they use less.

    Raises
    ------
    ValueError
        A loop that crosses several links, which then depend on each other; or a link at which nearly everything would
        be marked.
    """
    loops = control.loops
    if (loops.crosses.sum(axis=1) > 1).any():
        raise ValueError("a loop crosses several links, which then depend on each other; `integrate` until it rests")
    rates, prices = np.ones(len(loops.onward)), np.zeros(len(loops.capacity))
    for _, links in loops.order:
        for link in links.tolist():
            own = np.flatnonzero(loops.crosses[:, link])
            carrying = control.carrying(rates)[own]
            dulled = loops.weight[own] if control.weighting == "marks" else np.ones(len(own))
            outlet = loops.outlet[link]
            drain = float(loops.capacity[link] if outlet == LAST else rates[outlet])
            prices[link] = _clearing_price(control, carrying, dulled, drain, link)
            rates[own] = control.sender.settled(carrying, prices[link] / dulled)
    return State(rates, prices)


def residual(control: Control, state: State) -> float:
    """Give how far from rest a state is: the greatest change of a rate by itself or of a price, by unit of time."""
    change = control.change(state)
    return float(max(np.abs(change.rates / state.rates).max(), np.abs(change.prices).max()))


def _clearing_price(
    control: Control, carrying: NDArray[np.float64], dulled: NDArray[np.float64], drain: float, link: int
) -> float:
    """Give the price at which the loops of a link use its capacity exactly."""
    from scipy.optimize import brentq

    def excess(price: float) -> float:
        return float(control.sender.settled(carrying, price / dulled).sum()) / drain - 1.0

    if excess(0.0) <= 1e-12:
        return 0.0
    low = 1e-9 / drain if control.adds_prices else 0.0
    high = low or MOST_MARKED
    while control.adds_prices and excess(high) > 0.0 and high < HIGHEST:
        high *= 10.0
    high = high if control.adds_prices else min(control.price.most, float(dulled.max()))
    if excess(high) > 0.0:
        high_text = f"{MOST_MARKED:g} of what crosses link {link} would be marked"
        raise ValueError(f"over {high_text}; take a greater phi_1, or fewer loops")
    return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-14))
