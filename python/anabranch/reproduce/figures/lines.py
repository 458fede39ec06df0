"""Lines: measured numbers along an axis of numbers, such as queue lengths or times, with their intervals as bands.

In a ``[[figure]]`` with ``draw = "lines"``::

    x = [4, 8, 100]                     where along the axis numbers are
    xlabel = "queue (packets)"
    ylabel = "share (%)"
    logarithmic = true                  the axis along which numbers are
    times = 100.0                       a factor on the measured numbers
    note = "..."                        words below

    [[figure.line]]
    panel = "one single flow"           lines with the same words are in one panel; one for all if left out
    name = "drop-tail"
    of = ["a mean-rate c1", ...]        a number, or the quotient of two, for each place of `x`

    [[figure.line]]
    name = "printed"
    given = 67.5                        the same number at all places, without factor

Numbers over time have ``bin = "2 s"`` and ``until = "60 s"`` instead of ``x``. Each line then has one number ``of``,
which is measured in each bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from anabranch.reproduce.figures.kind import Gathered, PaperFigure, refuse_runs
from anabranch.reproduce.measures.evaluate import estimate_ratio
from anabranch.reproduce.spec.quantity import read_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.address import Ratio
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

SCHEMA = dict.fromkeys(("panel", "name"), pl.String) | dict.fromkeys(("x", "mean", "low", "high"), pl.Float64)


@dataclass(frozen=True)
class Line:
    """A line: its panel, its name, and its numbers, measured or given, one for each place."""

    panel: str
    name: str
    numbers: tuple[Ratio | float, ...]


@dataclass(frozen=True)
class Lines(PaperFigure[Gathered], draw="lines"):
    """Lines with bands, in one panel or several.

    Attributes
    ----------
    x : tuple of float
        The places along the axis.
    xlabel, ylabel, note : str
    is_logarithmic : bool
        Whether the axis of the places is logarithmic.
    times : float
    lines : tuple of Line
    """

    x: tuple[float, ...]
    xlabel: str
    ylabel: str
    note: str
    is_logarithmic: bool
    times: float
    lines: tuple[Line, ...]

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Lines:
        """Read the keys of the kind."""
        bin_s, until_s, x = table.span_s("bin"), table.span_s("until"), tuple(table.numbers("x"))
        if (bin_s is None) != (until_s is None) or (bin_s is None) == (not x):
            raise table.error("x", "the places along the axis are not clear", "give `x`, or `bin` and `until`")
        windows: Sequence[Window | None] = [None] * len(x)
        if bin_s is not None and until_s is not None:
            edges = np.arange(round(until_s / bin_s) + 1) * bin_s
            windows = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
            x = tuple(((edges[:-1] + edges[1:]) / 2.0).tolist())
        lines = tuple(_line(own, runs, windows, is_timed=bin_s is not None) for own in table.tables("line"))
        xlabel, ylabel, note = table.text("xlabel"), table.text("ylabel"), table.text("note", "")
        is_logarithmic, times = table.flag("logarithmic", default=False), table.positive("times", 1.0)
        refuse_runs(table, cls.kind, has_parts=bool(lines))
        return cls(heading, x, xlabel, ylabel, note, is_logarithmic, times, lines)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> Gathered:
        """Gather a row for each point: ``panel``, ``name``, ``x``, ``mean``, ``low`` and ``high`` (null if given)."""
        rows: list[tuple[str, str, float, float, float | None, float | None]] = []
        for line in self.lines:
            for x, number in zip(self.x, line.numbers, strict=True):
                if isinstance(number, float):
                    rows.append((line.panel, line.name, x, number, None, None))
                    continue
                found = estimate_ratio(outcomes, number, place) * self.times
                own = found.half_width
                ends = (None, None) if own is None else (found.mean - own, found.mean + own)
                rows.append((line.panel, line.name, x, found.mean, *ends))
        return Gathered(pl.DataFrame(rows, schema=SCHEMA, orient="row"))

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw the panels side by side."""
        from anabranch import figures

        axes: tuple[Literal["x"], ...] = ("x",) if self.is_logarithmic else ()
        figures.draw_bands(
            gathered.frame,
            xlabel=self.xlabel,
            ylabel=self.ylabel,
            log=axes,
            title=title,
            note=self.note,
            file=file,
        )


def _line(own: Table, runs: Mapping[str, Run], windows: Sequence[Window | None], *, is_timed: bool) -> Line:
    panel, name, given = own.text("panel", ""), own.text("name"), own.optional_number("given")
    texts = [own.text("of")] * len(windows) if is_timed and given is None else own.texts("of")
    if (given is None) != bool(texts) or (texts and len(texts) != len(windows)):
        raise own.error("of", f"there are {len(texts)} numbers", f"give {len(windows)}, one for each place; or `given`")
    measured = tuple(read_ratio(own, "of", text, runs, window) for text, window in zip(texts, windows, strict=False))
    own.finish()
    return Line(panel, name, measured if given is None else (given,) * len(windows))
