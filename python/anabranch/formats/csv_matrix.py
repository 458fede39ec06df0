"""A traffic matrix in CSV: the nodes that receive in the first line, those that send in the first cell of each other.

A cell has a rate with its unit (``40 Mbit/s``), or a number if the first cell of the first line names the unit
(``Mbit/s``). An empty cell and a 0 are no demand; the cells from a node to itself must be so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.formats.attributes import is_missing, name_of, number, rate_text
from anabranch.formats.csv_table import read_lines
from anabranch.formats.demand_rows import DemandRow, build
from anabranch.formats.source import Place, excerpt
from anabranch.model.spelling import alike

if TYPE_CHECKING:
    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network

ENDS = {"source", "target"}
"""The columns of a list of demands, which a matrix has not."""


def is_matrix(source: Source, network: Network) -> bool:
    """Tell whether a file is a matrix: its first line names nodes, and not the columns of a list."""
    _, header = next(read_lines(source), (source.whole, [""]))
    others = header[1:]
    if {cell.lower() for cell in header} & ENDS:
        return False
    return bool(others) and (not header[0] or 2 * len(set(others) & set(network.core.node_names)) >= len(others))


def read_matrix(source: Source, network: Network) -> Demands:
    """Read a demand for each cell that has one."""
    lines = read_lines(source)
    head, header = next(lines)
    targets = [_node(name, head, network) for name in header[1:]]
    if twice := [name for name, count in Counter(targets).items() if count > 1]:
        raise head.error(f"node `{excerpt(twice[0])}` is there twice", "keep one")
    unit = _unit(header[0])
    senders: set[str] = set()
    rows = []
    for place, cells in lines:
        if not any(cells):
            continue
        sender = _node(cells[0], place, network)
        if sender in senders:
            raise place.error(f"node `{excerpt(sender)}` has a line already", "keep one")
        senders.add(sender)
        rows += [
            row for to, cell in zip(targets, cells[1:], strict=True) if (row := _row(place, sender, to, cell, unit))
        ]
    if not rows:
        raise source.whole.error("it holds no demands", "give a rate in some cell")
    return build(rows, network)


def _node(name: str, place: Place, network: Network) -> str:
    checked = name_of(name, place, "the name of a node")
    if network.core.find_node(checked) is None:
        names = network.core.node_names
        remedy = f"name one of the network's {len(names)} nodes"
        raise place.error(f"there is no node `{excerpt(checked)}`{alike(checked, names)}", remedy)
    return checked


def _unit(corner: str) -> float | None:
    """Give the bit/s of a number in a cell, if the first cell of the first line names a unit."""
    try:
        return _core.parse_rate(f"1 {corner}"[:200])
    except ValueError:
        return None


def _row(place: Place, source: str, target: str, cell: str, unit: float | None) -> DemandRow | None:
    """Give the demand of a cell, None if it has none."""
    bare = number(cell)
    if is_missing(cell) or bare == 0.0:
        return None
    here = Place(f"{place.words}, to `{excerpt(target)}`")
    if bare is not None and unit is None:
        remedy = "name the unit in the first cell of the first line, such as Mbit/s, or in each cell"
        raise here.error(f"demand is `{excerpt(cell)}`, without a unit", remedy)
    if bare is not None and unit is not None:
        if not 0.0 < bare < float("inf"):
            raise here.error(f"demand is `{excerpt(cell)}`", "it must be finite and 0 or more")
        rate = bare * unit
    else:
        rate = rate_text(cell, here, "demand")
    return DemandRow(here, source, target, demand_bps=rate) if rate > 0.0 else None
