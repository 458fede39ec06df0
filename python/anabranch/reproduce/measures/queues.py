"""Measures of queues: how many packets wait at links, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.lookup import LINK
from anabranch.reproduce.measures.registry import UnmeasuredError, measure
from anabranch.reproduce.measures.samples import mean_sample
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated


@measure("queue", of=LINK, unit="packets", runs=SIMULATED)
def queue(run: Simulated, link: Named) -> float:
    """Give the most packets that waited at the link at one time."""
    return float(run.simulation.result.links["most_packets"][link.number])


@measure("largest-queue", unit="packets", runs=SIMULATED)
def largest_queue(run: Simulated) -> float:
    """Give the most packets that waited at one time at any link."""
    return float(run.simulation.result.links["most_packets"].to_numpy().max())


@measure("longest-queue", unit="packets", runs=SIMULATED, windowed=True)
def longest_queue(run: Simulated, window_s: Window) -> float:
    """Give the most packets that waited at one time at any link in the window, from samples."""
    rows = run.simulation.samples("run").filter(pl.col("time_s").is_between(*window_s))
    return float(rows["peak_packets"].to_numpy().max(initial=0))


@measure("queue-growth", unit="", runs=SIMULATED, windowed=True)
def queue_growth(run: Simulated, window_s: Window) -> float:
    """Give the longest queue of the second half of the window by that of the first half, from samples."""
    middle_s = (window_s[0] + window_s[1]) / 2.0
    first = longest_queue(run, (window_s[0], middle_s))
    second = longest_queue(run, (middle_s, window_s[1]))
    if not first:
        raise UnmeasuredError("nothing waits in the first half of the window; take another time")
    return second / first


@measure("longest-wait", unit="ms", runs=SIMULATED)
def longest_wait(run: Simulated) -> float:
    """Give the longest time that any link needed to send its queue, in milliseconds: each by its own capacity."""
    return 1e3 * float(run.simulation.result.links["most_wait_s"].to_numpy().max())


@measure("queue-alone", unit="packets", runs=SIMULATED)
def queue_alone(run: Simulated) -> float:
    """Give the most packets that waited at one time at any link while a single connection was there, from samples."""
    alone = run.simulation.samples("run").filter(pl.col("present") == 1).select("time_s")
    rows = run.simulation.samples("link").join(alone, on="time_s", how="semi")
    return float(rows["peak_packets"].to_numpy().max(initial=0))


@measure("queue-per-subflow", unit="packets", runs=SIMULATED)
def queue_per_subflow(run: Simulated) -> float:
    """Give the longest queue of a link by the number of subflows on it, at the link where that is greatest."""
    queues = run.simulation.result.links["most_packets"].to_numpy()
    subflows = np.bincount(run.paths.path_links, minlength=len(queues))
    return float((queues[subflows > 0] / subflows[subflows > 0]).max())


@measure("subflows-per-link", unit="subflows", runs=SIMULATED)
def subflows_per_link(run: Simulated) -> float:
    """Give the greatest number of subflows on a link."""
    return float(np.bincount(run.paths.path_links).max())


@measure("mean-wait", of=LINK, unit="ms", runs=SIMULATED, windowed=True)
def mean_wait(run: Simulated, link: Named, window_s: Window) -> float:
    """Give the mean time that bytes waited at the link and were in transmission, in milliseconds.

    It is the mean backlog by the rate that the link carried.
    """
    carried = mean_sample(run.simulation, "link", [link.name], "carried_bps", window_s)
    if carried <= 0.0:
        reason = f"link `{link.name}` carried nothing in the window, so nothing has waited"
        raise UnmeasuredError(f"{reason}; take another time")
    return 8e3 * mean_sample(run.simulation, "link", [link.name], "backlog_bytes", window_s) / carried


@measure("mean-backlog", of=LINK, unit="kB", runs=SIMULATED, windowed=True)
def mean_backlog(run: Simulated, link: Named, window_s: Window) -> float:
    """Give the mean backlog of the link, the packet in transmission included, in kB."""
    return mean_sample(run.simulation, "link", [link.name], "backlog_bytes", window_s) / 1e3
