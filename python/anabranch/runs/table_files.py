"""The Parquet files of the tables of a run: what they are called, which there are, and how they are encoded."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.runs.columns import KINDS
from anabranch.runs.written_before import SERIES

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

TABLES = ("connections", "subflows", "links")
"""The tables that every result has."""

SERIES_FILES = {f"series_{kind}": kind for kind in KINDS}
"""The names of the files of what was sampled, each with the kind of thing that it has; see `Result.series`."""

MAY_LACK = ("spread", "waits", "grants")
"""The other tables that a result has if that was recorded."""

ALL_TABLES = (*TABLES, *SERIES_FILES, *MAY_LACK, SERIES)
"""The tables that a folder may have; the last one only if an earlier version wrote it."""

LISTED = "tables"
"""The names of the tables of a folder, in its ``meta.json``."""

GROUP_ROWS = 1 << 18
"""The number of rows in a row group of a file; readers skip groups that cannot hold what they search."""


def parquet(tables: dict[str, pl.DataFrame]) -> dict[str, bytes]:
    """Give tables as Parquet files.

    Those of plain columns take an eighth of the time that polars takes for small ones, and half the bytes.
    """
    plain = {name: table for name, table in tables.items() if not any(kind.is_nested() for kind in table.dtypes)}
    written = dict(zip(plain, _core.parquet_files(list(plain.values()), GROUP_ROWS), strict=True))
    return {name: written[name] if name in written else _nested_parquet(table) for name, table in tables.items()}


def _nested_parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content, row_group_size=GROUP_ROWS, statistics=len(table) > GROUP_ROWS)
    return content.getvalue()


def tables_listed(meta: dict[str, Any], is_there: Callable[[str], bool]) -> list[str]:
    """Give the names of the tables that a folder must have.

    Parameters
    ----------
    meta : dict
        What its ``meta.json`` has: it lists them, but where an earlier version wrote the folder.
    is_there : callable
        Tells whether there is a table of a name.
    """
    if LISTED not in meta:
        return [*TABLES, SERIES, *filter(is_there, MAY_LACK)]
    names = meta[LISTED]
    if not isinstance(names, list) or not set(TABLES) <= set(names) <= set(ALL_TABLES):
        raise ValueError(f"{LISTED} in meta.json does not list tables of a run")
    return names
