"""Read a trace or a recording in any of the formats; its first line tells which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.source import excerpt, load
from anabranch.traces import irish_5g, lumos5g, uplink_runs
from anabranch.traces.irish_5g import Cleaning
from anabranch.traces.trace import Capacities, Opportunities, Trace

if TYPE_CHECKING:
    import os

    from anabranch.formats.source import Source

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
TWO_NUMBERS = re.compile(rf"{NUMBER}[ \t]+{NUMBER}")


def read_trace(
    path: str | os.PathLike[str], *, cleaning: Cleaning | None = None, run: int = 1, step_s: float = 0.1
) -> Trace:
    """Read what a link may send over time.

    Parameters
    ----------
    path : path
        Opportunities as mahimahi has them, a table ``time_s,capacity_bps``, or a recording.
    cleaning : Cleaning, optional
        What is left out of a recording of the Irish 5G data set.
    run, step_s
        Which run of a list of uplink rates, and how long each of them holds.

    Raises
    ------
    ScenarioError
        The first mistake, with file, line, reason and remedy.
    """
    source = load(path, "a trace")
    kind = format_of(source)
    if kind == "5Gdataset":
        return irish_5g.read(source, cleaning or Cleaning())
    if kind == "Lumos5G":
        return lumos5g.read(source)
    if kind == "uplink runs":
        return uplink_runs.read(source, run, step_s)
    return _trace(source)


def format_of(source: Source) -> str:
    """Tell the format by the first line."""
    first = next(line.strip() for line in source.text.splitlines() if line.strip())
    if first.startswith("Timestamp,"):
        return "5Gdataset"
    if first.startswith("####") or uplink_runs.RUN.fullmatch(first):
        return "uplink runs"
    if TWO_NUMBERS.fullmatch(first):
        return "Lumos5G"
    return "capacities" if first.startswith("time_s") else "mahimahi"


def _trace(source: Source) -> Trace:
    """Read what a link of a scenario takes, as it reads it."""
    try:
        times_ms, time_s, capacity_bps = _core.read_trace(source.text)
    except ValueError as error:
        # The line may be a whole file.
        reason = re.sub(r"`([^`]{61,})` is not", lambda found: f"`{excerpt(found[1])}` is not", str(error))
        raise ScenarioError(f"{source.path}, {reason}") from error
    if times_ms is not None:
        return Opportunities(times_ms)
    if len(time_s) == 0:
        raise source.whole.error("there is no capacity in it", "add lines such as `1.5,10e6`")
    return Capacities(time_s, capacity_bps)
