"""Demands given row by row: tuples, mappings or a table, as the columns that `anabranch.demands` takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anabranch import _core
from anabranch.errors import ScenarioError

COLUMNS = {
    "source": "source",
    "target": "target",
    "demand": "demand_bps",
    "demand_bps": "demand_bps",
    "name": "name",
    "weight": "weight",
    "qos": "qos",
    "reserved": "reserved_bps",
    "reserved_bps": "reserved_bps",
    "start": "start_s",
    "start_s": "start_s",
    "stop": "stop_s",
    "stop_s": "stop_s",
}
"""The keys of a row, with the argument of `anabranch.demands` that each becomes."""

DEFAULTS = {"weight": 1.0, "qos": 1.0, "reserved_bps": 0.0, "start_s": 0.0}
"""What stands for None in columns that take none."""

POSITIONS = ("source", "target", "demand_bps", "weight")
"""What the items of a tuple are."""


def columns_of(rows: object) -> dict[str, list[Any]]:
    """Give the columns of rows.

    Parameters
    ----------
    rows : iterable of tuple or mapping, or DataFrame
        ``(source, target[, demand[, weight]])``, or a mapping with the keys of `COLUMNS`; or a table of polars or
        pandas with such columns.

    Raises
    ------
    ScenarioError
        A row of another kind, an unknown key, or no source or target.
    """
    # Only now: a network that comes from a file needs no tables.
    import polars as pl

    if isinstance(rows, pl.DataFrame):
        return _checked({name: rows[name].to_list() for name in rows.columns}, "the table")
    if hasattr(rows, "columns") and hasattr(rows, "to_dict"):
        return _of_pandas(rows)
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
        raise ScenarioError(
            f"the demands are a {type(rows).__name__}; give rows such as ('Lisbon', 'Athens', '1 Gbit/s'), or the"
            " sources and the targets"
        )
    found = [_row(row, f"connection {number}") for number, row in enumerate(rows, start=1)]
    named = [name for name in dict.fromkeys(COLUMNS.values()) if any(name in row for row in found)]
    columns = {name: [row.get(name) for row in found] for name in {"source": 0, "target": 0} | dict.fromkeys(named)}
    return {name: [DEFAULTS.get(name) if value is None else value for value in own] for name, own in columns.items()}


def _row(row: object, place: str) -> dict[str, Any]:
    if isinstance(row, Mapping):
        found = {name: values[0] for name, values in _checked({k: [v] for k, v in row.items()}, place).items()}
    elif isinstance(row, Sequence) and not isinstance(row, str) and 2 <= len(row) <= len(POSITIONS):
        found = dict(zip(POSITIONS, row, strict=False))
    else:
        raise ScenarioError(
            f"{place}: it is {row!r:.60}; it must be (source, target), (source, target, demand), or a mapping"
        )
    return found


def _checked(columns: Mapping[Any, list[Any]], place: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, values in columns.items():
        if key not in COLUMNS:
            near = _core.nearest_name(key, list(COLUMNS)) if isinstance(key, str) and len(key) < 50 else None
            hint = f" (did you mean `{near}`?)" if near else ""
            raise ScenarioError(f"{place}: there is no key `{key!s:.50}`{hint}; take {', '.join(COLUMNS)}")
        if COLUMNS[key] in found:
            raise ScenarioError(f"{place}: there are both `{key}` and another {COLUMNS[key]}; keep one")
        found[COLUMNS[key]] = values
    for key in ("source", "target"):
        if key not in found:
            raise ScenarioError(f"{place}: it has no {key}; name the node")
    return found


def _of_pandas(table: Any) -> dict[str, list[Any]]:
    """Give the columns of a table of pandas, in which what is missing is not a number."""
    columns = {name: [None if value != value else value for value in table[name].tolist()] for name in table.columns}
    return _checked(columns, "the table")
