"""Lists of mmWave uplink rates [ghoshal2022]: runs of a line each, in Mbit/s with commas between, under their numbers.

The files do not say how long a rate holds; those of the same authors with time stamps have 100 ms.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from anabranch.traces.trace import Capacities, held

if TYPE_CHECKING:
    from anabranch.formats.source import Source

RUN = re.compile(r"Run ([0-9]{1,9})\s*")


def read(source: Source, run: int, step_s: float) -> Capacities:
    """Read the rates of one of the runs, each of which holds for a step."""
    runs: dict[int, list[float]] = {}
    number = None
    for at, line in enumerate(source.text.splitlines(), start=1):
        head = RUN.fullmatch(line.strip())
        if head is not None:
            number = int(head[1])
            if number in runs:
                raise source.line(at).error(f"there is a run {number} already", "give each run a number of its own")
        elif line.strip() and not line.startswith("#"):
            rates = [_number(cell) * 1e6 for cell in line.strip().strip(",").split(",")]
            if number is None or not all(math.isfinite(rate) and rate >= 0.0 for rate in rates):
                raise source.line(at).error("it is not a run of rates", "write `Run 1`, and below it `91.5,90.2`")
            runs.setdefault(number, []).extend(rates)
    if run not in runs:
        known = ", ".join(map(str, runs)) or "none"
        raise source.whole.error(f"there is no run {run}", f"take one of its runs: {known}")
    return held(np.array(runs[run]), step_s)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
