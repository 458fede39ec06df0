"""How an experiment's files name measured numbers: by run, measure, subject and window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.reproduce.measures.registry import MEASURES, AnotherRun

if TYPE_CHECKING:
    from anabranch.reproduce.measures.registry import Measure, Window


@dataclass(frozen=True)
class Address:
    """The name of one number: ``iewf load l3``.

    Attributes
    ----------
    run, measure, subject : str
        The subject is empty if the number belongs to the run as a whole.
    window_s : pair of float or None
        The part of the time that counts; None for all of it.
    """

    run: str
    measure: str
    subject: str
    window_s: Window | None = None

    @property
    def row(self) -> Measure:
        """The row of the measure."""
        return MEASURES[self.measure]

    @property
    def runs(self) -> list[str]:
        """The names of the runs that the number needs: its own, and those that this is compared with."""
        of = self.row.of
        return [self.run, *of.names(self.subject)] if isinstance(of, AnotherRun) else [self.run]

    def __str__(self) -> str:
        window = "" if self.window_s is None else f"from {self.window_s[0]:g} to {self.window_s[1]:g} s"
        return " ".join(word for word in (self.run, self.measure, self.subject, window) if word)


@dataclass(frozen=True)
class Ratio:
    """One measured number, or a quotient of two: ``iewf steps / c-slen steps``."""

    top: Address
    bottom: Address | None = None

    def __str__(self) -> str:
        return str(self.top) if self.bottom is None else f"{self.top} / {self.bottom}"

    @property
    def addresses(self) -> list[Address]:
        """The one or two numbers that it is made of."""
        return [self.top] if self.bottom is None else [self.top, self.bottom]
