"""The network: nodes and directed links, read once, checked once, frozen."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.model.capacities import new_capacities
from anabranch.model.layout import node_positions
from anabranch.model.quantities import rate_bps, span_s

if TYPE_CHECKING:
    import networkx as nx
    import polars as pl
    from numpy.typing import NDArray

    from anabranch.model.capacities import Capacities

SPEED_IN_FIBRE = 2.0e8
"""Metres a second: light in glass, about two thirds of its speed in vacuum."""


@dataclass
class Edge:
    """An edge of a file: one-way or two-way, perhaps without capacity or delay.

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
    """The contents of a file, before missing capacities and delays are filled in."""

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

    def pair_opposites(self) -> None:
        """Make opposite edges each other's twin: the first from a to b with the first from b to a, and so on.

        Only if all edges are one-way; among two-way ones nothing is missing.
        """
        if any(e.two_way for e in self.edges):
            return
        waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, edge in enumerate(self.edges):
            waiting[edge.source, edge.target].append(i)
        for (source, target), there in waiting.items():
            if source >= target:
                continue
            for i, j in zip(there, waiting.get((target, source), []), strict=False):
                self.edges[i].twin, self.edges[j].twin = j, i

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
        # Only now: it takes longer to load than most networks to read.
        import polars as pl

        positions = self.core.positions
        longitude = [p[0] if p else None for p in positions]
        latitude = [p[1] if p else None for p in positions]
        columns = {"name": self.core.node_names, "longitude": longitude, "latitude": latitude}
        return pl.DataFrame(columns, schema={"name": pl.String, "longitude": pl.Float64, "latitude": pl.Float64})

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row for each directed link: ``name``, ``source``, ``target``, ``capacity_bps``, ``delay_s``, ``twin``."""
        # Only now: it takes longer to load than most networks to read.
        import polars as pl

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

    def with_capacities(self, capacity: Capacities) -> Self:
        """Give this network with other capacities.

        Parameters
        ----------
        capacity : mapping of str to rate, DataFrame, or array_like of shape (links,)
            New capacities by the names of links, such as ``{"DE-AT": "40 Gbit/s"}``, where other links keep theirs; a
            table with the columns ``name`` and ``capacity_bps`` (or ``capacity``, text), such as `links`; or one
            capacity for each link, in their order. Numbers are bit/s, 0 or more, and may be infinite. A link of
            capacity 0 is down. A link is one direction: the way back has a name of its own.

        Raises
        ------
        ValueError
            An unknown link, another number of capacities, or a capacity that cannot be.
        """
        return type(self)(self.core.with_capacities(new_capacities(self, capacity)), self.name)

    def layout(self) -> NDArray[np.float64]:
        """Give each node a place in a picture: from coordinates if there are any, else near its neighbours.

        Returns
        -------
        ndarray of float, shape (nodes, 2)
            x to the right and y upwards, in arbitrary units that are equally long on both axes.
        """
        return node_positions(self)

    def to_networkx(self) -> nx.MultiDiGraph:
        """Give the network as a `networkx.MultiDiGraph`: links are edges keyed by name, with their attributes.

        An edge has ``capacity_bps``, ``delay_s``, ``twin`` (the name of the link back, or None) and ``number``, which
        keeps the order of the links: `from_networkx` restores it.
        """
        # Only now: it takes longer to load than most networks to read.
        import networkx as nx

        graph = nx.MultiDiGraph(name=self.name)
        for name, longitude, latitude in self.nodes.iter_rows():
            position = {} if longitude is None else {"longitude": longitude, "latitude": latitude}
            graph.add_node(name, **position)
        for number, (name, source, target, capacity_bps, delay_s, twin) in enumerate(self.links.iter_rows()):
            data = {"capacity_bps": capacity_bps, "delay_s": delay_s, "twin": twin, "number": number}
            graph.add_edge(source, target, key=name, **data)
        return graph

    def __len__(self) -> int:
        return len(self.core.node_names)

    def __repr__(self) -> str:
        title = f"{self.name}: " if self.name else ""
        return f"<Network {title}{len(self)} nodes, {len(self.core.link_names)} links>"

    def _repr_html_(self) -> str:
        from anabranch.notebook import network_html

        return network_html(self)


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
        Undirected edges become two-way links. Opposite directed edges become twins, first with first; where edges
        have an attribute ``twin``, it names the way back instead. Links are in the order of the attribute ``number``
        if every edge has it, else in that of the edges.
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
        number[node] = draft.add_node(str(node), _node_position(data, f"node `{node}`"))
    twins: list[str | None] = []
    for u, v, key, data in _ordered_edges(graph):
        place = f"link `{key}`" if isinstance(key, str) else f"link `{u}-{v}`"
        name = str(key) if isinstance(key, str) else None
        capacity_bps, delay_s = _edge_capacity(data, place), _edge_delay(data, place)
        draft.edges.append(Edge(number[u], number[v], name, capacity_bps, delay_s, not graph.is_directed()))
        twins.append(_edge_twin(data, place))
    stated = any("twin" in data for _, _, data in graph.edges(data=True))
    if not stated:
        draft.pair_opposites()
    network = draft.build(capacity, delay)
    return _with_twins(network, twins) if graph.is_directed() and any(twins) else network


def _ordered_edges(graph: nx.Graph[Any]) -> list[tuple[Any, Any, Any, dict[str, Any]]]:
    """List ends, key (None where there are none) and data of the edges, by their numbers if all have one."""
    if graph.is_multigraph():
        edges = list(graph.edges(keys=True, data=True))
    else:
        edges = [(u, v, None, data) for u, v, data in graph.edges(data=True)]
    if all(isinstance(data.get("number"), int) for _, _, _, data in edges):
        edges.sort(key=lambda edge: edge[3]["number"])
    return edges


def _node_position(data: dict[str, Any], place: str) -> tuple[float, float] | None:
    longitude, latitude = data.get("longitude"), data.get("latitude")
    if longitude is None or latitude is None:
        return None
    degrees = []
    for name, value in (("longitude", longitude), ("latitude", latitude)):
        try:
            degrees.append(float(value))
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"{place}: {name} is {value!r}; it must be a number of degrees") from error
    return degrees[0], degrees[1]


def _edge_capacity(data: dict[str, Any], place: str) -> float | None:
    """Take the capacity of an edge of networkx; a bare number without a unit in its name would be a guess."""
    text = data.get("capacity")
    if text is not None and not isinstance(text, str):
        raise ScenarioError(
            f'{place}: capacity is {text} without a unit; name the attribute capacity_bps, or write "10 Gbit/s"'
        )
    given = data.get("capacity_bps", text)
    try:
        return None if given is None else rate_bps(given, "capacity")
    except (TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"it is {given!r}, and must be a number of bit/s"
        raise ScenarioError(f"{place}: capacity: {reason}") from error


def _edge_delay(data: dict[str, Any], place: str) -> float | None:
    given = data.get("delay_s")
    try:
        return None if given is None else span_s(given, "delay")
    except (TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"it is {given!r}, and must be a number of seconds"
        raise ScenarioError(f"{place}: delay: {reason}") from error


def _edge_twin(data: dict[str, Any], place: str) -> str | None:
    twin = data.get("twin")
    if twin is not None and not isinstance(twin, str):
        raise ScenarioError(f"{place}: twin is {twin!r}; it must be the name of the link back")
    return twin


def _with_twins(network: Network, twins: list[str | None]) -> Network:
    """Pair one-way links by the names of their twins."""
    core = network.core
    number = {name: i for i, name in enumerate(core.link_names)}
    for twin in twins:
        if twin is not None and twin not in number:
            raise ScenarioError(f"there is no link `{twin}` to be a twin; name one of the network's links")
    try:
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
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    return Network(paired, network.name)
