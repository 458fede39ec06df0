"""One unit for a column of numbers: chosen for all of them, with three significant digits, points below each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Units = tuple[tuple[float, str], ...]
"""The units of a quantity, the largest first: what each is in the base unit, and its name."""

RATES: Units = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
TIMES: Units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SIZES: Units = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))

DIGITS = 3
"""The significant digits of a number."""

TOO_SMALL = 1e-2
"""A unit is too large for a column if the median is smaller than this part of it."""

SMALLEST = 1e-3
"""Numbers below this have an exponent: 1.4e-8."""


def unit_of(values: Sequence[float | None], units: Units) -> tuple[float, str]:
    """Choose one unit for all values: that of the largest, or a smaller one where that hides most of them."""
    sizes = sorted(abs(value) for value in values if value and math.isfinite(value))
    if not sizes:
        return (1.0, "") if all(value is None for value in values) else next(u for u in units if u[0] == 1.0)
    # The unit is that of the rounded number: 999.9 Mbit/s are 1 Gbit/s.
    largest, median = float(f"{sizes[-1]:.{DIGITS}g}"), sizes[len(sizes) // 2]
    fitting = [unit for unit in units if unit[0] <= largest] or [units[-1]]
    return next((unit for unit in fitting if median >= TOO_SMALL * unit[0]), fitting[-1])


def aligned(values: Sequence[float | None], scale: float, digits: int = DIGITS) -> list[str]:
    """Write values by a unit to some significant digits, padded so that their points are below each other.

    Whole numbers have no point if all are whole; None is an empty cell.
    """
    scaled = [None if value is None else value / scale for value in values]
    are_whole = all(value is None or _is_whole(value) for value in scaled)
    return padded(["" if value is None else _text(value, digits, is_whole=are_whole) for value in scaled])


def padded(texts: Sequence[str]) -> list[str]:
    """Pad numbers on the right so that their points are below each other."""
    most = max((_decimals(text) for text in texts), default=0)
    return [text + " " * (most - _decimals(text)) if text else text for text in texts]


def _is_whole(value: float) -> bool:
    return not math.isfinite(value) or abs(value - round(value)) <= 1e-9 * abs(value)


def _text(value: float, digits: int, *, is_whole: bool) -> str:
    if math.isinf(value):
        return "unlimited"
    if is_whole or value == 0.0 or abs(value) >= 10**digits:
        return f"{value:.0f}"
    if abs(value) < SMALLEST:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    # Rounded first, so that 9.999 has as many digits as 10.0.
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.{max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)}f}"


def _decimals(text: str) -> int:
    """Count the characters from the point on."""
    return len(text) - text.index(".") if "." in text else 0
