"""A frontier: settings as points, what each gains against what it costs.

In a ``[[figure]]`` with ``draw = "frontier"``::

    xlabel = "wait (ms)"                what costs, over a logarithmic axis
    ylabel = "utilisation"              what is gained

    [[figure.group]]                    settings in one colour
    name = "ABC"
    x = ["a p95-wait c1.1", ...]        a number for each setting
    y = ["a utilisation l1", ...]
    labels = ["eta 0.9", ...]           the words beside each point
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
class Frontier(PaperFigure[Gathered], draw="frontier"):
    """Settings as points.

    Attributes
    ----------
    xlabel, ylabel : str
        The labels of the two axes.
    points : tuple of (str, str, Ratio, Ratio)
        For each point its group, its label, and its two numbers.
    """

    xlabel: str
    ylabel: str
    points: tuple[tuple[str, str, Ratio, Ratio], ...]

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Frontier:
        """Read the keys of the kind."""
        points: list[tuple[str, str, Ratio, Ratio]] = []
        for own in table.tables("group"):
            name, labels, across, up = own.text("name"), own.texts("labels"), own.texts("x"), own.texts("y")
            if not labels or len(across) != len(labels) or len(up) != len(labels):
                reason = f"there are {len(labels)} labels, {len(across)} in `x` and {len(up)} in `y`"
                raise own.error("labels", reason, "give as many of each")
            for label, x, y in zip(labels, across, up, strict=True):
                points.append((name, label, read_ratio(own, "x", x, runs, None), read_ratio(own, "y", y, runs, None)))
            own.finish()
        refuse_runs(table, cls.kind, has_parts=bool(points))
        return cls(heading, table.text("xlabel"), table.text("ylabel"), tuple(points))

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> Gathered:
        """Gather a row for each point: ``name``, ``label``, ``x``, ``y``, means over seeds and traces."""
        rows = [
            (name, label, *(estimate_ratio(outcomes, number, place).mean for number in (x, y)))
            for name, label, x, y in self.points
        ]
        schema = {"name": pl.String, "label": pl.String, "x": pl.Float64, "y": pl.Float64}
        return Gathered(pl.DataFrame(rows, schema=schema, orient="row"))

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw the points."""
        from anabranch import figures

        figures.draw_frontier(gathered.frame, xlabel=self.xlabel, ylabel=self.ylabel, title=title, file=file)
