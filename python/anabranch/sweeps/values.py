"""The values that something in a scenario takes: listed, in a range, or drawn; and what they are as numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WHOLE_RANGE = re.compile(r"\s*(-?\d{1,19})\s*\.\.\s*(-?\d{1,19})\s*")
"""Whole numbers, both ends included: ``1..30``."""

QUANTITY = re.compile(r"([-+0-9.]+(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)
"""A number and its unit, if it has one, without blanks around them; whatever follows a number is matched at once."""

DIGITS = 12
"""Significant digits of numbers in ranges and draws, so that 0.3 is not written 0.30000000000000004."""

MOST_VALUES = 1_000_000
"""No range is longer."""

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

UNITS: dict[str, Callable[[str], float]] = {
    "_s": _core.parse_span,
    "_bps": _core.parse_rate,
    "_bytes": _core.parse_bytes,
}
"""How quantities of each kind are read, by what the names of their columns end with."""


def toml(value: object) -> str:
    """Write a value as TOML does.

    Raises
    ------
    ValueError
        Dates and times, which no scenario has.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        inner = (f"{key if BARE_KEY.fullmatch(key) else toml(key)} = {toml(own)}" for key, own in value.items())
        return f"{{ {', '.join(inner)} }}"
    raise ValueError(f"`{value}` is nothing that a scenario has; write a number, text, a list or a table")


def listed(given: object) -> list[Any]:
    """Give the values of a list, or of a range: ``"1..30"`` or a table with ``first`` and ``last``.

    Raises
    ------
    ValueError
        It is neither, or has no value.
    """
    if isinstance(given, list):
        if not given:
            raise ValueError("the list is empty; name at least one value")
        return given
    if isinstance(given, str):
        return _whole_range(given)
    if is_range(given):
        return _range(given)
    raise ValueError(f'{toml(given)} is one value; give a list, a range such as "1..30", or one with first and last')


