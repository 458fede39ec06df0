"""A network as a small map: nodes at the places of the figures, each link as half of its cable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.notebook.markup import legend, svg

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.model.network import Network

WIDTH, MARGIN = 640, 10
MOST_LINKS = 4500
"""The most links of a map: with more, a map would show nothing, and be over 100 kB."""

BANDS = (
    (0.25, "#94a3b3", 1.4, "under 25 %"),
    (0.50, "#d3ac35", 1.8, "to 50 %"),
    (0.75, "#e58a2a", 2.2, "to 75 %"),
    (np.inf, "#d4502e", 2.6, "to 100 %"),
)
"""Up to which utilisation a colour and a width are for, and how that is called."""

FULL = ("#a3286f", 4.2, "saturated")
"""A link that is full."""


def network_map(network: Network, utilisation: NDArray[np.float64] | None = None, tolerance: float = 0.01) -> str:
    """Draw the network as SVG, coloured by utilisation if there is any; nothing if it is too large or has no links."""
    core = network.core
    links = len(core.link_names)
    if not 0 < links <= MOST_LINKS:
        return ""
    places, height = _fitted(network.layout())
    start, end = places[core.link_source], places[core.link_target]
    if utilisation is None:
        # Both directions lie on one line; the first is enough.
        ends = np.sort(np.column_stack([core.link_source, core.link_target]), axis=1)
        _, first = np.unique(ends, axis=0, return_index=True)
        lines = [_path(start[first], end[first], "currentColor", 1.4, 0.45)]
        words = ""
    else:
        middle = (start + end) / 2
        bands = _bands(utilisation, tolerance)
        styles = [(colour, width) for _, colour, width, _ in BANDS] + [FULL[:2]]
        lines = [
            _path(start[bands == band], middle[bands == band], colour, width)
            for band, (colour, width) in enumerate(styles)
            if (bands == band).any()
        ]
        words = _legend(bands)
    size = float(np.clip(30 / np.sqrt(len(places)), 2, 7))
    nodes = f'<path d="{_dots(places)}" stroke="currentColor" stroke-width="{size:.1f}" stroke-linecap="round"/>'
    return svg(WIDTH, height, "map of the network", "".join(lines) + nodes) + words


def _fitted(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Bring places into the picture, y downwards, and give its height."""
    low, high = places.min(axis=0), places.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    height = int(np.clip((WIDTH - 2 * MARGIN) * extent[1] / extent[0], 60, 380)) + 2 * MARGIN
    room = np.array([WIDTH - 2 * MARGIN, height - 2 * MARGIN])
    scale = float((room / extent).min())
    centred = (places - (low + high) / 2) * scale * np.array([1, -1]) + np.array([WIDTH, height]) / 2
    return np.rint(centred), height


def _bands(utilisation: NDArray[np.float64], tolerance: float) -> NDArray[np.int64]:
    """Give the number of each link's band; one more than there are for those that are full."""
    band = np.searchsorted([most for most, *_ in BANDS[:-1]], utilisation, side="right")
    return np.where(utilisation >= 1 - tolerance, len(BANDS), band)


def _path(start: NDArray[np.float64], end: NDArray[np.float64], colour: str, width: float, opacity: float = 1.0) -> str:
    segments = "".join(
        f"M{a:.0f} {b:.0f}L{c:.0f} {d:.0f}" for (a, b), (c, d) in zip(start.tolist(), end.tolist(), strict=True)
    )
    faint = "" if opacity == 1 else f' opacity="{opacity:g}"'
    return f'<path d="{segments}" stroke="{colour}" stroke-width="{width:g}"{faint}/>'


def _dots(places: NDArray[np.float64]) -> str:
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in places.tolist())


def _legend(bands: NDArray[np.int64]) -> str:
    counts = np.bincount(bands, minlength=len(BANDS) + 1).tolist()
    named = [(colour, name) for _, colour, _, name in BANDS] + [(FULL[0], FULL[2])]
    return legend((colour, f"{name}: {number}") for (colour, name), number in zip(named, counts, strict=True))
