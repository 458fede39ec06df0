"""Bars: measured numbers beside each other, with their intervals, and printed ones beside them.

In a ``[[figure]]`` with ``draw = "bars"``::

    groups = ["1", "2", "4", "9"]       the words below each group of bars
    across = "single flows"             what groups are
    ylabel = "share (%)"
    times = 100.0                       a factor on the measured numbers
    less = 1.0                          subtracted from them before
    window = ["0 s", "0.5 s"]           the part of the time that is measured

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

from anabranch.reproduce.figures.kind import Gathered, PaperFigure, refuse_runs
from anabranch.reproduce.measures.evaluate import estimate_ratio
from anabranch.reproduce.spec.quantity import read_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.address import Ratio
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class Bars(PaperFigure[Gathered], draw="bars"):
    """Bars in groups.

    Attributes
    ----------
    groups : tuple of str
    across, ylabel : str
        The labels of the two axes.
    times, less : float
    bars : mapping of str to tuple
        By the name of each bar its numbers, one for each group: measured, or given as they are.
    """

    groups: tuple[str, ...]
    across: str
    ylabel: str
    times: float
    less: float
    bars: Mapping[str, tuple[Ratio | float, ...]]

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Bars:
        """Read the keys of the kind."""
        window, groups = table.window_s("window"), table.texts("groups")
        bars: dict[str, tuple[Ratio | float, ...]] = {}
        for own in table.tables("bar"):
            name, texts, numbers = own.text("name"), own.texts("of"), own.numbers("given")
            if name in bars:
                raise own.error("name", f"there are two `{name}`", "give each bar its own name")
            if len(texts or numbers) != len(groups) or (texts and numbers):
                remedy = f"give {len(groups)} in `of`, or in `given`: one for each group"
                raise own.error("of", f"there are {len(texts)}, and {len(numbers)} in `given`", remedy)
            bars[name] = (*(read_ratio(own, "of", text, runs, window) for text in texts), *numbers)
            own.finish()
        across, ylabel = table.text("across", ""), table.text("ylabel")
        times, less = table.positive("times", 1.0), table.optional_number("less") or 0.0
        refuse_runs(table, cls.kind, has_parts=bool(bars))
        return cls(heading, tuple(groups), across, ylabel, times, less, bars)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> Gathered:
        """Gather a row for each bar: ``group``, ``name``, ``value``, ``half_width`` (null if given), ``is_given``."""
        rows: list[tuple[str, str, float, float | None, bool]] = []
        for name, numbers in self.bars.items():
            for group, number in zip(self.groups, numbers, strict=True):
                if isinstance(number, float):
                    rows.append((group, name, number, None, True))
                    continue
                found = estimate_ratio(outcomes, number, place)
                half_width = None if found.half_width is None else found.half_width * self.times
                rows.append((group, name, (found.mean - self.less) * self.times, half_width, False))
        schema = {"group": pl.String, "name": pl.String, "value": pl.Float64, "half_width": pl.Float64}
        return Gathered(pl.DataFrame(rows, schema=schema | {"is_given": pl.Boolean}, orient="row"))

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw the groups of bars side by side."""
        from anabranch import figures

        figures.draw_estimates(gathered.frame, ylabel=self.ylabel, xlabel=self.across, title=title, file=file)
