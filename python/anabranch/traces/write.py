"""Write a trace to a file that a link of a scenario takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.folder import put_file
from anabranch.traces.trace import Opportunities, Trace

if TYPE_CHECKING:
    import os


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write opportunities as mahimahi has them, or capacities as a table with the header ``time_s,capacity_bps``.

    Raises
    ------
    ScenarioError
        The file cannot be written.
    """
    if isinstance(trace, Opportunities):
        lines = [str(time) for time in trace.times_ms.tolist()]
    else:
        rows = zip(trace.time_s.tolist(), trace.capacity_bps.tolist(), strict=True)
        lines = ["time_s,capacity_bps", *(f"{time:.12g},{capacity:.12g}" for time, capacity in rows)]
    put_file("\n".join(lines) + "\n", Path(path))
