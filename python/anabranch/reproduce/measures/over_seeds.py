"""Rates over time of a run with several seeds, in bins; and the optimum beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.execute.optimum import Optimum
    from anabranch.reproduce.execute.simulated import Simulated


def repeated_rates(runs: Sequence[Simulated], names: Sequence[str], *, of: str, bin_s: float) -> pl.DataFrame:
    """Give the mean granted rates of connections or subflows in each bin, while they are there.

    Parameters
    ----------
    runs : sequence of Simulated
        The same with different seeds.
    names : sequence of str
        Connections.
    of : {"connection", "subflow"}

    Returns
    -------
    DataFrame
        ``name``, ``time_s`` (the middle of the bin), and over the seeds ``mean_bps``, ``least_bps``, ``most_bps``.
    """
    names_of = {"mean": "mean_bps", "least": "least_bps", "most": "most_bps"}
    means = _over_seeds(runs, names, "granted_bps", of=of, bin_s=bin_s).rename(names_of)
    # A path that may not be used yet is granted nothing with any seed.
    return means.filter(pl.col("most_bps") > 0.0)


def repeated_marks(runs: Sequence[Simulated], names: Sequence[str], *, of: str, bin_s: float) -> pl.DataFrame:
    """Give the mean shares of marked packets that the subflows of connections go by; see `repeated_rates`.

    Returns
    -------
    DataFrame
        ``name``, ``time_s``, ``mean``, ``least``, ``most``.
    """
    return _over_seeds(runs, names, "marked_share", of=of, bin_s=bin_s).drop_nulls()


def _over_seeds(runs: Sequence[Simulated], names: Sequence[str], column: str, *, of: str, bin_s: float) -> pl.DataFrame:
    """Give ``name``, ``time_s``, and over the seeds ``mean``, ``least`` and ``most`` of the means over each bin."""
    parts = []
    for number, run in enumerate(runs):
        stays = pl.DataFrame(
            [(name, run.connections[name]["start_s"], run.connections[name]["end_s"]) for name in names],
            schema=["connection", "start_s", "end_s"],
            orient="row",
        )
        connection = pl.col("name").str.replace(r"/\d+$", "") if of == "subflow" else pl.col("name")
        rows = run.samples(of).with_columns(connection.alias("connection")).join(stays, on="connection")
        rows = rows.filter(pl.col("time_s") > pl.col("start_s"), pl.col("time_s") <= pl.col("end_s"))
        # A sample at the end of a bin says what was in it.
        middle = ((pl.col("time_s") / bin_s - 1e-9).floor() + 0.5) * bin_s
        own = rows.group_by("name", middle.alias("time_s"), maintain_order=True).agg(pl.col(column).mean())
        parts.append(own.with_columns(pl.lit(number).alias("seed")))
    value = pl.col(column)
    over = pl.concat(parts).group_by("name", "time_s", maintain_order=True)
    return over.agg(value.mean().alias("mean"), value.min().alias("least"), value.max().alias("most"))


def optimal_rates(optimum: Optimum, names: Sequence[str], *, of: str) -> pl.DataFrame:
    """Give the optimal rates of connections or subflows: ``name``, ``time_s``, ``end_s``, ``optimal_bps``.

    Only while the connections are there.
    """
    demands, paths = optimum.paths.demands.core, optimum.paths
    rows = []
    ends = [*optimum.time_s[1:], optimum.end_s]
    for connection, name in enumerate(demands.names):
        if name not in names:
            continue
        first, last = paths.connection_offsets[connection : connection + 2].tolist()
        parts = [(f"{name}/{p - first + 1}", [p]) for p in range(first, last)] if of == "subflow" else None
        for own, members in parts or [(name, list(range(first, last)))]:
            for step, (start, end) in enumerate(zip(optimum.time_s, ends, strict=True)):
                if demands.start_s[connection] <= start < demands.stop_s[connection]:
                    rate = float(optimum.path_rates[step, members].sum()) * optimum.unit_bps
                    rows.append((own, start, end, rate))
    return pl.DataFrame(rows, schema=["name", "time_s", "end_s", "optimal_bps"], orient="row")
