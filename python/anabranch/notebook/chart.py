"""A small chart of lines over time, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.notebook.markup import svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Line = tuple[NDArray[np.float64], NDArray[np.float64]]

WIDTH, HEIGHT, MARGIN = 480, 110, 3
MOST_POINTS = 240
"""The most points of a line."""

COLOURS = ("#2f7fc1", "#d5702e", "#2a9d76", "#c2679d", "#c29a1d", "#7a8794")
"""Told apart on light and dark pages."""


def chart(lines: Mapping[str, Line], label: str) -> str:
    """Draw lines of values over time, from 0 up; a value that is no number leaves a gap.

    Parameters
    ----------
    lines : mapping of str to pair of ndarray
        By name; in the order of `COLOURS`.
    label : str
        What is drawn, for who does not see it.
    """
    ends = [float(time[-1]) for time, _ in lines.values() if len(time)]
    tops = [float(values[np.isfinite(values)].max()) for _, values in lines.values() if np.isfinite(values).any()]
    if not ends or not tops:
        return ""
    across = (WIDTH - 2 * MARGIN) / (max(ends) or 1.0)
    up = (HEIGHT - 2 * MARGIN) / (max(tops) or 1.0)
    drawn = "".join(
        f'<path d="{_points(time * across + MARGIN, HEIGHT - MARGIN - values * up)}"'
        f' stroke="{colour}" stroke-width="1.5"/>'
        for (time, values), colour in zip(lines.values(), COLOURS, strict=False)
    )
    axes = f'<path d="M{MARGIN} 0V{HEIGHT - MARGIN}H{WIDTH}" stroke="currentColor" opacity="0.35"/>'
    return svg(WIDTH, HEIGHT, label, axes + drawn)


def _points(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    step = -(-len(x) // MOST_POINTS) or 1
    parts, is_on = [], False
    for across, down in zip(x[::step].tolist(), np.maximum(y[::step], 0.0).tolist(), strict=True):
        if np.isfinite(down):
            parts.append(f"{'L' if is_on else 'M'}{across:.1f} {down:.1f}")
        is_on = bool(np.isfinite(down))
    return "".join(parts)
