"""What came of a run, as tables: connections, subflows, links, and how they fared over time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from anabranch.demands import Demands
from anabranch.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch import _core
    from anabranch.network import Network

CONNECTIONS = (
    *("connection", "source", "target", "protocol", "start_s", "stopped_s", "finished_s", "left_s"),
    *("amount_bytes", "sent_bytes", "delivered_bytes", "lost_bytes", "strays", "mean_rate_bps", "completion_s"),
    *("granted_bps", "fair_bps", "error"),
)
SUBFLOWS = (
    *("subflow", "connection", "rank", "path", "sent_bytes", "delivered_bytes", "lost_bytes", "repeated_bytes"),
    *("marked", "strays", "mean_rate_bps", "granted_bps", "mean_delay_s", "most_delay_s"),
)
LINKS = ("link", "source", "target", "capacity_bps", "carried_bytes", "dropped", "most_packets", "utilisation")
"""Columns of the tables; see `Result`."""

SERIES: dict[str, type[pl.DataType]] = {
    "time_s": pl.Float64,
    "of": pl.String,
    "name": pl.String,
    "granted_bps": pl.Float64,
    "delivered_bps": pl.Float64,
    "fair_bps": pl.Float64,
    "error": pl.Float64,
    "carried_bps": pl.Float64,
    "capacity_bps": pl.Float64,
    "backlog_bytes": pl.UInt64,
    "peak_packets": pl.UInt32,
    "window_bytes": pl.Float64,
    "rtt_s": pl.Float64,
    "pace_bps": pl.Float64,
    "marked_share": pl.Float64,
    "residual": pl.Float64,
    "overload": pl.Float64,
    "present": pl.UInt32,
}
"""Columns of the series; each has values for some kinds of things, and is null for the others."""

SPREAD = ("time_s", "of", "present", "mean", "least", "p10", "p50", "p90", "most")
"""Columns of the spread of errors; see `Result`."""

SAMPLED = {
    "connection": ("granted_bps", "delivered_bps", "fair_bps"),
    "subflow": ("granted_bps", "delivered_bps", "window_bytes", "rtt_s", "pace_bps", "marked_share"),
    "link": ("granted_bps", "carried_bps", "fair_bps", "capacity_bps", "backlog_bytes", "peak_packets"),
    "run": ("residual", "overload", "present", "peak_packets"),
}
"""What is sampled of each kind of thing."""

ERROR = (
    pl.when((pl.col("granted_bps") <= 0.0) & (pl.col("fair_bps") <= 0.0))
    .then(0.0)
    .otherwise(pl.col("granted_bps") / pl.col("fair_bps") - 1.0)
    .alias("error")
)
"""How far the granted rate is from the fair rate, relative to that; 0 where both are 0."""

BOTTLENECK = 1.0 - 1e-5
"""A link that fair rates load to this share of its capacity is a bottleneck."""

FINITE = pl.when(cs.float().is_finite()).then(cs.float())
"""What is no number, or never came to be, as null."""


def bottleneck_errors(samples: dict[str, NDArray[Any]], capacity_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give by how much granted rates exceed the capacities of bottlenecks, relative to those; NaN elsewhere.

    A row for each sample and a column for each link; empty if loads or fair rates were not sampled.
    """
    granted, fair = (samples.get(f"link_{name}_bps") for name in ("granted", "fair"))
    if granted is None or fair is None:
        return np.empty((0, 0))
    capacity = samples.get("link_capacity_bps", capacity_bps)
    is_bottleneck = (fair > 0.0) & (fair >= BOTTLENECK * capacity)
    return np.where(is_bottleneck, granted, np.nan) / np.where(is_bottleneck, capacity, 1.0) - 1.0


