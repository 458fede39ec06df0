"""Bars of a figure of a published experiment: measured numbers beside each other, and printed ones beside them.

In a ``[[figure]]`` with ``draw = "bars"``::

    groups = ["1", "2", "4", "9"]       what stands below each group of bars
    across = "single flows"             what these are
    ylabel = "share (%)"
    times = 100.0                       a factor on what is measured
    less = 1.0                          what is taken off before

    [[figure.bar]]
    name = "ours"
    of = ["a mean-rate c1", ...]        one for each group: a number, or the quotient of two

    [[figure.bar]]
    name = "printed"
    given = [51.1, 35.5, 21.5, 10.8]    as they are, without factor
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.measures.registry import estimate_ratio
from anabranch.reproduce.spec.quantity import Ratio, read_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.execute.outcome import Outcome
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class Bars:
    """What is drawn as bars."""

    groups: tuple[str, ...]
    across: str
    ylabel: str
    times: float
    less: float
    measured: Mapping[str, tuple[Ratio, ...]]
    """Of each name one number a group."""
    given: Mapping[str, tuple[float, ...]]
    order: tuple[str, ...]
    """The names as they stand in the file."""


def read_bars(table: Table, runs: Mapping[str, Run], window_s: tuple[float, float] | None) -> Bars:
    """Read the bars of a ``[[figure]]``.

    Raises
    ------
    ScenarioError
        A number that nothing measures; not one of each name for each group.
    """
    groups = table.texts("groups")
    measured: dict[str, tuple[Ratio, ...]] = {}
    given: dict[str, tuple[float, ...]] = {}
    order = []
    for own in table.tables("bar"):
        name, texts, numbers = own.text("name"), own.texts("of"), own.numbers("given")
        if name in order:
            raise own.error("name", f"there are two `{name}`", "give each bar a name of its own")
        if len(texts or numbers) != len(groups) or (texts and numbers):
            remedy = f"give {len(groups)} in `of`, or in `given`: one for each group"
            raise own.error("of", f"there are {len(texts)}, and {len(numbers)} in `given`", remedy)
        order.append(name)
        if texts:
            measured[name] = tuple(read_ratio(own, "of", text, runs, window_s) for text in texts)
        else:
            given[name] = tuple(numbers)
        own.finish()
    across, ylabel = table.text("across", ""), table.text("ylabel")
    times, less = table.positive("times", 1.0), table.optional_number("less") or 0.0
    return Bars(tuple(groups), across, ylabel, times, less, measured, given, tuple(order))


def bars_frame(bars: Bars, outcomes: dict[str, Outcome], place: Path) -> pl.DataFrame:
    """Give a row for each bar: ``group``, ``name``, ``value``, ``half_width`` (null if given), ``is_given``."""
    rows: list[tuple[str, str, float, float | None, bool]] = []
    for name in bars.order:
        for number, group in enumerate(bars.groups):
            if name in bars.given:
                rows.append((group, name, bars.given[name][number], None, True))
                continue
            found = estimate_ratio(outcomes, bars.measured[name][number], place)
            half_width = None if found.half_width is None else found.half_width * bars.times
            rows.append((group, name, (found.mean - bars.less) * bars.times, half_width, False))
    schema = {"group": pl.String, "name": pl.String, "value": pl.Float64, "half_width": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"is_given": pl.Boolean}, orient="row")
