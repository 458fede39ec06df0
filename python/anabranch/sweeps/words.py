"""Columns and expressions as people read them: ``mean_rate_bps / 1e6`` is "mean rate (Mbit/s)"."""

from __future__ import annotations

import re

UNITS = {
    "_bps": {1.0: "bit/s", 1e-3: "kbit/s", 1e-6: "Mbit/s", 1e-9: "Gbit/s"},
    "_bytes": {1.0: "byte", 1e-3: "kB", 1e-6: "MB", 1e-9: "GB"},
    "_s": {1.0: "s", 1e3: "ms", 1e6: "µs"},
    "_packets": {1.0: "packets"},
    "": {1.0: "", 1e2: "%"},
}
"""Units by the end of a column's name, and by the factor that it is multiplied with."""

JOINED = {
    "sum": "sum of",
    "median": "median of",
    "least": "least",
    "most": "greatest",
    "jain": "Jain's index of",
    "count": "number of values of",
    "first": "first",
    "last": "last",
}

UNITLESS = ("jain", "count")

NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
SCALED = re.compile(rf'(?:({NUMBER})\s*\*\s*)?(?:"([^"]+)"|([A-Za-z_]\w*))(?:\s*([*/])\s*({NUMBER}))?')
"""A column, in quotes or not, by a number."""


def words_for(expression: str, join: str = "mean") -> str:
    """Give an expression in words with its unit; as it stands if it is more than a column times a number."""
    found = SCALED.fullmatch(expression.strip())
    if found is None:
        return expression
    before, quoted, plain, sign, after = found.groups()
    factor = float(before or 1.0)
    if after is not None and (number := float(after)) > 0.0:
        factor = factor * number if sign == "*" else factor / number
    column = quoted or plain
    ending = next(end for end in UNITS if column.endswith(end) and column != end)
    unit = next((unit for known, unit in UNITS[ending].items() if abs(factor / known - 1.0) < 1e-9), None)
    if unit is None:
        return expression
    words = f"{JOINED.get(join, '')} {column.removesuffix(ending).replace('_', ' ')}".strip()
    return f"{words} ({unit})" if unit and join not in UNITLESS else words
