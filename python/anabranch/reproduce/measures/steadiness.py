"""Measures of steadiness over all connections, so that no connection must be chosen by what it shows.

`anabranch.reproduce.measures.turns` says what a turn is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anabranch.reproduce.measures.lookup import ConnectionOrSubflow, Named
from anabranch.reproduce.measures.registry import measure
from anabranch.reproduce.measures.settling import join_settling
from anabranch.reproduce.measures.turns import off_fair, steady, turns
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated

STILL_S = 0.5
"""A connection is at rest once no subflow of it has moved for this time: the paper's first half second."""


@measure("most-connection-turns", unit="turns", runs=SIMULATED, windowed=True)
def most_connection_turns(run: Simulated, window_s: Window) -> float:
    """Give the turns of the connection that turns most, by the sum of its subflows."""
    return max(turns(run, ConnectionOrSubflow(name, None), window_s) for name in run.simulation.connections)


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
