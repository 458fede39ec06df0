"""The network: nodes and directed links, read once, checked once, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Self

import networkx as nx
import numpy as np
import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPEED_IN_FIBRE = 2.0e8
"""Metres a second: light in glass, about two thirds of its speed in vacuum."""


def rate_bps(rate: float | str, what: str = "rate") -> float:
    """Give a rate in bit/s, from a number of bit/s or text such as ``"10 Gbit/s"``."""
    if isinstance(rate, str):
        return _core.parse_rate(rate)
    if not rate >= 0.0:
        raise ValueError(f"{what} is {rate} bit/s; it must be 0 or more")
    return float(rate)


def span_s(span: float | str, what: str = "time") -> float:
    """Give a time in seconds, from a number of seconds or text such as ``"5 ms"``."""
    if isinstance(span, str):
        return _core.parse_span(span)
    if not 0.0 <= span < float("inf"):
        raise ValueError(f"{what} is {span} s; it must be finite and 0 or more")
    return float(span)


@dataclass
class Edge:
    """An edge as a file has it: one-way or two-way, perhaps without capacity or delay.

    ``twin`` is the number of the edge that leads back; only for one-way edges among themselves.
    """

    source: int
    target: int
    name: str | None = None
    capacity_bps: float | None = None
    delay_s: float | None = None
    two_way: bool = True
    twin: int | None = None


@dataclass
class Draft:
    """What a reader found in a file, before missing capacities and delays are filled in."""

    name: str = ""
    node_names: list[str] = field(default_factory=list)
    positions: list[tuple[float, float] | None] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add_node(self, name: str, position: tuple[float, float] | None = None) -> int:
        """Add a node and give its number."""
        self.node_names.append(name)
        self.positions.append(position)
        return len(self.node_names) - 1

    def edge_name(self, edge: Edge) -> str:
        """Name an edge for a message: its own name, or its ends."""
        return edge.name or f"{self.node_names[edge.source]}-{self.node_names[edge.target]}"

    def fill_capacities(self, capacity: float | str | None) -> None:
        """Give every edge that has no capacity this one; without one, the first such edge is an error."""
        bare = [e for e in self.edges if e.capacity_bps is None]
        if not bare:
            return
        if capacity is None:
            raise ScenarioError(
                f"link `{self.edge_name(bare[0])}`: the file gives no capacity ({len(bare)} of {len(self.edges)} links"
                ' have none); fill them with --capacity "10 Gbit/s" (in Python: capacity="10 Gbit/s")'
            )
        bps = rate_bps(capacity, "capacity")
        for edge in bare:
            edge.capacity_bps = bps

    def fill_delays(self, delay: float | str | None) -> None:
        """Give every edge that has no delay this one, or the time light takes: ``"coordinates"``; 0 without one."""
        if delay == "coordinates":
            for edge in self.edges:
                if edge.delay_s is None:
                    edge.delay_s = self._light_time_s(edge)
            return
        seconds = 0.0 if delay is None else span_s(delay, "delay")
        for edge in self.edges:
            if edge.delay_s is None:
                edge.delay_s = seconds

    def _light_time_s(self, edge: Edge) -> float:
        ends = self.positions[edge.source], self.positions[edge.target]
        if ends[0] is None or ends[1] is None:
            lost = edge.source if ends[0] is None else edge.target
            raise ScenarioError(
                f"link `{self.edge_name(edge)}`: node `{self.node_names[lost]}` has no coordinates to take the delay"
                ' from; give one delay for all, --delay "5 ms", or add coordinates to the file'
            )
        return _core.distance_m(ends[0], ends[1]) / SPEED_IN_FIBRE

    def build(self, capacity: float | str | None = None, delay: float | str | None = None) -> Network:
        """Fill in what is missing, check everything, freeze."""
        self.fill_capacities(capacity)
        self.fill_delays(delay)
        edges = self.edges
        names = [e.name for e in edges]
        source, target = [e.source for e in edges], [e.target for e in edges]
        capacity_bps = [float(e.capacity_bps or 0.0) for e in edges]
        delay_s = [float(e.delay_s or 0.0) for e in edges]
        columns = (self.node_names, self.positions, names, source, target, capacity_bps, delay_s)
        try:
            if any(e.two_way for e in edges):
                core = _core.Network.from_edges(*columns, [e.two_way for e in edges])
            else:
                core = _core.Network(*columns, [-1 if e.twin is None else e.twin for e in edges])
        except ValueError as error:
            raise ScenarioError(str(error)) from error
        return Network(core, self.name)


class Network:
    """Nodes and directed links; immutable.

    Made by `read_network`, the functions of `anabranch.generate`, or `from_networkx`.

    Attributes
    ----------
    name : str
        For headings; may be empty.
    core : _core.Network
        The checked model that solvers share.
    """

    def __init__(self, core: _core.Network, name: str = "") -> None:
        self.core = core
        self.name = name

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """A row for each node: ``name``, ``longitude`` and ``latitude`` in degrees (null where unknown)."""
        positions = self.core.positions
        longitude = [p[0] if p else None for p in positions]
        latitude = [p[1] if p else None for p in positions]
        columns = {"name": self.core.node_names, "longitude": longitude, "latitude": latitude}
        return pl.DataFrame(columns, schema={"name": pl.String, "longitude": pl.Float64, "latitude": pl.Float64})

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row for each directed link: ``name``, ``source``, ``target``, ``capacity_bps``, ``delay_s``, ``twin``."""
        names = np.array(self.core.node_names, dtype=object)
        link_names = self.core.link_names
        twin = [link_names[t] if t >= 0 else None for t in self.core.twin.tolist()]
        return pl.DataFrame(
            {
                "name": link_names,
                "source": names[self.core.link_source].tolist(),
                "target": names[self.core.link_target].tolist(),
                "capacity_bps": self.core.capacity_bps,
                "delay_s": self.core.delay_s,
                "twin": twin,
            },
            schema_overrides={"name": pl.String, "source": pl.String, "target": pl.String, "twin": pl.String},
        )

    @cached_property
    def parts(self) -> NDArray[np.uint32]:
        """For each node the number of the connected part that it lies in."""
        return self.core.parts()

    def with_capacities(self, capacity_bps: NDArray[np.float64]) -> Self:
        """Give the same network with other capacities, one in bit/s for each link."""
        return type(self)(self.core.with_capacities(np.asarray(capacity_bps, dtype=float).tolist()), self.name)

    def to_networkx(self) -> nx.MultiDiGraph:
        """Give the network as a `networkx.MultiDiGraph`: links are edges keyed by name, with their attributes."""
        graph = nx.MultiDiGraph(name=self.name)
        for name, longitude, latitude in self.nodes.iter_rows():
            position = {} if longitude is None else {"longitude": longitude, "latitude": latitude}
            graph.add_node(name, **position)
        for name, source, target, capacity_bps, delay_s, twin in self.links.iter_rows():
            graph.add_edge(source, target, key=name, capacity_bps=capacity_bps, delay_s=delay_s, twin=twin)
        return graph

    def __len__(self) -> int:
        return len(self.core.node_names)

    def __repr__(self) -> str:
        title = f"{self.name}: " if self.name else ""
        return f"<Network {title}{len(self)} nodes, {len(self.core.link_names)} links>"

    def _repr_html_(self) -> str:
        capacity = self.core.capacity_bps
        span = ""
        if len(capacity):
            low, high = _core.format_rate(float(capacity.min())), _core.format_rate(float(capacity.max()))
            span = f", capacity {low}" + (f" to {high}" if low != high else "")
        parts = int(self.parts.max()) + 1 if len(self) else 0
        title = escape(self.name or "network")
        facts = f"{len(self)} nodes, {len(capacity)} directed links{span}, {parts} connected part(s)"
        return f"<div><b>{title}</b><br>{facts}{self.links.head(10)._repr_html_()}</div>"


