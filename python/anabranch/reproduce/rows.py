"""Rows of reproductions: printed numbers and claims beside ours, what they come from, and how they came out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.estimate import Estimate
from anabranch.reproduce.spec.figure import item_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anabranch.reproduce.papers import Paper
    from anabranch.reproduce.spec.experiment import Experiment
    from anabranch.reproduce.spec.figure import Figure

WITHIN, OUTSIDE, REFUTED, UNJUDGED = "yes", "NO", "not borne out", "not judged"
"""What the column ``within`` says; a claim not borne out whose check fails is outside."""


@dataclass(frozen=True)
class Row:
    """A printed number or claim, and ours.

    Attributes
    ----------
    item : str
        Table or figure.
    quantity : str
        What it is, with its unit.
    published : float, str or None
        As printed; text for a claim, and for a slip of the paper with what is right; None if the paper prints none.
    ours : float or str
    tolerance : float or None
        The most that ours may differ; None for a claim.
    within : bool or None
        Whether ours is within the tolerance of what is published (of what is right, for a slip; of what was recorded,
        if nothing is published), or the check holds; None if that is not judged, as ours is not of the paper's size.
    note : str
    borne_out : bool
        False for a claim whose check states what we found instead, so that the paper's sentence is not borne out.
    half_width : float or None
        Of a mean over seeds: the true mean is within so much of ours with a confidence of 95 %.
    seeds : int or None
        Over how many seeds ours is a mean, if over several.
    against : float or None
        What ours is judged against, where that is not what is published: of another run, such as the optimum.
    difference : float or None
        Ours less what it is judged against: what is published, what is right, or what was recorded; None for a claim.
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
        """Ours for people, with its interval."""
        if self.half_width is None or isinstance(self.ours, str):
            return text_of(self.ours)
        return str(Estimate(self.ours, self.half_width, self.seeds or 1))

    @property
    def verdict(self) -> str:
        """What the column ``within`` says to people."""
        if self.within is None:
            return UNJUDGED
        if not self.within:
            return OUTSIDE
        return WITHIN if self.borne_out else REFUTED


@dataclass(frozen=True)
class Made:
    """What a simulation took.

    Attributes
    ----------
    item, run : str
        Table or figure, and the name of the run.
    simulated_s, wall_s : float
        How much time was simulated, and how long that took.
    threads, packet_hops : int
        On how many threads, and how often a packet went over a link.
    """

    item: str
    run: str
    simulated_s: float
    wall_s: float
    threads: int
    packet_hops: int


class Rows(list[Row]):
    """Rows, and what they come from: experiments, figures, simulations; and what was left out, and why.

    ``scale`` is below 1 if large networks were to be smaller than in the paper; ``not_done`` has the tables and figures
    that are still to be done.
    """

    def __init__(self, rows: Iterable[Row] = (), paper: Paper | None = None) -> None:
        super().__init__(rows)
        self.paper = paper
        self.scale = 1.0
        self.experiments: list[Experiment] = []
        self.left_out: list[str] = []
        self.not_done: list[str] = []
        self.figures: list[Figure] = []
        self.made: list[Made] = []

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
    """A reproduction was stopped by Ctrl-C; ``rows`` holds those of the tables and figures that are done."""

    def __init__(self, rows: Rows) -> None:
        done = len(rows.experiments) + len(rows.left_out)
        super().__init__(f"stopped; {done} of {done + len(rows.not_done)} tables and figures are done")
        self.rows = rows


def verdicts(rows: Iterable[Row]) -> str:
    """Say how many rows there are, outside their band, and claims of the paper not borne out; and what was left out."""
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
    """Say how large what is simulated was made."""
    return f"{scale:g} times the random connections, over links of {scale:g} times the capacity"


def text_of(value: object) -> str:
    """Write a number as people read it; text as it is."""
    if value == math.inf:
        return "never"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
