"""Measures of fluid models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.registry import Subject, UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import FLUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anabranch.reproduce.outcomes.kinds import Followed

LEAST_SWING = 1e-5
"""The relative distance from its rest that a value must exceed to have crossed it."""


class Series(NamedTuple):
    """A series of a model by its name, and its values."""

    name: str
    values: NDArray[np.float64]


def _series_of(run: Followed, text: str) -> Series:
    if text not in run.series:
        raise ScenarioError(f"there is no series `{text}`; name one of {', '.join(run.series)}")
    return Series(text, run.series[text])


def _value_of(run: Followed, text: str) -> float:
    words = text.split()
    if len(words) != 2 or not words[1].isdigit():
        raise ScenarioError("it must name a series and a step, such as `x1 149`")
    values = _series_of(run, words[0]).values
    if int(words[1]) >= len(values):
        raise ScenarioError(f"the last step is {len(values) - 1}; name one up to that")
    return float(values[int(words[1])])


def _phase_of(run: Followed, text: str) -> float:
    return _known(text, {str(step): took for step, took in run.settling.items()})


def _known(name: str, numbers: Mapping[str, float]) -> float:
    if name not in numbers:
        raise UnmeasuredError(f"the model of the run does not give this; it has {', '.join(numbers) or 'none'}")
    return numbers[name]


@measure("after", of=Subject("series, and a step", _value_of), unit="", runs=FLUID)
def after(_run: Followed, value: float) -> float:
    """Give the value of the series after the step.

    So `after x1 149` is the rate of loop 1 after 149 steps; p1 is a marking probability or a price, w1 a window.
    """
    return value


@measure("settling", of=Subject("phase, the step it begins at", _phase_of), unit="steps", runs=FLUID)
def settling(_run: Followed, steps: float) -> float:
    """Give the steps of a chain of loops until all rates stay near their rest; "never" if not in the phase."""
    return steps


@measure("crossings", of=Subject("series", _series_of), unit="crossings", runs=FLUID)
def crossings(run: Followed, series: Series) -> float:
    """Give how often the series of a tree crosses its value at rest."""
    away = series.values / run.rest.get(series.name, math.nan) - 1.0
    return float((np.diff(np.sign(away[np.abs(away) > LEAST_SWING])) != 0).sum())


@measure("gamma", unit="", runs=FLUID)
def gamma(run: Followed) -> float:
    """Give the step size of rates of a chain of loops, as given or found."""
    return _known("gamma", run.numbers)


@measure("beta", unit="", runs=FLUID)
def beta(run: Followed) -> float:
    """Give the step size of prices of a chain of loops, as given or found."""
    return _known("beta", run.numbers)


@measure("real-part", unit="", runs=FLUID)
def real_part(run: Followed) -> float:
    """Give the greatest real part of the eigenvalues at rest: of a tree, or of a sweep at any step size."""
    return _known("real-part", run.numbers)


@measure("imaginary-part", unit="", runs=FLUID)
def imaginary_part(run: Followed) -> float:
    """Give the greatest imaginary part of the eigenvalues at rest: of a tree, or of a sweep at any step size."""
    return _known("imaginary-part", run.numbers)


@measure("swinging-real-part", unit="", runs=FLUID)
def swinging_real_part(run: Followed) -> float:
    """Give the real part of the eigenvalues of a sweep that have an imaginary part."""
    return _known("swinging-real-part", run.numbers)


@measure("rings-from", unit="times the bound", runs=FLUID)
def rings_from(run: Followed) -> float:
    """Give the step size of prices from which on eigenvalues of a sweep have imaginary parts.

    Step sizes are multiples of the bound of theorem 8.2.
    """
    return _known("rings-from", run.numbers)


@measure("at-once-from", unit="times the bound", runs=FLUID)
def at_once_from(run: Followed) -> float:
    """Give the step size from which on the difference equation of a sweep does not approach its rest.

    All values follow from old ones. The equation begins near its rest.
    """
    return _known("at-once-from", run.numbers)


@measure("in-turn-from", unit="times the bound", runs=FLUID)
def in_turn_from(run: Followed) -> float:
    """Give the step size from which on the difference equation of a sweep does not approach its rest.

    Prices follow before rates. The equation begins near its rest.
    """
    return _known("in-turn-from", run.numbers)
