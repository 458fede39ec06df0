"""The paths of each connection: the shortest, all equally short, disjoint, or given by hand."""

from __future__ import annotations

import itertools
from copy import copy
from typing import TYPE_CHECKING, Literal

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.memory import ask_for_memory
from anabranch.model.search import Kind, Metric, PathArrays, Search, found_anew, search_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anabranch.model.demands import Demands
    from anabranch.model.network import Network

Sharing = Literal["links", "nodes"]

DEFAULT_PATHS = 4
"""The number of paths that are found for each connection, if none is given."""


class Paths:
    """Paths of the connections of some demands, best first; immutable.

    Attributes
    ----------
    demands : Demands
        Whose connections they serve.
    core : _core.Paths
        The same as index arrays, for the core.
    search : Search or None
        What the search asked for that found them; None where they were given.
    connection_offsets : ndarray of int64, shape (connections + 1,)
        Paths of connection c: ``connection_offsets[c]:connection_offsets[c + 1]``.
    path_offsets : ndarray of int64, shape (paths + 1,)
        Links of path p: ``path_links[path_offsets[p]:path_offsets[p + 1]]``.
    path_links : ndarray of uint32
        Link numbers in order.
    """

    def __init__(self, demands: Demands, found: _core.Paths | PathArrays, search: Search | None = None) -> None:
        self.demands = demands
        self.search = search
        self._found = found
        self.connection_offsets = found.connection_offsets
        self.path_offsets = found.path_offsets
        self.path_links = found.path_links

    @property
    def core(self) -> _core.Paths:
        """The paths as the core has them."""
        if isinstance(self._found, PathArrays):
            names = self.demands.network.core.link_names
            links = [[names[link] for link in own] for own in self._by_path(self.path_links)]
            own = [links[a:b] for a, b in itertools.pairwise(self.connection_offsets.tolist())]
            self._found = _core.given_paths(self.demands.network.core, self.demands.core, own, True)
        return self._found

    def _by_path(self, values: NDArray[np.uint32]) -> list[list[int]]:
        """Give the values of the links of each path."""
        return [values[a:b].tolist() for a, b in itertools.pairwise(self.path_offsets.tolist())]

    def __len__(self) -> int:
        return len(self.path_offsets) - 1

    def __repr__(self) -> str:
        return f"<Paths {len(self)} paths of {len(self.connection_offsets) - 1} connections>"

    def _repr_html_(self) -> str:
        from anabranch.notebook import paths_html

        return paths_html(self)

    @property
    def connection(self) -> NDArray[np.uint32]:
        """The connection that each path belongs to."""
        counts = np.diff(self.connection_offsets)
        return np.repeat(np.arange(len(counts), dtype=np.uint32), counts)

    @property
    def without(self) -> NDArray[np.int64]:
        """The connections that have no path."""
        return np.flatnonzero(np.diff(self.connection_offsets) == 0)

    def serves(self, demands: Demands) -> bool:
        """Tell whether other demands have the same pairs of nodes, in the same order."""
        own, other = self.demands.core, demands.core
        is_same = np.array_equal(own.source, other.source) and np.array_equal(own.target, other.target)
        return is_same and demands.network is self.demands.network

    def serving(self, demands: Demands) -> Paths:
        """Give these paths to other demands between the same pairs of nodes, in the same order.

        Raises
        ------
        ValueError
            The demands are on another network, or of other connections.
        """
        if not self.serves(demands):
            raise ValueError("the demands are of connections between other nodes than the paths; find some for them")
        served = copy(self)
        served.demands = demands
        return served

    def on(self, demands: Demands) -> Paths | None:
        """Give these paths to the same connections on another network; None if it lacks links that they take.

        Links are the same that have the same name and lead between nodes of the same names.

        Raises
        ------
        ValueError
            The demands are of connections between other nodes, or in another order.
        """
        if _pairs(demands) != _pairs(self.demands):
            raise ValueError("the demands are of connections between other nodes than the paths; find some for them")
        own, other = _link_keys(self.demands.network), _link_keys(demands.network)
        moved = copy(self)
        moved.demands = demands
        if own == other:
            return moved
        number = {key: i for i, key in enumerate(other)}
        if any(own[link] not in number for link in np.unique(self.path_links).tolist()):
            return None
        links = np.array([number.get(key, 0) for key in own], dtype=np.uint32)[self.path_links]
        moved.path_links = links
        if moved.search is not None and not isinstance(moved.search.metric, str):
            # Its lengths are those of links by other numbers.
            moved.search = None
        moved._found = PathArrays(self.connection_offsets, self.path_offsets, links)
        return moved

    def without_links(self, failed: Sequence[int]) -> Paths:
        """Give the paths after links have failed: found anew, as before but without these links, where they are hit.

        Parameters
        ----------
        failed : sequence of int
            The numbers of the links.

        Raises
        ------
        ValueError
            The paths were given, so that it is not known how to find others.
        """
        if self.search is None:
            raise ValueError("the paths were given, so none can be found in their place; find them by find_paths")
        before = PathArrays(self.connection_offsets, self.path_offsets, self.path_links)
        down, demands = np.asarray(failed, dtype=np.int64), self.demands
        found = found_anew(demands.network, demands.core, before, self.search, down)
        return self if found is before else Paths(demands, found, self.search)

    def nodes(self) -> pl.Series:
        """Give the nodes along each path as text: ``Oslo > Bergen > Stavanger``."""
        # Only now: it takes longer to load than most networks to read.
        import polars as pl

        core = self.demands.network.core
        names = np.array(core.node_names, dtype=object)
        hops = np.diff(self.path_offsets)
        path = np.repeat(np.arange(len(self), dtype=np.uint32), hops)
        ends = pl.DataFrame({"path": path, "node": names[core.link_target[self.path_links]].tolist()})
        if not len(self):
            return pl.Series("path", [], dtype=pl.String)
        first = names[core.link_source[self.path_links[self.path_offsets[:-1]]]].tolist()
        rest = ends.group_by("path", maintain_order=True).agg(pl.col("node").str.join(" > "))
        return (pl.Series(first) + " > " + rest["node"]).rename("path")

    def links(self) -> pl.DataFrame:
        """Give a row for each path: the number of its ``connection``, and those of its ``links`` in order."""
        # Only now: it takes longer to load than most networks to read.
        import polars as pl

        columns = {"connection": self.connection, "links": self._by_path(self.path_links)}
        return pl.DataFrame(columns, schema_overrides={"links": pl.List(pl.UInt32)})


