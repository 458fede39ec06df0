"""Demands in CSV: ``source,target`` and, where there are any, demand, weight, QoS factor, reserved part and more.

The demand is ``demand_bps`` (a number) or ``demand`` (``40 Mbit/s``), no limit where empty, ``reserved`` likewise, and
none where empty; ``start`` and ``stop``
likewise with ``_s`` for seconds or with a unit. Empty cells take the defaults of `anabranch.demands`. A square matrix
will do too: see `csv_matrix`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.formats.csv_matrix import is_matrix, read_matrix
from anabranch.formats.csv_table import Row, read_table
from anabranch.formats.demand_rows import DemandRow, build

if TYPE_CHECKING:
    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network

NEEDED = ("source", "target")
KNOWN = (
    "name",
    "demand_bps",
    "demand",
    "weight",
    "qos",
    "reserved_bps",
    "reserved",
    "start_s",
    "start",
    "stop_s",
    "stop",
)
LARGEST = 1e300
"""The largest weight; a finite number that sums may still reach without overflow."""


def read_demands(source: Source, network: Network) -> Demands:
    """Read demands between the nodes of a network."""
    if is_matrix(source, network):
        return read_matrix(source, network)
    _, rows = read_table(source, needed=NEEDED, known=KNOWN)
    if not rows:
        raise source.whole.error("it holds no demands", "add a row for each")
    return build([_row(row) for row in rows], network)


def _row(row: Row) -> DemandRow:
    weight = row.between("weight", 0.0, LARGEST, "over 0 and finite")
    qos = row.between("qos", 0.0, 1.0, "over 0 and at most 1")
    start_s, stop_s = row.span("start") or 0.0, row.span("stop")
    if stop_s is not None and stop_s <= start_s:
        raise row.place.error(f"it stops at {stop_s} s and starts at {start_s} s", "it must stop after it starts")
    return DemandRow(
        row.place,
        row.name("source"),
        row.name("target"),
        row.optional_name("name"),
        row.rate("demand"),
        1.0 if weight is None else weight,
        1.0 if qos is None else qos,
        row.rate("reserved") or 0.0,
        start_s,
        stop_s,
    )
