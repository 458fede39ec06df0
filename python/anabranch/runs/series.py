"""The samples of a run over time: a table for each kind of thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.runs.columns import KINDS, RECORDED_BY, THINGS, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class NotRecordedError(ScenarioError, KeyError):
    """Nothing was sampled of a kind of thing."""

    def __str__(self) -> str:
        # That of a KeyError would be in quotes.
        return str(self.args[0])


class Series(Mapping[str, pl.DataFrame]):
    """Tables of what was sampled over time, by kind of thing: ``connections``, ``subflows``, ``links`` and ``run``.

    Only kinds that were recorded are there. Each table has a row for each thing and sample, all samples of a thing
    together, in the order of the table of these things: ``time_s``; the name of the thing, in a column called
    ``connection``, ``subflow`` or ``link`` (a run needs none); and the columns that were recorded.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables by kind of thing.

    Raises
    ------
    ValueError
        There is no such kind.
    """

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        if unknown := tables.keys() - set(KINDS):
            raise ValueError(f"there is no kind {min(unknown)!r}; there are {', '.join(KINDS)}")
        self._tables = {kind: tables[kind] for kind in KINDS if kind in tables}

    def __getitem__(self, kind: str) -> pl.DataFrame:
        if kind in self._tables:
            return self._tables[kind]
        if kind not in KINDS:
            raise KeyError(f"there is no kind {kind!r}; there are {', '.join(KINDS)}")
        raise NotRecordedError(f'"{RECORDED_BY[kind]}" was not recorded; add it to record under [run]')

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def has(self, kind: str, *columns: str) -> bool:
        """Tell whether there is some value in each of these columns of a kind of thing."""
        table = self._tables.get(kind)
        return table is not None and all(name in table and table[name].count() > 0 for name in columns)

    def equals(self, other: Series) -> bool:
        """Tell whether all tables are the same."""
        return list(self) == list(other) and all(table.equals(other[kind]) for kind, table in self.items())

    def __repr__(self) -> str:
        tables = (f"{kind} ({len(table):,} rows of {', '.join(table.columns)})" for kind, table in self.items())
        return f"<Series {'; '.join(tables) or 'nothing was recorded'}>"


def series_of(samples: dict[str, NDArray[Any]], names: Mapping[str, pl.Series]) -> Series:
    """Make tables of arrays of samples.

    Parameters
    ----------
    samples : dict of str to ndarray
        ``time_s``, and by `Column.key` arrays of a row for each sample and a column for each thing.
    names : mapping of str to Series
        The names of the things of each kind.
    """
    tables = {kind: _table(kind, samples, names.get(kind)) for kind in KINDS}
    return Series({kind: table for kind, table in tables.items() if table is not None})


def _table(kind: str, samples: dict[str, NDArray[Any]], names: pl.Series | None) -> pl.DataFrame | None:
    """Give what was sampled of a kind of thing, with a row for each thing and sample; nothing if nothing was."""
    times = samples["time_s"]
    arrays = {column.name: samples.get(column.key) for column in columns_of(kind)}
    # Of what was not recorded there are no rows.
    found = {name: values for name, values in arrays.items() if values is not None and len(values) == len(times)}
    if not found:
        return None
    things = 1 if names is None else len(names)
    columns = [pl.Series("time_s", np.tile(times, things))]
    if names is not None:
        columns.append(names.gather(np.repeat(np.arange(things), len(times))).alias(THINGS[kind]))
    columns += [column_of(name, values.T.ravel()) for name, values in found.items()]
    return pl.DataFrame(columns)


def column_of(name: str, values: NDArray[Any] | pl.Series) -> pl.Series:
    """Give a column in which what is no number, or never came to be, is null."""
    if isinstance(values, pl.Series):
        return values.alias(name)
    if values.dtype.kind == "f" and not (is_finite := np.isfinite(values)).all():
        values = np.where(is_finite, values, np.nan)
    return pl.Series(name, values, nan_to_null=True)
