"""Columns and SQL expressions of quantities, checked against the columns that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.source import excerpt
from anabranch.runs.columns import RECORDED_BY
from anabranch.runs.table_files import SERIES_FILES
from anabranch.sweeps.quantity import RESERVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.sweeps.quantity import SweepQuantity

PROBE = 3
"""The number of rows that show whether an expression treats each row separately."""

NUMBERS = "`value` must be a number in every row, or true or false"
CONDITION = "`where` must be true or false in every row, such as start_s < 5"


OF_ALL = ("run", "point")
"""Columns that every table over runs has, or may have."""

RECORDS = {"waits": "waits", "spread": "errors"} | {name: RECORDED_BY[kind] for name, kind in SERIES_FILES.items()}
"""The entry of `run.record` that a table needs; the other tables always exist."""


def check_table(quantity: SweepQuantity, varied: Sequence[str], schema: pl.Schema) -> None:
    """Make sure that runs have the table of a quantity: more columns than what was varied.

    Raises
    ------
    ScenarioError
        No run has it.
    """
    if quantity.of == "runs" or set(schema) - {*varied, *OF_ALL}:
        return
    record = RECORDS.get(quantity.of)
    remedy = f'add "{record}" to `record` under [run] of the scenario' if record else "see that their files are whole"
    raise ScenarioError(f"{quantity.place}: the runs have no table `{quantity.of}`; {remedy}")


def check_columns(quantity: SweepQuantity, columns: Sequence[str], schema: pl.Schema) -> None:
    """Make sure that rows can be grouped by some columns.

    Raises
    ------
    ScenarioError
        A column that is not there, has a name that the numbers need, or holds several values in a row.
    """
    for column in columns:
        _check_there(quantity, "by", column, schema)
        if schema[column].is_nested():
            reason = f"`by`: `{column}` holds several values in a row"
            raise ScenarioError(f"{quantity.place}: {reason}; name a column of numbers or text")
        if column in RESERVED:
            reason = f"`by`: the numbers have a column `{column}` of their own"
            raise ScenarioError(f"{quantity.place}: {reason}; give that of the runs another name")


def expression(quantity: SweepQuantity, key: Literal["value", "where"], schema: pl.Schema) -> pl.Expr:
    """Give the value or the condition of a quantity as an expression that takes each row by itself.

    Raises
    ------
    ScenarioError
        A column that is not there; what cannot be computed, joins rows, or is no number, or no condition.
    """
    text = quantity.value if key == "value" else quantity.where or "true"
    try:
        found = pl.sql_expr(text)
        for column in found.meta.root_names():
            _check_there(quantity, key, column, schema)
        kind = pl.LazyFrame(schema=schema).select(found=found).collect_schema()["found"]
    except pl.exceptions.PolarsError as error:
        reason = f"`{excerpt(text)}` cannot be computed ({str(error).splitlines()[0]})"
        raise _error(quantity, key, reason) from error
    is_fine = kind in (pl.Boolean, pl.Null) or (key == "value" and kind.is_numeric())
    if not is_fine:
        raise _error(quantity, key, f"`{excerpt(text)}` is of type {kind}")
    if not _takes_each_row_by_itself(found, schema):
        reason = f"`{excerpt(text)}` joins rows, and so would mix runs"
        raise ScenarioError(f"{quantity.place}: `{key}`: {reason}; rows of one run are joined by `join`")
    return found


def _error(quantity: SweepQuantity, key: str, reason: str) -> ScenarioError:
    return ScenarioError(f"{quantity.place}: `{key}`: {reason}; {NUMBERS if key == 'value' else CONDITION}")


def _check_there(quantity: SweepQuantity, key: str, column: str, schema: pl.Schema) -> None:
    if column in schema:
        return
    known = ", ".join(f"`{name}`" for name in schema)
    near = _core.nearest_name(column, list(schema))
    remedy = f"did you mean `{near}`? There are {known}" if near else f"there are {known}"
    raise ScenarioError(f"{quantity.place}: `{key}`: there is no column `{column}`; {remedy}")


def _takes_each_row_by_itself(found: pl.Expr, schema: pl.Schema) -> bool:
    """Try whether some rows together come to what each comes to alone."""
    kinds = {column: schema[column] for column in found.meta.root_names()} or {"": pl.Int64()}
    try:
        probe = pl.DataFrame([_probe(column, kind) for column, kind in kinds.items()])
        together = probe.with_columns(found.alias("found"))["found"]
        alone = pl.concat([probe[[row]].with_columns(found.alias("found"))["found"] for row in range(PROBE)])
    except pl.exceptions.PolarsError:
        return True  # Of values that cannot be computed the real rows tell.
    return together.eq_missing(alone).all()


def _probe(column: str, kind: pl.DataType) -> pl.Series:
    """Give values of a type: different ones but for text, of which parts are compared, too."""
    values = [True, False, True] if kind == pl.Boolean else range(1, PROBE + 1) if kind.is_numeric() else ["1"] * PROBE
    return pl.Series(column, values).cast(kind, strict=False)
