"""Difference equations through phases in which the last link has one capacity after another, and step sizes for them.

Step sizes may have an axis before the loops: then all settings are followed at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import count, positive
from anabranch.fluid.control import State
from anabranch.fluid.equilibrium import equilibrium

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from anabranch.fluid.control import Control

    Phases = Sequence[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class Followed:
    """States after each step.

    Attributes
    ----------
    rates : ndarray of float64, shape (steps + 1, ..., loops)
    prices : ndarray of float64, shape (steps + 1, ..., links)
    """

    rates: NDArray[np.float64]
    prices: NDArray[np.float64]


def through_phases(control: Control, state: State, phases: Phases) -> Followed:
    """Follow a difference equation while the capacity of the links that have one changes.

    Parameters
    ----------
    phases : sequence of (int, float)
        Steps, and a factor on the capacities during these.
    """
    states = [state]
    for steps, factor in phases:
        own = with_factor(control, factor)
        for _ in range(count("steps", steps)):
            states.append(own.step(states[-1]))
    return Followed(np.array([s.rates for s in states]), np.array([s.prices for s in states]))


def with_factor(control: Control, factor: float) -> Control:
    """Give this control with all capacities multiplied by a factor."""
    return replace(control, loops=control.loops.with_capacity(positive("factor", factor) * control.loops.capacity))


def settling_steps(control: Control, rates: NDArray[np.float64], phases: Phases, within: float) -> NDArray[np.float64]:
    """Give the convergence time of each phase: the steps after which all rates stay near their equilibrium.

    Parameters
    ----------
    rates : ndarray of float64, shape (steps + 1, ..., loops)
    within : float
        So near, relative to the rate at rest.

    Returns
    -------
    ndarray of float64, shape (phases, ...)
        Infinite if they do not before the phase ends.
    """
    found, first = [], 0
    for steps, factor in phases:
        aim = equilibrium(with_factor(control, factor)).rates
        is_near: NDArray[np.bool_] = np.abs(rates[first + 1 : first + steps + 1] / aim - 1.0) <= within
        is_far = np.asarray(~is_near.all(axis=-1))
        after = steps - np.argmax(is_far[::-1], axis=0)
        after = np.where(is_far.any(axis=0), after, 0)
        found.append(np.where(after == steps, np.inf, after))
        first += steps
    return np.array(found)


def tuned(
    build: Callable[[NDArray[np.float64], NDArray[np.float64]], Control],
    start: tuple[ArrayLike, ArrayLike],
    gammas: ArrayLike,
    betas: ArrayLike,
    phases: Phases,
    within: float,
) -> tuple[float, float]:
    """Give the step sizes of rates and prices with the shortest convergence time in the slowest phase.

    Every pair is tried. A phase in which rates do not settle counts as its steps. Of equal ones that wins whose rates
    are nearer to rest: the farthest rate's distance, relative and at most 1, its mean in the phase where that is most.

    Parameters
    ----------
    build : callable
        Gives the control for arrays of step sizes, shape (settings, 1).
    start : (array_like, array_like)
        Rates and prices at first, as `Control.start` takes them.
    """
    pairs = np.array([(g, b) for g in np.sort(np.ravel(gammas)) for b in np.sort(np.ravel(betas))])
    control = build(pairs[:, :1], pairs[:, 1:])
    first = control.start(*start)
    rates, prices = (np.repeat(values[None, :], len(pairs), axis=0) for values in (first.rates, first.prices))
    # Some settings swing ever farther, and are tried all the same.
    with np.errstate(over="ignore", invalid="ignore"):
        followed = through_phases(control, State(rates, prices), phases)
    alone = build(pairs[:1, 0], pairs[:1, 1])
    took = settling_steps(alone, followed.rates, phases, within)
    spans = np.array([steps for steps, _ in phases], dtype=np.float64)
    longest = np.minimum(took, spans[:, None]).max(axis=0)
    aims = [equilibrium(with_factor(alone, factor)).rates for _, factor in phases]
    aim = np.repeat(aims, spans.astype(int), axis=0)[:, None, :]
    distance = np.abs(followed.rates[1:] / aim - 1.0).max(axis=-1)
    bounded = np.where(np.isfinite(distance), np.minimum(distance, 1.0), 1.0)
    near = np.max([own.mean(axis=0) for own in np.split(bounded, np.cumsum(spans[:-1]).astype(int))], axis=0)
    best = np.lexsort((near, longest))[0]
    return float(pairs[best, 0]), float(pairs[best, 1])
