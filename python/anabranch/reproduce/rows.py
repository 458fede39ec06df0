"""The rows of reproductions: printed numbers and claims beside ours, their sources, and their verdicts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from anabranch.estimate import Estimate
from anabranch.reproduce.settings import Settings
from anabranch.reproduce.spec.verdict import GOOD, UNJUDGED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.figures.kind import GatheredFigure
    from anabranch.reproduce.mutation import Unturned
    from anabranch.reproduce.papers import Paper

Kind = Literal["number", "claim", "comparison", "record"]
"""The subject of a row: a published number, a claim in words, a number beside an unpublished one, or ours as before."""


@dataclass(frozen=True)
class Reading:
    """Ours under one reading of the paper.

    Attributes
    ----------
    name : str
        What the paper does not print and the result depends on; empty for what the paper describes.
    ours : float or str
    verdict, expected : str
        The verdict, and the one on record.
    half_width : float or None
        For a mean over seeds, half of the interval that holds the true mean with a confidence of 95 %.
    seeds : int or None
        The number of seeds that ours is a mean over; None for one.
    is_corrected : bool
        Whether a protocol takes part that we corrected: then it is no reading of the paper, and does not decide.
    """

    name: str
    ours: float | str
    verdict: str
    expected: str
    half_width: float | None = None
    seeds: int | None = None
    is_corrected: bool = False

    @property
    def ours_text(self) -> str:
        """Our number as text, with its interval."""
        return _with_interval(self.ours, self.half_width, self.seeds)


@dataclass(frozen=True)
class LiveReading:
    """A number or claim measured with real packets, under one reading of the paper.

    Attributes
    ----------
    name : str
        The reading, as of `Reading`.
    ours : float or str
        The number, or the numbers that the claim compares, from one live run each.
    simulated : float or str
        Those of a simulation of the same network and duration with one seed.
    verdict : str
        The verdict on the live number; none is on record, since laboratories vary.
    is_valid : bool
        Whether the packets of all its live runs were on time.
    """

    name: str
    ours: float | str
    simulated: float | str
    verdict: str
    is_valid: bool

    @property
    def text(self) -> str:
        """The live number with the simulated one, the verdict and the validity."""
        valid = "" if self.is_valid else ", NOT VALID: packets were late"
        name = f"[{self.name}] " if self.name else ""
        return f"{name}{text_of(self.ours)} (simulated alike: {text_of(self.simulated)}): {self.verdict}{valid}"


@dataclass(frozen=True)
class Row:
    """A published number or claim, and ours; or a number of ours beside one that is not published.

    Attributes
    ----------
    item : str
        The table or figure.
    quantity : str
        The name of the number, with its unit, or the words of the claim.
    kind : str
        ``number`` or ``claim`` of the paper. ``comparison`` with a number that is not published, such as an optimum,
        and ``record`` of ours reproduce nothing.
    published : float, str or None
        The printed number; text for a claim, and for a slip of the paper; None if the paper prints none.
    ours : float or str
        Ours under the reading that comes nearest to the paper.
    verdict, expected : str
        The verdict, one of `anabranch.reproduce.spec.verdict`, and the one on record.
    is_changed : bool
        Whether a verdict is not the one on record, under any reading.
    reading : str
        The reading of the paper that has this verdict; empty if the paper describes all that matters.
    readings : tuple of Reading
        Ours under each reading, and with protocols that we corrected; empty if there is one.
    margin : float or None
        The paper's own margin; for comparisons and records, the tolerance. None for claims.
    against : float or None
        The number beside the published one, or in its place, that ours is compared with.
    beside : str
        How ours compares with that; empty if nothing is published besides.
    half_width : float or None
        For a mean over seeds, half of the interval that holds the true mean with a confidence of 95 %.
    seeds : int or None
        The number of seeds that ours is a mean over; None for one.
    difference : float or None
        Ours less the published number; less the right one for a slip, less ``against`` if nothing is published; None
        for a claim.
    cause : str
        Why a number is off or a claim is not borne out, one of `anabranch.reproduce.spec.verdict.CAUSES`.
    defect : str
        The name of the defect or choice that several rows share.
    note : str
    live : tuple of LiveReading
        The same with real packets, under each reading that runs live; empty unless that was asked for.
    """

    item: str
    quantity: str
    kind: Kind
    published: float | str | None
    ours: float | str
    verdict: str
    expected: str
    is_changed: bool = False
    reading: str = ""
    readings: tuple[Reading, ...] = ()
    margin: float | None = None
    against: float | None = None
    beside: str = ""
    half_width: float | None = None
    seeds: int | None = None
    difference: float | None = None
    cause: str = ""
    defect: str = ""
    note: str = ""
    live: tuple[LiveReading, ...] = ()

    @property
    def ours_text(self) -> str:
        """Our number as text, with its interval."""
        return _with_interval(self.ours, self.half_width, self.seeds)

    @property
    def is_as_described(self) -> bool:
        """Whether the verdict is of what the paper describes, the first reading, and hangs on no other."""
        return not self.reading or (bool(self.readings) and self.readings[0].name == self.reading)

    @property
    def is_mended(self) -> bool:
        """Whether it does not come out under any reading of the paper, and does with a protocol that we corrected."""
        return self.verdict not in GOOD and any(own.is_corrected and own.verdict in GOOD for own in self.readings)

    @property
    def unjudged(self) -> Row:
        """The row without verdicts, because ours is not of the paper's size."""
        readings = tuple(replace(own, verdict=UNJUDGED) for own in self.readings)
        beside = UNJUDGED if self.beside else ""
        return replace(self, verdict=UNJUDGED, beside=beside, is_changed=False, readings=readings)


