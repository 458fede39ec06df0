"""Measures of how rates shift while others come and go: along curves of means over 50 s each, and how soon.

A **curve** is the series of mean rates over successive spans of 50 s from the beginning of the window on, as
[cao2012, fig. 8] plots them. A shorter rest at the end does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.lookup import SUBFLOW, SUBFLOWS, SUBFLOWS_OF_CONNECTIONS
from anabranch.reproduce.measures.means import mean_rate
from anabranch.reproduce.measures.registry import AnotherRun, UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import OVER_TIME, SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Optimal, Simulated

    OverTime = Simulated | Optimal

SPAN_S = 50.0
"""The time that each point of a curve is a mean over."""

SMOOTHED_S = 2.0
"""The time that rates are averaged over before a shift is looked for."""

SHIFTED = 0.9
"""The part of a shift after which it counts as complete."""


def _curve(run: OverTime, paths: Sequence[int], window_s: Window) -> NDArray[np.float64]:
    """Give the mean rates of some subflows together over successive spans of the window."""
    count = int((window_s[1] - window_s[0]) / SPAN_S + 1e-9) if np.isfinite(window_s[1]) else 0
    if count < 2:
        raise UnmeasuredError(f"a curve has a point for each {SPAN_S:g} s; give a window of two points or more")
    starts = [window_s[0] + SPAN_S * number for number in range(count)]
    return np.array([mean_rate(run, list(paths), (start, start + SPAN_S)) for start in starts])


@measure("greatest-step", of=SUBFLOWS, unit="rate", runs=OVER_TIME, windowed=True)
def greatest_step(run: OverTime, paths: Sequence[int], window_s: Window) -> float:
    """Give the greatest change from a point of the curve to the next; below 0 if it falls all the time."""
    return float(np.diff(_curve(run, paths, window_s)).max())


@measure("least-step", of=SUBFLOWS, unit="rate", runs=OVER_TIME, windowed=True)
def least_step(run: OverTime, paths: Sequence[int], window_s: Window) -> float:
    """Give the least change from a point of the curve to the next; above 0 if it rises all the time."""
    return float(np.diff(_curve(run, paths, window_s)).min())


@measure("last-by-first", of=SUBFLOWS, unit="", runs=OVER_TIME, windowed=True)
def last_by_first(run: OverTime, paths: Sequence[int], window_s: Window) -> float:
    """Give the last point of the curve by the first."""
    curve = _curve(run, paths, window_s)
    return float(curve[-1] / curve[0]) if curve[0] > 0.0 else float("inf")


@measure("swing", of=SUBFLOWS, unit="rate", runs=OVER_TIME, windowed=True)
def swing(run: OverTime, paths: Sequence[int], window_s: Window) -> float:
    """Give the greatest point of the curve less the least."""
    return float(np.ptp(_curve(run, paths, window_s)))


@measure("curvature", of=SUBFLOWS, unit="rate", runs=OVER_TIME, windowed=True)
def curvature(run: OverTime, paths: Sequence[int], window_s: Window) -> float:
    """Give how far the ends of the curve are above its middle, by the parabola that fits it best.

    It is above 0 if the curve is convex, and below 0 if it is concave.
    """
    curve = _curve(run, paths, window_s)
    if len(curve) < 3:
        raise UnmeasuredError("a curve bends from three points on; give a longer window")
    return float(np.polynomial.Polynomial.fit(np.linspace(-1.0, 1.0, len(curve)), curve, 2).convert().coef[2])


@measure("curve-deviation", of=AnotherRun(OVER_TIME), unit="rate", runs=OVER_TIME, windowed=True)
def curve_deviation(run: OverTime, other: OverTime, window_s: Window) -> float:
    """Give how far the curves are from those of the other run.

    As a mean over points and the connections that are there during all of the window.
    """
    return _curve_deviation(run, other, _present(run, window_s), window_s)


@measure("subflow-curve-deviation", of=AnotherRun(OVER_TIME), unit="rate", runs=OVER_TIME, windowed=True)
def subflow_curve_deviation(run: OverTime, other: OverTime, window_s: Window) -> float:
    """Give how far the curves of subflows are from those of the other run.

    As a mean over points and the subflows of the connections that are there during all of the window.
    """
    return _curve_deviation(run, other, [[path] for own in _present(run, window_s) for path in own], window_s)


@measure("greatest-deviation", of=AnotherRun(OVER_TIME), unit="rate", runs=OVER_TIME, windowed=True)
def greatest_deviation(run: OverTime, other: OverTime, window_s: Window) -> float:
    """Give how far mean rates of subflows are from those of the other run.

    The greatest over the subflows of the connections that are there during all of the window.
    """
    paths = [path for own in _present(run, window_s) for path in own]
    if not paths:
        raise UnmeasuredError("no connection is there all the time; take another window")
    return max(abs(mean_rate(run, [path], window_s) - mean_rate(other, [path], window_s)) for path in paths)


@measure("granted-variation", of=SUBFLOWS_OF_CONNECTIONS, unit="of the rate", runs=SIMULATED, windowed=True)
def granted_variation(run: Simulated, paths: Sequence[int], window_s: Window) -> float:
    """Give the standard deviation of granted rates over samples by their mean, as a mean over the subflows."""
    names = run.simulation.result.subflows["subflow"].gather(list(paths))
    rows = run.simulation.samples("subflow").filter(
        pl.col("name").is_in(names.to_list()), pl.col("time_s") > window_s[0], pl.col("time_s") <= window_s[1]
    )
    own = rows.group_by("name").agg((pl.col("granted_bps").std() / pl.col("granted_bps").mean()).alias("share"))
    if not own["share"].count():
        raise UnmeasuredError("there are no samples in the window; make it longer")
    return float(own["share"].mean())  # type: ignore[arg-type]


@measure("shift-time", of=SUBFLOW, unit="s", runs=SIMULATED, windowed=True)
def shift_time(run: Simulated, path: int, window_s: Window) -> float:
    """Give the time until the granted rate of the subflow has first made 90 % of its shift in the window.

    The shift is from its mean over the 20 s before the window to its mean over the second half of the window. Rates are
    means over 2 s.
    """
    name = run.simulation.result.subflows["subflow"][path]
    start, end = window_s
    rows = run.simulation.samples("subflow").filter(pl.col("name") == name, pl.col("time_s") <= end)
    time, rate = rows["time_s"].to_numpy(), rows["granted_bps"].to_numpy()
    before, after = (time > start - 20.0) & (time <= start), time > (start + end) / 2.0
    if not before.any() or not after.any():
        raise UnmeasuredError("there are no samples before or in the window; take another")
    first, last = rate[before].mean(), rate[after].mean()
    width = max(1, round(SMOOTHED_S / float(np.diff(time).mean())))
    smoothed = np.convolve(rate, np.ones(width) / width)[: len(rate)]
    made = (smoothed - first) / (last - first)
    there = (time > start) & (made >= SHIFTED)
    return float(time[there][0] - start)


def _present(run: OverTime, window_s: Window) -> list[list[int]]:
    """Give the paths of each connection that is present during all of a window."""
    demands, offsets = run.paths.demands.core, run.paths.connection_offsets.tolist()
    stays = (demands.start_s <= window_s[0]) & (demands.stop_s >= window_s[1])
    return [list(range(offsets[c], offsets[c + 1])) for c in np.flatnonzero(stays)]


def _curve_deviation(run: OverTime, other: OverTime, groups: Sequence[list[int]], window_s: Window) -> float:
    if not groups:
        raise UnmeasuredError("no connection is there all the time; take another window")
    return float(np.mean([np.abs(_curve(run, own, window_s) - _curve(other, own, window_s)) for own in groups]))
