"""A simulation for a published experiment: its result, its paths, and its rates over time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.paths import Paths
from anabranch.reproduce.outcomes.granted_loads import granted_excess
from anabranch.runs.columns import THINGS, columns_of, kind_of
from anabranch.runs.series import NotRecordedError
from anabranch.runs.step_function import StepFunction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from anabranch.runs.result import Result
    from anabranch.runs.scenario import Plan


class Simulation:
    """A simulated scenario with its paths and rates.

    Parameters
    ----------
    plan : Plan
        The scenario that was simulated.
    result : Result
        The result of the simulation.
    """

    def __init__(self, plan: Plan, result: Result) -> None:
        self.result = result
        self.paths = Paths(Demands(plan.network, plan.core.demands()), plan.core.paths())
        self.packet_bytes = plan.core.packet_bytes
        self.control_is_in_band = plan.core.control_is_in_band
        self.capacity_changes = plan.core.capacity_changes
        frame = result.connections.with_columns(pl.col("stopped_s").fill_null(result.meta["reached_s"]).alias("end_s"))
        self.connections = {row["connection"]: row for row in frame.rows(named=True)}
        self._settling: dict[tuple[float, str, float], pl.DataFrame] = {}

    @property
    def protocol(self) -> str:
        """The titles of the protocols in use."""
        return ", ".join(self.result.connections["protocol"].unique(maintain_order=True))

    @property
    def first_leave_s(self) -> float:
        """The time at which the first connection leaves, or the run ends."""
        return float(min(row["end_s"] for row in self.connections.values()))

    @property
    def path_rates_bps(self) -> NDArray[np.float64]:
        """The rate granted to each subflow just before the first connection leaves."""
        end = self.first_leave_s
        return np.array([self.subflow_rates[name].before(end) for name in self.result.subflows["subflow"]])

    @cached_property
    def rates(self) -> dict[str, StepFunction]:
        """The rate granted to each connection over time, in bit/s."""
        return _by_name(self.result.rates(), self.connections)

    @cached_property
    def subflow_rates(self) -> dict[str, StepFunction]:
        """The rate granted to each subflow over time, in bit/s."""
        return _by_name(self.result.rates(subflows=True), self.result.subflows["subflow"])

    @cached_property
    def granted_excess(self) -> pl.DataFrame:
        """The excess of granted rates over the capacity of each link over time; see `granted_excess`.

        Raises
        ------
        ScenarioError
            The scenario does not record grants.
        """
        if self.result.grants is None:
            raise ScenarioError(f'{self.result.meta["title"]}: add "grants" to record under [run]')
        names = self.result.subflows.select("subflow").with_row_index("path")
        grants = self.result.grants.join(names, on="subflow", maintain_order="left")
        core = self.paths.demands.network.core
        return granted_excess(grants, self.paths, core.capacity_bps, self.capacity_changes)

    def settling(self, tolerance: float, of: str, hold_s: float) -> pl.DataFrame:
        """Give the times that rates took to settle, as `anabranch.runs.result.Result.settling` does, computed once."""
        key = tolerance, of, hold_s
        if key not in self._settling:
            self._settling[key] = self.result.settling(tolerance, of=of, hold_s=hold_s)
        return self._settling[key]

    def subflows_of(self, connection: str) -> list[StepFunction]:
        """Give the rate granted to each subflow of a connection over time."""
        names = self.result.subflows.filter(pl.col("connection") == connection)["subflow"]
        return [self.subflow_rates[name] for name in names]

    def capacity(self, link: str) -> StepFunction:
        """Give the capacity of a link over time, in bit/s; for a trace of opportunities the rate in each bin."""
        core = self.paths.demands.network.core
        number = core.link_names.index(link)
        changes = [(time, rate) for own, time, rate in self.capacity_changes if own == number]
        time, rate = zip((0.0, float(core.capacity_bps[number])), *changes, strict=True)
        return StepFunction(np.array(time), np.array(rate))

    def samples(self, of: str) -> pl.DataFrame:
        """Give the samples of connections, subflows, links or the run.

        The names of things are in the column ``name``. A column that was not recorded has no value, so that a measure
        says that it has no samples.

        Raises
        ------
        ScenarioError
            The scenario does not record them.
        """
        kind = kind_of(of)
        try:
            rows = self.result.series[kind]
        except NotRecordedError as error:
            raise ScenarioError(f"{self.result.meta['title']}: {error}") from error
        lacking = [column for column in columns_of(kind) if column.name not in rows]
        rows = rows.with_columns(pl.lit(None, column.dtype).alias(column.name) for column in lacking)
        return rows.rename({THINGS[kind]: "name"}) if kind in THINGS else rows

    @cached_property
    def granted_loads(self) -> list[tuple[int, StepFunction]]:
        """The sum of the rates granted over each link of limited capacity, over time, in bit/s."""
        names = self.result.subflows["subflow"].to_list()
        change = pl.col("granted_bps") - pl.col("granted_bps").shift(1, fill_value=0.0).over("name")
        changes = (
            self.result.rates(subflows=True).sort("time_s", maintain_order=True).with_columns(change.alias("change"))
        )
        links = np.split(self.paths.path_links, self.paths.path_offsets[1:-1])
        crossed = pl.DataFrame({"name": names, "link": [own.tolist() for own in links]}).explode("link")
        rows = changes.join(crossed, on="name", how="inner", maintain_order="left")
        capacity = self.paths.demands.network.core.capacity_bps
        found = []
        for (number,), own in rows.group_by("link", maintain_order=True):
            link = int(str(number))
            if np.isfinite(capacity[link]):
                time, load = own["time_s"].to_numpy(), own["change"].to_numpy().cumsum()
                # Rates that change at the same time change together.
                is_last = np.append(time[1:] > time[:-1], [True])
                found.append((link, StepFunction(time[is_last], load[is_last])))
        return found


def _by_name(rates: pl.DataFrame, names: Iterable[str]) -> dict[str, StepFunction]:
    parts = rates.partition_by("name", as_dict=True, maintain_order=True)
    empty = rates.clear()
    own = {name: parts.get((name,), empty) for name in names}
    return {n: StepFunction(f["time_s"].to_numpy(), f["granted_bps"].to_numpy()) for n, f in own.items()}
