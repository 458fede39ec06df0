"""A graph as GraphML, GML and node-link JSON have it: nodes and edges with attributes; and the draft made of it.

An undirected edge is a two-way link, a directed one a one-way link. Opposite directed edges become twins, first with
first, unless the file names its links and states their twins in an attribute ``twin``. An edge from a node to itself
is dropped: no path can use it. Undirected edges are put in the order of their nodes, directed ones keep the file's:
the Topology Zoo's formats list the same edges in different orders, and ties between paths go by link numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anabranch.formats.attributes import (
    MEGABIT,
    capacity_of,
    delay_of,
    is_missing,
    name_of,
    position_of,
    unit_bps,
)
from anabranch.formats.labels import unique_names
from anabranch.formats.source import excerpt
from anabranch.formats.twins import pair_stated
from anabranch.model.network import Draft, Edge

if TYPE_CHECKING:
    from anabranch.formats.source import Place, Source


@dataclass
class GraphNode:
    """A node of the file: what edges call it, what people call it, and the rest."""

    id: str
    label: str
    data: dict[str, Any]
    place: Place


@dataclass
class GraphEdge:
    """An edge of the file, by the ids of its ends."""

    source: str
    target: str
    directed: bool
    data: dict[str, Any]
    place: Place


@dataclass
class Graph:
    """The nodes, edges and attributes of a file."""

    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[GraphEdge] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)


def draft_from(graph: Graph, source: Source) -> Draft:
    """Make the draft of a network from a graph: name the nodes, read capacities and delays, pair the twins."""
    if not graph.nodes:
        raise source.whole.error("it has no nodes", "check that it holds a network")
    draft = Draft(name=_title(graph, source))
    number: dict[str, int] = {}
    names = unique_names([n.label.strip() for n in graph.nodes], [n.id for n in graph.nodes])
    for node, name in zip(graph.nodes, names, strict=True):
        if node.id in number:
            raise node.place.error("another node has the same id", "ids must be unique")
        number[node.id] = draft.add_node(name_of(name, node.place, "its name"), position_of(node.data))
    unit = graph.data.get("capacity_unit")
    scale = MEGABIT if is_missing(unit) else unit_bps(unit, source.whole)
    for edge in graph.edges:
        _check_ends(edge, number)
    kept = [edge for edge in graph.edges if edge.source != edge.target]
    if not any(edge.directed for edge in kept):
        kept.sort(key=lambda edge: (number[edge.source], number[edge.target]))
    draft.edges = [_edge(edge, number, scale) for edge in kept]
    if any("twin" in edge.data for edge in kept) and any(e.name is not None for e in draft.edges):
        pair_stated(draft, [_twin(edge) for edge in kept], source)
    else:
        draft.pair_opposites()
    return draft


def _title(graph: Graph, source: Source) -> str:
    for key in ("label", "name"):
        title = graph.data.get(key)
        if isinstance(title, str) and title.strip():
            return title.strip()
    return source.stem


def _check_ends(edge: GraphEdge, number: dict[str, int]) -> None:
    for end in (edge.source, edge.target):
        if end not in number:
            raise edge.place.error(f"there is no node with id `{excerpt(end)}`", "declare it or correct the id")


def _edge(edge: GraphEdge, number: dict[str, int], scale: float) -> Edge:
    given = edge.data.get("name")
    return Edge(
        number[edge.source],
        number[edge.target],
        None if is_missing(given) else name_of(given, edge.place, "its name"),
        capacity_of(edge.data, edge.place, scale),
        delay_of(edge.data, edge.place),
        two_way=not edge.directed,
    )


def _twin(edge: GraphEdge) -> str | None:
    given = edge.data.get("twin")
    return None if is_missing(given) else name_of(given, edge.place, "its twin")
