"""Errors of granted rates, and convergence times after connections come and go."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.runs.columns import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.runs.result import Result
    from anabranch.runs.series import Series

AIMS = ("fair", "final")
"""Aims with which rates can be compared."""

HOLD_S = 0.1
"""Rates that come to rest near where they end have settled if they then stay for so long at least."""

HOLD_SHARE = 0.1
"""And for this share of the time from one instant of change to the next: a slow drift ends near its end, too."""


BEARERS = ("connection", "link")
"""Kinds of things that have an error."""


SPREAD_PERCENTILES = frozenset({10, 50, 90})
"""Those that are recorded with the spread of errors."""


def spread_percentiles(spread: pl.DataFrame, percentiles: Sequence[float], of: str) -> pl.DataFrame:
    """Give percentiles of errors from what was recorded of their spread; see `Result.errors`."""
    _check_bearer(of)
    wanted = (f"p{p:g}" for p in percentiles)
    rows = spread.filter((pl.col("of") == of) & (pl.col("present") > 0))
    # Folders of version 0.1.0 have no magnitudes.
    magnitude = [name for name in ("magnitude",) if name in rows.columns]
    return rows.select("time_s", "present", "mean", *magnitude, "least", *wanted, "most")


def error_percentiles(series: Series, percentiles: Sequence[float], of: str) -> pl.DataFrame:
    """Give percentiles of errors at each sample; see `Result.errors`."""
    _check_bearer(of)
    for percentile in percentiles:
        if not 0.0 <= percentile <= 100.0:
            raise ValueError(f"a percentile is {percentile}; it must be 0 to 100")
    kind = kind_of(of)
    if not series.has(kind, "granted_bps", "fair_bps"):
        remedy = f'add "{of}s" and "fairness" to record under [run], or "errors" for percentiles 10, 50 and 90'
        raise ScenarioError(f"errors need rates: {remedy}")
    own = series[kind]
    rows = own if of == "link" else own.filter(pl.col("granted_bps") > 0.0)
    return spread_of(rows, pl.col("error"), percentiles)


def spread_of(rows: pl.DataFrame, error: pl.Expr, percentiles: Sequence[float]) -> pl.DataFrame:
    """Give the number, the means, the extremes and percentiles of errors at each sample that has some."""
    shares = (error.quantile(p / 100.0, "linear").alias(f"p{p:g}") for p in percentiles)
    found = rows.group_by("time_s").agg(
        *(error.count().alias("present"), error.mean().alias("mean"), error.abs().mean().alias("magnitude")),
        *(error.min().alias("least"), *shares, error.max().alias("most")),
    )
    return found.filter(pl.col("present") > 0).sort("time_s")


BINS = 20
"""The number of bins of amounts, each with about as many connections."""


def by_amount(result: Result) -> pl.DataFrame:
    """Give how long connections took to send their amounts, by the amount.

    Returns
    -------
    DataFrame
        For each bin of amounts ``amount_bytes``, their mean; ``connections``, how many were completed; and
        ``completion_s``, their mean time.
    """
    rows = result.connections.filter(pl.col("completion_s").is_not_null()).sort("amount_bytes")
    place = (pl.int_range(pl.len()) * BINS // pl.len()).alias("bin")
    bins = rows.with_columns(place).group_by("bin", maintain_order=True)
    found = bins.agg(pl.col("amount_bytes").mean(), pl.len().alias("connections"), pl.col("completion_s").mean())
    return found.drop("bin")


def _check_bearer(of: str) -> None:
    if of not in BEARERS:
        raise ValueError(f'of is "{of}"; it must be one of {", ".join(BEARERS)}')


def steps(result: Result, *, subflows: bool) -> pl.DataFrame:
    """Give granted rates over time, each until the next; see `Result.rates`."""
    of = "subflow" if subflows else "connection"
    if result.grants is None:
        if not result.series.has(kind_of(of), "granted_bps") and len(result.connections):
            raise ScenarioError(f'rates were not recorded; add "{of}s" or "grants" to record under [run]')
        return _recorded(result.series, of, "granted_bps")
    if subflows:
        return result.grants.select("time_s", pl.col("subflow").alias("name"), "granted_bps")
    change = pl.col("granted_bps") - pl.col("granted_bps").shift(1, fill_value=0.0).over("subflow")
    changes = result.grants.select("time_s", pl.col("connection").alias("name"), change.alias("change"))
    changes = changes.group_by("name", "time_s", maintain_order=True).agg(pl.col("change").sum())
    rate = pl.col("change").cum_sum().over("name").clip(lower_bound=0.0)
    return changes.select("time_s", "name", rate.alias("granted_bps"))


def _recorded(series: Series, of: str, column: str) -> pl.DataFrame:
    """Give what was recorded in a column: ``time_s``, ``name`` and the column; no row if nothing was."""
    table = series.get(kind_of(of))
    if table is None or column not in table:
        return pl.DataFrame(schema={"time_s": pl.Float64, "name": pl.String, column: pl.Float64})
    return table.select("time_s", pl.col(of).alias("name"), column).drop_nulls(column)


def settling_times(result: Result, tolerance: float, of: str, hold_s: float = HOLD_S) -> pl.DataFrame:
    """Give how long rates took to settle after each instant of change; see `Result.settling`."""
    if of not in AIMS:
        raise ValueError(f'of is "{of}"; it must be one of {", ".join(AIMS)}')
    if not tolerance > 0.0:
        raise ValueError(f"tolerance is {tolerance}; it must be positive")
    if not 0.0 <= hold_s < math.inf:
        raise ValueError(f"hold_s is {hold_s}; it must be 0 or more")
    spans = _spans(result)
    there = _there(result, spans)
    rates = _rates_by_span(result, spans, there)
    if of == "fair":
        rates = rates.join(_fair(result, spans), on=("span", "name"), how="left")
    else:
        rates = rates.with_columns(pl.col("granted_bps").last().over("span", "name").alias("aim_bps"))
    is_off = (pl.col("granted_bps") - pl.col("aim_bps")).abs() > tolerance * pl.col("aim_bps")
    ends = pl.col("time_s").shift(-1).over("span", "name").fill_null(pl.col("until_s"))
    # Without an aim there is no telling: that counts as off.
    pieces = rates.with_columns(is_off.fill_null(value=True).alias("is_off"), ends.alias("ends_s"))
    last = pieces.group_by("span").agg(pl.col("ends_s").filter("is_off").max())
    frame = spans.join(last, on="span", how="left", maintain_order="left")
    ends = pl.col("ends_s").fill_null(pl.col("time_s"))
    is_settled = (pl.col("present") > 0) & (ends < pl.col("until_s"))
    if of == "final":
        # Any rate is near where it ends just before; so it must have been there for a while.
        held, span = pl.col("until_s") - ends, pl.col("until_s") - pl.col("time_s")
        is_settled &= (held >= hold_s) & (held >= HOLD_SHARE * span)
    time = pl.when(is_settled).then(ends - pl.col("time_s"))
    return frame.select("time_s", "until_s", "joined", "left", "present", time.alias("settling_s"))


def _spans(result: Result) -> pl.DataFrame:
    """Give the times from one change of what is there to the next."""
    reached = result.meta["reached_s"]
    joins, leaves = (result.connections[c].drop_nulls().to_numpy() for c in ("start_s", "stopped_s"))
    joins, leaves = joins[joins <= reached], leaves[leaves <= reached]
    times = np.unique(np.concatenate([joins, leaves]))
    counts = [np.searchsorted(np.sort(own), times, side="right") for own in (joins, leaves)]
    joined, left = (np.diff(count, prepend=0) for count in counts)
    frame = {"time_s": times, "until_s": np.append(times, reached)[1:], "joined": joined, "left": left}
    frame["present"] = counts[0] - counts[1]
    return pl.DataFrame(frame).with_row_index("span")


def _there(result: Result, spans: pl.DataFrame) -> pl.DataFrame:
    """Give each span with each connection that is there."""
    own = result.connections.select(pl.col("connection").alias("name"), "start_s", "stopped_s")
    stays = pl.col("stopped_s").is_null() | (pl.col("stopped_s") > pl.col("time_s"))
    return spans.join_where(own, pl.col("start_s") <= pl.col("time_s")).filter(stays).sort("span", "name")


def _rates_by_span(result: Result, spans: pl.DataFrame, there: pl.DataFrame) -> pl.DataFrame:
    """Give the rates of each connection in each span: what it brings along, and what it is granted then."""
    rates = steps(result, subflows=False).sort("time_s", maintain_order=True)
    begin = there.select("span", "name", "time_s", "until_s").sort("time_s", maintain_order=True)
    begin = begin.join_asof(rates, on="time_s", by="name", check_sortedness=False).with_columns(
        pl.col("granted_bps").fill_null(0.0)
    )
    own = rates.join_asof(spans.select("time_s", "span", "until_s", pl.col("time_s").alias("from_s")), on="time_s")
    # What is granted at the beginning itself is already there.
    own = own.filter(pl.col("time_s") > pl.col("from_s")).join(there.select("span", "name"), on=("span", "name"))
    both = pl.concat([begin.select(begin.columns), own.select(begin.columns)])
    return both.sort("span", "name", "time_s", maintain_order=True)


def _fair(result: Result, spans: pl.DataFrame) -> pl.DataFrame:
    """Give the fair rate of each connection at the last sample of each span."""
    if not result.series.has("connections", "fair_bps") and len(result.connections):
        raise ScenarioError('fair rates were not recorded; add "fairness" to record under [run], or take of="final"')
    rows = _recorded(result.series, "connection", "fair_bps").sort("time_s", maintain_order=True)
    rows = rows.join_asof(spans.select("time_s", "span"), on="time_s")
    return rows.group_by("span", "name").agg(pl.col("fair_bps").last().alias("aim_bps"))
