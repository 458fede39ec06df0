"""The numbers measured on a simulated run of a published experiment.

A rate has **settled** once it stays within 1 % of an aim until connections come or go the next time. The aim is the
rate that the protocol itself has just before that, and then it must have stayed there for 0.1 s and a tenth of the time
from one such instant to the next (`anabranch.runs.settling`); where a measure says so, it is the fair rate. (Upward
max-min fair rates are not unique: a protocol may be right and yet not at the rates of the solver.) Times to settle are
of those joins and leaves after which rates settled; the others are counted apart. An instant that is followed by the
next within 0.1 s is too short to tell. A rate **turns** where it goes down after it went up, or up after it went down,
by more than 1 % of the connection's rate each time; the step up to the first rate that is granted does not count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.runs.step_function import longest_still

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.reproduce.execute.simulated import Simulated

    Window = tuple[float, float]

TOLERANCE = 0.01
"""Rates closer than this, relative to one of them, count as the same."""

HOLD_S = 0.1
"""How long rates must stay where they end to have settled; see `Result.settling`."""

SLOW_S = 0.5
"""From here on the settling after a leave is slow: the paper's half a second."""

LAST_S = 3.0
"""The last seconds of a connection, as in the paper's figure 14."""

EVER = (0.0, math.inf)
"""A window that leaves nothing out."""

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


def turns(run: Simulated, name: str, rank: int | None, window_s: Window = EVER) -> int:
    """Count the turns of a connection, or of a subflow of it, in a window and before the first connection left."""
    return len(_turns(run, name, rank, run.first_leave_s, window_s))


def turning(run: Simulated, window_s: Window = EVER) -> float:
    """Count the subflows that turn."""
    return float(sum(count > 0 for count in _turns_of_subflows(run, window_s)))


def most_turns(run: Simulated, window_s: Window = EVER) -> float:
    """Count the turns of the subflow that turns most."""
    return float(max(_turns_of_subflows(run, window_s)))


# Of the run: how errors are spread.

BEARERS = {"sources": "connection", "bottlenecks": "link"}
"""Whose errors can be measured, and what they are called in tables."""

OF_SPREAD: dict[str, pl.Expr] = {
    "mean-error": pl.col("mean").mean(),
    "highest-mean-error": pl.col("mean").max(),
    "lowest-mean-error": pl.col("mean").min(),
    "p10-error": pl.col("p10").mean(),
    "p90-error": pl.col("p90").mean(),
    "lowest-p10-error": pl.col("p10").min(),
    "highest-p90-error": pl.col("p90").max(),
    "band": (pl.col("p90") - pl.col("p10")).mean(),
}
"""Over the samples of a window: of the mean error at each, and of its 10th and 90th percentiles."""


def error_of(run: Simulated, name: str, subject: str, window_s: Window = EVER) -> float:
    """Give one of `OF_SPREAD` of the errors of sources or bottlenecks.

    Raises
    ------
    ScenarioError
        Of something else; errors were not recorded; there are no samples in the window.
    """
    if subject not in BEARERS:
        raise ScenarioError(f"`{subject}` has no errors; name one of {', '.join(BEARERS)}")
    frame = run.result.errors(of=BEARERS[subject]).filter(pl.col("time_s").is_between(*window_s))
    if not len(frame):
        raise ScenarioError("there are no errors at samples in the window; make it longer")
    return float(frame.select(OF_SPREAD[name]).item())


# Of the run: queues.


def longest_queue(run: Simulated, window_s: Window = EVER) -> float:
    """Give the most packets that waited at a link in a window."""
    rows = run.samples("run").filter(pl.col("time_s").is_between(*window_s))
    return float(rows["peak_packets"].to_numpy().max(initial=0))


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


def _settling(run: Simulated, event: str, aim: str = "final") -> pl.DataFrame:
    """Give a row for each join or leave with connections left: ``settling_s``, null if none, and ``span_s``."""
    found = run.result.settling(TOLERANCE, of=aim, hold_s=HOLD_S).filter((pl.col(event) > 0) & (pl.col("present") > 0))
    return found.select("settling_s", (pl.col("until_s") - pl.col("time_s")).alias("span_s"))


