"""The common part of all kinds of figures: their keys, the checks of their runs, and the files that they write.

``[[figure]]`` in ``experiment.toml``::

    file = "figure-3"                   the name of its files; the item if left out
    draw = "rates"                      the kind; convergence if left out
    runs = ["d-slen", "other"]          the runs that it shows, but not of bars and boxes
    title = "..."                       the experiment's if left out
    caption = "..."

A kind is a class ``class Rates(PaperFigure[...], draw="rates")`` in a module of this folder, whose head says what
further keys it has. Its class method `read` reads these, `gather` gives the numbers, and `draw` draws them. Being there
is all the registration it needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from anabranch.folder import put_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table
    from anabranch.runs.result import Result

KINDS: dict[str, type[PaperFigure[Any]]] = {}
"""All kinds of figures by their names under ``draw``."""


@dataclass(frozen=True)
class Heading:
    """The name of a figure's files, its title (empty for the experiment's), and its caption."""

    file: str
    title: str
    caption: str


@dataclass(frozen=True)
class Gathered:
    """The numbers of a figure.

    Attributes
    ----------
    frame : DataFrame
        The numbers that are drawn.
    results : dict of str to Result
        Simulated runs, by the names that are written above them.
    note : str
        Words that follow the title.
    """

    frame: pl.DataFrame
    results: dict[str, Result] = field(default_factory=dict)
    note: str = ""


G = TypeVar("G", bound=Gathered)
K = TypeVar("K")


@dataclass(frozen=True)
class PaperFigure(ABC, Generic[G]):
    """A figure as its table says."""

    kind: ClassVar[str] = ""

    heading: Heading

    def __init_subclass__(cls, *, draw: str = "") -> None:
        """Register a kind by its name under ``draw``; a class without one is the base of others."""
        super().__init_subclass__()
        if draw:
            cls.kind = draw
            KINDS[draw] = cls

    @classmethod
    @abstractmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> PaperFigure[G]:
        """Read the keys of the kind.

        Raises
        ------
        ScenarioError
            A wrong value; a run that is not there, or that cannot be drawn in this way.
        """

    @abstractmethod
    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> G:
        """Gather the numbers of the figure.

        Parameters
        ----------
        outcomes : mapping
            The outcomes of the runs of the experiment.
        rates_in : str
            The unit of their rates.
        place : Path
            The file that the figure is in.
        """

    @abstractmethod
    def draw(self, gathered: G, title: str, file: Path) -> None:
        """Draw the figure into a file."""

    @property
    def timed(self) -> tuple[str, ...]:
        """The runs that it needs pass by pass."""
        return ()


def read_figure(table: Table, item: str, runs: Mapping[str, Run]) -> PaperFigure[Any]:
    """Read a ``[[figure]]`` of an experiment with these runs.

    Raises
    ------
    ScenarioError
        A wrong key or value; a run that is not there, or that cannot be drawn in this way.
    """
    kind = KINDS[table.choice("draw", tuple(KINDS), "convergence")]
    heading = Heading(table.text("file", item), table.text("title", ""), table.text("caption"))
    figure = kind.read(table, heading, runs)
    table.finish()
    return figure


def read_runs(table: Table, runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Read the runs that a figure shows: one or more."""
    own = tuple(table.texts("runs"))
    if not own:
        raise table.error("runs", "it is empty", f"choose among {', '.join(runs)}")
    for name in own:
        _check_known(table, "runs", name, runs)
    return own


def read_target(table: Table, runs: Mapping[str, Run], *, method: str = "") -> str:
    """Read the run that is the aim of others; one of this method, if one is given, which may be left out."""
    target = table.text("target", "") if method else table.text("target")
    if target:
        _check_known(table, "target", target, runs)
        if method and runs[target].method != method:
            raise table.error("target", f"run `{target}` is of another method", f'name one with method = "{method}"')
        if runs[target].fluid is not None:
            raise table.error("target", f"run `{target}` is a fluid model", "name one with rates on paths")
    return target


def refuse_runs(table: Table, kind: str, *, has_parts: bool) -> None:
    """Refuse runs of a figure whose parts name runs, and a figure without parts."""
    if table.texts("runs") or not has_parts:
        remedy = "leave it out, and name runs in each [[figure.bar]] or [[figure.box]]"
        raise table.error("runs", f"{kind} are of numbers", remedy)


def outcomes_of(outcomes: Outcomes, name: str, kind: type[K]) -> list[K]:
    """Give the outcomes of a run, which are of this kind because the reader has checked its method."""
    return [own for own in outcomes[name] if isinstance(own, kind)]


def _check_known(table: Table, key: str, name: str, runs: Mapping[str, Run]) -> None:
    if name not in runs:
        raise table.error(key, f"there is no run `{name}`", f"choose among {', '.join(runs)}")


@dataclass(frozen=True)
class GatheredFigure:
    """A figure with its numbers.

    Attributes
    ----------
    item : str
        The table or figure of the paper.
    title : str
    figure : PaperFigure
        The figure as its table says.
    gathered : Gathered
        Its numbers.
    """

    item: str
    title: str
    figure: PaperFigure[Any]
    gathered: Gathered

    @property
    def file(self) -> str:
        """The name of its files."""
        return self.figure.heading.file

    @property
    def caption(self) -> str:
        """The words below it."""
        return self.figure.heading.caption

    @property
    def frame(self) -> pl.DataFrame:
        """The numbers that are drawn."""
        return self.gathered.frame

    @property
    def results(self) -> dict[str, Result]:
        """The simulated runs, by the names that are written above them."""
        return self.gathered.results

    def write(self, folder: Path) -> None:
        """Write it into a folder as SVG, PNG and PDF, and its numbers as CSV."""
        put_file(self.frame.write_csv(), folder / f"{self.file}.csv")
        # Matplotlib takes long to load.
        from anabranch.figures.paper import is_titled

        title = self.title if is_titled() else ""
        for suffix in (".svg", ".png", ".pdf"):
            self.figure.draw(self.gathered, title, folder / f"{self.file}{suffix}")

    def without_data(self) -> GatheredFigure:
        """Give what it shows without its numbers: results of whole runs may be large."""
        return replace(self, gathered=Gathered(self.frame.clear()))


def gather_figure(
    figure: PaperFigure[Any], item: str, title: str, rates_in: str, outcomes: Outcomes, place: Path
) -> GatheredFigure:
    """Gather the numbers of a figure; `title` is written above it, and `place` is the file that it is in."""
    gathered = figure.gather(outcomes, rates_in, place)
    return GatheredFigure(item, title + gathered.note, figure, gathered)
