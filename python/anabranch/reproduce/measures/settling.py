"""Measures of how soon rates settle after connections join and leave.

A rate has **settled** once it stays within 1 % of an aim until connections come or go the next time. The aim is the
rate that the protocol itself has just before that, and then it must have stayed there for 0.1 s and a tenth of the time
from one such instant to the next (`anabranch.runs.settling`); where a measure says so, it is the fair rate. (Upward
max-min fair rates are not unique: a protocol may be right and yet not at the rates of the solver.) Times to settle are
of the joins and leaves after which rates settled; the others are counted apart. An instant that is followed by the next
within 0.1 s is too short to tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.registry import measure
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from anabranch.reproduce.outcomes.kinds import Simulated

TOLERANCE = 0.01
"""The relative distance from its aim at which a rate has settled."""

HOLD_S = 0.1
"""The time for which rates must stay near their final values to have settled, as for `Result.settling`."""

SLOW_S = 0.5
"""The time from which on the settling after a leave is slow: the paper's half a second."""

JUST_BEFORE_S = 0.1
"""A connection whose rate changes this shortly before it leaves has not settled."""


@measure("join-settling", unit="s", runs=SIMULATED)
def join_settling(run: Simulated) -> float:
    """Give the longest time after a join until all rates stay within 1 % of their final values; "never" if they do not.

    Final values are those that the protocol itself has when connections come or go the next time. Rates must stay there
    for 0.1 s and a tenth of the time between the two. A join that is followed by another within 0.1 s is one with it.
    """
    return _join_settling(run, "final")


@measure("fair-join-settling", unit="s", runs=SIMULATED)
def fair_join_settling(run: Simulated) -> float:
    """Give the longest time after a join until all rates stay within 1 % of the fair rates, for however long."""
    return _join_settling(run, "fair")


def _join_settling(run: Simulated, aim: str) -> float:
    times = _settling(run, "joined", aim).filter(pl.col("span_s") >= HOLD_S)["settling_s"]
    return math.inf if times.null_count() else float(times.to_numpy().max(initial=0.0))


@measure("join-span", unit="s", runs=SIMULATED)
def join_span(run: Simulated) -> float:
    """Give the longest time from a join until connections come or go the next time."""
    return float(_settling(run, "joined")["span_s"].to_numpy().max())


@measure("leave-settling", unit="s", runs=SIMULATED)
def leave_settling(run: Simulated) -> float:
    """Give the longest time after a leave until rates settled, of those after which they did; "never" if none."""
    return max(_settled_leaves(run), default=math.inf)


@measure("leave-settling-median", unit="s", runs=SIMULATED)
def leave_settling_median(run: Simulated) -> float:
    """Give the median time after a leave until rates settled, of those after which they did; "never" if none."""
    return float(np.median(_settled_leaves(run) or [math.inf]))


@measure("leaves", unit="leaves", runs=SIMULATED)
def leaves(run: Simulated) -> float:
    """Give the number of leaves that left other connections there."""
    return float(len(_settling(run, "left")))


@measure("settled-leaves", unit="leaves", runs=SIMULATED)
def settled_leaves(run: Simulated) -> float:
    """Give the number of leaves after which rates settled before the next."""
    return float(len(_settled_leaves(run)))


@measure("unsettled-leaves", unit="leaves", runs=SIMULATED)
def unsettled_leaves(run: Simulated) -> float:
    """Give the number of leaves after which rates did not settle before the next, though one could tell."""
    return float(len(_unsettled_leaves(run)))


@measure("unsettled-span", unit="s", runs=SIMULATED)
def unsettled_span(run: Simulated) -> float:
    """Give the longest time after a leave in which rates did not settle."""
    return max(_unsettled_leaves(run), default=0.0)


@measure("slow-leaves", unit="leaves", runs=SIMULATED)
def slow_leaves(run: Simulated) -> float:
    """Give the number of leaves after which rates had not settled by 0.5 s."""
    return float(sum(time >= SLOW_S for time in [*_settled_leaves(run), *_unsettled_leaves(run)]))


@measure("short-leaves", unit="leaves", runs=SIMULATED)
def short_leaves(run: Simulated) -> float:
    """Give the number of leaves that the next follows within 0.1 s, which is too short to tell."""
    return float((_settling(run, "left")["span_s"] < HOLD_S).sum())


@measure("unsettled", unit="connections", runs=SIMULATED)
def unsettled(run: Simulated) -> float:
    """Give the number of connections whose rate changed by more than 1 % in the last 0.1 s before they left."""
    count = 0
    for name, row in run.simulation.connections.items():
        last = run.simulation.rates[name].within(row["end_s"] - JUST_BEFORE_S, row["end_s"]).value
        count += row["stopped_s"] is not None and bool(np.ptp(last) > TOLERANCE * last[-1])
    return float(count)


def _settling(run: Simulated, event: str, aim: str = "final") -> pl.DataFrame:
    """Give a row for each join or leave with connections left: ``settling_s``, null if none, and ``span_s``."""
    found = run.simulation.settling(TOLERANCE, aim, HOLD_S)
    found = found.filter((pl.col(event) > 0) & (pl.col("present") > 0))
    return found.select("settling_s", (pl.col("until_s") - pl.col("time_s")).alias("span_s"))


def _settled_leaves(run: Simulated) -> list[float]:
    """Give the time that rates took to settle after each leave after which they settled."""
    found: list[float] = _settling(run, "left")["settling_s"].drop_nulls().to_list()
    return found


def _unsettled_leaves(run: Simulated) -> list[float]:
    """Give the time after each leave after which rates did not settle, though one could tell."""
    rows = _settling(run, "left").filter(pl.col("settling_s").is_null(), pl.col("span_s") >= HOLD_S)
    found: list[float] = rows["span_s"].to_list()
    return found
