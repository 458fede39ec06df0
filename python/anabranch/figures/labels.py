"""Names beside nodes, where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke

from anabranch.figures.paper import scaled
from anabranch.figures.style import INK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

SIZE_PT = 8.0
LONGEST = 28
"""The most letters of a name."""

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
"""Where a name may stand, seen from its node, best first."""


def place_labels(
    figure: Figure,
    axes: Axes,
    places: NDArray[np.float64],
    names: Sequence[str],
    radius: float,
    segments: NDArray[np.float64],
) -> None:
    """Write names beside their nodes: never over a node or another name, and over as few links as can be.

    The nodes with the most links choose first. A name that finds no room is left out.

    Parameters
    ----------
    axes : Axes
        One unit is one point.
    segments : ndarray, shape (links, 2, 2)
        The links.
    """
    sizes = _text_sizes(figure, [_short(name) for name in names])
    corner = np.array([axes.get_xlim()[1], axes.get_ylim()[1]])
    ink = _points_along(segments)
    busy = np.zeros(len(names), dtype=int)
    for end in (segments[:, 0], segments[:, 1]):
        nearest = [int(np.abs(places - point).sum(axis=1).argmin()) for point in end]
        np.add.at(busy, nearest, 1)
    taken: list[NDArray[np.float64]] = []
    for node in np.argsort(-busy, kind="stable").tolist():
        box = _best_box(places, node, sizes[node], radius, ink, taken, corner)
        if box is None:
            continue
        taken.append(box)
        x, y = box.mean(axis=0).tolist()
        text = axes.text(
            x,
            y,
            _short(names[node]),
            size=scaled(SIZE_PT),
            color=INK,
            ha="center",
            va="center",
            parse_math=False,
            zorder=4,
        )
        text.set_path_effects([withStroke(linewidth=scaled(2.0), foreground="white", alpha=0.85)])


def _best_box(
    places: NDArray[np.float64],
    node: int,
    size: NDArray[np.float64],
    radius: float,
    ink: NDArray[np.float64],
    taken: list[NDArray[np.float64]],
    corner: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Give the corners of the best free place, or None."""
    best: NDArray[np.float64] | None = None
    least = np.inf
    others = np.delete(places, node, axis=0)
    for rank, side in enumerate(SIDES):
        reach = np.array(side) * (size / 2.0 + (radius + 2.0) * (0.75 if all(side) else 1.0))
        middle = places[node] + reach
        box = np.array([middle - size / 2.0, middle + size / 2.0])
        if (box[0] < 1.0).any() or (box[1] > corner - 1.0).any():
            continue
        if any((box[0] < other[1]).all() and (box[1] > other[0]).all() for other in taken):
            continue
        if _inside(others, box, radius).any():
            continue
        cost = float(_inside(ink, box, 0.0).sum()) + 0.1 * rank
        if cost < least:
            best, least = box, cost
    return best


def _inside(points: NDArray[np.float64], box: NDArray[np.float64], margin: float) -> NDArray[np.bool_]:
    return np.asarray(((points > box[0] - margin) & (points < box[1] + margin)).all(axis=1))


def _points_along(segments: NDArray[np.float64], step: float = 4.0) -> NDArray[np.float64]:
    """Give points along the links, so close that none slips through a name."""
    runs = [np.zeros((0, 2))]
    for start, end in segments:
        count = int(np.linalg.norm(end - start) / step) + 2
        runs.append(start + np.linspace(0.0, 1.0, count)[:, None] * (end - start))
    return np.concatenate(runs)


def _text_sizes(figure: Figure, texts: list[str]) -> NDArray[np.float64]:
    """Give the width and height of each text in points of the screen."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    font = FontProperties(size=scaled(SIZE_PT))
    to_points = 72.0 / figure.dpi / scaled(1.0)
    sizes = [renderer.get_text_width_height_descent(text, font, ismath=False)[:2] for text in texts]
    return np.array(sizes).reshape(-1, 2) * to_points + 1.0


def _short(name: str) -> str:
    flat = " ".join(name.split())
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"
