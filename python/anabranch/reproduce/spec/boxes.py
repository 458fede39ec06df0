"""Boxes of a figure of a published experiment: how packets or samples of runs are distributed, beside each other.

In a ``[[figure]]`` with ``draw = "boxes"``::

    groups = ["first hop", "both"]      what stands below each group of boxes
    across = "links of 5G"              what these are
    ylabel = "queueing delay (ms)"
    logarithmic = true                  the axis, if not linear

    [[figure.box]]
    name = "ABC"
    of = ["abc-s wait down", "abc-2b-* wait down"]  for each group: run, what, and whose it is; "" for no box

What is one of ``wait`` (of a link or subflow, in ms), ``jain``, ``backlog`` and ``rate-difference``, of which
`anabranch.reproduce.measures.distributions` measures percentiles. A ``*`` in the run is any text: all runs whose names
match are put together, each with all its seeds. Boxes are from the 25th to the 75th percentile with a line at the
median, whiskers from the 5th to the 95th, and nothing is drawn beyond. Of waits those and few others are recorded: over
several runs and seeds percentiles are approximate, see `anabranch.reproduce.measures.percentiles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.measures.distributions import distribution_of
from anabranch.reproduce.measures.samples import PARTS, SAMPLED
from anabranch.reproduce.spec.quantity import is_like, read_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.execute.outcome import Outcome
    from anabranch.reproduce.spec.quantity import Address
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

WHAT = ("wait", *SAMPLED)
"""What boxes are drawn of."""


@dataclass(frozen=True)
class Boxes:
    """What is drawn as boxes."""

    groups: tuple[str, ...]
    across: str
    ylabel: str
    logarithmic: bool
    of: Mapping[str, tuple[tuple[Address, ...], ...]]
    """Of each name for each group the medians of what is put together; empty where there is no box."""


def read_boxes(table: Table, runs: Mapping[str, Run], window_s: tuple[float, float] | None) -> Boxes:
    """Read the boxes of a ``[[figure]]``.

    Raises
    ------
    ScenarioError
        Something that is not sampled; no run of that name; not one of each name for each group.
    """
    groups = table.texts("groups")
    of: dict[str, tuple[tuple[Address, ...], ...]] = {}
    for own in table.tables("box"):
        name, texts = own.text("name"), own.texts("of")
        if name in of:
            raise own.error("name", f"there are two `{name}`", "give each box a name of its own")
        if len(texts) != len(groups):
            remedy = f'give {len(groups)}, one for each group, "" for no box'
            raise own.error("of", f"there are {len(texts)}", remedy)
        if not any(texts):
            raise own.error("of", f"`{name}` has no box in any group", "leave it out, or name a run")
        of[name] = tuple(_together(own, text, runs, window_s) if text else () for text in texts)
        own.finish()
    if not of:
        raise table.error("box", "there is none", "add a [[figure.box]] for each kind of box")
    return Boxes(
        groups=tuple(groups),
        across=table.text("across", ""),
        ylabel=table.text("ylabel"),
        logarithmic=table.flag("logarithmic", default=False),
        of=of,
    )


def _together(
    table: Table, text: str, runs: Mapping[str, Run], window_s: tuple[float, float] | None
) -> tuple[Address, ...]:
    """Give the medians of what a box is of, one for each run."""
    run, what, subject = (*text.split(maxsplit=2), "", "", "")[:3]
    if what not in WHAT:
        raise table.error(
            "of", f"`{text}`: nothing is known of `{what}`", f"the second word must be one of {', '.join(WHAT)}"
        )
    if what == "wait" and window_s is not None:
        raise table.error("of", f"`{text}`: waits are of all the time after the warm-up", "leave out the `window`")
    found = [name for name in runs if is_like(name, run)] or [run]
    return tuple(read_ratio(table, "of", f"{name} median-{what} {subject}", runs, window_s).top for name in found)


def boxes_frame(boxes: Boxes, outcomes: Mapping[str, Outcome], place: Path) -> pl.DataFrame:
    """Give a row for each name and group: ``group``, ``name``, percentiles ``p5`` to ``p95``, ``count``, ``runs``.

    They are null where there is no box.
    """
    rows: list[dict[str, str | float | None]] = []
    for name, each in boxes.of.items():
        for group, addresses in zip(boxes.groups, each, strict=True):
            row: dict[str, str | float | None] = {"group": group, "name": name}
            if addresses:
                found = distribution_of(outcomes, addresses, place)
                runs = sum(1 + len(outcomes[own.run].others) for own in addresses)
                row |= dict(zip(PARTS, found.values, strict=True)) | {"count": found.count, "runs": runs}
            rows.append(row)
    numbers = dict.fromkeys(PARTS, pl.Float64) | dict.fromkeys(("count", "runs"), pl.Int64)
    return pl.DataFrame(rows, schema={"group": pl.String, "name": pl.String, **numbers})
