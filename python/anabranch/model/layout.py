"""Where nodes lie in a picture: on the map if they have coordinates, else so that hops look like distances.

The map is equirectangular: x = longitude * cos(mean latitude), y = latitude, cut where the widest gap in longitude is.
Without any coordinates the stress ``sum over pairs of (|p_i - p_j| - d_ij)^2 / d_ij^2``, d_ij in hops, is made small
by majorisation [gansner2005], from a start by classical scaling over some pivots [brandes2007]: no chance in it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.model.network import Network

MOST_FOR_STRESS = 1000
"""Beyond so many nodes the start by pivots is the answer; the stress needs all pairs."""

PIVOTS = 60
CLOSE = 1e-12
"""The least square of a distance between nodes, in hops."""

ROUNDS = 120
PAIRS = 3e7
"""Most rounds of majorisation, and most pairs of nodes looked at in all of them together."""

GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
"""Directions that never repeat, to keep nodes apart without chance."""


def node_positions(network: Network) -> NDArray[np.float64]:
    """Give each node a place in the plane, y upwards, in arbitrary units of equal length on both axes."""
    core = network.core
    if not core.node_names:
        return np.zeros((0, 2))
    known = np.array([p is not None for p in core.positions])
    neighbours = _neighbours(network)
    if known.any() and len({p for p in core.positions if p is not None}) > 1:
        degrees = np.array([p if p is not None else (np.nan, np.nan) for p in core.positions])
        places = _project(degrees)
        _place_near_neighbours(places, known, neighbours)
    else:
        places = _stress_layout(neighbours)
    return _keep_apart(places)


def _neighbours(network: Network) -> list[list[int]]:
    own: list[set[int]] = [set() for _ in network.core.node_names]
    for a, b in zip(network.core.link_source.tolist(), network.core.link_target.tolist(), strict=True):
        own[a].add(b)
        own[b].add(a)
    return [sorted(nodes) for nodes in own]


def _project(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude, latitude = degrees[:, 0] % 360.0, degrees[:, 1]
    ring = np.unique(longitude[np.isfinite(longitude)])
    gaps = np.diff(np.append(ring, ring[0] + 360.0))
    east = ring[(int(gaps.argmax()) + 1) % len(ring)]
    shrink = np.cos(np.radians(np.nanmean(latitude)))
    return np.column_stack([((longitude - east) % 360.0) * shrink, latitude])


def _place_near_neighbours(places: NDArray[np.float64], known: NDArray[np.bool_], neighbours: list[list[int]]) -> None:
    """Put nodes without coordinates amid their neighbours, and those far from any along the lower edge."""
    extent = float((np.nanmax(places, axis=0) - np.nanmin(places, axis=0)).max()) or 1.0
    placed = known.copy()
    while True:
        ready = [i for i in np.flatnonzero(~placed).tolist() if any(placed[j] for j in neighbours[i])]
        if not ready:
            break
        spots = {i: places[[j for j in neighbours[i] if placed[j]]].mean(axis=0) for i in ready}
        for i, spot in spots.items():
            # Beside the middle, or a node with one neighbour would hide it.
            away = 0.035 if len(neighbours[i]) == 1 else 0.01
            places[i] = spot + away * extent * np.array([np.cos(i * GOLDEN_ANGLE), np.sin(i * GOLDEN_ANGLE)])
            placed[i] = True
    lost = np.flatnonzero(~placed)
    low, high = places[placed].min(axis=0), places[placed].max(axis=0)
    places[lost, 0] = low[0] + (high[0] - low[0]) * (np.arange(len(lost)) + 0.5) / max(len(lost), 1)
    places[lost, 1] = low[1] - 0.08 * extent


def _stress_layout(neighbours: list[list[int]]) -> NDArray[np.float64]:
    count = len(neighbours)
    if count < 3:
        return np.column_stack([np.arange(count, dtype=float), np.zeros(count)])
    if count > MOST_FOR_STRESS:
        return _by_pivots(_spread_hops(neighbours, PIVOTS))
    hops = _spread_hops(neighbours, count)
    order = np.argsort(hops.argmin(axis=1))
    return _upright(_majorise(_by_pivots(hops[:PIVOTS]), hops[order]))


def _spread_hops(neighbours: list[list[int]], rows: int) -> NDArray[np.float64]:
    """Give hops from some nodes to all, a row each: the next one is always the farthest from those before."""
    count = len(neighbours)
    hops = np.full((min(rows, count), count), np.inf)
    nearest = np.full(count, np.inf)
    pivot = max(range(count), key=lambda i: (len(neighbours[i]), -i))
    for row in hops:
        row[:] = _hops_from(pivot, neighbours)
        nearest = np.minimum(nearest, row)
        nearest[pivot] = -1.0
        pivot = int(nearest.argmax())
    widest = hops[np.isfinite(hops)].max()
    return np.where(np.isfinite(hops), hops, 1.3 * widest + 1.0)


def _hops_from(start: int, neighbours: list[list[int]]) -> NDArray[np.float64]:
    hops = [np.inf] * len(neighbours)
    hops[start] = 0.0
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if hops[other] == np.inf:
                hops[other] = hops[node] + 1.0
                queue.append(other)
    return np.array(hops)


def _by_pivots(hops: NDArray[np.float64]) -> NDArray[np.float64]:
    """Classical scaling: the two widest directions of the doubly centred squares of distances."""
    squares = hops.T**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, [-1, -2]] if vectors.shape[1] > 1 else np.column_stack([vectors[:, -1], 0.0 * vectors[:, -1]])
    places = -0.5 * centred @ axes
    # The sign of an eigenvector is the library's whim.
    for axis in places.T:
        axis *= np.sign(axis[np.abs(axis).argmax()]) or 1.0
    spread = float(np.linalg.norm(places - places.mean(axis=0), axis=1).mean())
    turn = np.arange(len(places)) * GOLDEN_ANGLE
    places *= hops.mean() / (1.2 * spread) if spread > 0.0 else 1.0
    return np.asarray(places + 1e-3 * hops.mean() * np.column_stack([np.cos(turn), np.sin(turn)]))


def _majorise(places: NDArray[np.float64], hops: NDArray[np.float64]) -> NDArray[np.float64]:
    count = len(places)
    weights = 1.0 / np.maximum(hops, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1.0 / count)
    pulls = weights * hops
    for _ in range(int(min(ROUNDS, max(20.0, PAIRS / count**2)))):
        squares = (places**2).sum(axis=1)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * places @ places.T, CLOSE))
        ratio = pulls / distances
        moved = inverse @ (ratio.sum(axis=1)[:, None] * places - ratio @ places)
        change = float(np.abs(moved - places).max())
        places = moved
        if change < 1e-3:
            break
    return places


def _upright(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn the widest direction level, the first node to the left and above the middle."""
    centred = places - places.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    turned: NDArray[np.float64] = centred @ vectors[:, ::-1]
    return turned * np.where(turned[0] > 0.0, [-1.0, 1.0], [1.0, -1.0])


def _keep_apart(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move nodes that lie on one spot onto a small ring around it."""
    extent = float((places.max(axis=0) - places.min(axis=0)).max()) or 1.0
    apart = places.copy()
    _, spot, size = np.unique(np.round(places / (extent * 1e-3)), axis=0, return_inverse=True, return_counts=True)
    spot = spot.ravel()
    for shared in np.flatnonzero(size > 1):
        own = np.flatnonzero(spot == shared)
        turn = 2.0 * np.pi * np.arange(len(own)) / len(own) + np.pi / 2.0
        ring = 0.006 * np.sqrt(len(own))
        apart[own] += ring * extent * np.column_stack([np.cos(turn), np.sin(turn)])
    return apart