def from_networkx(
    graph: nx.Graph[Any],
    *,
    capacity: float | str | None = None,
    delay: float | str | None = None,
) -> Network:
    """Take a network from networkx.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Node names are the nodes as text; attributes ``longitude`` and ``latitude`` are kept. Edges take
        ``capacity_bps`` (or ``capacity``, text such as ``"10 Gbit/s"``) and ``delay_s``.
        Undirected edges become two-way links. In a directed multigraph an attribute ``twin`` names the way back.
    capacity, delay
        For edges that have none; as for `read_network`.

    Raises
    ------
    ScenarioError
        An edge without capacity, a loop from a node to itself, a bad value.
    """
    draft = Draft(name=str(graph.name or ""))
    number: dict[Any, int] = {}
    for node, data in graph.nodes(data=True):
        longitude, latitude = data.get("longitude"), data.get("latitude")
        position = None if longitude is None or latitude is None else (float(longitude), float(latitude))
        number[node] = draft.add_node(str(node), position)
    twins: list[str | None] = []
    multigraph = graph.is_multigraph()
    rows = graph.edges(keys=True, data=True) if multigraph else ((u, v, None, d) for u, v, d in graph.edges(data=True))
    for u, v, key, data in rows:
        name = str(key) if isinstance(key, str) else None
        capacity_bps = _edge_capacity(data, f"link `{u}-{v}`")
        delay_s = None if data.get("delay_s") is None else span_s(data["delay_s"], f"link `{u}-{v}`: delay")
        draft.edges.append(Edge(number[u], number[v], name, capacity_bps, delay_s, not graph.is_directed()))
        twins.append(data.get("twin"))
    network = draft.build(capacity, delay)
    return _with_twins(network, twins) if graph.is_directed() and any(twins) else network


def _edge_capacity(data: dict[str, Any], place: str) -> float | None:
    """Take the capacity of an edge of networkx; a bare number without a unit in its name would be a guess."""
    text = data.get("capacity")
    if text is not None and not isinstance(text, str):
        raise ScenarioError(
            f'{place}: capacity is {text} without a unit; name the attribute capacity_bps, or write "10 Gbit/s"'
        )
    given = data.get("capacity_bps", text)
    return None if given is None else rate_bps(given, f"{place}: capacity")


def _with_twins(network: Network, twins: list[str | None]) -> Network:
    """Pair one-way links by the names of their twins."""
    core = network.core
    number = {name: i for i, name in enumerate(core.link_names)}
    for twin in twins:
        if twin is not None and twin not in number:
            raise ScenarioError(f"there is no link `{twin}` to be a twin; name one of the network's links")
    paired = _core.Network(
        core.node_names,
        core.positions,
        list(core.link_names),
        core.link_source.tolist(),
        core.link_target.tolist(),
        core.capacity_bps.tolist(),
        core.delay_s.tolist(),
        [-1 if twin is None else number[twin] for twin in twins],
    )
    return Network(paired, network.name)
