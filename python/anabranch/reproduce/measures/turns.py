"""Measures of how steady rates are.

A rate **turns** where it goes down after it went up, or up after it went down, by more than 1 % of the connection's
rate each time; the step up to the first rate that is granted does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.measures.lookup import CONNECTION, CONNECTION_OR_SUBFLOW, ConnectionOrSubflow
from anabranch.reproduce.measures.registry import EVER, measure
from anabranch.reproduce.outcomes.groups import SIMULATED
from anabranch.runs.step_function import longest_still

if TYPE_CHECKING:
    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated
    from anabranch.reproduce.outcomes.simulation import Simulation

TOLERANCE = 0.01
"""The move of a rate, relative to the connection's rate, that counts as none."""

LAST_S = 3.0
"""The last seconds of a connection, as in the paper's figure 14."""


@measure("turns", of=CONNECTION_OR_SUBFLOW, unit="turns", runs=SIMULATED, windowed=True)
def turns(run: Simulated, subject: ConnectionOrSubflow, window_s: Window) -> float:
    """Give how often its rate turned before the first connection leaves.

    A rate turns where it goes down after it went up, or up after it went down, by more than 1 % of the connection's
    rate each time.
    """
    return float(len(_turns(run.simulation, subject, run.simulation.first_leave_s, window_s)))


@measure("turning", unit="subflows", runs=SIMULATED, windowed=True)
def turning(run: Simulated, window_s: Window) -> float:
    """Give the number of subflows that turn."""
    return float(sum(count > 0 for count in _turns_of_subflows(run, window_s)))


@measure("most-turns", unit="turns", runs=SIMULATED, windowed=True)
def most_turns(run: Simulated, window_s: Window) -> float:
    """Give the turns of the subflow that turns most."""
    return max(_turns_of_subflows(run, window_s))


def _turns_of_subflows(run: Simulated, window_s: Window) -> list[float]:
    """Give the number of turns of each subflow before the first connection leaves."""
    subflows = run.simulation.result.subflows.select("connection", "rank").iter_rows()
    return [turns(run, ConnectionOrSubflow(*own), window_s) for own in subflows]


@measure("turning-time", of=CONNECTION, unit="s", runs=SIMULATED)
def turning_time(run: Simulated, connection: Named) -> float:
    """Give the time from the start of the connection to its last turn before the first leave; 0 if it never turns."""
    return _turning_time(run.simulation, connection.name)


@measure("last-turn", unit="s", runs=SIMULATED)
def last_turn(run: Simulated) -> float:
    """Give the greatest time from the start of a connection to its last turn."""
    return max(_turning_time(run.simulation, name) for name in run.simulation.connections)


def _turning_time(run: Simulation, name: str) -> float:
    found = _turns(run, ConnectionOrSubflow(name, None), run.first_leave_s)
    return found[-1] - float(run.connections[name]["start_s"]) if found else 0.0


@measure("late-turns", of=CONNECTION, unit="turns", runs=SIMULATED)
def late_turns(run: Simulated, connection: Named) -> float:
    """Give the number of turns in the last 3 s of the connection."""
    end = run.simulation.connections[connection.name]["end_s"]
    found = _turns(run.simulation, ConnectionOrSubflow(connection.name, None), end)
    return float(sum(turn >= end - LAST_S for turn in found))


@measure("steady", of=CONNECTION, unit="s", runs=SIMULATED)
def steady(run: Simulated, connection: Named) -> float:
    """Give the longest time in which no subflow of the connection moves by more than 1 % of the connection's rate."""
    row = run.simulation.connections[connection.name]
    threshold = TOLERANCE * run.simulation.rates[connection.name].before(row["end_s"])
    return longest_still(run.simulation.subflows_of(connection.name), row["start_s"], row["end_s"], threshold)


@measure("off-fair", of=CONNECTION, unit="s", runs=SIMULATED)
def off_fair(run: Simulated, connection: Named) -> float:
    """Give how much of its last 3 s the connection is more than 1 % from its fair rate, to the time between samples."""
    end = run.simulation.connections[connection.name]["end_s"]
    rows = run.simulation.samples("connection").filter(
        pl.col("name") == connection.name, pl.col("time_s").is_between(end - LAST_S, end)
    )
    is_off = (rows["granted_bps"] - rows["fair_bps"]).abs() > TOLERANCE * rows["fair_bps"]
    return float(is_off.sum()) * float(run.simulation.result.meta["sample_s"])


def _turns(run: Simulation, subject: ConnectionOrSubflow, end_s: float, window_s: Window = EVER) -> list[float]:
    """Give the times at which a connection, or a subflow of it, turned in a window and before a time.

    A turn counts only if the way back is within the window too.
    """
    whole = run.rates[subject.connection]
    end = min(end_s, window_s[1], run.connections[subject.connection]["end_s"])
    own = whole if subject.rank is None else run.subflows_of(subject.connection)[subject.rank - 1]
    return [time for time in own.until(end).turns(TOLERANCE * whole.before(end)) if time >= window_s[0]]
