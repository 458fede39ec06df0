"""The tables of an allocation: connections, subflows and links, in the unit of the problem or by name in bit/s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.allocation.allocation import Allocation

UNHELD = -2
"""The bottleneck number of a path that nothing holds back."""


def connection_table(allocation: Allocation) -> pl.DataFrame:
    """Make the table `Allocation.connections`."""
    demand = allocation.problem.demand
    bottlenecks = np.append(allocation.certificate.bottlenecks, UNHELD)[_primary(allocation)]
    limited = pl.Series(demand).is_finite()
    frame = pl.DataFrame(
        {
            "rate": allocation.connection_rates,
            "demand": pl.Series(demand).set(~limited, None),
            "weight": allocation.problem.weight,
            "reserved": allocation.problem.reserved,
            "level": allocation.certificate.levels,
            "bottleneck": _names(allocation, bottlenecks),
            "held_by": _held_by(bottlenecks),
            "paths": np.bincount(allocation.problem.path_connection, minlength=len(demand)),
        }
    )
    met = pl.when(pl.col("demand") > 0).then(pl.col("rate") / pl.col("demand")).otherwise(1.0)
    met = pl.when(pl.col("demand").is_null()).then(None).otherwise(met)
    frame = frame.with_columns(met.alias("met"))
    own = ["reserved"] if allocation.problem.has_reserved else []
    if allocation.paths is None:
        columns = ["connection", "rate", "demand", "met", "weight", *own, "level", "bottleneck", "held_by", "paths"]
        return frame.with_row_index("connection").select(columns)
    names = allocation.paths.demands.connections.select("name", "source", "target")
    units = {
        "rate": "rate_bps",
        "demand": "demand_bps",
        "reserved": "reserved_bps",
        "level": "level_bps",
        "weight": "claim",
    }
    order = [
        "name",
        "source",
        "target",
        "rate_bps",
        "demand_bps",
        "met",
        "claim",
        *(units[name] for name in own),
        "level_bps",
        "bottleneck",
        "held_by",
        "paths",
    ]
    return pl.concat([names, frame.rename(units)], how="horizontal").select(order)


def subflow_table(allocation: Allocation) -> pl.DataFrame:
    """Make the table `Allocation.subflows`."""
    connection = allocation.problem.path_connection
    total = allocation.connection_rates[connection]
    portion = np.divide(allocation.path_rates, total, out=np.zeros_like(total), where=total > 0)
    columns: dict[str, Any] = {
        "connection": connection,
        "rate": allocation.path_rates,
        "portion": portion,
        "bottleneck": _names(allocation, allocation.certificate.bottlenecks),
        "held_by": _held_by(allocation.certificate.bottlenecks),
    }
    frame = pl.DataFrame(columns)
    frame = frame.with_columns((pl.int_range(pl.len()).over("connection") + 1).alias("rank"))
    if allocation.paths is None:
        return frame.select("connection", "rank", "rate", "portion", "bottleneck", "held_by")
    names = np.array(allocation.paths.demands.core.names, dtype=object)
    return frame.with_columns(
        pl.Series("connection", names[connection].tolist(), dtype=pl.String), allocation.paths.nodes()
    ).select("connection", "rank", "path", pl.col("rate").alias("rate_bps"), "portion", "bottleneck", "held_by")


def link_table(allocation: Allocation) -> pl.DataFrame:
    """Make the table `Allocation.links`."""
    capacity = allocation.problem.capacity
    frame = pl.DataFrame(
        {
            "capacity": capacity,
            "load": allocation.certificate.loads,
            "subflows": np.bincount(allocation.problem.path_links, minlength=len(capacity)),
        }
    )
    utilisation = pl.when(pl.col("capacity") > 0).then(pl.col("load") / pl.col("capacity"))
    frame = frame.with_columns(utilisation.alias("utilisation"))
    if allocation.paths is None:
        return frame.with_row_index("link").select("link", "capacity", "load", "utilisation", "subflows")
    names = allocation.paths.demands.network.links.select("name", "source", "target")
    frame = frame.rename({"capacity": "capacity_bps", "load": "load_bps"})
    order = ["name", "source", "target", "capacity_bps", "load_bps", "utilisation", "subflows"]
    return pl.concat([names, frame], how="horizontal").select(order)


def _primary(allocation: Allocation) -> NDArray[np.int64]:
    """For each connection its subflow of the greatest rate, or -1 if it has no path."""
    connection = allocation.problem.path_connection
    primary = np.full(allocation.problem.core.connections, -1, dtype=np.int64)
    # By rising rate within each connection, so that the greatest is written last; the first of equals wins.
    order = np.lexsort((-np.arange(len(connection)), allocation.path_rates, connection))
    primary[connection[order]] = order
    return primary


def _held_by(numbers: NDArray[np.int64]) -> pl.Series:
    """Bottleneck numbers as what holds back: "link", "demand" or "nothing"."""
    kinds = np.array(["link", "nothing", "demand"], dtype=object)
    return pl.Series("held_by", kinds[np.minimum(numbers, 0)].tolist(), dtype=pl.String)


def _names(allocation: Allocation, numbers: NDArray[np.int64]) -> pl.Series:
    """Bottleneck numbers as names of links; null for a demand or nothing."""
    if allocation.paths is None:
        names = [str(i) for i in range(allocation.problem.core.links)]
    else:
        names = allocation.paths.demands.network.core.link_names
    table = np.array([*names, None, None], dtype=object)
    return pl.Series("bottleneck", table[numbers].tolist(), dtype=pl.String)
