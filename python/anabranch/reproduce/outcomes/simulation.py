"""A simulation for a published experiment: its result, its paths, and its rates over time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.paths import Paths
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


def _by_name(rates: pl.DataFrame, names: Iterable[str]) -> dict[str, StepFunction]:
    parts = rates.partition_by("name", as_dict=True, maintain_order=True)
    empty = rates.clear()
    own = {name: parts.get((name,), empty) for name in names}
    return {n: StepFunction(f["time_s"].to_numpy(), f["granted_bps"].to_numpy()) for n, f in own.items()}