def is_range(given: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether this is a table that gives a range."""
    return isinstance(given, Mapping) and bool({"first", "last"} & set(given))


def _whole_range(text: str) -> list[int]:
    found = WHOLE_RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is no range; write it like "1..30", or give a list of values')
    first, last = int(found[1]), int(found[2])
    if first > last or last - first >= MOST_VALUES:
        raise ValueError(f'"{text}" must rise, over at most {MOST_VALUES:,} numbers')
    return list(range(first, last + 1))


def _range(given: Mapping[str, Any]) -> list[Any]:
    unknown = set(given) - {"first", "last", "step", "count", "spacing"}
    if unknown:
        near = _core.nearest_name(min(unknown), ["step", "count", "spacing"])
        hint = f" (did you mean `{near}`?)" if near else ""
        raise ValueError(f"a range has no `{min(unknown)}`{hint}; it has first, last, and step or count, and spacing")
    missing = {"first", "last"} - set(given)
    if missing:
        raise ValueError(f"a range needs `first` and `last`; add `{missing.pop()}`")
    first, last, write = _ends(given["first"], given["last"])
    spacing = given.get("spacing", "even")
    if spacing not in ("even", "log"):
        raise ValueError(f'spacing is {toml(spacing)}; it must be "even" or "log"')
    if ("step" in given) == ("count" in given):
        if "step" in given:
            raise ValueError("a range has step or count, not both; leave one out")
        raise ValueError("a range needs `step` or `count`; add one of them")
    if "step" in given:
        if spacing == "log":
            raise ValueError('with spacing = "log" give `count` and no `step`')
        return [write(value) for value in _steps(first, last, given["first"], given["step"])]
    count = given["count"]
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST_VALUES:
        raise ValueError(f"count is {toml(count)}; it must be a whole number from 2 on, up to {MOST_VALUES:,}")
    if spacing == "log":
        _check_positive(first, last)
        return [write(float(value)) for value in np.geomspace(first, last, count)]
    return [write(float(value)) for value in np.linspace(first, last, count)]


def _steps(first: float, last: float, like: object, step: object) -> list[float]:
    _, by, _ = _ends(like, step)
    if not by > 0.0 or last < first:
        raise ValueError("a range with a step goes up: step must be over 0, and last no less than first")
    share = (last - first) / by
    if not share < MOST_VALUES:
        raise ValueError(f"the range has {share:.3g} values; at most {MOST_VALUES:,} will do")
    count = math.floor(share * (1.0 + 1e-12) + 1e-9) + 1
    return [first + by * n for n in range(count)]


def _check_positive(first: float, last: float) -> None:
    if not (first > 0.0 and last > 0.0):
        raise ValueError('with spacing = "log" both ends must be over 0')


def _ends(first: object, last: object) -> tuple[float, float, Callable[[float], Any]]:
    """Give two ends as numbers, and how numbers between are written: whole, or with the unit of the first."""
    low, unit, is_whole = _number(first)
    high, other, is_whole_too = _number(last)
    if unit == other:
        return low, high, _writer(unit, is_whole=is_whole and is_whole_too)
    for parse in UNITS.values():
        try:
            one, another = parse(f"1 {unit}"), parse(f"1 {other}")
        except ValueError:
            continue
        return low, high * another / one, _writer(unit, is_whole=False)
    raise ValueError(f"{toml(first)} and {toml(last)} are not of one kind; give both as numbers, or with units")


def _number(given: object) -> tuple[float, str, bool]:
    """Give a number, its unit, and whether it is written as a whole one."""
    if isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given):
        return float(given), "", isinstance(given, int)
    found = QUANTITY.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is not None and found[2]:
        try:
            return float(found[1]), found[2], False
        except ValueError:
            pass
    raise ValueError(f'{toml(given)} is no number; write 5, or "5 ms"')


def _writer(unit: str, *, is_whole: bool) -> Callable[[float], Any]:
    def write(value: float) -> Any:
        rounded = float(f"{value:.{DIGITS}g}")
        if unit:
            return f"{rounded:.{DIGITS}g} {unit}"
        return int(rounded) if is_whole and rounded.is_integer() else rounded

    return write


def drawn(given: object, shares: Sequence[float]) -> list[Any]:
    """Give the values at these shares, each from 0 to 1, of a distribution.

    ``{ between = ["1 ms", "50 ms"] }``, evenly or with ``spacing = "log"``, whole numbers between whole numbers;
    ``{ among = ["lia", "olia"] }``.

    Raises
    ------
    ValueError
        It is no distribution.
    """
    if not isinstance(given, Mapping) or len(set(given) & {"between", "among"}) != 1:
        raise ValueError('say from what to draw: { between = ["1 ms", "50 ms"] } or { among = ["lia", "olia"] }')
    if "among" in given:
        choices = given["among"]
        if set(given) != {"among"} or not isinstance(choices, list) or not choices:
            raise ValueError("`among` is a list of values, with nothing beside it")
        return [choices[min(int(share * len(choices)), len(choices) - 1)] for share in shares]
    ends, spacing = given["between"], given.get("spacing", "even")
    if set(given) - {"between", "spacing"} or not isinstance(ends, list) or len(ends) != 2:
        raise ValueError('`between` has two ends, with nothing beside it but spacing = "even" or "log"')
    if spacing not in ("even", "log"):
        raise ValueError(f'spacing is {toml(spacing)}; it must be "even" or "log"')
    low, high, write = _ends(ends[0], ends[1])
    if low > high:
        raise ValueError(f"{toml(ends[0])} is over {toml(ends[1])}; the first end is the lesser one")
    if spacing == "log":
        _check_positive(low, high)
        return [write(low * (high / low) ** share) for share in shares]
    if all(isinstance(end, int) for end in ends):
        return [min(int(low) + int(share * (high - low + 1.0)), int(high)) for share in shares]
    return [write(low + (high - low) * share) for share in shares]


@dataclass(frozen=True)
class Column:
    """Values as a column of tables: numbers in the unit that the name ends with, or text."""

    name: str
    values: list[float] | list[int] | list[str]


def column(name: str, values: Sequence[Any]) -> Column:
    """Make a column of values. Quantities of one kind become numbers in bit/s, seconds or bytes; numbers stay."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return Column(name, list(values))
    if all(isinstance(value, str) for value in values):
        for suffix, parse in UNITS.items():
            try:
                numbers = [parse(value) for value in values]
            except ValueError:
                continue
            return Column(name if name.endswith(suffix) else name + suffix, [float(number) for number in numbers])
        return Column(name, list(values))
    return Column(name, [value if isinstance(value, str) else toml(value) for value in values])
