"""Mean rates of connections beside their mean fair rates: the same numbers in tables, notebooks and on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.runs.derived import relative_errors

if TYPE_CHECKING:
    from anabranch.runs.result import Result


def mean_rates(result: Result) -> pl.DataFrame:
    """Give a row for each connection, as `Result.mean_rates` says."""
    has_data = bool(result.connections["sent_bytes"].sum())
    fair = _means(result, "fair_bps")
    found = result.connections.select("connection", rate_bps=pl.col("mean_rate_bps").cast(pl.Float64))
    if not has_data:
        # A connection has a fair rate while it is there.
        granted = _means(result, "granted_bps", while_there="fair_bps" if len(fair) else "granted_bps")
        found = _beside(found.select("connection"), granted.rename({"granted_bps": "rate_bps"}))
    found = _beside(found, fair)
    rate, own_fair = (found[name].fill_null(float("nan")).to_numpy() for name in ("rate_bps", "fair_bps"))
    distance = pl.Series("distance", relative_errors(rate, own_fair)).fill_nan(None)
    return found.with_columns(pl.when(pl.col("fair_bps") > 0.0).then(distance).alias("distance"))


def _means(result: Result, column: str, *, while_there: str = "") -> pl.DataFrame:
    """Give the mean of a column for each connection over the samples after the warm-up; no row if it is not there."""
    names = [name for name in (column, while_there) if name]
    if not all(result.series.has("connections", name) for name in names):
        return pl.DataFrame(schema={"connection": pl.String, column: pl.Float64})
    rows = result.series["connections"].filter(pl.col("time_s") > result.meta["warm_up_s"]).drop_nulls(names)
    # In one piece and in order, so that equal samples have equal means to the last bit.
    groups = rows.rechunk().group_by("connection", maintain_order=True)
    return groups.agg(pl.col(column).mean())


def _beside(frame: pl.DataFrame, means: pl.DataFrame) -> pl.DataFrame:
    return frame.join(means, on="connection", how="left", maintain_order="left")