def find_paths(
    demands: Demands,
    count: int = 4,
    *,
    kind: Kind = "shortest",
    metric: Metric | NDArray[np.float64] = "hops",
    progress: Callable[[int], None] | None = None,
) -> Paths:
    """Find paths for every connection, over the links that are up: links of capacity 0 are down.

    Parameters
    ----------
    count : int
        The most for each connection.
    kind : {"shortest", "equal-cost", "disjoint"}
        The shortest loopless paths [yen1971]; all of the least metric, ``count`` at the most; or paths that share no
        link, of the least metric in total [suurballe1974].
    metric : {"hops", "delay"} or ndarray of float64, shape (links,)
        The length of a link, for shortest paths; an array has a length for each link, in any unit, 0 or more. Ties go
        to fewer links, then to the lower link numbers from the first link on, so the answer does not depend on the
        order of the search.
    progress : callable, optional
        Called with the number of connections done since the last call.

    Raises
    ------
    ScenarioError
        Paths by delay, and no link has one.
    ValueError
        A count of zero, an unknown kind or metric.
    MemoryError
        The paths found until then took all memory that they may take.
    """
    ask_for_memory()
    values = metric if isinstance(metric, str) else np.ascontiguousarray(metric, dtype=float)
    search = Search(count, kind, values)
    return Paths(demands, search_paths(demands.network, demands.core, search, progress=progress), search)


def _pairs(demands: Demands) -> list[tuple[str, str]]:
    """Give the names of the ends of each connection."""
    names, core = demands.network.core.node_names, demands.core
    return [(names[a], names[b]) for a, b in zip(core.source.tolist(), core.target.tolist(), strict=True)]


def _link_keys(network: Network) -> list[tuple[str, str, str]]:
    """Give the name and the ends of each link."""
    nodes, core = network.core.node_names, network.core
    ends = zip(core.link_source.tolist(), core.link_target.tolist(), strict=True)
    return [(name, nodes[a], nodes[b]) for name, (a, b) in zip(core.link_names, ends, strict=True)]


def given_paths(demands: Demands, paths: Sequence[Sequence[Sequence[str]]], *, by: str = "nodes") -> Paths:
    """Make paths from lists of nodes or links.

    Parameters
    ----------
    paths : sequence
        For each connection its paths, best first, each the names of the nodes (or links) along it.
    by : {"nodes", "links"}
        The kind of the names. Only names of links distinguish parallel links.

    Raises
    ------
    ScenarioError
        An unknown name, a gap, a loop, ends that are not those of the connection.
    """
    lists = [[list(path) for path in own] for own in paths]
    try:
        return Paths(demands, _core.given_paths(demands.network.core, demands.core, lists, by == "links"))
    except ValueError as error:
        raise ScenarioError(str(error)) from error


def groups(
    paths: Paths, *, sharing: Sharing = "links", without: Sequence[str] = (), together: bool = False
) -> NDArray[np.uint32]:
    """Tell which paths of a connection may have a bottleneck in common [thomas2016, sec. IV-A].

    Two paths are in one group if they share a link, directly or through other paths: where A and B share a link, and
    B and C another, all three are in one group.

    Parameters
    ----------
    sharing : {"links", "nodes"}
        A directed link; or also a node that both paths pass through, which the ends of a path are not.
    without : sequence of str
        Links that count as shared by nobody, such as an access link that is known to be no bottleneck. Nodes that
        paths come to or leave by these do not count either.
    together : bool
        Number the groups over all connections, like those of one receiver with several sources, instead of separately
        for each connection.

    Returns
    -------
    ndarray of uint32, shape (paths,)
        The group of each path, from 0 on in the order of the first paths of groups.

    Raises
    ------
    ScenarioError
        A link that is not in the network, or an unknown kind of sharing.
    """
    try:
        return _core.groups(paths.demands.network.core, paths.core, sharing, link_names(without), together)
    except ValueError as error:
        raise ScenarioError(str(error)) from error


def link_names(names: Sequence[str]) -> list[str]:
    """Take names of links, and refuse a single one that was not put into a list."""
    if isinstance(names, str):
        raise ScenarioError(f"the links to leave out are {names!r}; give a list of the names of links")
    return list(names)
