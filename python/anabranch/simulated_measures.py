"""The numbers measured on a simulated run of a published experiment.

A rate has **settled** once it stays within 1 % of an aim until connections come or go the next time. The aim is the
rate that the protocol itself has just before that; where a measure says so, the fair rate. (Upward max-min fair rates
are not unique: a protocol may be right and yet not at the rates of the solver.) A rate **turns** where it goes down
after it went up, or up after it went down, by more than 1 % of the connection's rate each time; the step up to the
first rate that is granted does not count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.step_function import longest_still

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.simulated import Simulated

TOLERANCE = 0.01
"""Rates closer than this, relative to one of them, count as the same."""

SLOW_S = 0.5
"""From here on the settling after a leave is slow: the paper's half a second."""

LAST_S = 3.0
"""The last seconds of a connection, as in the paper's figure 14."""

JUST_BEFORE_S = 0.1
"""A connection whose rate changes so shortly before it leaves has not settled."""


def agreeing(ours: Simulated, theirs: Simulated) -> int:
    """Count the connections with the same rate in two runs, in each just before the first connection left.

    Raises
    ------
    ScenarioError
        The two do not have the same connections.
    """
    if list(ours.connections) != list(theirs.connections):
        raise ScenarioError("two runs do not have the same connections; compare runs of one scenario")
    end, their_end = ours.first_leave_s, theirs.first_leave_s
    pairs = ((ours.rates[c].before(end), theirs.rates[c].before(their_end)) for c in ours.connections)
    return sum(abs(own - other) <= TOLERANCE * other for own, other in pairs)


def turns(run: Simulated, name: str, rank: int | None) -> int:
    """Count the turns of a connection, or of a subflow of it, before the first connection left."""
    return len(_turns(run, name, rank, run.first_leave_s))


# Of the run: queues.


def _largest_queue(run: Simulated) -> float:
    return float(run.result.links["most_packets"].to_numpy().max())


def _queue_alone(run: Simulated) -> float:
    """Give the longest queue between samples at which a single connection was there."""
    alone = run.samples("run").filter(pl.col("present") == 1).select("time_s")
    return float(run.samples("link").join(alone, on="time_s", how="semi")["peak_packets"].to_numpy().max(initial=0))


def _queue_per_subflow(run: Simulated) -> float:
    """Give the longest queue of a link by the subflows on it, at the link where that is most."""
    queues = run.result.links["most_packets"].to_numpy()
    subflows = np.bincount(run.paths.path_links, minlength=len(queues))
    return float((queues[subflows > 0] / subflows[subflows > 0]).max())


def _subflows_per_link(run: Simulated) -> float:
    return float(np.bincount(run.paths.path_links).max())


# Of the run: how soon rates settle.


def _settling(run: Simulated, event: str, aim: str = "final") -> list[float]:
    """Give how long it took after each join or leave with connections left; all the time, if they did not settle."""
    spans = run.result.settling(TOLERANCE, of=aim).filter((pl.col(event) > 0) & (pl.col("present") > 0))
    times = spans.select(pl.col("settling_s").fill_null(pl.col("until_s") - pl.col("time_s")))
    found: list[float] = times.to_series().to_list()
    return found


def _slow_leaves(run: Simulated) -> float:
    return float(sum(time >= SLOW_S for time in _settling(run, "left")))


def _unsettled(run: Simulated) -> float:
    """Count the connections whose rate changed by more than 1 % just before they left."""
    count = 0
    for name, row in run.connections.items():
        last = run.rates[name].within(row["end_s"] - JUST_BEFORE_S, row["end_s"]).value
        count += row["stopped_s"] is not None and bool(np.ptp(last) > TOLERANCE * last[-1])
    return float(count)


# Of the run: other.


def _turns_of_subflows(run: Simulated) -> list[int]:
    """Count the turns of each subflow before the first connection left."""
    subflows = run.result.subflows.select("connection", "rank").iter_rows()
    return [turns(run, connection, rank) for connection, rank in subflows]


def _peak_overload(run: Simulated) -> float:
    return float(run.samples("run")["overload"].to_numpy().max())


OF_RUN: dict[str, Callable[[Simulated], float]] = {
    "largest-queue": _largest_queue,
    "queue-alone": _queue_alone,
    "queue-per-subflow": _queue_per_subflow,
    "subflows-per-link": _subflows_per_link,
    "join-settling": lambda run: max(_settling(run, "joined")),
    "fair-join-settling": lambda run: max(_settling(run, "joined", "fair")),
    "leave-settling": lambda run: max(_settling(run, "left"), default=0.0),
    "leave-settling-median": lambda run: float(np.median(_settling(run, "left") or [0.0])),
    "leaves": lambda run: float(len(_settling(run, "left"))),
    "slow-leaves": _slow_leaves,
    "unsettled": _unsettled,
    "turning": lambda run: float(sum(count > 0 for count in _turns_of_subflows(run))),
    "most-turns": lambda run: float(max(_turns_of_subflows(run))),
    "peak-overload": _peak_overload,
    "events": lambda run: float(run.result.meta["events"]),
    "wall": lambda run: float(run.result.meta["wall_s"]),
}


# Of a connection.


def _sent(run: Simulated, name: str) -> float:
    row = run.connections[name]
    return math.inf if row["stopped_s"] is None else float(row["stopped_s"] - row["start_s"])


def _completion(run: Simulated, name: str) -> float:
    time = run.connections[name]["completion_s"]
    return math.inf if time is None else float(time)


def _turning_time(run: Simulated, name: str) -> float:
    """Give the time from the start to the last turn before the first connection left; 0 if there is none."""
    found = _turns(run, name, None, run.first_leave_s)
    return found[-1] - float(run.connections[name]["start_s"]) if found else 0.0


def _steady(run: Simulated, name: str) -> float:
    """Give the longest time for which no subflow moved by more than 1 % of the connection's rate."""
    row = run.connections[name]
    threshold = TOLERANCE * run.rates[name].before(row["end_s"])
    return longest_still(run.subflows_of(name), row["start_s"], row["end_s"], threshold)


def _off_fair(run: Simulated, name: str) -> float:
    """Give how much of its last 3 s the rate was more than 1 % from fair, to the time between samples."""
    end = run.connections[name]["end_s"]
    rows = run.samples("connection").filter(pl.col("name") == name, pl.col("time_s").is_between(end - LAST_S, end))
    is_off = (rows["granted_bps"] - rows["fair_bps"]).abs() > TOLERANCE * rows["fair_bps"]
    return float(is_off.sum()) * float(run.result.meta["sample_s"])


def _late_turns(run: Simulated, name: str) -> float:
    end = run.connections[name]["end_s"]
    return float(sum(turn >= end - LAST_S for turn in _turns(run, name, None, end)))


OF_CONNECTION: dict[str, Callable[[Simulated, str], float]] = {
    "sent": _sent,
    "completion": _completion,
    "turning-time": _turning_time,
    "steady": _steady,
    "off-fair": _off_fair,
    "late-turns": _late_turns,
}


def _turns(run: Simulated, name: str, rank: int | None, end_s: float) -> list[float]:
    """Give the times at which a connection, or a subflow of it, turned before a time."""
    whole = run.rates[name]
    end = min(end_s, run.connections[name]["end_s"])
    own = whole if rank is None else run.subflows_of(name)[rank - 1]
    return own.until(end).turns(TOLERANCE * whole.before(end))
