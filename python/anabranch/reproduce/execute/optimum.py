"""The rates of the greatest utility over time, while connections come and go and capacities change.

They are solved for anew at each such time, for the connections and capacities present from then on [cao2012, eq. 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.paths import Paths
from anabranch.model.problem import Problem, problem_of
from anabranch.reproduce.outcomes.kinds import Optimal
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.runs.scenario import Plan


def optimum_over_time(plan: Plan, unit_bps: float, tolerance: float) -> Optimal:
    """Solve for the proportionally fair rates at every time at which a connection, a path or a capacity changes.

    Parameters
    ----------
    plan : Plan
        The scenario, with its connections, paths and capacities.
    unit_bps : float
        The unit of the rates, in bit/s.
    tolerance : float
        The relative tolerance of the certificate.

    Raises
    ------
    ScenarioError
        Demands change.
    """
    tables: list[dict[str, Any]] = _core.read_toml(plan.resolved).get("connection", [])
    if any("demand_changes" in table for table in tables):
        raise ScenarioError(f"{plan.title}: demands change; the optimum over time is for demands that stay")
    paths = Paths(Demands(plan.network, plan.core.demands()), plan.core.paths())
    end_s = plan.core.duration_s
    start_s, stop_s = _stays(paths, tables)
    time_s = _instants(plan, start_s, stop_s)
    capacity = np.array([_capacities(plan, paths, time, unit_bps) for time in time_s])
    present = [(start_s <= time) & (time < stop_s) for time in time_s]
    rates = np.array([_solve(paths, own, here, unit_bps) for own, here in zip(capacity, present, strict=True)])
    first_leave_s = float(min([end_s, *paths.demands.core.stop_s.tolist()]))
    # The rates just before the first connection leaves.
    row = int(np.searchsorted(time_s, first_leave_s)) - 1

    def find() -> tuple[Problem, NDArray[np.float64]]:
        return problem_of(paths, unit_bps=unit_bps), rates[row]

    return Optimal(paths, tolerance, find, unit_bps, time_s, end_s, capacity, rates)


def _stays(paths: Paths, tables: list[dict[str, Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give from when until when each path may be used: as its connection, unless the path has its own times."""
    demands = paths.demands.core
    start, stop = (times[paths.connection].copy() for times in (demands.start_s, demands.stop_s))
    for table in tables:
        first = int(paths.connection_offsets[demands.names.index(table["name"])])
        for path, own in enumerate(table.get("path_times", []), start=first):
            start[path] = max(start[path], _core.parse_span(own["start"])) if "start" in own else start[path]
            stop[path] = min(stop[path], _core.parse_span(own["stop"])) if "stop" in own else stop[path]
    return start, stop


def _instants(plan: Plan, start_s: NDArray[np.float64], stop_s: NDArray[np.float64]) -> list[float]:
    changes = [time for _, time, _ in plan.core.capacity_changes]
    times = {0.0, *start_s.tolist(), *stop_s.tolist(), *changes}
    return sorted(time for time in times if 0.0 <= time < plan.core.duration_s)


def _capacities(plan: Plan, paths: Paths, time_s: float, unit_bps: float) -> NDArray[np.float64]:
    capacity = paths.demands.network.core.capacity_bps / unit_bps
    for link, time, rate_bps in plan.core.capacity_changes:
        if time <= time_s:
            capacity[link] = rate_bps / unit_bps
    return capacity


def _solve(
    paths: Paths, capacity: NDArray[np.float64], is_present: NDArray[np.bool_], unit_bps: float
) -> NDArray[np.float64]:
    """Solve for the subflows that are present; the others have rate 0."""
    demands = paths.demands.core
    here = np.flatnonzero(is_present)
    rates = np.zeros(len(paths))
    if not len(here):
        return rates
    own = [paths.path_links[paths.path_offsets[p] : paths.path_offsets[p + 1]] for p in here]
    offsets = np.cumsum([0, *map(len, own)])
    connections, number = np.unique(paths.connection[here], return_inverse=True)
    problem = Problem(
        capacity,
        offsets,
        np.concatenate(own),
        number,
        demands.demand_bps[connections] / unit_bps,
        (demands.weight * demands.qos)[connections],
    )
    rates[here] = solve(problem, fairness="proportional").path_rates
    return rates
