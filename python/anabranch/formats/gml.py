r"""GML: nested lists of keys and values in brackets, as the Topology Zoo has it.

All nodes are told apart by their ``id``, so that labels may repeat, and parallel edges are kept whether or not the
file says ``multigraph 1``. A node's name is its ``label``, or its id where it has none. Text may hold character
entities (``&amp;``, ``&#233;``). Capacity, delay and position: see `attributes`; a bare number in ``capacity`` is
Mbit/s unless the graph has a key ``capacity_unit``. What `write` gives has one directed edge for each link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.entities import html5
from typing import TYPE_CHECKING

from anabranch.formats.format import Format
from anabranch.formats.graph import Graph, GraphEdge, GraphNode, draft_from
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anabranch.formats.source import Place, Source
    from anabranch.model.network import Draft, Network

TOKEN = re.compile(
    r"""(?P<blank>\s+|\#[^\n]*)
    |(?P<key>[A-Za-z_]\w*)
    |(?P<number>[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|INF|NAN))
    |"(?P<text>[^"]*)"
    |(?P<open>\[)
    |(?P<close>\])""",
    re.VERBOSE,
)
GRAPH = re.compile(r"^[ \t]*graph[ \t]*\[", re.MULTILINE)
ENTITY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{1,32}));")


@dataclass
class Block:
    """The content between two brackets; numbers stay text, for `attributes` to read."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    blocks: list[tuple[str, Block]] = field(default_factory=list)

    def named(self, key: str) -> list[Block]:
        """Give the blocks of this key."""
        return [block for name, block in self.blocks if name == key]


def read(source: Source) -> Draft:
    """Read the first graph of a GML file."""
    graphs = parse(source).named("graph")
    if not graphs:
        raise source.whole.error("it holds no `graph [ ... ]`", "check that it is GML")
    block = graphs[0]
    directed = block.values.get("directed", "0") == "1"
    graph = Graph(data=dict(block.values))
    for node in block.named("node"):
        place = source.line(node.line)
        identity = _required(node, "id", place)
        label = node.values.get("label", identity)
        graph.nodes.append(GraphNode(identity, label, dict(node.values), place))
    for edge in block.named("edge"):
        place = source.line(edge.line)
        ends = [_required(edge, end, place) for end in ("source", "target")]
        graph.edges.append(GraphEdge(ends[0], ends[1], directed, dict(edge.values), place))
    return draft_from(graph, source)


def _required(block: Block, key: str, place: Place) -> str:
    if key not in block.values:
        raise place.error(f"there is no `{key}` between the brackets that open here", "add it")
    return block.values[key]


def parse(source: Source) -> Block:
    """Read the nested lists of a file."""
    top = Block(line=1)
    stack = [top]
    key: str | None = None
    for kind, text, line in _tokens(source):
        if kind == "key" and key is None:
            key = text
        elif kind == "close" and key is None and len(stack) > 1:
            stack.pop()
        elif kind == "open" and key is not None:
            block = Block(line)
            stack[-1].blocks.append((key, block))
            stack.append(block)
            key = None
        elif kind in ("number", "text") and key is not None:
            stack[-1].values[key] = _unescape(text) if kind == "text" else text
            key = None
        else:
            wanted = "a key" if key is None else f"a value of `{excerpt(key)}`"
            raise source.line(line).error(f"`{excerpt(text)}` stands where {wanted} should", "correct it")
    if key is not None or len(stack) > 1:
        reason = f"the file ends before the brackets that open in line {stack[-1].line} close"
        if key is not None:
            reason = f"the file ends before `{excerpt(key)}` has a value"
        raise source.whole.error(reason, "fetch it again or complete it")
    return top


def _tokens(source: Source) -> Iterator[tuple[str, str, int]]:
    text, at, line = source.text, 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            unclosed = text[at] == '"'
            reason = "a text begins here and never ends" if unclosed else f"`{excerpt(text[at : at + 20])}` is not GML"
            raise source.line(line).error(reason, "correct it, or check that it is GML")
        kind = match.lastgroup or ""
        if kind != "blank":
            yield kind, match[kind], line
        line += text.count("\n", at, match.end())
        at = match.end()


def _unescape(text: str) -> str:
    return ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    decimal, hexadecimal, name = entity.groups()
    if name:
        return html5.get(f"{name};", entity[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def write(network: Network) -> str:
    """Give a network as GML: a directed edge for each link, its twin by name."""
    lines = ["graph [", "  directed 1", "  multigraph 1", f"  label {_quoted(network.name)}"]
    for number, (name, longitude, latitude) in enumerate(network.nodes.iter_rows()):
        lines += ["  node [", f"    id {number}", f"    label {_quoted(name)}"]
        if longitude is not None:
            lines += [f"    longitude {longitude!r}", f"    latitude {latitude!r}"]
        lines.append("  ]")
    core = network.core
    ends = zip(core.link_source.tolist(), core.link_target.tolist(), strict=True)
    rows = zip(ends, network.links.select("name", "capacity_bps", "delay_s", "twin").iter_rows(), strict=True)
    for (source, target), (name, capacity_bps, delay_s, twin) in rows:
        lines += ["  edge [", f"    source {source}", f"    target {target}", f"    name {_quoted(name)}"]
        lines += [f"    capacity_bps {_number(capacity_bps)}", f"    delay_s {delay_s!r}"]
        lines += [f"    twin {_quoted(twin or '')}", "  ]"]
    return "\n".join([*lines, "]", ""])


def _number(value: float) -> str:
    return "+INF" if value == float("inf") else repr(value)


def _quoted(text: str) -> str:
    """Quote a text in ASCII, as the format asks."""
    plain = text.replace("&", "&amp;").replace('"', "&#34;")
    return f'"{plain.encode("ascii", "xmlcharrefreplace").decode()}"'


def looks_like(source: Source) -> bool:
    """Tell whether a line of a file begins a graph."""
    return GRAPH.search(source.beginning) is not None


FORMAT = Format(
    name="gml",
    description=".gml, as in the Topology Zoo",
    looks_like=looks_like,
    read=read,
    suffixes=(".gml",),
    write=write,
)
