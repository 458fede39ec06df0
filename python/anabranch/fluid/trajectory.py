"""Differential equations followed over time by an implicit method, so that stiff ones cost no more than others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import SolverError
from anabranch.fluid.control import State
from anabranch.fluid.prices import slowed
from anabranch.fluid.senders import Jump, LogJump

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from anabranch.fluid.control import Control

RELATIVE = 1e-8
"""The usual relative tolerance to which each value is followed; rates as logarithms."""

ABSOLUTE = 1e-2
"""The absolute tolerance, by the relative one."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Rates and prices over time.

    Attributes
    ----------
    time : ndarray of float64, shape (times,)
    rates : ndarray of float64, shape (times, loops) or (times, paths)
    prices : ndarray of float64, shape (times, links)
    """

    time: NDArray[np.float64]
    rates: NDArray[np.float64]
    prices: NDArray[np.float64]


def integrate(control: Control, start: State, times: ArrayLike, *, tolerance: float = RELATIVE) -> Trajectory:
    """Follow loops under control as a differential equation.

    Parameters
    ----------
    start : State
        At the first of the times; all rates over 0.
    times : array_like of float, shape (times,)
        Increasing; in the unit that step sizes are by.
    tolerance : float
        The relative tolerance of each step.

    Raises
    ------
    ValueError
        Times that do not increase, a rate of 0.
    SolverError
        The integrator did not come to the end.

    Notes
    -----
    By backward differentiation formulas (`scipy.integrate.solve_ivp`), on the logarithms of rates, so that none falls
    below 0. Prices slow down within a millionth of their ends, so that they come to rest there.
    """
    time, loops = checked_times(times), len(control.loops.onward)
    if start.rates.ndim != 1 or not (start.rates > 0.0).all():
        raise ValueError("start has a rate of 0, or several states; give one state in which all rates are over 0")
    everyone = np.ones(loops, dtype=bool)

    scale = 1.0 / control.loops.capacity.min() if control.adds_prices else 1.0

    def bounded(prices: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(prices, 0.0, control.price.most)

    def price_slope(state: State) -> NDArray[np.float64]:
        change = control.price.change(control.load(state.rates), control.drain(state.rates))
        return slowed(state.prices, change, control.price.most, scale)

    if isinstance(control.sender, Jump | LogJump):

        def slope(_: float, prices: NDArray[np.float64]) -> NDArray[np.float64]:
            own = bounded(prices)
            return price_slope(State(control.jumped(own, everyone), own))

        found = follow(slope, start.prices, time, tolerance)
        prices = bounded(found)
        return Trajectory(time, control.jumped(prices, everyone), prices)

    def change(_: float, both: NDArray[np.float64]) -> NDArray[np.float64]:
        state = State(np.exp(both[:loops]), bounded(both[loops:]))
        return np.concatenate([control.change(state).rates / state.rates, price_slope(state)])

    found = follow(change, np.concatenate([np.log(start.rates), start.prices]), time, tolerance)
    return Trajectory(time, np.exp(found[:, :loops]), bounded(found[:, loops:]))


def checked_times(times: ArrayLike) -> NDArray[np.float64]:
    """Give times that increase, two or more."""
    time = np.asarray(times, dtype=np.float64)
    if time.ndim != 1 or len(time) < 2 or not (np.isfinite(time).all() and (np.diff(time) > 0.0).all()):
        raise ValueError("times must be two or more finite numbers that increase, such as numpy.linspace(0, 100, 201)")
    return time


def follow(
    slope: Callable[[float, NDArray[np.float64]], NDArray[np.float64]],
    start: NDArray[np.float64],
    time: NDArray[np.float64],
    tolerance: float = RELATIVE,
) -> NDArray[np.float64]:
    """Give the values at each of the times, shape (times, values).

    Raises
    ------
    SolverError
        The integrator did not come to the end.
    """
    # Only now: scipy takes longer to load than most of the rest.
    from scipy.integrate import solve_ivp

    # What nothing depends on, such as the logarithm of a rate that fades away, is varied ever more.
    with np.errstate(over="ignore"):
        found = solve_ivp(
            slope,
            (time[0], time[-1]),
            start,
            method="BDF",
            t_eval=time,
            rtol=tolerance,
            atol=ABSOLUTE * tolerance,
        )
    if not found.success:
        raise SolverError(f"the integrator stopped at {found.t[-1] if len(found.t) else time[0]:g}: {found.message}")
    return np.asarray(found.y.T)
