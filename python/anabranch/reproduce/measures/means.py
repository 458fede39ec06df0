"""Means over a window of runs over time: of rates, loads and capacities, and how evenly rates are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.lookup import CONNECTIONS, LINK, SUBFLOWS, paths_of
from anabranch.reproduce.measures.registry import AnotherRun, UnmeasuredError, measure
from anabranch.reproduce.measures.samples import mean_sample
from anabranch.reproduce.outcomes.groups import OVER_TIME, SIMULATED
from anabranch.reproduce.outcomes.kinds import Optimal, Simulated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.simulation import Simulation

    OverTime = Simulated | Optimal

ANOTHER = AnotherRun(OVER_TIME)


@measure("mean-rate", of=SUBFLOWS, unit="rate", runs=OVER_TIME, windowed=True)
def mean_rate(run: OverTime, paths: Sequence[int], window_s: Window) -> float:
    """Give the rate that was delivered, as a mean over the window; of `proportional` the mean of the optimal rate."""
    if isinstance(run, Optimal):
        return run.mean_rate(paths, window_s)
    return _mean_of_subflows(run, paths, "delivered_bps", window_s)


@measure("mean-granted", of=SUBFLOWS, unit="rate", runs=SIMULATED, windowed=True)
def mean_granted(run: Simulated, paths: Sequence[int], window_s: Window) -> float:
    """Give the rate that was granted, as a mean over the samples of the window."""
    return _mean_of_subflows(run, paths, "granted_bps", window_s)


def _mean_of_subflows(run: Simulated, paths: Sequence[int], column: str, window_s: Window) -> float:
    """Give the mean of the sum of the rates of some subflows."""
    names = run.simulation.result.subflows["subflow"].gather(list(paths)).to_list()
    return len(names) * mean_sample(run.simulation, "subflow", names, column, window_s) / run.unit_bps


@measure("average-rate", of=CONNECTIONS, unit="rate", runs=OVER_TIME, windowed=True)
def average_rate(run: OverTime, connections: Sequence[Named], window_s: Window) -> float:
    """Give the mean rate that each of the connections delivered, as a mean over the connections and the window."""
    paths = [path for own in connections for path in paths_of(run.paths, own)]
    return mean_rate(run, paths, window_s) / len(connections)


@measure("least-rate", of=CONNECTIONS, unit="rate", runs=OVER_TIME, windowed=True)
def least_rate(run: OverTime, connections: Sequence[Named], window_s: Window) -> float:
    """Give the least of the connections' mean rates over the window."""
    return min(_mean_rates(run, connections, window_s))


@measure("most-rate", of=CONNECTIONS, unit="rate", runs=OVER_TIME, windowed=True)
def most_rate(run: OverTime, connections: Sequence[Named], window_s: Window) -> float:
    """Give the greatest of the connections' mean rates over the window."""
    return max(_mean_rates(run, connections, window_s))


@measure("jain", of=CONNECTIONS, unit="", runs=OVER_TIME, windowed=True)
def jain(run: OverTime, connections: Sequence[Named], window_s: Window) -> float:
    """Give Jain's index of the connections' mean rates: 1 if all are equal [jain1984]."""
    return jain_index(_mean_rates(run, connections, window_s))


def jain_index(rates: Sequence[float]) -> float:
    """Give Jain's index of some rates: 1 if all are equal, 1 by their number if one has all [jain1984]."""
    total = sum(rates)
    if total <= 0.0:
        raise UnmeasuredError("nothing was delivered in the window, so there is nothing to share; take another time")
    return total**2 / (len(rates) * sum(rate**2 for rate in rates))


def _mean_rates(run: OverTime, connections: Sequence[Named], window_s: Window) -> list[float]:
    return [mean_rate(run, paths_of(run.paths, own), window_s) for own in connections]


@measure("mean-load", of=LINK, unit="rate", runs=OVER_TIME, windowed=True)
def mean_load(run: OverTime, link: Named, window_s: Window) -> float:
    """Give the rate that the link carried, as a mean over the window."""
    if isinstance(run, Optimal):
        return run.mean_load(link.number, window_s)
    return mean_sample(run.simulation, "link", [link.name], "carried_bps", window_s) / run.unit_bps


@measure("mean-capacity", of=LINK, unit="rate", runs=OVER_TIME, windowed=True)
def mean_capacity(run: OverTime, link: Named, window_s: Window) -> float:
    """Give the rate that the link could have carried while its capacity changed, as a mean over the window."""
    if isinstance(run, Optimal):
        return run.mean_capacity(link.number, window_s)
    return mean_capacity_bps(run.simulation, link.name, window_s) / run.unit_bps


@measure("utilisation", of=LINK, unit="of the capacity", runs=OVER_TIME, windowed=True)
def utilisation(run: OverTime, link: Named, window_s: Window) -> float:
    """Give the rate that the link carried by the rate that it could have carried, such as what its trace offered."""
    if isinstance(run, Optimal):
        return run.mean_load(link.number, window_s) / run.mean_capacity(link.number, window_s)
    return mean_utilisation(run.simulation, link.name, window_s)


def mean_utilisation(run: Simulation, link: str, window_s: Window) -> float:
    """Give what a link carried by what it could have carried."""
    capacity = mean_capacity_bps(run, link, window_s)
    if capacity <= 0.0:
        raise UnmeasuredError(f"link `{link}` could carry nothing in the window; take another time")
    return mean_sample(run, "link", [link], "carried_bps", window_s) / capacity


def mean_capacity_bps(run: Simulation, link: str, window_s: Window) -> float:
    """Give what a link could have carried a second in the time that the samples of a window count.

    It is exact for capacities that change at any time. For opportunities to send it is exact to a bin at both ends.
    """
    times = run.samples("link").filter(pl.col("name") == link)["time_s"].to_numpy()
    before, last = np.searchsorted(times, window_s, side="right")
    if before == last:
        raise UnmeasuredError("there are no samples in the window; make it longer")
    return run.capacity(link).mean(float(times[before - 1]) if before else 0.0, float(times[last - 1]))


@measure("deviation", of=ANOTHER, unit="rate", runs=OVER_TIME, windowed=True)
def deviation(run: OverTime, other: OverTime, window_s: Window) -> float:
    """Give how far mean rates are from those of the other run, as a mean over the connections present all the time."""
    return _deviation(run, other, _present(run, window_s), window_s)


@measure("subflow-deviation", of=ANOTHER, unit="rate", runs=OVER_TIME, windowed=True)
def subflow_deviation(run: OverTime, other: OverTime, window_s: Window) -> float:
    """Give how far mean rates of subflows are from those of the other run.

    As a mean over the subflows of the connections present all the time.
    """
    return _deviation(run, other, [[path] for own in _present(run, window_s) for path in own], window_s)


def _present(run: OverTime, window_s: Window) -> list[list[int]]:
    """Give the paths of each connection that is present during all of a window."""
    demands, offsets = run.paths.demands.core, run.paths.connection_offsets.tolist()
    stays = (demands.start_s <= window_s[0]) & (demands.stop_s >= window_s[1])
    return [list(range(offsets[c], offsets[c + 1])) for c in np.flatnonzero(stays)]


def _deviation(run: OverTime, other: OverTime, groups: Sequence[list[int]], window_s: Window) -> float:
    if not groups:
        raise UnmeasuredError("no connection is there all the time; take another window")
    return float(np.mean([abs(mean_rate(run, own, window_s) - mean_rate(other, own, window_s)) for own in groups]))
