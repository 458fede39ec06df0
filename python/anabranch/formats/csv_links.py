"""Links in CSV: ``source,target`` and, where known, capacity, delay, name, ``two_way`` or ``twin``.

A row is one link, from source to target; with ``yes`` in ``two_way`` it is two. Opposite rows become twins, first with
first, unless a column ``twin`` names them or a column ``two_way`` is there. Capacity is ``capacity_bps`` (a number) or
``capacity`` (``10 Gbit/s``), delay ``delay_s`` or ``delay`` (``5 ms``). Nodes are made as they appear, unless a file of
nodes, ``name[,longitude,latitude]``, lists them all.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from anabranch.formats.attributes import is_on_globe
from anabranch.formats.csv_demands import read_demands
from anabranch.formats.csv_table import Row, read_table, separator_of
from anabranch.formats.format import Format
from anabranch.formats.source import excerpt
from anabranch.formats.twins import pair_stated
from anabranch.model.network import Draft, Edge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anabranch.formats.source import Source
    from anabranch.model.network import Network

NEEDED = ("source", "target")
KNOWN = ("name", "capacity_bps", "capacity", "delay_s", "delay", "two_way", "twin")
NODE_KNOWN = ("longitude", "latitude")


def read(source: Source, nodes: Source | None = None) -> Draft:
    """Read links, on the nodes of a second file if one is given."""
    draft = Draft(name=source.stem)
    number: dict[str, int] = {}
    if nodes is not None:
        number = _read_nodes(nodes, draft)
    columns, rows = read_table(source, needed=NEEDED, known=KNOWN)
    if "two_way" in columns and "twin" in columns:
        raise source.whole.error("there are both columns `two_way` and `twin`", "keep one")
    for row in rows:
        draft.edges.append(_edge(row, draft, number, nodes))
    if "twin" in columns:
        pair_stated(draft, [row.optional_name("twin") for row in rows], source)
    elif "two_way" not in columns:
        draft.pair_opposites()
    return draft


def _read_nodes(source: Source, draft: Draft) -> dict[str, int]:
    number: dict[str, int] = {}
    _, rows = read_table(source, needed=("name",), known=NODE_KNOWN)
    for row in rows:
        name = row.name("name")
        if name in number:
            raise row.place.error(f"node `{excerpt(name)}` is there twice", "names must be unique")
        number[name] = draft.add_node(name, _position(row))
    return number


def _position(row: Row) -> tuple[float, float] | None:
    degrees = [row.between(column, -360.0, 360.0, "a number of degrees") for column in NODE_KNOWN]
    longitude, latitude = degrees
    if longitude is None and latitude is None:
        return None
    if longitude is None or latitude is None or not is_on_globe(longitude, latitude):
        remedy = "longitude is -180 to 180 and latitude -90 to 90 degrees; or leave both empty"
        raise row.place.error(f"position ({longitude}, {latitude}) is not on the globe", remedy)
    return longitude, latitude


def _edge(row: Row, draft: Draft, number: dict[str, int], nodes: Source | None) -> Edge:
    ends = [row.name(column) for column in NEEDED]
    for end in ends:
        if end not in number:
            if nodes is not None:
                raise row.place.error(
                    f"there is no node `{excerpt(end)}`", f"add it to {nodes.path} or correct the name"
                )
            number[end] = draft.add_node(end)
    if ends[0] == ends[1]:
        raise row.place.error(f"both ends are node `{excerpt(ends[0])}`", "a link must join two different nodes")
    source, target = number[ends[0]], number[ends[1]]
    name, two_way = row.optional_name("name"), row.flag("two_way")
    return Edge(source, target, name, row.rate("capacity"), row.span("delay"), two_way)


def write(network: Network) -> str:
    """Give the links of a network as CSV, each with its twin."""
    frame = network.links.select("source", "target", "name", "capacity_bps", "delay_s", "twin")
    return _table(frame.columns, frame.iter_rows())


def write_nodes(network: Network) -> str:
    """Give the nodes of a network as CSV."""
    return _table(network.nodes.columns, network.nodes.iter_rows())


def _table(columns: list[str], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def looks_like(source: Source) -> bool:
    """Tell whether the first line of a file names both ends of links or demands."""
    first = source.beginning.partition("\n")[0]
    header = {cell.strip(' "\r').lower() for cell in first.split(separator_of(first))}
    return header >= {"source", "target"}


FORMAT = Format(
    name="csv",
    description=".csv, source,target,...",
    looks_like=looks_like,
    read=read,
    suffixes=(".csv", ".tsv"),
    takes=("nodes",),
    read_demands=read_demands,
    write=write,
    write_nodes=write_nodes,
)
