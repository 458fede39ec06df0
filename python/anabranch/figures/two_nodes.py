"""Two nodes with the links between them side by side, each with its name: what most first scenarios have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import FancyBboxPatch

from anabranch import _core
from anabranch.figures.panels import shortened
from anabranch.figures.paper import scaled
from anabranch.figures.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from anabranch.model.network import Network

STEP_PT = 40.0
"""The distance of links side by side, with room for names."""

MOST_LANES = 12

NODE_PT, NAME_PT = 9.0, 9.0
"""Half the width of a node, and the size of names."""

NAMES_PT = 74.0
"""The room for names of nodes on each side."""


def are_two(network: Network) -> bool:
    """Tell whether a network has two nodes, with few enough links to name them."""
    return len(network) == 2 and 0 < len(_cables(network)) <= MOST_LANES


def height_of(network: Network) -> float:
    """Give the height of the map in points."""
    return STEP_PT * (len(_cables(network)) + 0.6)


def places_of(network: Network, width: float) -> NDArray[np.float64]:
    """Give where the nodes are: the one that is further left in the layout stays there."""
    middle = height_of(network) / 2.0
    ends = np.array([[NAMES_PT, middle], [width - NAMES_PT, middle]])
    layout = network.layout()
    return ends if layout[0, 0] <= layout[1, 0] else ends[::-1].copy()


def draw_nodes(axes: Axes, network: Network, places: NDArray[np.float64]) -> None:
    """Draw each node as a bar at which all links end, with its name beside it."""
    half = STEP_PT * (len(_cables(network)) - 1) / 2.0 + NODE_PT
    for (x, y), name in zip(places.tolist(), network.core.node_names, strict=True):
        corner, size = (x - NODE_PT, y - half), (2.0 * NODE_PT, 2.0 * half)
        box = FancyBboxPatch(corner, *size, boxstyle=f"round,pad=0,rounding_size={NODE_PT}", zorder=3)
        box.set(facecolor="white", edgecolor=INK, linewidth=scaled(1.1))
        axes.add_patch(box)
        is_left = x < places[:, 0].mean()
        at = x - NODE_PT - 5.0 if is_left else x + NODE_PT + 5.0
        words = shortened(name) if len(name) <= 12 else f"{name[:11]}…"
        side = "right" if is_left else "left"
        axes.text(at, y, words, size=scaled(NAME_PT + 1), color=INK, ha=side, va="center", parse_math=False)


def draw_names(axes: Axes, network: Network, segments: NDArray[np.float64], widths: NDArray[np.float64]) -> None:
    """Write the name and the capacity of each link above it."""
    core = network.core
    for link in _cables(network):
        x, y = segments[link].mean(axis=0)
        words = f"{shortened(core.link_names[link])}, {_core.format_rate(float(core.capacity_bps[link]))}"
        top = y + widths[link] / 2.0 + 3.0
        axes.text(x, top, words, size=scaled(NAME_PT), color=INK, ha="center", va="bottom", parse_math=False)


def _cables(network: Network) -> list[int]:
    """Give a link of each cable: the first of both directions."""
    return [link for link, twin in enumerate(network.core.twin.tolist()) if twin < 0 or link < twin]
