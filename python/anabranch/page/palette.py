"""The colours of the page, which figures use too, and the look of each protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

ON_DARK = ("#3b4653", "#8a4a70", "#dd5f4b", "#f5a142", "#ffe69a")
"""Utilisation on dark paper, from idle to full: the busier the lighter, as on light paper the busier the darker."""


def looks(protocols: Iterable[str]) -> dict[str, dict[str, str]]:
    """Give the colour and the marker of each protocol, by its title: the same in every run and on every page.

    What is no protocol, as the method of a solver, looks like the first.
    """
    from anabranch.figures.protocol_styles import protocol_looks

    known = protocol_looks()
    first = next(iter(known.values()))
    found = {title: known.get(title, first) for title in protocols}
    return {title: {"colour": look.colour, "marker": look.marker} for title, look in found.items()}


def palette() -> dict[str, Any]:
    """Give the colours of lines, and those of utilisation from idle to full, on light paper and on dark."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    from anabranch.figures.network import UTILISATION
    from anabranch.figures.style import COLOURS

    ramps = {"utilisation": UTILISATION, "utilisation_dark": LinearSegmentedColormap.from_list("dark", ON_DARK)}
    steps = 64
    colours = {name: [to_hex(ramp(i / steps)) for i in range(steps + 1)] for name, ramp in ramps.items()}
    return {"lines": list(COLOURS), **colours}
