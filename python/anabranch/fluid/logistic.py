"""Logistic growth: a population that grows until its carrying capacity is used [teymoori2023, eq. 1-3]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import not_negative, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def growth(population: ArrayLike, gamma: float, capacity: float = 1.0) -> NDArray[np.float64]:
    """Give the growth rate of a population [teymoori2023, eq. 1, 2].

    Parameters
    ----------
    population : array_like of float
        0 or more, in the unit of `capacity`.
    gamma : float
        Growth rate, by unit of time; over 0.
    capacity : float
        Carrying capacity; over 0. With 1 this is the normalised form, equation 2.

    Returns
    -------
    ndarray of float64
        Shape of `population`; its unit by unit of time.
    """
    now, most = not_negative("population", population), positive("capacity", capacity)
    return np.asarray(positive("gamma", gamma) * now * (1.0 - now / most))


def population_at(time: ArrayLike, start: float, gamma: float, capacity: float = 1.0) -> NDArray[np.float64]:
    """Give a population after some time, in closed form [teymoori2023, eq. 3].

    Parameters
    ----------
    time : array_like of float
        0 or more.
    start : float
        Population at time 0, in the unit of `capacity`; over 0.
    gamma : float
        Growth rate, by unit of time; over 0.
    capacity : float
        Carrying capacity; over 0.

    Returns
    -------
    ndarray of float64
        Shape of `time`, in the unit of `capacity`.
    """
    span, first = not_negative("time", time), positive("start", start)
    most, rate = positive("capacity", capacity), positive("gamma", gamma)
    return np.asarray(most / (1.0 + (most / first - 1.0) * np.exp(-rate * span)))
