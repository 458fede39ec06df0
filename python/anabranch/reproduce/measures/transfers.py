"""Measures of transfers: how long amounts take, how much is lost, how much is marked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.measures.lookup import CONNECTION, CONNECTIONS
from anabranch.reproduce.measures.registry import UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.outcomes.kinds import Simulated


@measure("sent", of=CONNECTION, unit="s", runs=SIMULATED)
def sent(run: Simulated, connection: Named) -> float:
    """Give the time from the start of the connection until its last byte is sent."""
    row = run.simulation.connections[connection.name]
    return math.inf if row["stopped_s"] is None else float(row["stopped_s"] - row["start_s"])


@measure("completion", of=CONNECTION, unit="s", runs=SIMULATED)
def completion(run: Simulated, connection: Named) -> float:
    """Give the time from the start of the connection until all its bytes are delivered."""
    time = run.simulation.connections[connection.name]["completion_s"]
    return math.inf if time is None else float(time)


@measure("mean-completion", unit="s", runs=SIMULATED)
def mean_completion(run: Simulated) -> float:
    """Give the mean time from start to completion of the connections that delivered their whole amount."""
    times = _completions(run).to_numpy()
    return float(times.mean()) if len(times) else math.inf


@measure("least-mean-completion", unit="s", runs=SIMULATED)
def least_mean_completion(run: Simulated) -> float:
    """Give a lower bound of the mean time that connections with an amount take, each counted.

    A connection that has not delivered its amount at the end of the run counts with the time until then.
    """
    result = run.simulation.result
    until_end = pl.lit(float(result.meta["reached_s"])) - pl.col("start_s")
    took = result.connections.select(pl.coalesce("completion_s", until_end)).to_series()
    return float(took.to_numpy().mean())


@measure("completed", unit="connections", runs=SIMULATED)
def completed(run: Simulated) -> float:
    """Give the number of connections that delivered their whole amount."""
    return float(len(_completions(run)))


def _completions(run: Simulated) -> pl.Series:
    """Give the time that each connection took that delivered its whole amount."""
    return run.simulation.result.connections["completion_s"].drop_nulls()


@measure("transfer-rate", of=CONNECTIONS, unit="rate", runs=SIMULATED)
def transfer_rate(run: Simulated, connections: Sequence[Named]) -> float:
    """Give the sum of the rates that the connections delivered, each from its start until all bytes had arrived."""
    numbers = [own.number for own in connections]
    return float(run.simulation.result.connections["mean_rate_bps"].gather(numbers).sum()) / run.unit_bps


@measure("lost", of=CONNECTIONS, unit="of what was sent", runs=SIMULATED)
def lost(run: Simulated, connections: Sequence[Named]) -> float:
    """Give the bytes that the connections took for lost by the bytes that they sent."""
    own = _rows(run, connections)
    return float(own["lost_bytes"].sum()) / float(own["sent_bytes"].sum())


@measure("marked", of=CONNECTIONS, unit="of the packets", runs=SIMULATED)
def marked(run: Simulated, connections: Sequence[Named]) -> float:
    """Give the packets that came with a mark by the packets delivered, from start to end."""
    own = _rows(run, connections)
    numbers = [one.number for one in connections]
    packets = float((own["delivered_bytes"].to_numpy() / run.simulation.packet_bytes[numbers]).sum())
    if packets <= 0.0:
        raise UnmeasuredError("nothing was delivered, so nothing was marked; take a longer run")
    subflows = run.simulation.result.subflows.filter(pl.col("connection").is_in(own["connection"].to_list()))
    return float(subflows["marked"].sum()) / packets


@measure("dropped", unit="packets", runs=SIMULATED)
def dropped(run: Simulated) -> float:
    """Give the number of packets that links dropped or lost, in all."""
    return float(run.simulation.result.links["dropped"].sum())


def _rows(run: Simulated, connections: Sequence[Named]) -> pl.DataFrame:
    return run.simulation.result.connections[[own.number for own in connections]]
