"""Measures of steadiness over all connections, so that no connection must be chosen by what it shows.

`anabranch.reproduce.measures.turns` says what a turn is.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from anabranch.reproduce.measures.lookup import ConnectionOrSubflow, Named
from anabranch.reproduce.measures.registry import measure
from anabranch.reproduce.measures.settling import join_settling
from anabranch.reproduce.measures.turns import TOLERANCE, off_fair, steady, turns
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated

STILL_S = 0.5
"""A connection is at rest once no subflow of it has moved for this time: the paper's first half second."""


@measure("most-connection-turns", unit="turns", runs=SIMULATED, windowed=True)
def most_connection_turns(run: Simulated, window_s: Window) -> float:
    """Give the turns of the connection that turns most, by the sum of its subflows."""
    return max(turns(run, ConnectionOrSubflow(name, None), window_s) for name in run.simulation.connections)


@measure("most-connection-turns-between", unit="turns", runs=SIMULATED)
def most_connection_turns_between(run: Simulated) -> float:
    """Give the most turns of a connection between two instants at which connections come or go."""
    return _most_between(run, list(run.simulation.connections.items()))


@measure("most-turns-between", unit="turns", runs=SIMULATED)
def most_turns_between(run: Simulated) -> float:
    """Give the most turns of a subflow between two instants at which connections come or go."""
    owner = dict(run.simulation.result.subflows.select("subflow", "connection").iter_rows())
    return _most_between(run, [(name, run.simulation.connections[own]) for name, own in owner.items()])


def _most_between(run: Simulated, subjects: Sequence[tuple[str, Mapping[str, Any]]]) -> float:
    """Give the most turns of one of some connections or subflows, whose stay is that of a connection."""
    simulation = run.simulation
    rows = simulation.connections.values()
    instants = sorted({float(row[key]) for row in rows for key in ("start_s", "end_s")})
    most = 0
    for start, end in pairwise(instants):
        for name, row in subjects:
            if row["start_s"] > start or row["end_s"] < end:
                continue
            whole = simulation.rates[row["connection"]]
            own = simulation.rates[name] if name in simulation.rates else simulation.subflow_rates[name]
            first = own.time_s[own.time_s > start]
            # The first rate that is granted is no move.
            begin = float(first[0]) if start == row["start_s"] and len(first) else start
            most = max(most, len(own.within(begin, end).turns(TOLERANCE * whole.before(end))))
    return float(most)


@measure("restless", unit="connections", runs=SIMULATED)
def restless(run: Simulated) -> float:
    """Give the number of connections of which subflows are never still to 1 % for 0.5 s, of those that stay for 1 s."""
    stays = {name: row["end_s"] - row["start_s"] for name, row in run.simulation.connections.items()}
    names = list(run.simulation.connections)
    return float(
        sum(steady(run, Named(at, name)) < STILL_S for at, name in enumerate(names) if stays[name] >= 2.0 * STILL_S)
    )


@measure("mean-off-fair", unit="s", runs=SIMULATED)
def mean_off_fair(run: Simulated) -> float:
    """Give how much of its last 3 s a connection is more than 1 % from its fair rate, as a mean over all."""
    names = list(run.simulation.connections)
    return sum(off_fair(run, Named(at, name)) for at, name in enumerate(names)) / len(names)


@measure("control-until-settled", unit="packets", runs=SIMULATED)
def control_until_settled(run: Simulated) -> float:
    """Give the control packets that sources sent until rates settled after the joins, at their mean rate in the run."""
    settling, meta = join_settling(run), run.simulation.result.meta
    return math.inf if math.isinf(settling) else float(meta["control_packets"]) * settling / float(meta["reached_s"])