class Measured:
    """The tables of a run.

    Parameters
    ----------
    network : Network
        That of the plan.
    plan : _core.Plan
        What was run.
    outcome : _core.Outcome
        What came of it.
    """

    def __init__(self, network: Network, plan: _core.Plan, outcome: _core.Outcome) -> None:
        self.network = network
        self.plan = plan
        self.outcome = outcome
        self.demands = Demands(network, plan.demands())
        self.paths = Paths(self.demands, plan.paths())
        self.samples: dict[str, NDArray[Any]] = outcome.samples()
        rank = np.arange(len(self.paths)) - self.paths.connection_offsets[self.paths.connection] + 1
        names = pl.Series(self.demands.core.names, dtype=pl.String).gather(self.paths.connection)
        name = pl.format("{}/{}", "connection", "rank").alias("subflow")
        self.subflow_names = pl.DataFrame({"connection": names, "rank": rank}).with_columns(name)

    def connections(self) -> pl.DataFrame:
        """Give a row for each connection."""
        given = self.demands.connections.select(pl.col("name").alias("connection"), "source", "target", "start_s")
        own = pl.DataFrame(self.outcome.subflows()).group_by("connection", maintain_order=True)
        sums = own.agg(pl.col("sent_bytes", "delivered_bytes", "lost_bytes", "strays", "delivered_warm_bytes").sum())
        last = self._last_samples()
        titles = [title for _, title in self.plan.protocols]
        amount = pl.Series(self.plan.amount_bytes)
        rest = {
            "protocol": pl.Series(titles, dtype=pl.String).gather(self.plan.connection_protocol),
            "amount_bytes": amount.set(amount.is_infinite(), None).cast(pl.UInt64),
            "granted_bps": self._at("connection_granted_bps", last),
            "fair_bps": self._at("connection_fair_bps", last),
            **self.outcome.connections(),
        }
        frame = pl.concat([given, sums.drop("connection"), pl.DataFrame(rest)], how="horizontal").with_columns(FINITE)
        # One that was told to stop before has completed nothing.
        is_complete = pl.col("sent_bytes") >= pl.col("amount_bytes")
        completion = pl.when(is_complete).then(pl.col("finished_s") - pl.col("start_s")).alias("completion_s")
        return frame.with_columns(self._mean_rate(), completion, ERROR).select(CONNECTIONS).with_columns(FINITE)

    def subflows(self) -> pl.DataFrame:
        """Give a row for each subflow."""
        last = self._last_samples()[self.paths.connection]
        rest = {"path": self._link_texts(), "granted_bps": self._at("subflow_granted_bps", last)}
        parts = [
            self.subflow_names,
            pl.DataFrame(rest, schema_overrides={"path": pl.String}),
            pl.DataFrame(self.outcome.subflows()).drop("connection"),
        ]
        times = self.connections().select("connection", "start_s", "finished_s")
        frame = pl.concat(parts, how="horizontal").join(times, on="connection", how="left", maintain_order="left")
        delays = pl.when(pl.col("delivered_bytes") > 0).then(pl.col("mean_delay_s", "most_delay_s"))
        return frame.with_columns(self._mean_rate(), delays).select(SUBFLOWS).with_columns(FINITE)

    def links(self) -> pl.DataFrame:
        """Give a row for each link."""
        names = self.network.links.select(pl.col("name").alias("link"), "source", "target", "capacity_bps")
        table = pl.DataFrame({"carriable_bits": self._carriable_bits(), **self.outcome.links()})
        frame = pl.concat([names, table.rename({"bytes": "carried_bytes"})], how="horizontal")
        load = (pl.col("warm_bytes") * 8.0 / pl.col("carriable_bits")).alias("utilisation")
        return frame.with_columns(load).select(LINKS).with_columns(FINITE)

    def series(self) -> pl.DataFrame:
        """Give a row for each thing and sample, in the order of the other tables."""
        errors = bottleneck_errors(self.samples, self.network.core.capacity_bps)
        parts = [
            pl.DataFrame(schema=SERIES),
            self._series("connection", self.demands.core.names),
            self._series("subflow", self.subflow_names["subflow"].to_list()),
            self._series("link", self.network.core.link_names, error=errors),
            self._series("run", [""]),
        ]
        error = pl.when(pl.col("of") == "connection").then(ERROR).otherwise("error").alias("error")
        return pl.concat(parts, how="diagonal").with_columns(error).with_columns(FINITE)

    def spread(self) -> pl.DataFrame | None:
        """Give how errors are spread at each sample, if that was recorded."""
        if "link_errors_count" not in self.samples:
            return None
        parts = []
        for of in ("connection", "link"):
            own = {name: self.samples[f"{of}_errors_{'count' if name == 'present' else name}"] for name in SPREAD[2:]}
            parts.append(pl.DataFrame({"time_s": self.samples["time_s"], "of": of, **own}))
        return pl.concat(parts).select(SPREAD).with_columns(FINITE)

    def waits(self) -> pl.DataFrame | None:
        """Give how long data packets waited at each link and of each subflow, if that was recorded."""
        if not self.plan.has_waits:
            return None
        names = {"link": self.network.core.link_names, "subflow": self.subflow_names["subflow"].to_list()}
        parts = []
        for of, of_kind in names.items():
            table = self.outcome.waits(of)
            name = pl.Series("name", of_kind, dtype=pl.String).gather(table.pop("id"))
            parts.append(pl.DataFrame({"of": pl.repeat(of, len(name), eager=True), "name": name, **table}))
        return pl.concat(parts)

    def grants(self) -> pl.DataFrame | None:
        """Give a row for each change of a granted rate, if that was recorded."""
        if not self.plan.has_grants:
            return None
        table = self.outcome.grants()
        names = self.subflow_names.select("connection", "subflow")[table["subflow"]]
        return pl.DataFrame({"time_s": table["time_s"], **names.to_dict(), "granted_bps": table["granted_bps"]})

    def _mean_rate(self) -> pl.Expr:
        """Bits delivered after the warm-up, by the time from then or from the start until all had arrived."""
        end = pl.coalesce("finished_s", pl.lit(self.outcome.reached_s))
        time = end - pl.max_horizontal("start_s", pl.lit(self.plan.warm_up_s))
        rate = pl.col("delivered_warm_bytes") * 8.0 / time
        return pl.when((time > 0.0) & pl.lit(self.plan.has_data)).then(rate).alias("mean_rate_bps")

    def _last_samples(self) -> NDArray[np.int64]:
        """Give the last sample at which each connection was there, or -1."""
        times = self.samples["time_s"]
        # At the instant of a sample at which it stops it is there no more.
        last = np.searchsorted(times, self.outcome.connections()["stopped_s"], side="left") - 1
        at = np.append(times, -np.inf)[last]
        return np.where(at >= self.demands.core.start_s, last, -1)

    def _at(self, name: str, sample: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the value of each thing at a sample of its own, or NaN."""
        table = self.samples.get(name)
        if table is None:
            return np.full(len(sample), np.nan)
        return np.where(sample >= 0, table[sample, np.arange(len(sample))], np.nan)

    def _link_texts(self) -> list[str]:
        names, offsets = self.network.core.link_names, self.paths.path_offsets.tolist()
        links = self.paths.path_links.tolist()
        return [" > ".join(names[link] for link in links[a:b]) for a, b in itertools.pairwise(offsets)]

    def _carriable_bits(self) -> NDArray[np.float64]:
        """Give how much each link could have carried after the warm-up."""
        start, end = self.plan.warm_up_s, self.outcome.reached_s
        pieces: dict[int, list[tuple[float, float]]] = {}
        for link, time, capacity in self.plan.capacity_changes:
            pieces.setdefault(link, []).append((time, capacity))
        bits: NDArray[np.float64] = self.network.core.capacity_bps * max(end - start, 0.0)
        for link, changes in pieces.items():
            rates = [float(self.network.core.capacity_bps[link]), *(capacity for _, capacity in changes)]
            times = np.clip([0.0, *(time for time, _ in changes), end], start, max(start, end))
            bits[link] = sum(rate * time for rate, time in zip(rates, np.diff(times).tolist(), strict=True) if time > 0)
        return bits

    def _series(self, of: str, names: Sequence[str], **derived: NDArray[Any]) -> pl.DataFrame:
        """Give what was sampled of one kind of thing, and what was derived from that."""
        times = self.samples["time_s"]
        prefix = "" if of == "run" else f"{of}_"
        columns = {c: self.samples[prefix + c] for c in SAMPLED[of] if prefix + c in self.samples} | derived
        # Of capacities that never change there are no rows.
        columns = {column: values for column, values in columns.items() if len(values) == len(times)}
        if not columns:
            return pl.DataFrame()
        return pl.DataFrame(
            {
                "time_s": np.tile(times, len(names)),
                "of": pl.repeat(of, len(times) * len(names), eager=True),
                "name": pl.Series(names, dtype=pl.String).gather(np.repeat(np.arange(len(names)), len(times))),
                **{column: values.T.ravel() for column, values in columns.items()},
            }
        )
