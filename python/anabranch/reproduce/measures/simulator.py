"""Measures of simulations as a whole: what the simulator took, and two runs compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.registry import AnotherRun, measure
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from anabranch.reproduce.outcomes.kinds import Simulated

TOLERANCE = 0.01
"""Rates closer than this, relative to one of them, count as equal."""


@measure("agreeing", of=AnotherRun(SIMULATED), unit="connections", runs=SIMULATED)
def agreeing(run: Simulated, other: Simulated) -> float:
    """Give the number of connections with equal rates in both runs, to 1 %, just before the first connection leaves."""
    ours, theirs = run.simulation, other.simulation
    if list(ours.connections) != list(theirs.connections):
        raise ScenarioError("two runs do not have the same connections; compare runs of one scenario")
    end, their_end = ours.first_leave_s, theirs.first_leave_s
    pairs = ((ours.rates[c].before(end), theirs.rates[c].before(their_end)) for c in ours.connections)
    return float(sum(abs(own - other_rate) <= TOLERANCE * other_rate for own, other_rate in pairs))


@measure("peak-overload", unit="of the capacity", runs=SIMULATED)
def peak_overload(run: Simulated) -> float:
    """Give the greatest granted load over capacity at any sample, less 1."""
    return float(run.simulation.samples("run")["overload"].to_numpy().max())


@measure("events", unit="events", runs=SIMULATED)
def events(run: Simulated) -> float:
    """Give the number of events of the simulator."""
    return float(run.simulation.result.meta["events"])


@measure("wall", unit="s", runs=SIMULATED)
def wall(run: Simulated) -> float:
    """Give the seconds that the simulator took; they may be shown and never decide."""
    return float(run.simulation.result.meta["wall_s"])