def _with_interval(ours: float | str, half_width: float | None, seeds: int | None) -> str:
    if half_width is None or isinstance(ours, str):
        return text_of(ours)
    return str(Estimate(ours, half_width, seeds or 1))


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

    ``settings`` says what the runs had besides the experiments' own settings, such as smaller networks; ``not_done``
    has the tables and figures that are not done yet; ``unturned`` the rows that a mutation test did not turn, None
    without such a test; ``readmes`` the READMEs made from results, by their files.
    """

    def __init__(self, rows: Iterable[Row] = (), paper: Paper | None = None) -> None:
        super().__init__(rows)
        self.paper = paper
        self.settings = Settings()
        self.experiments: list[Experiment] = []
        self.left_out: list[str] = []
        self.not_done: list[str] = []
        self.figures: list[GatheredFigure] = []
        self.made: list[SimulationCost] = []
        self.unturned: list[Unturned] | None = None
        self.readmes: dict[Path, str] = {}

    @property
    def with_rest(self) -> list[Row]:
        """The rows, and one for each table or figure that is not done."""
        return [
            *self,
            *(
                Row(item, "not done", "record", None, "", UNJUDGED, UNJUDGED, note="it was stopped before")
                for item in self.not_done
            ),
        ]

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table of text and numbers."""
        names = [name for name in Row.__dataclass_fields__ if name not in ("readings", "live")]
        columns = {name: [getattr(row, name) for row in self] for name in names}
        text = {name: [None if v is None else text_of(v) for v in columns[name]] for name in ("published", "ours")}
        return pl.DataFrame(columns | text, strict=False)


class ReproductionInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a reproduction; ``rows`` holds the rows of the tables and figures that are done."""

    def __init__(self, rows: Rows) -> None:
        done = len(rows.experiments) + len(rows.left_out)
        super().__init__(f"stopped; {done} of {done + len(rows.not_done)} tables and figures are done")
        self.rows = rows


def size_text(scale: float) -> str:
    """Say how much smaller the simulated networks are."""
    return f"{scale:g} times the random connections and hosts, over links of {scale:g} times the capacity"


NAMES = {"d-slen": "d-SLEN"}
"""The names of items that have capitals within."""


def item_name(item: str) -> str:
    """Give an item as people write it: ``Theorem 8.2`` for ``theorem-8-2``, ``d-SLEN`` for ``d-slen``."""
    if item in NAMES:
        return NAMES[item]
    return re.sub(r"(?<=\d)-(?=\d)", ".", item).replace("-", " ").capitalize()


def text_of(value: object) -> str:
    """Write a number with five digits; text stays as it is."""
    if value == math.inf:
        return "never"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
