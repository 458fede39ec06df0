"""Figures of fluid models.

``fluid`` shows rates above and prices below, over steps, a column for each run::

    xlabel = "step"                     what steps are
    price = "marking probability"       what prices are
    top = 1.0                           the end of the axis of rates
    begins = [0, 200]                   with span: the parts of the axis of steps that are shown,
    span = 30                           here 0 to 30 and 200 to 230

``eigenvalues`` shows models ``tree-sweep``: eigenvalues above, the difference equation below, over step sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from anabranch.reproduce.figures.kind import Gathered, PaperFigure, outcomes_of, read_runs
from anabranch.reproduce.outcomes.kinds import Followed
from anabranch.reproduce.spec.fluid import SweepPlan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class OfModels(PaperFigure[Gathered]):
    """A figure of fluid models: of sweeps over step sizes, or of all others."""

    is_of_sweeps: ClassVar[bool] = False

    runs: tuple[str, ...]

    @classmethod
    def read_models(cls, table: Table, runs: Mapping[str, Run]) -> tuple[str, ...]:
        """Read the runs, which must all be fluid models of the right kind."""
        own = read_runs(table, runs)
        for name in own:
            model = runs[name].fluid
            if model is None:
                raise table.error("runs", f"run `{name}` is no fluid model", 'draw only runs with method = "fluid"')
            if isinstance(model, SweepPlan) != cls.is_of_sweeps:
                remedy = 'draw models "tree-sweep" with "eigenvalues", others with "fluid"'
                raise table.error("runs", f"run `{name}` is of another model", remedy)
        return own

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> Gathered:
        """Gather a row for each run, point and series: ``run``, ``at``, ``name``, ``value``."""
        frames = (own.frame(name) for name in self.runs for own in outcomes_of(outcomes, name, Followed))
        return Gathered(pl.concat(frames))


@dataclass(frozen=True)
class Fluid(OfModels, draw="fluid"):
    """Rates and prices of fluid models over steps.

    Attributes
    ----------
    xlabel, price : str
        The words for steps and prices.
    top : float or None
        The end of the axis of rates.
    windows : tuple of pairs of float
        The parts of the axis of steps that are shown; all of it if there are none.
    """

    xlabel: str
    price: str
    top: float | None
    windows: tuple[tuple[float, float], ...]

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Fluid:
        """Read the keys of the kind."""
        begins, span = table.numbers("begins"), table.optional_number("span")
        if bool(begins) != (span is not None) or (span is not None and span <= 0.0):
            raise table.error("begins", f"it is {begins}, and the span {span}", "give both, such as [0, 200] and 30")
        windows = tuple((begin, begin + span) for begin in begins) if span is not None else ()
        xlabel, price = table.text("xlabel", "step"), table.text("price", "marking probability")
        top, own = table.optional_number("top"), cls.read_models(table, runs)
        return cls(heading, own, xlabel, price, top, windows)

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw a column for each run."""
        from anabranch import figures

        figures.draw_fluid(
            gathered.frame,
            title=title,
            note=self.heading.caption,
            file=file,
            xlabel=self.xlabel,
            price=self.price,
            top=self.top,
            windows=self.windows,
        )


@dataclass(frozen=True)
class Eigenvalues(OfModels, draw="eigenvalues"):
    """Eigenvalues of an aggregation tree over step sizes."""

    is_of_sweeps: ClassVar[bool] = True

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Eigenvalues:
        """Read the keys of the kind."""
        return cls(heading, cls.read_models(table, runs))

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw a column for each run."""
        from anabranch import figures

        figures.draw_eigenvalues(gathered.frame, title=title, note=self.heading.caption, file=file)
