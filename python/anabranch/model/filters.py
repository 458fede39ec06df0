"""Filters of paths: how full they are, and the links that packets take because of them beside their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch import _core
from anabranch.model.arguments import whole

if TYPE_CHECKING:
    from anabranch.model.paths import Paths


def filters(paths: Paths, *, bits: int = 256, ones: int = 5, tables: int = 8, seed: int = 1) -> pl.DataFrame:
    """Make a filter for each path, and follow a packet that carries it [jokela2009].

    A filter is the identities of the links of a path, put together. A node passes a packet on over each link whose
    identity is in the packet's filter, so that by chance it may take links beside its path.

    Parameters
    ----------
    bits : int
        Of an identity and of a filter; 8 to 256.
    ones : int
        How many bits of an identity are one.
    tables : int
        Alternative identities for each link, 1 to 255; a filter is of those with the fewest stray links.
    seed : int
        What identities are drawn by.

    Returns
    -------
    DataFrame
        A row for each path: ``table``, ``fill`` (the part of bits that are one), ``expected_strays`` (links beside the
        path that match by chance on average, with a table taken blindly) and ``strays`` (links that a packet does take
        beside its path). All but ``expected_strays`` are null where the path is too long for a filter.

    Raises
    ------
    ValueError
        A number out of its range.
    """
    sizes = (whole("bits", bits), whole("ones", ones), whole("tables", tables), whole("seed", seed))
    table, fill, expected, strays = _core.filters(paths.demands.network.core, paths.core, *sizes)
    columns = {"table": table, "fill": fill, "expected_strays": expected, "strays": strays}
    schema = {"table": pl.UInt8, "fill": pl.Float64, "expected_strays": pl.Float64, "strays": pl.UInt32}
    return pl.DataFrame(columns, schema=schema)
