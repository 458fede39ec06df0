"""The comparison of a simulation with a live run of one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from anabranch.runs.result import Result

TOTAL = "(total)"
"""The row of all connections together."""


def compared(simulated: Result, live: Result) -> pl.DataFrame:
    """Compare the measurements of both for each connection, and for all together.

    Parameters
    ----------
    simulated, live : Result
        Of one scenario, with rates and windows of subflows recorded.

    Returns
    -------
    DataFrame
        ``connection``; ``simulated_bps`` and ``live_bps``, mean rates of delivery; ``simulated_rtt_s`` and
        ``live_rtt_s``, mean smoothed round trips after the warm-up, each sample by what it delivered, null where none
        was recorded; ``rate_difference`` and ``rtt_difference``, of the live run from the simulation, relative to that.
    """
    both = _measures(simulated, "simulated").join(_measures(live, "live"), on="connection", maintain_order="left")
    difference = [
        pl.when(pl.col(f"simulated_{of}") > 0).then(pl.col(f"live_{of}") / pl.col(f"simulated_{of}") - 1.0).alias(name)
        for of, name in (("bps", "rate_difference"), ("rtt_s", "rtt_difference"))
    ]
    return both.with_columns(difference)


def _measures(result: Result, name: str) -> pl.DataFrame:
    rtts = _round_trips(result)
    rates = result.connections.select("connection", pl.col("mean_rate_bps").alias("bps"))
    total = pl.DataFrame({"connection": [TOTAL], "bps": [rates["bps"].sum()]})
    all_rates = pl.concat([rates, total]) if len(rates) > 1 else rates
    return all_rates.join(rtts, on="connection", how="left", maintain_order="left").select(
        "connection", pl.col("bps").alias(f"{name}_bps"), pl.col("rtt_s").alias(f"{name}_rtt_s")
    )


def _round_trips(result: Result) -> pl.DataFrame:
    """Give the mean round trip of each connection and of all, each sample by what it delivered."""
    is_known = pl.col("rtt_s").is_not_null() & (pl.col("delivered_bps") > 0)
    samples = result.series["subflows"].filter(is_known & (pl.col("time_s") > result.meta["warm_up_s"]))
    own = samples.join(result.subflows.select("subflow", "connection"), on="subflow")
    mean = ((pl.col("rtt_s") * pl.col("delivered_bps")).sum() / pl.col("delivered_bps").sum()).alias("rtt_s")
    of_all = own.select(pl.lit(TOTAL).alias("connection"), mean) if len(own) else own.select("connection", "rtt_s")
    return pl.concat([own.group_by("connection", maintain_order=True).agg(mean), of_all])
