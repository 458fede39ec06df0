"""The tables of a run: connections, subflows, links, and their samples over time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.model.demands import Demands
from anabranch.model.paths import Paths
from anabranch.runs.derived import relative_errors, with_derived
from anabranch.runs.series import column_of, series_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.model.network import Network
    from anabranch.runs.series import Series

    Columns = dict[str, NDArray[Any] | pl.Series]

CONNECTIONS = (
    *("connection", "source", "target", "protocol", "start_s", "stopped_s", "finished_s", "left_s"),
    *("amount_bytes", "sent_bytes", "delivered_bytes", "lost_bytes", "strays", "mean_rate_bps", "completion_s"),
    *("granted_bps", "fair_bps", "error", "control_packets", "control_bytes", "mean_bottlenecks", "most_bottlenecks"),
)
SUBFLOWS = (
    *("subflow", "connection", "rank", "path", "sent_bytes", "delivered_bytes", "lost_bytes", "repeated_bytes"),
    *("marked", "strays", "mean_rate_bps", "granted_bps", "mean_delay_s", "most_delay_s"),
)
LINKS = (
    *(
        "link",
        "source",
        "target",
        "capacity_bps",
        "carried_bytes",
        "dropped",
        "most_packets",
        "most_wait_s",
        "utilisation",
    ),
    *("control_packets", "control_bytes"),
)
"""Columns of the tables; see `Result`."""

SPREAD = ("time_s", "of", "present", "mean", "magnitude", "least", "p10", "p50", "p90", "most")
"""Columns of the spread of errors; see `Result`."""


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
        self.connection = self.paths.connection
        self.of_connections: dict[str, NDArray[Any]] = outcome.connections()
        self.of_subflows: dict[str, NDArray[Any]] = outcome.subflows()
        self.samples: dict[str, NDArray[Any]] = outcome.samples()
        self.last = self._last_samples()
        self.names = pl.Series(self.demands.core.names, dtype=pl.String)
        self.link_names: list[str] = network.core.link_names
        self.rank = np.arange(len(self.paths)) - self.paths.connection_offsets[self.connection] + 1
        self.subflow_names = (self.names + "/")[self.connection] + pl.Series(self.rank).cast(pl.String)

    def connections(self) -> pl.DataFrame:
        """Give a row for each connection."""
        core, own = self.demands.core, self.of_connections
        summed = ("sent_bytes", "delivered_bytes", "lost_bytes", "strays", "delivered_warm_bytes")
        sums = {name: self._sum(self.of_subflows[name]) for name in summed}
        amount = self.plan.amount_bytes
        has_amount = np.isfinite(amount)
        granted, fair = self._at("connection_granted_bps", self.last), self._at("connection_fair_bps", self.last)
        # One that was told to stop before has completed nothing.
        is_complete = has_amount & (sums["sent_bytes"] >= np.where(has_amount, amount, 0.0).astype(np.uint64))
        columns: Columns = {
            "connection": self.names,
            **self._ends(core.source, core.target),
            "protocol": _texts([title for _, title in self.plan.protocols])[self.plan.connection_protocol],
            "start_s": core.start_s,
            **own,
            "amount_bytes": column_of("amount_bytes", amount).cast(pl.UInt64),
            **sums,
            "mean_rate_bps": self._mean_rate(sums["delivered_warm_bytes"], own["finished_s"], core.start_s),
            "completion_s": np.where(is_complete, own["finished_s"] - core.start_s, np.nan),
            "granted_bps": granted,
            "fair_bps": fair,
            "error": relative_errors(granted, fair),
            **self._control(self._sum(self.of_subflows["control_packets"])),
            **self._bottlenecks(),
        }
        return _table(CONNECTIONS, columns)

    def subflows(self) -> pl.DataFrame:
        """Give a row for each subflow."""
        own, of = self.of_subflows, self.connection
        finished, start = self.of_connections["finished_s"][of], self.demands.core.start_s[of]
        has_delay = own["delivered_bytes"] > 0
        columns: Columns = {
            **own,
            "subflow": self.subflow_names,
            "connection": self.names[of],
            "rank": self.rank,
            "path": self._link_lists(),
            "mean_rate_bps": self._mean_rate(own["delivered_warm_bytes"], finished, start),
            "granted_bps": self._at("subflow_granted_bps", self.last[of]),
            "mean_delay_s": np.where(has_delay, own["mean_delay_s"], np.nan),
            "most_delay_s": np.where(has_delay, own["most_delay_s"], np.nan),
        }
        return _table(SUBFLOWS, columns)

    def links(self) -> pl.DataFrame:
        """Give a row for each link."""
        core, own = self.network.core, self.outcome.links()
        with np.errstate(divide="ignore", invalid="ignore"):
            utilisation = own["warm_bytes"] * 8.0 / self._carriable_bits()
        columns: Columns = {
            **own,
            "link": _texts(self.link_names),
            **self._ends(core.link_source, core.link_target),
            "capacity_bps": core.capacity_bps,
            "carried_bytes": own["bytes"],
            "utilisation": utilisation,
            **self._control(own["control_packets"]),
        }
        return _table(LINKS, columns)

    def series(self) -> Series:
        """Give a table for each kind of thing: a row for each thing and sample, in the order of the other tables."""
        names = {"connections": self.names, "subflows": self.subflow_names, "links": _texts(self.link_names)}
        return series_of(with_derived(self.samples, self.network.core.capacity_bps), names)

    def spread(self) -> pl.DataFrame | None:
        """Give how errors are spread at each sample, if that was recorded."""
        if "link_errors_count" not in self.samples:
            return None
        times, kinds = self.samples["time_s"], ("connection", "link")
        columns: Columns = {"time_s": np.tile(times, 2), "of": _texts(kinds)[np.repeat([0, 1], len(times))]}
        for name in SPREAD[2:]:
            measure = "count" if name == "present" else name
            columns[name] = np.concatenate([self.samples[f"{of}_errors_{measure}"] for of in kinds])
        return _table(SPREAD, columns)

    def waits(self) -> pl.DataFrame | None:
        """Give how long data packets waited at each link and of each subflow, if that was recorded."""
        if not self.plan.has_waits:
            return None
        kinds = ("link", "subflow")
        own = [self.outcome.waits(of) for of in kinds]
        names = [_texts(self.link_names)[own[0]["id"]], self.subflow_names[own[1]["id"]]]
        columns: Columns = {
            "of": _texts(kinds)[np.repeat([0, 1], [len(name) for name in names])],
            "name": pl.concat(names),
            **{name: np.concatenate([table[name] for table in own]) for name in own[0] if name != "id"},
        }
        return _table(tuple(columns), columns)

    def grants(self) -> pl.DataFrame | None:
        """Give a row for each change of a granted rate, if that was recorded."""
        if not self.plan.has_grants:
            return None
        table = self.outcome.grants()
        of = table["subflow"]
        names = {"connection": self.names[self.connection[of]], "subflow": self.subflow_names[of]}
        columns: Columns = {"time_s": table["time_s"], **names, "granted_bps": table["granted_bps"]}
        return _table(tuple(columns), columns)

    def _sum(self, of_subflows: NDArray[Any]) -> NDArray[Any]:
        """Give the sum over the subflows of each connection, which has one or more."""
        return np.add.reduceat(of_subflows, self.paths.connection_offsets[:-1])

    def _control(self, packets: NDArray[Any]) -> dict[str, pl.Series]:
        """Give the columns of control packets; null where their number is not known."""
        number = column_of("control_packets", packets).cast(pl.UInt64)
        return {"control_packets": number, "control_bytes": number * self.plan.control_packet_bytes}

    def _bottlenecks(self) -> dict[str, pl.Series]:
        """Give the columns of sets of bottlenecks in control packets; null where none came back with such a set."""
        own = self.of_subflows
        sets, total = (self._sum(own[name]) for name in ("bottleneck_sets", "bottlenecks"))
        most = np.maximum.reduceat(own["most_bottlenecks"], self.paths.connection_offsets[:-1])
        mean = np.full(len(sets), np.nan)
        np.divide(total, sets, out=mean, where=sets > 0)
        known = column_of("most_bottlenecks", np.where(sets > 0, most, np.nan))
        return {"mean_bottlenecks": column_of("mean_bottlenecks", mean), "most_bottlenecks": known.cast(pl.UInt32)}

    def mean_bottlenecks(self) -> float | None:
        """Give the mean number of bottlenecks over all control packets that came back with a set of them."""
        sets, total = (int(self.of_subflows[name].sum()) for name in ("bottleneck_sets", "bottlenecks"))
        return total / sets if sets else None

    def _ends(self, source: NDArray[Any], target: NDArray[Any]) -> dict[str, pl.Series]:
        nodes = _texts(self.network.core.node_names)
        return {"source": nodes[source], "target": nodes[target]}

    def _mean_rate(
        self, warm_bytes: NDArray[Any], finished_s: NDArray[np.float64], start_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Give bits delivered after the warm-up, by the time from then or from the start until all had arrived."""
        end = np.where(np.isfinite(finished_s), finished_s, self.outcome.reached_s)
        time = end - np.maximum(start_s, self.plan.warm_up_s)
        is_known = (time > 0.0) & self.plan.has_data
        rate = np.full(len(time), np.nan)
        np.divide(warm_bytes * 8.0, time, out=rate, where=is_known)
        return rate

    def _last_samples(self) -> NDArray[np.int64]:
        """Give the last sample at which each connection was there, or -1."""
        times = self.samples["time_s"]
        # At the instant of a sample at which it stops it is there no more.
        last = np.searchsorted(times, self.of_connections["stopped_s"], side="left") - 1
        at = np.append(times, -np.inf)[last]
        return np.where(at >= self.demands.core.start_s, last, -1)

    def _at(self, name: str, sample: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the value of each thing at a sample of its own, or NaN."""
        table = self.samples.get(name)
        if table is None:
            return np.full(len(sample), np.nan)
        return np.where(sample >= 0, table[sample, np.arange(len(sample))], np.nan)

    def _link_lists(self) -> pl.Series:
        names = list(map(self.link_names.__getitem__, self.paths.path_links.tolist()))
        paths = [names[a:b] for a, b in itertools.pairwise(self.paths.path_offsets.tolist())]
        return pl.Series(paths, dtype=pl.List(pl.String))

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


def _texts(values: Sequence[str]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


def _table(names: Sequence[str], columns: Columns) -> pl.DataFrame:
    return pl.DataFrame([column_of(name, columns[name]) for name in names])
