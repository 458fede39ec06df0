"""Write a trace to a file that a link of a scenario takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.folder import put_file
from anabranch.formats.source import MOST_BYTES
from anabranch.traces.trace import LONGEST_S, Opportunities, Trace

if TYPE_CHECKING:
    import os


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write opportunities as mahimahi has them, or capacities as a table with the header ``time_s,capacity_bps``.

    Raises
    ------
    ScenarioError
        It would be too long or too large to be read again, or the file cannot be written.
    """
    if trace.duration_s > LONGEST_S:
        raise ScenarioError(f"it ends at {trace.duration_s:g} s; give a trace of up to {LONGEST_S:g} s")
    if isinstance(trace, Opportunities):
        text = pl.DataFrame({"ms": trace.times_ms}).write_csv(include_header=False)
        remedy = "give a shorter trace or larger opportunities, or write a table (.csv)"
    else:
        rows = zip(trace.time_s.tolist(), trace.capacity_bps.tolist(), strict=True)
        text = "\n".join(["time_s,capacity_bps", *(f"{time:.12g},{capacity:.12g}" for time, capacity in rows), ""])
        remedy = "give a shorter trace"
    # A byte for each letter.
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{path}: it would hold {len(text)} bytes, and up to {MOST_BYTES} are read; {remedy}")
    put_file(text, Path(path))
