"""The colours of lines in one chart: rivals can be told apart, also within one protocol."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anabranch.figures.protocol_styles import protocol_looks
from anabranch.figures.shades import SHADES, shades_of
from anabranch.figures.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.runs.result import Result


def line_colours(protocols: Sequence[str]) -> list[str]:
    """Give each line of a chart a colour, by the title of its protocol, as the page does.

    The first line of a protocol has the protocol's own colour, which it has in every figure and page; the others have
    shades of it that differ in lightness and hue, until these repeat.
    """
    looks = protocol_looks()
    ranks: Counter[str] = Counter()
    found = []
    for title in protocols:
        colour = looks[title].colour if title in looks else COLOURS[0]
        # Protocols that share a colour share its shades, too.
        found.append(shades_of(colour)[ranks[colour] % SHADES])
        ranks[colour] += 1
    return found


def colours_of(result: Result, names: Sequence[str]) -> dict[str, str]:
    """Give each of these connections, or subflows, its colour in a chart of them."""
    titles = dict(result.connections.select("connection", "protocol").iter_rows())
    own = dict(result.subflows.select("subflow", "connection").iter_rows())
    protocols = [titles.get(name) or titles.get(own.get(name, ""), "") for name in names]
    return dict(zip(names, line_colours(protocols), strict=True))
