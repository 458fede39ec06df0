"""What is sampled over time in simulated runs and has a distribution: Jain's index, backlogs, how far rates are off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.of_simulations import UnmeasuredError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.reproduce.execute.simulated import Simulated

    Window = tuple[float, float]

PARTS = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
"""What is told of a distribution: a box from the second to the fourth, whiskers from the first to the last."""

SAMPLED = {
    "jain": ("connection or pattern", ""),
    "backlog": ("link", "kB"),
    "rate-difference": ("connection or pattern, and a link", "rate"),
}
"""What is sampled: whose it is, and its unit."""

OF_SAMPLES = {f"{part}-{what}": (part, what) for what in SAMPLED for part in PARTS}
"""Measures that are percentiles over samples."""

CLOSE_S = 1e-9
"""Times closer than this are the same."""


def jain_indices(run: Simulated, connections: Sequence[str], window_s: Window) -> NDArray[np.float64]:
    """Give Jain's index of what some connections delivered from each sample to the next [jain1984].

    Of those that were there all that time. Where these are fewer than two, or nothing came, nothing was shared and
    there is no index.
    """
    since = pl.col("time_s") - float(run.result.meta["sample_s"])
    rows = _with_stays(run, connections, window_s).filter(
        pl.col("from_s") <= since + CLOSE_S, pl.col("time_s") <= pl.col("until_s") + CLOSE_S
    )
    rate = pl.col("delivered_bps")
    sums = rows.group_by("time_s", maintain_order=True).agg(
        count=rate.count(), total=rate.sum(), squares=(rate * rate).sum()
    )
    shared = sums.filter(pl.col("count") > 1, pl.col("total") > 0.0)
    return _some(shared.select(pl.col("total") ** 2 / (pl.col("count") * pl.col("squares"))).to_series().to_numpy())


def backlogs_kb(run: Simulated, link: str, window_s: Window) -> NDArray[np.float64]:
    """Give what waited at a link at each sample, that in transmission included."""
    rows = run.samples("link").filter(pl.col("name") == link, pl.col("time_s").is_between(*window_s))
    return _some(rows["backlog_bytes"].to_numpy() / 1e3)


def rate_differences_bps(
    run: Simulated, connections: Sequence[str], link: str, window_s: Window
) -> NDArray[np.float64]:
    """Give how far the granted rate of each connection is from its part of a link's capacity, above or below.

    At each sample at which it is there; its part is the capacity of that instant by the number of these connections
    that are there.
    """
    # At the instant at which it stops it is there no more.
    rows = _with_stays(run, connections, window_s).filter(
        pl.col("time_s").is_between("from_s", "until_s", closed="left")
    )
    capacity = run.capacity(link)
    at = np.searchsorted(capacity.time_s, rows["time_s"].to_numpy(), side="right") - 1
    part = pl.Series("part", capacity.value[at]) / rows.select(pl.len().over("time_s")).to_series()
    return _some((rows["granted_bps"] - part).abs().drop_nulls().to_numpy())


def _with_stays(run: Simulated, connections: Sequence[str], window_s: Window) -> pl.DataFrame:
    """Give the samples of connections, with the times from which and until which each is there."""
    stays = [(name, run.connections[name]["start_s"], run.connections[name]["end_s"]) for name in connections]
    times = pl.DataFrame(stays, ["name", "from_s", "until_s"], orient="row")
    rows = run.samples("connection").filter(pl.col("time_s").is_between(*window_s))
    return rows.join(times, on="name", maintain_order="left")


def _some(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(samples):
        raise UnmeasuredError("there are no such samples in the window; make it longer")
    return samples
