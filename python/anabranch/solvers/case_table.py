"""Many cases in one table: the traffic carried in each, and the worst-off connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from anabranch.allocation.allocation import Allocation
    from anabranch.solvers.many import Solved


COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "case": pl.String,
    "carried": pl.Float64,
    "met": pl.Float64,
    "least_met": pl.Float64,
    "least_level": pl.Float64,
    "cut_off": pl.Int64,
    "cut_off_names": pl.List(pl.String),
    "saturated_links": pl.Int64,
    "method": pl.String,
    "converged": pl.Boolean,
    "certified": pl.Boolean,
    "residual": pl.Float64,
    "cpu_s": pl.Float64,
}
"""The columns and their types; on a network, the names of rates end in their unit."""


def summarise(solved: Iterable[Solved]) -> pl.DataFrame:
    """Make a table of many cases, and keep nothing else of them.

    Parameters
    ----------
    solved : iterable of Solved
        The answers of `solve_many`.

    Returns
    -------
    DataFrame
        A row for each case, in the order of the cases. The columns are ``case``; ``carried``, the sum of all rates;
        ``met``, that sum by the sum of all demands, and ``least_met``, the least rate by its demand (both null where a
        demand has no limit); ``least_level``, the least rate by weight; ``cut_off``, the number of connections with a
        demand and no rate, and ``cut_off_names``, their names (numbers in a problem of arrays); ``saturated_links``;
        ``method``, ``converged``, ``certified`` and ``residual`` as in `Allocation`; ``cpu_s``, the processor time.
        Connections of demand 0 count in none of these. From a network, ``carried_bps`` and ``least_level_bps``. Without
        any case the table has its columns and no row.
    """
    rows = [_row(one) for one in solved]
    if not rows:
        return pl.DataFrame(schema=COLUMNS)
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.cast({name: COLUMNS[name.removesuffix("_bps")] for name in table.columns})


def _row(solved: Solved) -> dict[str, Any]:
    allocation = solved.allocation
    facts = allocation.summary
    unit = "" if allocation.paths is None else "_bps"
    wants = allocation.problem.demand > 0
    demand, level = allocation.problem.demand[wants], allocation.certificate.levels[wants]
    rate = allocation.connection_rates[wants]
    is_limited = bool(np.isfinite(demand).all())
    return {
        "case": solved.name,
        f"carried{unit}": float(rate.sum()),
        "met": float(rate.sum() / demand.sum()) if is_limited and len(demand) else None,
        "least_met": float((rate / demand).min()) if is_limited and len(demand) else None,
        f"least_level{unit}": float(level.min()) if len(rate) else None,
        "cut_off": int((rate == 0).sum()),
        "cut_off_names": _names(allocation, np.flatnonzero(wants)[rate == 0]),
        "saturated_links": facts["saturated_links"],
        "method": allocation.method,
        "converged": allocation.converged,
        "certified": facts["certified"],
        "residual": facts["residual"],
        "cpu_s": solved.cpu_s,
    }


def _names(allocation: Allocation, connections: NDArray[np.int64]) -> list[str]:
    """Give the names of connections, or their numbers where they have none."""
    if allocation.paths is None:
        return [str(number) for number in connections]
    names = allocation.paths.demands.core.names
    return [names[number] for number in connections]
