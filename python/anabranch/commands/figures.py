"""The options of commands that draw figures: formats, width, font."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anabranch.figures.paper import PaperChoice

Formats = Annotated[
    list[str] | None,
    typer.Option("--figure-format", metavar="FORMAT", help="svg, png or pdf; repeatable. Default: svg and png."),
]
Width = Annotated[
    str | None,
    typer.Option(
        "--figure-width",
        metavar="WIDTH",
        help="Width of figures: column (3.5 in) or page (7.16 in) of a paper, or inches. Such figures have no titles.",
    ),
]
Font = Annotated[
    str | None,
    typer.Option("--figure-font", metavar="FONT", help="Font of figures: sans, serif, or one of this machine."),
]

FORMATS, USUAL = ("svg", "png", "pdf"), ("svg", "png")


@dataclass(frozen=True)
class FigureChoice:
    """The choice of figures: their formats, and the paper that they are drawn for."""

    formats: tuple[str, ...]
    paper: PaperChoice

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Draw all figures for this paper for a while."""
        if not self.paper:
            yield
            return
        from anabranch.figures.paper import paper_of

        with paper_of(self.paper):
            yield


def figure_choice(
    formats: list[str] | None, width: str | None, font: str | None, *, without: str | None
) -> FigureChoice:
    """Read the options, before anything is run.

    Parameters
    ----------
    without : str, optional
        The option without which there are no figures, if it was left out.

    Raises
    ------
    ScenarioError
        A format, a width or a font that there is not, or there are no figures.
    """
    options = {"--figure-format": formats, "--figure-width": width, "--figure-font": font}
    given = [name for name, value in options.items() if value is not None]
    if without is not None and given:
        raise ScenarioError(f"{given[0]}: there are no figures; add {without}")
    unknown = next((own for own in formats or () if own not in FORMATS), None)
    if unknown is not None:
        raise ScenarioError(f"--figure-format: there is no picture format `{unknown}`; take svg, png or pdf")
    paper: PaperChoice = {}
    if width is not None or font is not None:
        # Only now: matplotlib takes longer to load than many scenarios take to run.
        from anabranch.figures.paper import paper_of, read_width

        if width is not None:
            paper["width"] = read_width(width)
        if font is not None:
            paper["font"] = font
        with paper_of(paper):
            pass
    return FigureChoice(tuple(dict.fromkeys(formats or USUAL)), paper)
