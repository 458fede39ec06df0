"""Demands as a file lists them, and the check of each against the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.formats.source import excerpt
from anabranch.model.demands import Demands, demands
from anabranch.model.spelling import alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.formats.source import Place
    from anabranch.model.network import Network


@dataclass(frozen=True)
class DemandRow:
    """A demand of a file: its ends by name, and the values that `anabranch.demands` takes."""

    place: Place
    source: str
    target: str
    name: str | None = None
    demand_bps: float | None = None
    weight: float = 1.0
    qos: float = 1.0
    reserved_bps: float = 0.0
    start_s: float = 0.0
    stop_s: float | None = None


def build(rows: Sequence[DemandRow], network: Network) -> Demands:
    """Check that nodes exist, ends differ and names are unique, each with its place in the file; make the demands."""
    known = set(network.core.node_names)
    names: set[str] = set()
    for row in rows:
        for node in (row.source, row.target):
            if node not in known:
                remedy = f"name one of the network's {len(known)} nodes"
                raise row.place.error(
                    f"there is no node `{excerpt(node)}`{alike(node, network.core.node_names)}", remedy
                )
        if row.source == row.target:
            raise row.place.error(f"source and target are both node `{row.source}`", "they must differ")
        if row.name is not None and row.name in names:
            raise row.place.error(f"the name `{excerpt(row.name)}` is already taken", "names must be unique")
        if row.name is not None:
            names.add(row.name)
    return demands(
        network,
        [row.source for row in rows],
        [row.target for row in rows],
        demand_bps=[row.demand_bps for row in rows],
        name=[row.name for row in rows],
        weight=[row.weight for row in rows],
        qos=[row.qos for row in rows],
        reserved_bps=[row.reserved_bps for row in rows],
        start_s=[row.start_s for row in rows],
        stop_s=[row.stop_s for row in rows],
    )
