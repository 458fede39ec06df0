"""The result of a run: tables, facts about the run, and its scenario."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.folder import new_folder
from anabranch.runs.distances import mean_rates
from anabranch.runs.protocols import window_protocols
from anabranch.runs.scenario import read_scenario
from anabranch.runs.series import Series
from anabranch.runs.settling import (
    HOLD_S,
    SPREAD_PERCENTILES,
    error_percentiles,
    settling_times,
    spread_percentiles,
    steps,
)
from anabranch.runs.table_files import LISTED, MAY_LACK, SERIES_FILES, TABLES, parquet, tables_listed
from anabranch.runs.written_before import SERIES, series_by_kind, with_path_lists

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from anabranch.model.network import Network

CONTROL = (
    *("control_packets", "control_bytes", "control_hops", "control_hop_bytes", "hop_bytes"),
    *("mean_bottlenecks", "most_bottlenecks"),
)
"""Entries of `Result.meta` about control packets."""

OF_MACHINE = ("threads", "wall_s", "events_per_s")
"""Entries of `Result.meta` about the computer's time: all that do not follow from scenario and seed."""


@dataclass(frozen=True)
class Result:
    """The result of a run; immutable.

    Nothing in the tables is infinite or not a number: what did not come to be, or was not recorded, is null.

    Attributes
    ----------
    meta : dict
        ``anabranch`` (the version), ``title``, ``seed``, ``finished`` (false for a run that was stopped),
        ``reached_s``, ``duration_s``, ``warm_up_s``, ``sample_s``, ``events``, ``packet_hops``, ``strays`` (how many of
        these were of copies beside their paths); ``control_packets`` and ``control_bytes``, which sources sent;
        ``control_hops`` and ``control_hop_bytes``, the number of times that a control packet entered a link, and their
        bytes; ``hop_bytes``, the bytes of all packets over links, control packets included; ``mean_bottlenecks`` and
        ``most_bottlenecks``, how many links the set of bottlenecks has that control packets of d-SLEN and SLBN bring
        back, over all of these packets, None under other protocols; ``warnings``; and of the
        computer's time ``threads``, ``wall_s`` and ``events_per_s``, which are None where a folder does not tell.
        Of a live run, and of a run of an earlier version, no control packets are known: these are None.
    scenario : str
        The scenario as it was run, with every default written out.
    network : Network
    connections : DataFrame
        A row for each connection: ``connection``, ``source``, ``target``, ``protocol``; ``start_s``, ``stopped_s`` (the
        last byte was sent, or it was told to stop), ``finished_s`` (it has stopped, and all that it sent was delivered
        or lost), ``left_s`` (its protocol had finished its leave); ``amount_bytes`` (null for as long as it stays),
        ``sent_bytes``, ``delivered_bytes``, ``lost_bytes``; ``strays``, how many links copies of its packets, and of
        those on their way back, entered beside their paths, 0 without filters; ``mean_rate_bps``, what was delivered
        after the warm-up by the time from the start or the end of the warm-up, whichever is later, until it finished,
        or else the run ended; ``completion_s``, from start to finish of one that sent its whole amount; ``granted_bps``
        and ``fair_bps`` at the last sample at which it was there, and ``error``, how far the former is from the latter,
        relative to that: 0 where both are 0, null where only the fair rate is 0, since nothing is relative to that;
        ``control_packets`` and ``control_bytes`` that its source sent, 0 under protocols that keep windows;
        ``mean_bottlenecks`` and ``most_bottlenecks``, as in ``meta``, over its own control packets.
    subflows : DataFrame
        A row for each subflow: ``subflow`` (``connection/rank``), ``connection``, ``rank`` (1 for its first path),
        ``path`` (a list of the names of its links); ``sent_bytes``, ``delivered_bytes``, ``lost_bytes``,
        ``repeated_bytes``; packets that arrived ``marked``, 0 under protocols that set rates; ``strays``,
        ``mean_rate_bps`` and ``granted_bps`` as for connections; ``mean_delay_s``, ``most_delay_s`` of its packets.
    links : DataFrame
        A row for each link: ``link``, ``source``, ``target``, ``capacity_bps``; ``carried_bytes``;
        packets ``dropped`` or lost on the way; ``most_packets`` that waited at a time, the one in transmission
        included; ``most_wait_s``, the longest time in seconds that the link needed to send all of them;
        ``utilisation``, the mean after the warm-up; ``control_packets`` and ``control_bytes`` that entered
        it: those of sources, sinks and links, and the frames of repaired hops. ``carried_bytes`` has the latter too if
        control is in band.
    series : Series
        What was sampled, a table for each kind of thing: ``series["connections"]``, ``series["subflows"]``,
        ``series["links"]`` and ``series["run"]``. Only kinds that were recorded are there. Each table has a row for
        each thing and sample: ``time_s``; the name of the thing in ``connection``, ``subflow`` or ``link`` (that of the
        run has no such column); and what was recorded. A column that was not recorded is not there.

        - Connections: ``granted_bps`` at the instant; ``delivered_bps`` since the sample before; ``fair_bps`` and
          ``error``, null while the connection is not there. ``error`` is also null where the fair rate is 0 and the
          granted one is not.
        - Subflows: ``granted_bps`` and ``delivered_bps`` as for connections. If windows are recorded, the values that
          the protocol goes by at the instant: ``window_bytes``; ``rtt_s``, the smoothed round trip; ``pace_bps``, how
          fast packets may be sent; ``marked_share``, the smoothed share of marked packets. They are null where a
          subflow keeps no window, ``rtt_s`` until it is known, and the last two where a protocol has none.
        - Links: ``granted_bps``, the sum of all subflows at the instant; ``carried_bps`` and ``peak_packets`` since the
          sample before; ``capacity_bps`` and ``backlog_bytes`` at the instant, the former only in a run in which
          capacities change; ``fair_bps``, the load under the fair rates. Where that fills the link, the link is a
          bottleneck and has an ``error``: how far ``granted_bps`` is from the capacity, relative to the capacity.
        - The run: ``residual``, the largest shortfall of a subflow from its best bottleneck (0 is exactly fair);
          ``overload``, the largest excess of granted rates over a capacity, relative to the capacity; ``present``, the
          number of connections; ``peak_packets``, the most at any link since the sample before.
    grants : DataFrame or None
        If recorded, a row for each change of a granted rate: ``time_s``, ``connection``, ``subflow``, ``granted_bps``.
    spread : DataFrame or None
        If recorded, two rows for each sample: ``time_s``; ``of``, "connection" or "link"; of the errors of connections
        that are granted a rate, or of bottlenecks, how many are ``present``, their ``mean``, the mean of their
        magnitudes (``magnitude``), ``least``, ``p10``, ``p50``, ``p90`` and ``most``.
    waits : DataFrame or None
        If recorded, a row for each link and subflow that carried data after the warm-up: ``of``, "link" or "subflow";
        ``name``; how many ``packets``; of how long they waited ``mean_s``, ``least_s``, percentiles ``p1_s``, ``p5_s``,
        ``p10_s``, ``p25_s``, ``p50_s``, ``p75_s``, ``p90_s``, ``p95_s``, ``p99_s``, and ``most_s``. At a link a packet
        waits from when it comes until the link begins to send it; a packet of a subflow in all queues on its way, those
        of the loops before included: what it takes beyond propagation and transmission.
    """

    meta: dict[str, Any]
    scenario: str
    network: Network
    connections: pl.DataFrame
    subflows: pl.DataFrame
    links: pl.DataFrame
    series: Series
    grants: pl.DataFrame | None = None
    spread: pl.DataFrame | None = None
    waits: pl.DataFrame | None = None

    @property
    def residual(self) -> float | None:
        """The distance of granted rates from fair at the last sample with a connection; 0 is exactly fair.

        It is the largest shortfall of a subflow from its best bottleneck: 0 at every fair allocation, of which there
        may be several over several paths. None if fairness was not recorded, if no connection is granted a rate, or if
        some protocol keeps windows: their rates are estimates, which queues at full links raise above the capacity.
        """
        if not self.series.has("run", "residual"):
            return None
        samples = self.series["run"].filter(pl.col("present") > 0).drop_nulls("residual")
        is_granted = self.connections["granted_bps"].fill_null(0.0).sum() > 0
        if not len(samples) or not is_granted or not window_protocols().isdisjoint(self.connections["protocol"]):
            return None
        return float(samples["residual"][-1])

    def rates(self, *, subflows: bool = False) -> pl.DataFrame:
        """Give granted rates over time, each value until the next.

        Parameters
        ----------
        subflows : bool
            Of subflows, instead of connections.

        Returns
        -------
        DataFrame
            ``time_s``, ``name``, ``granted_bps``: at the instant of each change if grants were recorded, else at each
            sample.
        """
        return steps(self, subflows=subflows)

    def errors(self, percentiles: Sequence[float] = (10, 50, 90), *, of: str = "connection") -> pl.DataFrame:
        """Give percentiles of the errors of granted rates, relative to fair rates, at each sample.

        Of the connections that are granted a rate: one whose rate is 0 is left out, since it may only have begun. The
        error of a connection is (granted - fair) / fair, and left out where the fair rate is 0. The error of a link
        that is a bottleneck under the fair rates is (granted - capacity) / capacity. Where several paths make several
        allocations fair, one of them is taken: ``residual`` in ``series["run"]`` is 0 at all of them.

        Parameters
        ----------
        percentiles : sequence of float
            From 0 to 100.
        of : {"connection", "link"}
            Over the connections that are granted a rate, or over the bottlenecks.

        Returns
        -------
        DataFrame
            ``time_s``, ``present`` (how many have an error), ``mean``, ``magnitude`` (the mean of the magnitudes),
            ``least``, ``most``, and for each percentile a column such as ``p10``. A row for each sample at which some
            have.

        Raises
        ------
        ScenarioError
            There are no connections; connections (or links) or fairness were not recorded.
        """
        if not len(self.connections):
            raise ScenarioError("there are no connections, so there are no errors; add a [[connection]]")
        if self.spread is not None and set(percentiles) <= SPREAD_PERCENTILES:
            return spread_percentiles(self.spread, percentiles, of)
        return error_percentiles(self.series, percentiles, of)

    def mean_rates(self) -> pl.DataFrame:
        """Give the mean rate of each connection, its mean fair rate, and how far the one is from the other.

        Means are over the time for which a connection is there, after the warm-up. A rate is what was delivered; where
        no data were sent, what was granted. It is measured by the fair rate that the connection has given its demand,
        so that one with little to send is not far from fair.

        Returns
        -------
        DataFrame
            A row for each connection: ``connection``, ``rate_bps``, ``fair_bps``, ``distance``. The distance is the
            rate by the fair rate, less 1. What is not known is null; so is the distance from a fair rate of 0.
        """
        return mean_rates(self)

    def settling(self, tolerance: float = 0.01, *, of: str = "fair", hold_s: float = HOLD_S) -> pl.DataFrame:
        """Give the convergence time of rates after each instant at which connections came or went.

        Parameters
        ----------
        tolerance : float
            Settled is every connection that is there, once its granted rate stays within this share of its aim until
            the next such instant.
        of : {"fair", "final"}
            The aim: the fair rate, or the rate that it had in the end, just before the next such instant.
        hold_s : float
            With the latter, how long all rates must have stayed there at least: a rate that drifts or swings is near
            its end just before it, too. They must also have stayed for a tenth of the time between the two instants.

        Returns
        -------
        DataFrame
            ``time_s`` and ``until_s``, from one instant to the next; ``joined``, ``left`` and ``present``, numbers of
            connections; ``settling_s``, null if they did not settle before the next instant, or it is not known. Exact
            if grants were recorded, else to the time between samples.

        Raises
        ------
        ScenarioError
            Neither connections nor grants were recorded, or, for the fair rates, not those.
        """
        return settling_times(self, tolerance, of, hold_s)

    def files(self) -> dict[str, bytes]:
        """Give everything as files, by name: ``scenario.toml``, ``meta.json``, each table as Parquet, ``machine.json``.

        The last says what the run took of the computer's time. All others of the same scenario and seed are the same
        bytes, on any number of threads.
        """
        others = {name: table for name in MAY_LACK if (table := getattr(self, name)) is not None}
        series = {name: self.series[kind] for name, kind in SERIES_FILES.items() if kind in self.series}
        tables = {name: getattr(self, name) for name in TABLES} | series | others
        known = {name: value for name, value in self.meta.items() if name not in OF_MACHINE}
        return {
            "scenario.toml": self.scenario.encode(),
            "meta.json": _json(known | {LISTED: list(tables)}),
            **{f"{name}.parquet": content for name, content in parquet(tables).items()},
            "machine.json": _json({name: value for name, value in self.meta.items() if name in OF_MACHINE}),
        }

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write `files` to a new folder, which appears when it is whole, or not at all.

        Raises
        ------
        ScenarioError
            The folder exists or cannot be made.
        StorageError
            It cannot be written to its end, as on a full disk.
        """
        with new_folder(Path(folder)) as aside:
            for name, content in self.files().items():
                (aside / name).write_bytes(content)

    def __repr__(self) -> str:
        meta = self.meta
        state = "" if meta["finished"] else f", stopped before {meta['duration_s']:g} s"
        title = f" {meta['title']}:" if meta["title"] else ""
        sizes = f"{len(self.connections)} connections, {len(self.subflows)} subflows, {len(self.links)} links"
        return f"<Result{title} {sizes}, {meta['reached_s']:g} s{state}>"

    def _repr_html_(self) -> str:
        from anabranch.notebook import result_html

        return result_html(self)


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_result(folder: str | os.PathLike[str]) -> Result:
    """Read the folder that a run has written, with this version or an earlier one.

    Raises
    ------
    ScenarioError
        The folder has no result, or a damaged one.
    """
    place = Path(folder)
    if not (place / "meta.json").is_file():
        reason = "it has no meta.json" if place.is_dir() else "there is no such folder"
        raise ScenarioError(f"{place}: {reason}; name a folder that `anabranch run --out` has written")
    try:
        # A copy may do without what the run took of another computer's time.
        taken = _values(place / "machine.json") if (place / "machine.json").is_file() else {}
        meta = dict.fromkeys(OF_MACHINE) | _values(place / "meta.json") | taken
        # Folders of version 0.1.0 do not have these; elsewhere they keep their place.
        meta |= {name: None for name in CONTROL if name not in meta}
        scenario = (place / "scenario.toml").read_text(encoding="utf-8")
        names = tables_listed(meta, lambda name: (place / f"{name}.parquet").exists())
        meta.pop(LISTED, None)
        tables = {name: pl.read_parquet(place / f"{name}.parquet", glob=False) for name in names}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise ScenarioError(f"{place}: it is no whole result of a run ({error}); run the scenario again") from error
    network = read_scenario(place / "scenario.toml").network
    subflows = with_path_lists(tables["subflows"], network.core.link_names)
    others = {name: tables[name] for name in ("connections", "links", *MAY_LACK) if name in tables}
    return Result(meta, scenario, network, subflows=subflows, series=_series(tables), **others)


def _series(tables: dict[str, pl.DataFrame]) -> Series:
    if SERIES in tables:
        return series_by_kind(tables[SERIES])
    return Series({kind: tables[name] for name, kind in SERIES_FILES.items() if name in tables})


def _values(file: Path) -> dict[str, Any]:
    values = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise ValueError(f"{file.name} has no values by name")  # noqa: TRY004
    return values
