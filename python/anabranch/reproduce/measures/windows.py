"""Measures of window protocols, as means over the samples of a window: round trips, paces, windows, marked shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce.measures.lookup import SUBFLOW, SUBFLOWS_OF_CONNECTIONS
from anabranch.reproduce.measures.registry import measure
from anabranch.reproduce.measures.samples import mean_sample
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated


@measure("mean-rtt", of=SUBFLOW, unit="ms", runs=SIMULATED, windowed=True)
def mean_rtt(run: Simulated, path: int, window_s: Window) -> float:
    """Give the round trip of the subflow, in milliseconds, if `windows` are recorded."""
    return 1e3 * _mean(run, [path], "rtt_s", window_s)


@measure("mean-pace", of=SUBFLOWS_OF_CONNECTIONS, unit="rate", runs=SIMULATED, windowed=True)
def mean_pace(run: Simulated, paths: Sequence[int], window_s: Window) -> float:
    """Give the rate at which packets might be sent, as a mean over subflows and samples, if `windows` are recorded."""
    return _mean(run, paths, "pace_bps", window_s) / run.unit_bps


@measure("mean-window", of=SUBFLOWS_OF_CONNECTIONS, unit="kB", runs=SIMULATED, windowed=True)
def mean_window(run: Simulated, paths: Sequence[int], window_s: Window) -> float:
    """Give the congestion window in kB, as a mean over subflows and samples, if `windows` are recorded."""
    return _mean(run, paths, "window_bytes", window_s) / 1e3


@measure("marked-share", of=SUBFLOWS_OF_CONNECTIONS, unit="of the packets", runs=SIMULATED, windowed=True)
def marked_share(run: Simulated, paths: Sequence[int], window_s: Window) -> float:
    """Give the smoothed share of marked packets that the protocol goes by, as a mean over subflows and samples.

    Only if `windows` are recorded.
    """
    return _mean(run, paths, "marked_share", window_s)


def _mean(run: Simulated, paths: Sequence[int], column: str, window_s: Window) -> float:
    names = run.simulation.result.subflows["subflow"].gather(list(paths)).to_list()
    return mean_sample(run.simulation, "subflow", names, column, window_s)
