"""Numbers as words: with as few digits as tell them apart; sizes with their unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST = 3
MOST = 16
"""Significant digits that are tried; what these do not tell apart is written in full."""

PLAIN = 12
"""Digits of a number that is written without exponent."""

SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def told_apart(numbers: Sequence[float]) -> list[str]:
    """Write numbers with as few significant digits, from three on, as tell them apart; whole ones as they are."""
    count = len(set(numbers))
    for digits in range(FEWEST, MOST + 1):
        words = [_word(number, digits) for number in numbers]
        if len(set(words)) == count:
            return words
    return [repr(float(number)) for number in numbers]


def bytes_text(count: int) -> str:
    """Give a size to three digits, with a unit: ``12.3 MB``."""
    rounded = float(f"{count:.3g}")
    scale, unit = next((size for size in SIZES if rounded >= size[0]), (1.0, "bytes"))
    return f"{count} bytes" if scale == 1.0 else f"{rounded / scale:.3g} {unit}"


def _word(number: float, digits: int) -> str:
    rounded = number if float(number).is_integer() else float(f"{number:.{digits}g}")
    return f"{rounded:.{max(digits, PLAIN)}g}"
