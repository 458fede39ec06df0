"""The colours of lines in one chart: rivals can be told apart, also within one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.figures.protocol_styles import protocol_looks
from anabranch.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.runs.result import Result


def line_colours(protocols: Sequence[str]) -> list[str]:
    """Give each line of a chart a colour, by the title of its protocol.

    The first line of a protocol has the protocol's own colour, which it has in every figure and page. All other lines
    have the colours that are left, in turn: two lines share a colour only if there are more lines than colours.
    """
    looks = protocol_looks()
    wanted = {title: looks[title].colour if title in looks else COLOURS[0] for title in dict.fromkeys(protocols)}
    taken: list[str] = []
    found: dict[int, str] = {}
    for title, colour in wanted.items():
        if colour not in taken:
            taken.append(colour)
            found[protocols.index(title)] = colour
    left = [colour for colour in COLOURS if colour not in taken]
    others = [number for number in range(len(protocols)) if number not in found]
    # Beyond the colours that are left, all are used again, from the first one on.
    for place, number in enumerate(others):
        found[number] = left[place] if place < len(left) else COLOURS[(place - len(left)) % len(COLOURS)]
    return [found[number] for number in range(len(protocols))]


def colours_of(result: Result, names: Sequence[str]) -> dict[str, str]:
    """Give each of these connections, or subflows, its colour in a chart of them."""
    titles = dict(result.connections.select("connection", "protocol").iter_rows())
    own = dict(result.subflows.select("subflow", "connection").iter_rows())
    protocols = [titles.get(name) or titles.get(own.get(name, ""), "") for name in names]
    return dict(zip(names, line_colours(protocols), strict=True))
