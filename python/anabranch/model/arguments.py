"""What generators take: whole numbers, rates and times."""

from __future__ import annotations

import operator

Rate = float | str
Time = float | str

MOST = 2**64 - 1
"""The greatest count and seed that the core takes."""


def whole(name: str, value: int) -> int:
    """Take a count or a seed: an integer, 0 or more."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise ValueError(f"{name} is {value!r}; it must be a whole number") from error
    if isinstance(value, bool) or not 0 <= number <= MOST:
        raise ValueError(f"{name} is {value!r}; it must be a whole number from 0 to 2**64 - 1")
    return number
