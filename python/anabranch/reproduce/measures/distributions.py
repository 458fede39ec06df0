"""Distributions: percentiles over samples or packets of a run, and of several runs and seeds together.

A distribution is a function that gives the samples of a run, or recorded percentiles, with a row above it. Each gives
measures named by the percentile: ``median-jain``, ``p95-backlog``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.percentiles import Recording, pooled
from anabranch.reproduce.measures.registry import EVER, Measure, Subject, UnmeasuredError, Window, add, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from anabranch.reproduce.measures.address import Address
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.outcomes.groups import Runs

R = TypeVar("R")
S = TypeVar("S")
Values = TypeVar("Values", bound="NDArray[np.float64] | Recording")

PARTS = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
"""The percentiles of a distribution: a box from the second to the fourth, whiskers from the first to the last."""


@dataclass(frozen=True)
class Distribution:
    """The percentiles of samples or packets.

    Attributes
    ----------
    values : tuple of float
        In the order of `PARTS`.
    count : int
        The number of samples or packets.
    """

    values: tuple[float, ...]
    count: int


@dataclass(frozen=True)
class Sampled:
    """The row of a distribution.

    Attributes
    ----------
    of : Subject
        What the samples belong to.
    windowed : bool
        Whether a window limits it to a part of the time.
    function : callable
        Takes the outcome of a run, then what the samples belong to, then the window.
    words : str
        What is sampled, for the documentation.
    measures : tuple of str
        The names of the measures that are its percentiles.
    """

    of: Subject[Any, Any]
    windowed: bool
    function: Callable[..., NDArray[np.float64] | Recording]
    words: str
    measures: tuple[str, ...]

    def of_run(self, run: object, address: Address) -> NDArray[np.float64] | Recording:
        """Give the samples or the recorded percentiles of a run."""
        return self.function(run, self.of.find(run, address.subject), address.window_s or EVER)


DISTRIBUTIONS: dict[str, Sampled] = {}
"""All distributions by their names."""


def distribution(
    name: str,
    *,
    of: Subject[R, S],
    unit: str,
    runs: Runs[R],
    windowed: bool = True,
    parts: Mapping[str, float] = PARTS,
) -> Callable[[Callable[[R, S, Window], Values]], Callable[[R, S, Window], Values]]:
    """Register a function as a distribution, and a measure for each of its percentiles.

    Parameters
    ----------
    name, of, unit, runs, windowed
        As for `anabranch.reproduce.measures.registry.Measure`.
    parts : mapping of str to float
        The percentiles that there are measures of, as parts of the samples.
    """

    def register(function: Callable[[R, S, Window], Values]) -> Callable[[R, S, Window], Values]:
        words, module = words_of(function), function.__module__
        DISTRIBUTIONS[name] = Sampled(of, windowed, function, words, tuple(f"{part}-{name}" for part in parts))
        for part, share in parts.items():
            own = f"{_percentile_words(share)} of {words}"
            add(Measure(f"{part}-{name}", of, unit, runs, windowed, _percentile(function, share), own, module))
        return function

    return register


def _percentile(function: Callable[..., NDArray[np.float64] | Recording], share: float) -> Callable[..., float]:
    def percentile(run: object, subject: object, window_s: Window = EVER) -> float:
        found = function(run, subject, window_s)
        return found.value(share) if isinstance(found, Recording) else float(np.quantile(found, share))

    return percentile


def _percentile_words(share: float) -> str:
    return {0.5: "the median", 1.0: "the greatest"}.get(share, f"the {share * 100:.0f}th percentile")


def some(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give samples, if there are any."""
    if not len(samples):
        raise UnmeasuredError("there are no such samples in the window; make it longer")
    return samples


def distribution_of(outcomes: Outcomes, name: str, addresses: Sequence[Address], place: Path) -> Distribution:
    """Give a distribution over several runs together, each with all its seeds.

    All samples have the same weight, and percentiles over them are exact. Of recorded percentiles those of all runs
    together are by packets, as `anabranch.reproduce.measures.percentiles` explains.

    Raises
    ------
    ScenarioError
        There is no such connection, subflow or link; it is not recorded; the window has no samples.
    """
    row, parts = DISTRIBUTIONS[name], list(PARTS.values())
    try:
        each = [row.of_run(one, own) for own in addresses for one in outcomes[own.run]]
    except ScenarioError as error:
        raise ScenarioError(f"{place}: `{addresses[0]}`: {error}") from error
    recorded = [own for own in each if isinstance(own, Recording)]
    if recorded:
        return Distribution(tuple(pooled(recorded, parts)), sum(own.count for own in recorded))
    samples = np.concatenate([own for own in each if not isinstance(own, Recording)])
    return Distribution(tuple(np.quantile(samples, parts).tolist()), len(samples))