def _join_settling(run: Simulated, aim: str = "final") -> float:
    """Give how long it took after the join after which it took longest; infinite if after one they did not settle.

    Joins that are followed by another within 0.1 s are one with it.
    """
    times = _settling(run, "joined", aim).filter(pl.col("span_s") >= HOLD_S)["settling_s"]
    return math.inf if times.null_count() else float(times.to_numpy().max(initial=0.0))


def _join_span(run: Simulated) -> float:
    """Give the longest time from a join until connections come or go the next time."""
    return float(_settling(run, "joined")["span_s"].to_numpy().max())


def _settled_leaves(run: Simulated) -> list[float]:
    """Give how long it took after each leave after which rates settled."""
    found: list[float] = _settling(run, "left")["settling_s"].drop_nulls().to_list()
    return found


def _unsettled_leaves(run: Simulated) -> list[float]:
    """Give how long there was after each leave after which rates did not settle, though one could tell."""
    rows = _settling(run, "left").filter(pl.col("settling_s").is_null(), pl.col("span_s") >= HOLD_S)
    found: list[float] = rows["span_s"].to_list()
    return found


def _slow_leaves(run: Simulated) -> float:
    """Count the leaves after which rates had not settled by half a second."""
    return float(sum(time >= SLOW_S for time in [*_settled_leaves(run), *_unsettled_leaves(run)]))


def _short_leaves(run: Simulated) -> float:
    return float((_settling(run, "left")["span_s"] < HOLD_S).sum())


def _unsettled(run: Simulated) -> float:
    """Count the connections whose rate changed by more than 1 % just before they left."""
    count = 0
    for name, row in run.connections.items():
        last = run.rates[name].within(row["end_s"] - JUST_BEFORE_S, row["end_s"]).value
        count += row["stopped_s"] is not None and bool(np.ptp(last) > TOLERANCE * last[-1])
    return float(count)


# Of the run: transfers.


def _completions(run: Simulated) -> pl.Series:
    """Give how long each connection took that sent its whole amount."""
    return run.result.connections["completion_s"].drop_nulls()


def _mean_completion(run: Simulated) -> float:
    times = _completions(run).to_numpy()
    return float(times.mean()) if len(times) else math.inf


# Of the run: other.


def _turns_of_subflows(run: Simulated, window_s: Window) -> list[int]:
    """Count the turns of each subflow before the first connection left."""
    subflows = run.result.subflows.select("connection", "rank").iter_rows()
    return [turns(run, connection, rank, window_s) for connection, rank in subflows]


def _last_turn(run: Simulated) -> float:
    return max(_turning_time(run, name) for name in run.connections)


def _peak_overload(run: Simulated) -> float:
    return float(run.samples("run")["overload"].to_numpy().max())


OF_RUN: dict[str, Callable[[Simulated], float]] = {
    "largest-queue": _largest_queue,
    "mean-completion": _mean_completion,
    "completed": lambda run: float(len(_completions(run))),
    "queue-alone": _queue_alone,
    "queue-per-subflow": _queue_per_subflow,
    "subflows-per-link": _subflows_per_link,
    "join-settling": _join_settling,
    "fair-join-settling": lambda run: _join_settling(run, "fair"),
    "join-span": _join_span,
    "leave-settling": lambda run: max(_settled_leaves(run), default=math.inf),
    "leave-settling-median": lambda run: float(np.median(_settled_leaves(run) or [math.inf])),
    "leaves": lambda run: float(len(_settling(run, "left"))),
    "settled-leaves": lambda run: float(len(_settled_leaves(run))),
    "unsettled-leaves": lambda run: float(len(_unsettled_leaves(run))),
    "unsettled-span": lambda run: max(_unsettled_leaves(run), default=0.0),
    "slow-leaves": _slow_leaves,
    "short-leaves": _short_leaves,
    "unsettled": _unsettled,
    "last-turn": _last_turn,
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


def _turns(run: Simulated, name: str, rank: int | None, end_s: float, window_s: Window = EVER) -> list[float]:
    """Give the times at which a connection, or a subflow of it, turned in a window and before a time.

    What comes after the window has no part in it: a turn counts if the way back is within the window, too.
    """
    whole = run.rates[name]
    end = min(end_s, window_s[1], run.connections[name]["end_s"])
    own = whole if rank is None else run.subflows_of(name)[rank - 1]
    return [time for time in own.until(end).turns(TOLERANCE * whole.before(end)) if time >= window_s[0]]
