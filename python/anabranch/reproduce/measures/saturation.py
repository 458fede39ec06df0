"""Measures of saturation: granted rates over capacities, and by how much a connection could have more.

The definition of upward max-min fairness says that no connection can have more, even if all connections with a greater
rate are removed. It leaves open whether a connection may shift rate between its own paths, so there are two measures.
Both compute from the definition, and share no code with solvers or certificates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.rates_on_paths import check_alike
from anabranch.reproduce.measures.registry import AnotherRun, UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import ON_PATHS, SIMULATED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import OnPaths, Simulated

    Floats = NDArray[np.float64]

EQUAL = 1e-6
"""Rates that differ by less than this share are equal: neither connection is removed for the other."""

CLOSE = 0.1
"""The relative distance from its fair rate at which a connection is close to it."""

NOTHING = 1e-9
"""A subflow with less than this share of its connection's rate has nothing."""


@measure("granted-overload", unit="of the capacity", runs=SIMULATED, windowed=True)
def granted_overload(run: Simulated, window_s: Window) -> float:
    """Give the greatest sum of the rates granted over a link, by its capacity, less 1, at any time of the window."""
    return max((float(over.max()) for _, over in _overloads(run, window_s)), default=-1.0)


@measure("last-overload", unit="s", runs=SIMULATED, windowed=True)
def last_overload(run: Simulated, window_s: Window) -> float:
    """Give the last time of the window at which rates granted over a link are over 1.01 times its capacity.

    It is 0 if they never are.
    """
    ends = []
    for time, over in _overloads(run, window_s):
        last = int(np.flatnonzero(over > 0.01)[-1]) + 1 if (over > 0.01).any() else 0
        if last:
            reached = min(window_s[1], float(run.simulation.result.meta["reached_s"]))
            ends.append(float(time[last]) if last < len(time) else reached)
    return max(ends, default=0.0)


def _overloads(run: Simulated, window_s: Window) -> list[tuple[Floats, Floats]]:
    """Give for each limited link the times of a window at which its granted load changes, and load over capacity."""
    capacity = run.paths.demands.network.core.capacity_bps
    found = []
    for link, load in run.simulation.granted_loads:
        first = max(int(np.searchsorted(load.time_s, window_s[0], side="right")) - 1, 0)
        end = int(np.searchsorted(load.time_s, window_s[1]))
        if end > first:
            found.append((load.time_s[first:end], load.value[first:end] / capacity[link] - 1.0))
    return found


@measure("close-rounds", unit="round trips", runs=SIMULATED)
def close_rounds(run: Simulated) -> float:
    """Give the time after the first joins until all rates stay within 10 % of fair, in round trips of the longest path.

    The round trip is twice the sum of the delays of links.
    """
    times = run.simulation.settling(CLOSE, "fair", 0.0).filter(pl.col("joined") > 0)
    settling = times.filter(pl.col("until_s") == pl.col("until_s").max())["settling_s"][0]
    delay = np.add.reduceat(run.paths.demands.network.core.delay_s[run.paths.path_links], run.paths.path_offsets[:-1])
    return math.inf if settling is None else settling / (2.0 * float(delay.max()))


@measure("empty-subflows", unit="subflows", runs=ON_PATHS)
def empty_subflows(run: OnPaths) -> float:
    """Give the number of subflows with nothing, of connections that have a rate."""
    whole = run.connection_rates[run.paths.connection]
    return float(((whole > 0.0) & (run.path_rates <= NOTHING * whole)).sum())


@measure("raise", unit="of the rate", runs=ON_PATHS)
def raised(run: OnPaths) -> float:
    """Give by how much a connection could raise one subflow if all connections with a greater rate were removed.

    Relative to its rate, the greatest over all connections and subflows. All other subflows keep their rates.
    """
    return max(float(left[links].min()) / rate for rate, left, paths in _alone(run) for links in paths)


@measure("raise-by-shifting", unit="of the rate", runs=ON_PATHS)
def raised_by_shifting(run: OnPaths) -> float:
    """Give by how much a connection could raise its rate if all connections with a greater rate were removed.

    Relative to its rate, the greatest over all connections. It may shift rate between its own paths; all other
    connections keep their subflows' rates.
    """
    from scipy.optimize import linprog

    most = 0.0
    rates = run.path_rates
    first = 0
    for rate, left, paths in _alone(run):
        own = rates[first : first + len(paths)]
        first += len(paths)
        used = np.unique(np.concatenate(paths))
        crosses = np.array([np.isin(used, links) for links in paths]).T.astype(float)
        found = linprog(-np.ones(len(paths)), A_ub=crosses, b_ub=np.maximum(left[used] + crosses @ own, 0.0))
        most = max(most, -float(found.fun) / rate - 1.0)
    return most


def _alone(run: OnPaths) -> list[tuple[float, Floats, list[NDArray[np.uint32]]]]:
    """Give for each connection its rate, what links have left without the greater ones, and the links of its paths."""
    problem, rates, whole = run.problem, run.path_rates, run.connection_rates
    links = np.split(run.paths.path_links, run.paths.path_offsets[1:-1])
    owner = np.asarray(run.paths.connection)
    if not (whole > 0.0).all():
        raise UnmeasuredError("a connection has no rate, so nothing is relative to it")
    found = []
    for connection, rate in enumerate(whole.tolist()):
        stays = whole[owner] <= rate * (1.0 + EQUAL)
        load = np.zeros(len(problem.capacity))
        for path in np.flatnonzero(stays):
            load[links[path]] += rates[path]
        left = np.maximum(problem.capacity - load, 0.0)
        found.append((rate, left, [links[path] for path in np.flatnonzero(owner == connection)]))
    return found


@measure("busier", of=AnotherRun(ON_PATHS), unit="links", runs=ON_PATHS)
def busier(run: OnPaths, other: OnPaths) -> float:
    """Give the number of links that carry more than in the other run, by more than 1 % of their capacity."""
    check_alike(run, other)
    capacity = run.problem.capacity
    more = run.certificate().loads - other.certificate().loads
    return float((more > 0.01 * capacity).sum())
