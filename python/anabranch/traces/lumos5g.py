"""Recordings of Lumos5G [narayanan2020]: in each line a time in seconds and a rate in Mbit/s, with blanks between."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anabranch.traces.trace import LONGEST_S, Capacities

if TYPE_CHECKING:
    from anabranch.formats.source import Source


def read(source: Source) -> Capacities:
    """Read the rates of a recording; each holds until the next time, and the last as long as that before it."""
    times: list[float] = []
    rates: list[float] = []
    for number, line in enumerate(source.text.splitlines(), start=1):
        if not line.strip():
            continue
        time, rate = _numbers(line)
        if not (math.isfinite(time) and math.isfinite(rate * 1e6) and rate >= 0.0):
            raise source.line(number).error("it is not a time and a rate", "write it like `1.0 91.0`")
        if times and time <= times[-1]:
            raise source.line(number).error("the time is not later than that of the line before", "sort them")
        if times and not 2.0 * (time - times[0]) <= LONGEST_S:
            reason = f"the time is {time - times[0]:g} s after that of the first line"
            raise source.line(number).error(reason, f"give up to {LONGEST_S / 2.0:g} s")
        times.append(time)
        rates.append(rate * 1e6)
    step = times[-1] - times[-2] if len(times) > 1 else 1.0
    since = np.array(times) - times[0]
    return Capacities(np.append(since, since[-1] + step), np.array([*rates, rates[-1]]))


def _numbers(line: str) -> tuple[float, float]:
    """Give the two numbers of a line, or twice no number."""
    try:
        time, rate = map(float, line.split())
    except ValueError:
        return math.nan, math.nan
    return time, rate
