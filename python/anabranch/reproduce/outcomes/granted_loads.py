"""Granted loads of links over time, exact at each change of a granted rate or of a capacity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.model.paths import Paths

NOTHING_BPS = 1e-3
"""A load up to this is what rounding leaves of a sum."""


def granted_excess(
    grants: pl.DataFrame,
    paths: Paths,
    capacity_bps: NDArray[np.float64],
    changes: Sequence[tuple[int, float, float]],
) -> pl.DataFrame:
    """Give how far the rates granted over each link exceed its capacity, from each change until the next.

    What changes at one instant counts together.

    Parameters
    ----------
    grants : DataFrame
        Changes in the order of time: ``path``, ``time_s``, ``granted_bps``.
    paths : Paths
        The paths with these numbers.
    capacity_bps : ndarray of float64, shape (links,)
        The capacities at the start.
    changes : sequence of (link, time in seconds, bit/s)
        Later capacities.

    Returns
    -------
    DataFrame
        A row for each link and change: ``link``, ``time_s``, ``until_s``, and ``excess`` relative to the capacity. It
        is negative below the capacity, and 1 for a load on a link of capacity 0.
    """
    crossed = pl.DataFrame(
        {
            "path": np.repeat(np.arange(len(paths), dtype=np.uint32), np.diff(paths.path_offsets)),
            "link": paths.path_links,
        }
    )
    change = pl.col("granted_bps") - pl.col("granted_bps").shift(1, fill_value=0.0).over("path")
    loads = grants.select("path", "time_s", change.alias("change")).join(crossed, on="path")
    capacities = pl.DataFrame(
        [*((link, 0.0, rate) for link, rate in enumerate(capacity_bps.tolist())), *changes],
        schema={"link": pl.UInt32, "time_s": pl.Float64, "capacity": pl.Float64},
        orient="row",
    )
    events = pl.concat([capacities, loads.select("link", "time_s", "change")], how="diagonal").sort(
        "link", "time_s", maintain_order=True
    )
    rows = events.group_by("link", "time_s", maintain_order=True).agg(
        pl.col("change").sum(), pl.col("capacity").drop_nulls().last()
    )
    load, capacity = pl.col("change").cum_sum().over("link"), pl.col("capacity").forward_fill().over("link")
    of_none = pl.when(load > NOTHING_BPS).then(1.0).otherwise(-1.0)
    excess = pl.when(capacity > 0.0).then(load / capacity - 1.0).otherwise(of_none)
    until = pl.col("time_s").shift(-1).over("link").fill_null(math.inf)
    return rows.select("link", "time_s", until.alias("until_s"), excess.alias("excess"))
