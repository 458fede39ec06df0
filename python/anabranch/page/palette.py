"""The colours of the page, which are those of the figures, and how each protocol looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKERS = ("circle", "square", "triangle", "diamond", "cross", "star", "ring")
"""Shapes at the ends of lines; the page has drawings by these names."""


def looks(protocols: Iterable[str]) -> dict[str, dict[str, str]]:
    """Give the colour and the marker of each protocol, by its title: the same in every run and on every page.

    What is no protocol, as the method of a solver, looks like the first.
    """
    from anabranch.figures.style import COLOURS

    ranks = {title: rank for rank, (_, title, _) in enumerate(_core.protocols())}
    known = {}
    for title in protocols:
        rank = ranks.get(title, 0)
        # Those that share a colour differ by marker.
        marker = MARKERS[(rank + rank // len(COLOURS)) % len(MARKERS)]
        known[title] = {"colour": COLOURS[rank % len(COLOURS)], "marker": marker}
    return known


def palette() -> dict[str, Any]:
    """Give the colours of lines, and those of utilisation from idle to full."""
    from matplotlib.colors import to_hex

    from anabranch.figures.network import UTILISATION
    from anabranch.figures.style import COLOURS

    steps = 64
    return {"lines": list(COLOURS), "utilisation": [to_hex(UTILISATION(i / steps)) for i in range(steps + 1)]}
