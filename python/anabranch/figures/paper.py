"""The paper that figures are drawn for: how wide a figure is, and in which font its words are set.

Without a choice a figure has the size of a screen. A column or a page has a smaller font, other proportions, and no
title of its own, since papers have captions. Sizes in the drawings are those of the screen; `scaled` fits them.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict

import matplotlib as mpl
from matplotlib import font_manager

from anabranch import _core
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.figure import Figure

WIDTHS_IN = {"column": 3.5, "page": 7.16}
"""Widths by name, in inches: a column and a page of a paper in two columns."""

LEAST_IN, MOST_IN = 2.0, 40.0

SCREEN_PT = 10.0
"""The size of letters at axes on a screen, in points."""

PAPER_PT = 8.0
"""The size of letters at axes in papers."""

LEAST_PT, MOST_PT = 4.0, 30.0

FONTS = {"sans": "DejaVu Sans", "serif": "STIXGeneral"}
"""Fonts by kind. Both come with matplotlib, so that every machine draws the same; STIX goes with Times in LaTeX."""

MATHS = {"sans": "dejavusans", "serif": "stix"}


class PaperChoice(TypedDict, total=False):
    """The choice of a paper.

    Attributes
    ----------
    width : {"column", "page"} or float
        The width of the figure: 3.5 inches, 7.16 inches, or another number of inches. The height follows.
    font : str
        ``sans``, ``serif``, or the name of a font that matplotlib finds on this machine.
    font_size : float
        The size of letters at axes in points; others follow. 8 if there is a width, else 10.
    """

    width: Literal["column", "page"] | float
    font: str
    font_size: float


@dataclass(frozen=True)
class Paper:
    """A paper that was chosen.

    Attributes
    ----------
    width_in : float or None
        The width of figures in inches; that of the screen if None.
    scale : float
        The sizes of letters, lines and margins, by those of the screen.
    """

    width_in: float | None = None
    scale: float = 1.0

    @property
    def room(self) -> float | None:
        """The width in inches, had everything on the paper the sizes of the screen."""
        return None if self.width_in is None else self.width_in / self.scale


SCREEN = Paper()

_paper: ContextVar[Paper] = ContextVar("paper", default=SCREEN)

P = ParamSpec("P")


def on_paper(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function that draws take the keywords of `PaperChoice`, and draw on that paper."""

    @wraps(draw)
    def drawn(*arguments: P.args, **rest: P.kwargs) -> Figure:
        choice: PaperChoice = {name: rest[name] for name in PaperChoice.__annotations__ if name in rest}  # type: ignore[assignment]
        if not choice:
            return draw(*arguments, **rest)
        with paper_of(choice):
            return draw(*arguments, **rest)

    return drawn


@contextmanager
def paper_of(choice: PaperChoice) -> Iterator[None]:
    """Draw on a paper for a while.

    Raises
    ------
    ScenarioError
        A width or a size that is none, or a font that is not there.
    """
    width = choice.get("width")
    size = choice.get("font_size", SCREEN_PT if width is None else PAPER_PT)
    if not LEAST_PT <= size <= MOST_PT:
        raise ScenarioError(f"font_size is {size:g}; it must be {LEAST_PT:g} to {MOST_PT:g} points")
    font = choice.get("font", "sans")
    fonts = [_family(font), *FONTS.values()]
    settings: Any = {
        "font.family": list(dict.fromkeys(fonts)),
        "font.size": size,
        "mathtext.fontset": MATHS.get(font, "dejavusans"),
        **{f"{axis}tick.major.{key}": pt * size / SCREEN_PT for axis in "xy" for key, pt in TICKS.items()},
        "axes.labelpad": 4.0 * size / SCREEN_PT,
    }
    token = _paper.set(Paper(_width_in(width), size / SCREEN_PT))
    try:
        with mpl.rc_context(settings):
            yield
    finally:
        _paper.reset(token)


TICKS = {"size": 3.5, "width": 0.8, "pad": 3.5}
"""Ticks at axes, in points."""


def scaled(size: float) -> float:
    """Give the size of letters, lines or margins on this paper, by that on a screen."""
    return size * _paper.get().scale


def size_on_paper(width: float, height: float) -> tuple[float, float]:
    """Give the width and height in inches of a figure that has these on a screen.

    A narrow figure is higher for its width, so that there is room for its axes.
    """
    paper = _paper.get()
    if paper.room is None:
        return scaled(width), scaled(height)
    return scaled(paper.room), scaled(height * min(paper.room / width, 1.0) ** 0.5)


def most_in_a_row(most: int, least_in: float) -> int:
    """Give the number of panels side by side: each has `least_in` inches, by the sizes of the screen."""
    room = _paper.get().room
    return most if room is None else max(min(most, int(room / least_in)), 1)


def is_titled() -> bool:
    """Whether figures have titles of their own."""
    return _paper.get().width_in is None


def read_width(text: str) -> Literal["column", "page"] | float:
    """Read a width as people write it: ``column``, ``page``, or inches.

    Raises
    ------
    ScenarioError
        It is none.
    """
    if text == "column":
        return "column"
    if text == "page":
        return "page"
    try:
        width = float(text)
    except ValueError:
        width = 0.0
    _width_in(width, text)
    return width


def _width_in(width: str | float | None, shown: str | None = None) -> float | None:
    if width is None:
        return None
    inches = WIDTHS_IN.get(width, 0.0) if isinstance(width, str) else float(width)
    if not LEAST_IN <= inches <= MOST_IN:
        remedy = f"give column, page, or {LEAST_IN:g} to {MOST_IN:g} inches"
        raise ScenarioError(f"the width of a figure is `{shown or width}`; {remedy}")
    return inches


def _family(font: str) -> str:
    if font in FONTS:
        return FONTS[font]
    known = font_manager.get_font_names()
    if font in known:
        return font
    near = _core.nearest_name(font, [*FONTS, *known])
    hint = f" (did you mean `{near}`?)" if near is not None else ""
    raise ScenarioError(f"there is no font `{font}` on this machine{hint}; sans and serif are always there")
