"""The search for paths: what was asked for, links that are down left out, and the search anew where links fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anabranch.model.network import Network

Kind = Literal["shortest", "equal-cost", "disjoint"]
Metric = Literal["hops", "delay"]


@dataclass(frozen=True, eq=False)
class Search:
    """What a search for paths was asked for.

    Attributes
    ----------
    count : int
        The most paths for each connection.
    kind : str
        The kind of paths.
    metric : str or ndarray of float64
        The length of links.
    """

    count: int
    kind: Kind
    metric: Metric | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PathArrays:
    """Paths as index arrays, as `Paths` has them."""

    connection_offsets: NDArray[np.int64]
    path_offsets: NDArray[np.int64]
    path_links: NDArray[np.uint32]


def search_paths(
    network: Network,
    demands: _core.Demands,
    search: Search,
    *,
    failed: NDArray[np.int64] | None = None,
    progress: Callable[[int], None] | None = None,
) -> _core.Paths | PathArrays:
    """Find paths over the links that are up: those with a capacity over 0, without those that fail.

    Raises
    ------
    ScenarioError
        Paths by delay, and no link has one.
    ValueError
        A count of zero, an unknown kind or metric.
    """
    core = network.core
    _check_delays(core, search.metric)
    is_up = core.capacity_bps > 0.0
    if failed is not None:
        is_up[failed] = False
    if is_up.all():
        return _core.find_paths(core, demands, search.kind, search.count, search.metric, progress)
    up = np.flatnonzero(is_up)
    metric = search.metric
    if not isinstance(metric, str):
        if metric.shape != is_up.shape:
            raise ValueError(f"metric has the shape {metric.shape}; it must be {is_up.shape}, one for each link")
        metric = np.ascontiguousarray(metric[up])
    found = _core.find_paths(_part(core, up), demands, search.kind, search.count, metric, progress)
    links = up[found.path_links].astype(np.uint32)
    return PathArrays(found.connection_offsets, found.path_offsets, links)


def found_anew(
    network: Network, demands: _core.Demands, before: PathArrays, search: Search, failed: NDArray[np.int64]
) -> PathArrays:
    """Find paths anew for the connections that have one over links that fail, and keep those of the others.

    What a connection had is still the best where it touches no such link; of disjoint paths others may be as good.
    """
    counts = np.diff(before.connection_offsets)
    owner = np.repeat(np.repeat(np.arange(len(counts)), counts), np.diff(before.path_offsets))
    hit = np.unique(owner[np.isin(before.path_links, failed)])
    if not len(hit):
        return before
    found = search_paths(network, _some(network.core, demands, hit), search, failed=failed)
    first = before.connection_offsets[:-1].copy()
    first[hit] = len(before.path_offsets) - 1 + found.connection_offsets[:-1]
    counts[hit] = np.diff(found.connection_offsets)
    chosen = _runs(first, counts)
    starts = np.concatenate([before.path_offsets[:-1], len(before.path_links) + found.path_offsets[:-1]])[chosen]
    lengths = np.concatenate([np.diff(before.path_offsets), np.diff(found.path_offsets)])[chosen]
    links = np.concatenate([before.path_links, found.path_links])[_runs(starts, lengths)]
    return PathArrays(_offsets(counts), _offsets(lengths), links)


def _check_delays(core: _core.Network, metric: Metric | NDArray[np.float64]) -> None:
    """Refuse paths by delay where all have none: every choice among them would be one by hops."""
    if isinstance(metric, str) and metric == "delay" and len(core.delay_s) and not core.delay_s.any():
        raise ScenarioError(
            "no link has a delay by which paths could be found; give --delay, such as 5 ms or coordinates (in Python:"
            ' delay="5 ms"), or find paths by hops'
        )


def _part(core: _core.Network, up: NDArray[np.int64]) -> _core.Network:
    """Give a network with the same nodes and some of its links, in their order."""
    names = core.link_names
    return _core.Network(
        core.node_names,
        core.positions,
        [names[link] for link in up],
        core.link_source[up].tolist(),
        core.link_target[up].tolist(),
        core.capacity_bps[up].tolist(),
        core.delay_s[up].tolist(),
        [-1] * len(up),
    )


def _some(network: _core.Network, demands: _core.Demands, chosen: NDArray[np.int64]) -> _core.Demands:
    """Give some of the demands, in their order."""
    names = demands.names
    columns = (demands.demand_bps, demands.weight, demands.qos, demands.reserved_bps, demands.start_s, demands.stop_s)
    return _core.Demands(
        network,
        [names[connection] for connection in chosen],
        demands.source[chosen].tolist(),
        demands.target[chosen].tolist(),
        *(column[chosen].tolist() for column in columns),
    )


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _runs(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the numbers first, first + 1, ... of each run, one run after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))
