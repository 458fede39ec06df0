"""Shades of a colour that can be told apart, also without colour: for lines of one protocol in a chart.

They differ in lightness and, less, in hue. The page has the same ones on light paper:
`tests/data/shades.json` holds both to them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from anabranch.figures.style import INK

if TYPE_CHECKING:
    from collections.abc import Iterable

SHADES = 8
"""The number of shades of a colour; of more lines they repeat."""

PAPER = "#ffffff"

TO_INK, TO_PAPER = 0.8, 0.6
"""The distance of the last shades from the colour itself: towards ink, and towards paper."""

HUES = (0.0, 42.0, -42.0, 24.0, -24.0, 52.0, -52.0, 12.0)
"""The distance of the hues of shades from that of the colour, in degrees, by rank."""

GREY, TINT, LEAST_CHROMA = 0.04, 0.085, 0.1
TINTS = (0.0, 45.0, 255.0, 150.0, 320.0, 90.0, 200.0, 20.0)
"""A colour of less chroma than `GREY` has tinted greys of these hues."""

STEPS = 4
"""Steps in which the lightness of a shade of another hue is found."""

Triple = tuple[float, float, float]


@cache
def shades_of(colour: str) -> tuple[str, ...]:
    """Give the shades of a colour: itself first, then those that can best be told from the ones before."""
    ink_end, paper_end = _lightness(_mixed(colour, INK, TO_INK)), _lightness(_mixed(colour, PAPER, TO_PAPER))
    # Of a dark colour there are more shades towards paper.
    before = _rounded((SHADES - 1) * (_lightness(colour) - ink_end) / (paper_end - ink_end))
    after = SHADES - 1 - before
    levels = [
        _mixed(colour, INK, TO_INK * (before - level) / before)
        if level < before
        else _mixed(colour, PAPER, TO_PAPER * (level - before) / max(after, 1))
        for level in range(SHADES)
    ]
    order = _apart(before)
    return tuple(colour if rank == 0 else _turned(colour, levels[level], rank) for rank, level in enumerate(order))


def _turned(colour: str, shade: str, rank: int) -> str:
    """Give a colour of another hue that is as light as a shade."""
    _, chroma, hue = _to_oklch(colour)
    wanted = light = _lightness(shade)
    chroma, hue = (TINT, TINTS[rank]) if chroma < GREY else (max(chroma, LEAST_CHROMA), hue + HUES[rank])
    for _ in range(STEPS):
        light += wanted - _lightness(_from_oklch(light, chroma, hue))
    return _from_oklch(light, chroma, hue)


def _apart(first: int) -> list[int]:
    """Give all levels from ink to paper, from one on: each as far as can be from those before it, and from paper."""
    order = [first]
    while len(order) < SHADES:
        order.append(max(range(SHADES), key=lambda level: min(SHADES - level, *(abs(level - own) for own in order))))
    return order


def _lightness(colour: str) -> float:
    """Give how light a colour looks, from 0 to 1: the L of Oklab, as for a grey of the same luminance."""
    red, green, blue = (_linear(part / 255.0) for part in _parts(colour))
    return math.cbrt(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def _mixed(colour: str, other: str, share: float) -> str:
    pairs = zip(_parts(colour), _parts(other), strict=True)
    return _hex(_rounded((1.0 - share) * own + share * its) for own, its in pairs)


def _to_oklch(colour: str) -> Triple:
    red, green, blue = (_linear(part / 255.0) for part in _parts(colour))
    l = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)  # noqa: E741
    m = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    s = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s
    b = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s
    light = 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s
    return light, math.hypot(a, b), math.degrees(math.atan2(b, a))


def _from_oklch(light: float, chroma: float, hue: float) -> str:
    """Give the colour, with as much of its chroma as a screen can show."""
    parts = _linear_parts(light, chroma, hue)
    while chroma > 0.001 and any(part < -1e-4 or part > 1.0001 for part in parts):
        chroma *= 0.94
        parts = _linear_parts(light, chroma, hue)
    return _hex(_rounded(255.0 * _curved(min(max(part, 0.0), 1.0))) for part in parts)


def _linear_parts(light: float, chroma: float, hue: float) -> Triple:
    a, b = math.cos(math.radians(hue)) * chroma, math.sin(math.radians(hue)) * chroma
    l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3  # noqa: E741
    m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3
    return (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    )


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hex(parts: Iterable[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in parts)


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _curved(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1.0 / 2.4) - 0.055
