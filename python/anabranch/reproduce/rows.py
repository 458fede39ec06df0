"""The rows of reproductions: printed numbers and claims beside ours, their sources, and their verdicts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.figures.kind import GatheredFigure
    from anabranch.reproduce.papers import Paper

WITHIN, OUTSIDE, REFUTED, UNJUDGED = "yes", "NO", "not borne out", "not judged"
"""The words of the column ``within``; a claim not borne out whose check fails is outside."""


@dataclass(frozen=True)
class Row:
    """A printed number or claim, and ours.

    Attributes
    ----------
    item : str
        The table or figure.
    quantity : str
        The name of the number, with its unit, or the words of the claim.
    published : float, str or None
        The printed number; text for a claim, and for a slip of the paper; None if the paper prints none.
    ours : float or str
    tolerance : float or None
        The greatest difference allowed to ours; None for a claim.
    within : bool or None
        Whether ours is within the tolerance of the published number (of the right one, for a slip; of the recorded
        one, if none is published), or the check holds; None if it is not judged, because ours is not of the paper's
        size.
    note : str
    borne_out : bool
        False for a claim whose check states what we found instead, so that the paper's sentence is not borne out.
    half_width : float or None
        For a mean over seeds, half of the interval that holds the true mean with a confidence of 95 %.
    seeds : int or None
        The number of seeds that ours is a mean over; None for one.
    against : float or None
        The number that ours is judged against instead of the published one, such as that of the optimum.
    difference : float or None
        Ours less the number that it is judged against; None for a claim.
    """

    item: str
    quantity: str
    published: float | str | None
    ours: float | str
    tolerance: float | None
    within: bool | None
    note: str
    borne_out: bool = True
    half_width: float | None = None
    seeds: int | None = None
    against: float | None = None
    difference: float | None = None

    @property
    def ours_text(self) -> str:
        """Our number as text, with its interval."""
        if self.half_width is None or isinstance(self.ours, str):
            return text_of(self.ours)
        return str(Estimate(self.ours, self.half_width, self.seeds or 1))

    @property
    def verdict(self) -> str:
        """The word in the column ``within``."""
        if self.within is None:
            return UNJUDGED
        if not self.within:
            return OUTSIDE
        return WITHIN if self.borne_out else REFUTED


@dataclass(frozen=True)
class SimulationCost:
    """The cost of a simulation.

    Attributes
    ----------
    item, run : str
        The table or figure, and the name of the run.
    simulated_s, wall_s : float
        The simulated time, and the time that the simulation took.
    threads, packet_hops : int
        The number of threads, and the number of times that a packet crossed a link.
    """

    item: str
    run: str
    simulated_s: float
    wall_s: float
    threads: int
    packet_hops: int


class Rows(list[Row]):
    """Rows with their experiments, figures and simulations, and the items that were left out, with the reason.

    ``scale`` is below 1 if large networks are smaller than in the paper; ``not_done`` has the tables and figures that
    are not done yet.
    """

    def __init__(self, rows: Iterable[Row] = (), paper: Paper | None = None) -> None:
        super().__init__(rows)
        self.paper = paper
        self.scale = 1.0
        self.experiments: list[Experiment] = []
        self.left_out: list[str] = []
        self.not_done: list[str] = []
        self.figures: list[GatheredFigure] = []
        self.made: list[SimulationCost] = []

    @property
    def with_rest(self) -> list[Row]:
        """The rows, and one for each table or figure that is not done."""
        return [
            *self,
            *(Row(item, "not done", None, "", None, None, "it was stopped before") for item in self.not_done),
        ]

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table of text and numbers."""
        columns = {name: [getattr(row, name) for row in self] for name in Row.__dataclass_fields__}
        text = {name: [None if v is None else text_of(v) for v in columns[name]] for name in ("published", "ours")}
        return pl.DataFrame(columns | text, strict=False)


class ReproductionInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a reproduction; ``rows`` holds the rows of the tables and figures that are done."""

    def __init__(self, rows: Rows) -> None:
        done = len(rows.experiments) + len(rows.left_out)
        super().__init__(f"stopped; {done} of {done + len(rows.not_done)} tables and figures are done")
        self.rows = rows


def verdicts(rows: Iterable[Row]) -> str:
    """Count the rows, those outside their band and the claims not borne out; and name the items left out."""
    all_rows = list(rows)
    outside, refuted, unjudged = (sum(row.verdict == v for row in all_rows) for v in (OUTSIDE, REFUTED, UNJUDGED))
    counts = f"{len(all_rows)} rows, {outside} outside their band, {refuted} claims not borne out"
    if unjudged:
        counts += f", {unjudged} not judged"
    if not isinstance(rows, Rows):
        return counts
    words = [f"Not done yet: {', '.join(map(item_name, rows.not_done))}"] if rows.not_done else []
    if unjudged:
        words.append(f"Not of the paper's size, so not judged: {size_text(rows.scale)}")
    return "\n".join([*words, *rows.left_out, counts])


def size_text(scale: float) -> str:
    """Say how much smaller the simulated networks are."""
    return f"{scale:g} times the random connections, over links of {scale:g} times the capacity"


def item_name(item: str) -> str:
    """Give an item as people write it: ``Theorem 8.2`` for ``theorem-8-2``."""
    return re.sub(r"(?<=\d)-(?=\d)", ".", item).replace("-", " ").capitalize()


def text_of(value: object) -> str:
    """Write a number with five digits; text stays as it is."""
    if value == math.inf:
        return "never"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
