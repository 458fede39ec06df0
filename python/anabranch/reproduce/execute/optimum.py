"""The rates of the greatest utility over time, while connections come and go and capacities change.

They are solved for anew at each such instant, for the connections and capacities present from then on [cao2012, eq. 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.paths import Paths
from anabranch.model.problem import Problem
from anabranch.runs.step_function import StepFunction
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.runs.scenario import Plan


class Optimum:
    """Proportionally fair rates over time.

    Parameters
    ----------
    plan : Plan
        Whose connections, paths and capacities count.
    unit_bps : float
        Rates are counted in this many bit/s.

    Raises
    ------
    ScenarioError
        Demands change.
    """

    def __init__(self, plan: Plan, unit_bps: float) -> None:
        self.tables = _core.read_toml(plan.resolved).get("connection", [])
        if any("demand_changes" in table for table in self.tables):
            raise ScenarioError(f"{plan.title}: demands change; the optimum over time is for demands that stay")
        self.paths = Paths(Demands(plan.network, plan.core.demands()), plan.core.paths())
        self.end_s = plan.core.duration_s
        self.plan = plan
        self.unit_bps = unit_bps
        self.start_s, self.stop_s = self._stays()
        self.time_s = self._instants()
        self.capacity = np.array([self._capacities(time) for time in self.time_s])
        self.path_rates = np.array([self._solve(row, time) for row, time in enumerate(self.time_s)])

    @property
    def first_leave_s(self) -> float:
        """When the first connection leaves, or the run ends."""
        return float(min([self.end_s, *self.paths.demands.core.stop_s.tolist()]))

    @property
    def first_path_rates(self) -> NDArray[np.float64]:
        """The rate of each subflow just before the first connection leaves."""
        row = int(np.searchsorted(self.time_s, self.first_leave_s)) - 1
        rates: NDArray[np.float64] = self.path_rates[row]
        return rates

    def subflow(self, path: int) -> StepFunction:
        """Give the rate of a subflow over time, by its number."""
        return StepFunction(np.array(self.time_s), self.path_rates[:, path])

    def mean_rate(self, paths: Sequence[int], window_s: tuple[float, float]) -> float:
        """Give the mean over a window of the sum over some subflows."""
        return self._mean(self.path_rates[:, paths].sum(axis=1), window_s)

    def mean_load(self, link: int, window_s: tuple[float, float]) -> float:
        """Give the mean load of a link over a window."""
        entries = self.paths.path_links == link
        path = np.repeat(np.arange(len(self.paths)), np.diff(self.paths.path_offsets))[entries]
        return self._mean(self.path_rates[:, path].sum(axis=1), window_s)

    def mean_capacity(self, link: int, window_s: tuple[float, float]) -> float:
        """Give the mean capacity of a link over a window."""
        return self._mean(self.capacity[:, link], window_s)

    def _mean(self, values: NDArray[np.float64], window_s: tuple[float, float]) -> float:
        edges = np.clip([*self.time_s, self.end_s], *window_s)
        return float((values * np.diff(edges)).sum() / (edges[-1] - edges[0]))

    def _stays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give from when until when each path may be used: as its connection, unless it has times of its own."""
        demands, paths = self.paths.demands.core, self.paths
        start, stop = (times[paths.connection].copy() for times in (demands.start_s, demands.stop_s))
        for table in self.tables:
            first = int(paths.connection_offsets[demands.names.index(table["name"])])
            for path, own in enumerate(table.get("path_times", []), start=first):
                start[path] = max(start[path], _core.parse_span(own["start"])) if "start" in own else start[path]
                stop[path] = min(stop[path], _core.parse_span(own["stop"])) if "stop" in own else stop[path]
        return start, stop

    def _instants(self) -> list[float]:
        changes = [time for _, time, _ in self.plan.core.capacity_changes]
        times = {0.0, *self.start_s.tolist(), *self.stop_s.tolist(), *changes}
        return sorted(time for time in times if 0.0 <= time < self.end_s)

    def _capacities(self, time_s: float) -> NDArray[np.float64]:
        capacity = self.paths.demands.network.core.capacity_bps / self.unit_bps
        for link, time, rate_bps in self.plan.core.capacity_changes:
            if time <= time_s:
                capacity[link] = rate_bps / self.unit_bps
        return capacity

    def _solve(self, row: int, time_s: float) -> NDArray[np.float64]:
        """Solve for the subflows that are there from a time on; the others have rate 0."""
        demands, paths = self.paths.demands.core, self.paths
        here = np.flatnonzero((self.start_s <= time_s) & (time_s < self.stop_s))
        rates = np.zeros(len(paths))
        if not len(here):
            return rates
        own = [paths.path_links[paths.path_offsets[p] : paths.path_offsets[p + 1]] for p in here]
        offsets = np.cumsum([0, *map(len, own)])
        connections, number = np.unique(paths.connection[here], return_inverse=True)
        problem = Problem(
            self.capacity[row],
            offsets,
            np.concatenate(own),
            number,
            demands.demand_bps[connections] / self.unit_bps,
            (demands.weight * demands.qos)[connections],
        )
        rates[here] = solve(problem, fairness="proportional").path_rates
        return rates
