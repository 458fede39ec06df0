"""Measures of control packets: how many a protocol needs, what part of all bytes they are, and the sets they carry.

Sources of protocols that grant rates send control packets, sinks and links answer. Acknowledgements of window protocols
are no control packets. A control packet has the size ``run.control_packet``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce.measures.lookup import CONNECTIONS, LINK
from anabranch.reproduce.measures.registry import UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.outcomes.kinds import Simulated


@measure("control-packets", unit="packets", runs=SIMULATED)
def control_packets(run: Simulated) -> float:
    """Give the number of control packets that all sources sent."""
    return float(run.simulation.result.meta["control_packets"])


@measure("control-bytes", unit="bytes", runs=SIMULATED)
def control_bytes(run: Simulated) -> float:
    """Give the bytes of the control packets that all sources sent."""
    return float(run.simulation.result.meta["control_bytes"])


@measure("control-packets-of", of=CONNECTIONS, unit="packets", runs=SIMULATED)
def control_packets_of(run: Simulated, connections: Sequence[Named]) -> float:
    """Give the number of control packets that the sources of the connections sent."""
    return _sent(run, connections, "control_packets")


@measure("control-bytes-of", of=CONNECTIONS, unit="bytes", runs=SIMULATED)
def control_bytes_of(run: Simulated, connections: Sequence[Named]) -> float:
    """Give the bytes of the control packets that the sources of the connections sent."""
    return _sent(run, connections, "control_bytes")


def _sent(run: Simulated, connections: Sequence[Named], column: str) -> float:
    return float(run.simulation.result.connections[column].gather([own.number for own in connections]).sum())


@measure("control-hops", unit="packets over a link", runs=SIMULATED)
def control_hops(run: Simulated) -> float:
    """Give the number of times that a control packet entered a link, in either direction."""
    return float(run.simulation.result.meta["control_hops"])


@measure("control-share", unit="of the bytes", runs=SIMULATED)
def control_share(run: Simulated) -> float:
    """Give the bytes of control packets over links by the bytes of all packets over links."""
    meta = run.simulation.result.meta
    return _share(meta["control_hop_bytes"], meta["hop_bytes"])


@measure("control-share-at", of=LINK, unit="of the bytes", runs=SIMULATED)
def control_share_at(run: Simulated, link: Named) -> float:
    """Give the bytes of control packets that entered the link by the bytes of all its packets."""
    row = run.simulation.result.links.row(link.number, named=True)
    control = row["control_bytes"]
    return _share(control, row["carried_bytes"] + (0 if run.simulation.control_is_in_band else control))


@measure("mean-bottlenecks", unit="links", runs=SIMULATED)
def mean_bottlenecks(run: Simulated) -> float:
    """Give the mean number of links in the sets of bottlenecks that control packets of d-SLEN or SLBN bring back."""
    return _bottlenecks(run, "mean_bottlenecks")


@measure("most-bottlenecks", unit="links", runs=SIMULATED)
def most_bottlenecks(run: Simulated) -> float:
    """Give the greatest number of links in a set of bottlenecks that a control packet brings back."""
    return _bottlenecks(run, "most_bottlenecks")


def _bottlenecks(run: Simulated, name: str) -> float:
    number = run.simulation.result.meta[name]
    if number is None:
        raise UnmeasuredError("no control packet brought back a set of bottlenecks; d-SLEN and SLBN have such sets")
    return float(number)


def _share(control: int, total: int) -> float:
    if total <= 0:
        raise UnmeasuredError("no packet entered a link, so control packets have no share; take a longer run")
    return control / total
