"""Tables as CSV files in a new folder, for spreadsheets and other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.folder import new_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_csv_tables(tables: Mapping[str, pl.DataFrame], folder: str | Path) -> None:
    """Write each table as ``NAME.csv`` into a new folder, which appears when it is whole, or not at all.

    A list in a cell becomes text with ``; `` between its items.

    Raises
    ------
    ScenarioError
        The folder exists or cannot be made.
    StorageError
        It cannot be written to its end, as on a full disk.
    """
    with new_folder(folder) as aside:
        for name, table in tables.items():
            lists = [column for column, kind in table.schema.items() if isinstance(kind, pl.List)]
            flat = table.with_columns(pl.col(column).cast(pl.List(pl.String)).list.join("; ") for column in lists)
            (aside / f"{name}.csv").write_text(flat.write_csv(), encoding="utf-8")
