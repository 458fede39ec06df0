"""GraphML: XML with declared attributes; the Topology Zoo's and what networkx writes.

A node's name is its attribute ``label``, or its id where it has none. Capacity, delay and position: see `attributes`;
a bare number in ``capacity`` is Mbit/s unless the graph has an attribute ``capacity_unit``. The first graph of the
file is read; hyperedges are refused. What `write` gives has one directed edge for each link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from anabranch.formats import markup
from anabranch.formats.format import Format
from anabranch.formats.graph import Graph, GraphEdge, GraphNode, draft_from
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from xml.etree.ElementTree import Element

    from anabranch.formats.source import Place, Source
    from anabranch.model.network import Draft, Network

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"

WRITTEN = {
    "graph": {"label": "string"},
    "node": {"label": "string", "longitude": "double", "latitude": "double"},
    "edge": {"name": "string", "capacity_bps": "double", "delay_s": "double", "twin": "string"},
}
"""The attributes that `write` declares, with their types."""


def read(source: Source) -> Draft:
    """Read the first graph of a GraphML file."""
    root = markup.parse(source)
    graphs = markup.children(root, "graph")
    if markup.local(root) != "graphml" or not graphs:
        raise source.whole.error("it is XML but holds no <graphml> with a <graph>", "check that it is GraphML")
    keys = {key.get("id", ""): key.get("attr.name", key.get("id", "")) for key in markup.children(root, "key")}
    defaults = _Defaults(root, keys)
    element = graphs[0]
    if markup.children(element, "hyperedge"):
        raise source.whole.error("it has hyperedges", "a link joins two nodes; split them into edges")
    directed = element.get("edgedefault", "undirected") == "directed"
    graph = Graph(data=_data(element, keys, {}, source.whole))
    for child in markup.children(element, "node"):
        graph.nodes.append(_node(child, keys, defaults, source))
    for child in markup.children(element, "edge"):
        graph.edges.append(_edge(child, keys, defaults, directed, source))
    return draft_from(graph, source)


class _Defaults:
    """The values that keys have where a node or edge gives none."""

    def __init__(self, root: Element, keys: Mapping[str, str]) -> None:
        self.node: dict[str, str] = {}
        self.edge: dict[str, str] = {}
        for key in markup.children(root, "key"):
            value = markup.child_text(key, "default")
            if value is None:
                continue
            name, domain = keys[key.get("id", "")], key.get("for", "all")
            if domain in ("node", "all"):
                self.node[name] = value
            if domain in ("edge", "all"):
                self.edge[name] = value


def _data(element: Element, keys: Mapping[str, str], defaults: Mapping[str, str], place: Place) -> dict[str, str]:
    found = dict(defaults)
    for data in markup.children(element, "data"):
        key = data.get("key", "")
        if key not in keys:
            raise place.error(f"there is no <key> with id `{excerpt(key)}`", "declare it or correct the id")
        found[keys[key]] = data.text or ""
    return found


def _node(element: Element, keys: Mapping[str, str], defaults: _Defaults, source: Source) -> GraphNode:
    identity = markup.attribute(element, "id", source, "a node")
    place = source.element(f"node `{excerpt(identity)}`")
    data = _data(element, keys, defaults.node, place)
    return GraphNode(identity, data.get("label", identity), dict(data), place)


def _edge(element: Element, keys: Mapping[str, str], defaults: _Defaults, directed: bool, source: Source) -> GraphEdge:
    ends = [markup.attribute(element, end, source, "an edge") for end in ("source", "target")]
    place = source.element(f"edge `{excerpt(ends[0])}-{excerpt(ends[1])}`")
    data = _data(element, keys, defaults.edge, place)
    own = element.get("directed")
    return GraphEdge(ends[0], ends[1], directed if own is None else own == "true", dict(data), place)


def write(network: Network) -> str:
    """Give a network as GraphML: a directed edge for each link, its twin by name."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<graphml xmlns="{NAMESPACE}">']
    for domain, attributes in WRITTEN.items():
        for name, kind in attributes.items():
            key = f'id="{domain}.{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"'
            lines.append(f"  <key {key}/>")
    lines.append('  <graph edgedefault="directed">')
    lines.append(f"    {_written('graph', 'label', network.name)}")
    for number, (name, longitude, latitude) in enumerate(network.nodes.iter_rows()):
        values = {"label": name, "longitude": longitude, "latitude": latitude}
        lines.append(f'    <node id="{number}">{_written_all("node", values)}</node>')
    core = network.core
    ends = zip(core.link_source.tolist(), core.link_target.tolist(), strict=True)
    rows = zip(ends, network.links.select("name", "capacity_bps", "delay_s", "twin").iter_rows(named=True), strict=True)
    for (source, target), values in rows:
        data = _written_all("edge", {**values, "twin": values["twin"] or ""})
        lines.append(f"    <edge source={quoteattr(str(source))} target={quoteattr(str(target))}>{data}</edge>")
    lines += ["  </graph>", "</graphml>", ""]
    return "\n".join(lines)


def _written_all(domain: str, values: Mapping[str, object]) -> str:
    return "".join(_written(domain, name, value) for name, value in values.items() if value is not None)


def _written(domain: str, name: str, value: object) -> str:
    text = "INF" if value == float("inf") else escape(str(value))
    return f'<data key="{domain}.{name}">{text}</data>'


def looks_like(source: Source) -> bool:
    """Tell whether a file is XML with an element of GraphML."""
    return source.beginning.startswith("<") and "<graphml" in source.beginning


FORMAT = Format(
    name="graphml",
    description=".graphml, as in the Topology Zoo",
    looks_like=looks_like,
    read=read,
    suffixes=(".graphml",),
    begins="<",
    write=write,
)
