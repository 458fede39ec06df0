"""The styles of protocols: each has one colour and one marker in all figures, pages and reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKERS = ("circle", "square", "triangle", "diamond", "cross", "star", "ring")
"""Shapes; the page has drawings by these names."""

DRAWN: dict[str, Any] = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x", "ring": "o"}
DRAWN["star"] = (6, 2, 0)
"""Matplotlib's names of the shapes."""

OPEN = "ring"
"""The shape that is not filled."""

HATCHES = ("", "//", "..", "xx")
"""Hatches of areas, for areas that repeat the colour of an earlier one."""

RIVALS = (
    ("slbn", "bfyz", "rcp", "piqi-rcp-like", "erica", "cobb-like", "b-neck"),
    ("s-perc", "vo-le-tran", "d-slen", "perc", "charny", "xcp", "qi-rcp-like"),
    ("nmcc", "lia", "uncoupled", "olia", "balia", "ewtcp", "coupled"),
    ("lgcc", "abc", "lgc", "dctcp", "log-rate", "cubic", "reno"),
    ("copa", "bbr", "vegas", "wvegas"),
)
"""Protocols that papers draw together stand in a row, which has all colours; one that is not named comes after."""


@dataclass(frozen=True)
class Look:
    """The look of a protocol: a colour for matplotlib and the page, the name of a marker, and a hatch for bars."""

    colour: str
    marker: str
    hatch: str = ""

    @property
    def style(self) -> dict[str, Any]:
        """The arguments with which matplotlib draws a line in this look."""
        fill = "none" if self.marker == OPEN else "full"
        return {"color": self.colour, "marker": DRAWN[self.marker], "fillstyle": fill}

    @property
    def fill(self) -> dict[str, Any]:
        """The arguments with which matplotlib fills a bar in this look."""
        return {"facecolor": self.colour, "edgecolor": "white", "hatch": self.hatch or None}


def protocol_looks() -> dict[str, Look]:
    """Give the look of each protocol by its title; no two have the same."""
    places = {name: (row, number) for row, names in enumerate(RIVALS) for number, name in enumerate(names)}
    last = len(RIVALS) - 1
    after = ((row, number) for row in range(last, len(MARKERS)) for number in range(len(COLOURS)))
    free = (place for place in after if place not in places.values())
    return {title: _look(*(places.get(name) or next(free))) for name, title, *_ in _core.protocols()}


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Give each name in a figure a look: protocols have fixed looks, and other names get the remaining colours.

    Protocols are known by title or by their names in files. One that has the colour of another before it is hatched.
    """
    own = protocol_looks()
    known = {title.lower(): look for title, look in own.items()}
    known |= {name: own[title] for name, title, *_ in _core.protocols()}
    all_names = list(dict.fromkeys(names))
    found = {name: known[name.lower()] for name in all_names if name.lower() in known}
    seen: Counter[str] = Counter()
    for name, look in found.items():
        found[name] = replace(look, hatch=HATCHES[seen[look.colour] % len(HATCHES)])
        seen[look.colour] += 1
    left = [number for number, colour in enumerate(COLOURS) if colour not in seen] or range(len(COLOURS))
    others = (name for name in all_names if name not in found)
    return found | {name: _look(0, number) for name, number in zip(others, cycle(left), strict=False)}


def _look(row: int, number: int) -> Look:
    """Give the look of a place; in a row no two have the same colour or marker."""
    return Look(COLOURS[number], MARKERS[(number + row) % len(MARKERS)])
