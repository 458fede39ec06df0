"""Approximate max-min fair rates: what traffic engineers use where exact ones take too long.

Here are the names of the methods and what can be chosen; `anabranch.solvers.approximate.methods` does the work.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypedDict

OPTIONS: dict[str, tuple[str, ...]] = {
    "swan": ("ratio", "first_level"),
    "geometric-binner": ("ratio", "first_level", "last_worth"),
    "equi-depth-binner": ("bins", "iterations", "last_worth"),
    "adaptive-water-filler": ("iterations",),
    "approximate-water-filler": (),
    "water-filling": (),
}
"""The methods, and the options that each takes."""


class Options(TypedDict, total=False):
    """What can be chosen of an approximation; what is missing or None takes its default."""

    ratio: float | None
    first_level: float | str | None
    bins: int | None
    iterations: int | None
    last_worth: float | None


def check_options(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Give the options that are not None.

    Raises
    ------
    TypeError
        An option that is none, or of a wrong type.
    ValueError
        An option that the method does not take, or out of its range.
    """
    unknown = [name for name in options if name not in Options.__annotations__]
    if unknown:
        raise TypeError(f"solve() got an unexpected keyword argument '{unknown[0]}'")
    given = {name: value for name, value in options.items() if value is not None}
    takes = OPTIONS.get(method, ())
    for name, value in given.items():
        if name not in takes:
            takers = ", ".join(other for other, names in OPTIONS.items() if name in names)
            raise ValueError(f"{name} was given, and {method} takes none; leave it out, or take {takers}")
        if name in {"bins", "iterations"}:
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise TypeError(f"{name} is {value!r}; it must be a whole number")
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be 1 or more")
        elif name != "first_level" and not isinstance(value, Real):
            raise TypeError(f"{name} is {value!r}; it must be a number")
    ratio, last_worth = given.get("ratio", 2.0), given.get("last_worth", 1.0)
    if not 1.0 < ratio < math.inf:
        raise ValueError(f"ratio is {ratio}; it must be over 1 and finite")
    if not 0.0 < last_worth <= 1.0:
        raise ValueError(f"last_worth is {last_worth}; it must be over 0 and at most 1")
    return given
