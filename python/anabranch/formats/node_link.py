"""Node-link JSON, as networkx writes it: ``nodes`` with ``id``, and ``links`` or ``edges`` with ``source``, ``target``.

A node's name is its id as text. A link's name is its ``name``, or its ``key`` if that is text. Capacity, delay and
position: see `attributes`; a bare number in ``capacity`` is Mbit/s, as in the files of traffic-engineering papers,
unless the object ``graph`` has ``capacity_unit``. (`from_networkx` refuses it; ``capacity_bps`` is bit/s in
both.)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anabranch.formats import json_text
from anabranch.formats.attributes import name_of
from anabranch.formats.format import Format
from anabranch.formats.graph import Graph, GraphEdge, GraphNode, draft_from
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from anabranch.formats.source import Place, Source
    from anabranch.model.network import Draft, Network


def read(source: Source) -> Draft:
    """Read a node-link file."""
    top = json_text.parse(source)
    whole = source.whole
    if "nodes" not in top or not ("links" in top or "edges" in top):
        raise whole.error("it has no `nodes` with `links` or `edges`", "check that it is node-link JSON")
    directed = _flag(top, "directed", whole)
    graph = Graph(data=json_text.as_object(top.get("graph", {}), whole, "`graph`"))
    for number, item in enumerate(json_text.as_list(top["nodes"], whole, "`nodes`")):
        place = source.element(f"node {number + 1}")
        data = json_text.as_object(item, place, "it")
        identity = name_of(data.get("id"), place, "its `id`")
        graph.nodes.append(GraphNode(identity, identity, data, source.element(f"node `{excerpt(identity)}`")))
    key = "links" if "links" in top else "edges"
    for number, item in enumerate(json_text.as_list(top[key], whole, f"`{key}`")):
        graph.edges.append(_edge(item, directed, source.element(f"link {number + 1}")))
    return draft_from(graph, source)


def _edge(item: object, directed: bool, place: Place) -> GraphEdge:
    data = dict(json_text.as_object(item, place, "it"))
    ends = [name_of(data.get(end), place, f"its `{end}`") for end in ("source", "target")]
    if "name" not in data and isinstance(data.get("key"), str):
        data["name"] = data["key"]
    return GraphEdge(ends[0], ends[1], directed, data, place)


def _flag(top: dict[str, Any], key: str, place: Place) -> bool:
    value = top.get(key, False)
    if not isinstance(value, bool):
        raise place.error(f"`{key}` is `{excerpt(value)}`", "it must be true or false")
    return value


def write(network: Network) -> str:
    """Give a network as node-link JSON that networkx reads too: a directed edge for each link, keyed by name."""
    nodes: list[dict[str, object]] = []
    for name, longitude, latitude in network.nodes.iter_rows():
        position = {} if longitude is None else {"longitude": longitude, "latitude": latitude}
        nodes.append({"id": name, **position})
    links = [
        {
            "source": row["source"],
            "target": row["target"],
            "key": row["name"],
            "capacity_bps": finite_or_text(row["capacity_bps"]),
            "delay_s": row["delay_s"],
            "twin": row["twin"],
        }
        for row in network.links.iter_rows(named=True)
    ]
    graph = {"name": network.name}
    top = {"directed": True, "multigraph": True, "graph": graph, "nodes": nodes, "edges": links}
    return json.dumps(top, indent=1) + "\n"


def finite_or_text(value: float) -> float | str:
    """Give a number that JSON can hold: infinity as text."""
    return "inf" if value == float("inf") else value


FORMAT = Format(
    name="node-link",
    description=".json, as networkx writes it",
    looks_like=json_text.looks_like,
    read=read,
    begins="{",
    write=write,
    writes_to=(".json",),
)
