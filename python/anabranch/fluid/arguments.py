"""Checks of the numbers that a fluid model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


def positive(name: str, values: ArrayLike, *, infinite: bool = False) -> NDArray[np.float64]:
    """Check that numbers are over 0, and finite unless infinity is allowed."""
    must = "over 0" if infinite else "over 0 and finite"
    return _numbers(name, values, lambda v: (v > 0.0) & (infinite | np.isfinite(v)), must)


def not_negative(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Check that numbers are finite, and 0 or more."""
    return _numbers(name, values, lambda v: (v >= 0.0) & np.isfinite(v), "0 or more and finite")


def probability(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Check that numbers are from 0 to 1."""
    return _numbers(name, values, lambda v: (v >= 0.0) & (v <= 1.0), "from 0 to 1")


def base(name: str, value: float) -> float:
    """Check the base of a logarithm."""
    return float(_numbers(name, value, lambda v: (v > 1.0) & np.isfinite(v), "over 1 and finite"))


def count(name: str, value: int, *, least: int = 1) -> int:
    """Check that a number is whole."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value}; it must be a whole number, {least} or more")
    return int(value)


def one_for_each(name: str, values: ArrayLike, length: int, of: str) -> NDArray[np.float64]:
    """Give one number for each of `count` things; a single number counts for all."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (length,)):
        raise ValueError(f"{name} has shape {array.shape}; it must be one number, or one for each of {length} {of}")
    return np.array(np.broadcast_to(array, (length,)))


def _numbers(
    name: str, values: ArrayLike, is_right: Callable[[NDArray[np.float64]], NDArray[np.bool_]], must: str
) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not made of numbers; it must be {must}") from error
    wrong = array[~is_right(array)] if array.size else array
    if wrong.size:
        raise ValueError(f"{name} has {wrong.flat[0]:g}; it must be {must}")
    return array
