"""Measures of errors: how far the rates of connections, or the loads of bottlenecks, are from fair.

At each sample the errors of all connections with a granted rate, or of all bottlenecks, have a mean and percentiles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.registry import Subject, measure
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated

ACCURATE = 0.01
"""The mean magnitude of errors up to which rates are accurate."""

BEARERS = {"sources": "connection", "bottlenecks": "link"}
"""The words for what has errors, and the words for it in tables."""


def _bearer_of(_run: Simulated, text: str) -> str:
    if text not in BEARERS:
        raise ScenarioError(f"`{text}` has no errors; name one of {', '.join(BEARERS)}")
    return BEARERS[text]


BEARER = Subject("sources or bottlenecks", _bearer_of)


@measure("mean-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def mean_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the mean error, as a mean over samples."""
    return _over_samples(run, of, window_s, pl.col("mean").mean())


@measure("mean-magnitude", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def mean_magnitude(run: Simulated, of: str, window_s: Window) -> float:
    """Give the mean magnitude of errors, as a mean over samples: how inaccurate rates are, whether too high or low."""
    return _over_samples(run, of, window_s, pl.col("magnitude").mean())


@measure("highest-mean-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def highest_mean_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the highest mean error of a sample."""
    return _over_samples(run, of, window_s, pl.col("mean").max())


@measure("lowest-mean-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def lowest_mean_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the lowest mean error of a sample."""
    return _over_samples(run, of, window_s, pl.col("mean").min())


@measure("p10-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def p10_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the 10th percentile of errors, as a mean over samples."""
    return _over_samples(run, of, window_s, pl.col("p10").mean())


@measure("p90-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def p90_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the 90th percentile of errors, as a mean over samples."""
    return _over_samples(run, of, window_s, pl.col("p90").mean())


@measure("lowest-p10-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def lowest_p10_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the lowest 10th percentile of errors of a sample."""
    return _over_samples(run, of, window_s, pl.col("p10").min())


@measure("highest-p90-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def highest_p90_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the highest 90th percentile of errors of a sample."""
    return _over_samples(run, of, window_s, pl.col("p90").max())


@measure("highest-error", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def highest_error(run: Simulated, of: str, window_s: Window) -> float:
    """Give the highest error of all, in any sample."""
    return _over_samples(run, of, window_s, pl.col("most").max())


@measure("band", of=BEARER, unit="of the rate", runs=SIMULATED, windowed=True)
def band(run: Simulated, of: str, window_s: Window) -> float:
    """Give the distance from the 10th to the 90th percentile of errors, as a mean over samples."""
    return _over_samples(run, of, window_s, (pl.col("p90") - pl.col("p10")).mean())


@measure("accurate-after", of=BEARER, unit="s", runs=SIMULATED, windowed=True)
def accurate_after(run: Simulated, of: str, window_s: Window) -> float:
    """Give the time from the beginning of the window after which the mean magnitude of errors stays at most 1 %.

    It is the time of the first sample after the last one above 1 %, and infinite if the window ends above 1 %.
    """
    samples = _samples(run, of, window_s)
    far = samples.filter(pl.col("magnitude") > ACCURATE)["time_s"]
    later = samples if not len(far) else samples.filter(pl.col("time_s") > far[-1])
    return float(later["time_s"][0]) - window_s[0] if len(later) else math.inf


def _over_samples(run: Simulated, of: str, window_s: Window, expression: pl.Expr) -> float:
    """Give a number of the table of errors at samples."""
    return float(_samples(run, of, window_s).select(expression).item())


def _samples(run: Simulated, of: str, window_s: Window) -> pl.DataFrame:
    """Give the rows of the table of errors in the window."""
    frame = run.simulation.result.errors(of=of).filter(pl.col("time_s").is_between(*window_s))
    if not len(frame):
        raise ScenarioError("there are no errors at samples in the window; make it longer")
    return frame
