"""Boxes: how packets or samples of runs are distributed, beside each other.

In a ``[[figure]]`` with ``draw = "boxes"``::

    groups = ["first hop", "both"]      the words below each group of boxes
    across = "links of 5G"              what groups are
    ylabel = "queueing delay (ms)"
    logarithmic = true                  the axis, if not linear
    window = ["0 s", "0.5 s"]           the part of the time that counts

    [[figure.box]]
    name = "ABC"
    of = ["abc-s wait down", "abc-2b-* wait down"]  for each group: run, distribution, subject; "" for no box

The distribution is one of those that `anabranch.reproduce.measures.sampled` registers, such as ``wait``, ``jain``,
``backlog`` and ``rate-difference``. A ``*`` in the run is any text: all runs whose names match are put together, each
with all its seeds. Boxes are from the 25th to the 75th percentile with a line at the median, whiskers from the 5th to
the 95th, and nothing is drawn beyond. Of waits those and few other percentiles are recorded: over several runs and
seeds they are approximate, as `anabranch.reproduce.measures.percentiles` explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.figures.kind import Gathered, PaperFigure, refuse_runs
from anabranch.reproduce.measures.distributions import DISTRIBUTIONS, PARTS, distribution_of
from anabranch.reproduce.measures.pattern import is_like
from anabranch.reproduce.spec.quantity import read_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.address import Address
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class Box:
    """One box: the name of a distribution, and its medians in the runs that are put together."""

    distribution: str
    addresses: tuple[Address, ...]


@dataclass(frozen=True)
class Boxes(PaperFigure[Gathered], draw="boxes"):
    """Boxes in groups.

    Attributes
    ----------
    groups : tuple of str
    across, ylabel : str
        The labels of the two axes.
    logarithmic : bool
    boxes : mapping of str to tuple of Box
        By the name of each kind of box one for each group; None for no box.
    """

    groups: tuple[str, ...]
    across: str
    ylabel: str
    logarithmic: bool
    boxes: Mapping[str, tuple[Box | None, ...]]

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Boxes:
        """Read the keys of the kind."""
        window, groups = table.window_s("window"), table.texts("groups")
        boxes: dict[str, tuple[Box | None, ...]] = {}
        for own in table.tables("box"):
            name, texts = own.text("name"), own.texts("of")
            if name in boxes:
                raise own.error("name", f"there are two `{name}`", "give each box its own name")
            if len(texts) != len(groups):
                remedy = f'give {len(groups)}, one for each group, "" for no box'
                raise own.error("of", f"there are {len(texts)}", remedy)
            if not any(texts):
                raise own.error("of", f"`{name}` has no box in any group", "leave it out, or name a run")
            boxes[name] = tuple(_box(own, text, runs, window) if text else None for text in texts)
            own.finish()
        if not boxes:
            raise table.error("box", "there is none", "add a [[figure.box]] for each kind of box")
        refuse_runs(table, cls.kind, has_parts=True)
        across, ylabel = table.text("across", ""), table.text("ylabel")
        return cls(heading, tuple(groups), across, ylabel, table.flag("logarithmic", default=False), boxes)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> Gathered:
        """Gather a row for each name and group: ``group``, ``name``, ``p5`` to ``p95``, ``count``, ``runs``.

        The numbers are null where there is no box.
        """
        rows: list[dict[str, str | float | None]] = []
        for name, each in self.boxes.items():
            for group, box in zip(self.groups, each, strict=True):
                row: dict[str, str | float | None] = {"group": group, "name": name}
                if box is not None:
                    found = distribution_of(outcomes, box.distribution, box.addresses, place)
                    runs = sum(len(outcomes[own.run]) for own in box.addresses)
                    row |= dict(zip(PARTS, found.values, strict=True)) | {"count": found.count, "runs": runs}
                rows.append(row)
        numbers = dict.fromkeys(PARTS, pl.Float64) | dict.fromkeys(("count", "runs"), pl.Int64)
        return Gathered(pl.DataFrame(rows, schema={"group": pl.String, "name": pl.String, **numbers}))

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw the groups of boxes side by side."""
        from anabranch import figures

        figures.draw_boxes(
            gathered.frame,
            ylabel=self.ylabel,
            xlabel=self.across,
            logarithmic=self.logarithmic,
            title=title,
            file=file,
        )


def _box(table: Table, text: str, runs: Mapping[str, Run], window_s: Window | None) -> Box:
    run, what, subject = (*text.split(maxsplit=2), "", "", "")[:3]
    if what not in DISTRIBUTIONS:
        known = ", ".join(DISTRIBUTIONS)
        raise table.error("of", f"`{text}`: nothing is known of `{what}`", f"the second word must be one of {known}")
    if not DISTRIBUTIONS[what].windowed and window_s is not None:
        raise table.error("of", f"`{text}`: {what}s are of all the time after the warm-up", "leave out the `window`")
    found = [name for name in runs if is_like(name, run)] or [run]
    ratios = (read_ratio(table, "of", f"{name} median-{what} {subject}", runs, window_s) for name in found)
    return Box(what, tuple(own.top for own in ratios))
