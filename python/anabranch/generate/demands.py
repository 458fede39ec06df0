"""Demands made by rule and seed, on a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.model.arguments import Rate, whole
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.model.quantities import rate_bps
from anabranch.model.spelling import unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

_make = _core.generate


def _members(network: Network, nodes: Sequence[str] | None) -> list[int] | None:
    if nodes is None:
        return None
    numbers = []
    for name in nodes:
        number = network.core.find_node(name)
        if number is None:
            raise ValueError(unknown("node", name, network.core.node_names))
        numbers.append(number)
    return numbers


def gravity(
    network: Network,
    total: Rate,
    *,
    masses: str | Sequence[float] = "random",
    nodes: Sequence[str] | None = None,
    seed: int = 1,
) -> Demands:
    """Make a demand for every ordered pair of nodes, in proportion to the product of their masses [roughan2005].

    Parameters
    ----------
    total : float or str
        The sum of all demands, in bit/s or as text.
    masses : {"random", "capacity"} or sequence of float
        Drawn from an exponential distribution by the seed, the capacity attached to each node, or one for each node,
        in any unit: only their proportions count.
    nodes : sequence of str, optional
        The nodes that send and receive; all if not given.
    seed : int
        The same seed gives the same demands.

    Raises
    ------
    ValueError
        A node that is not in the network; an invalid number, seed or rate.
    """
    given = masses if isinstance(masses, str) else [float(m) for m in masses]
    total_bps = rate_bps(total, "total")
    core = _make.gravity(network.core, _members(network, nodes), total_bps, given, whole("seed", seed))
    return Demands(network, core)


def uniform(
    network: Network, most: Rate, *, equal: bool = False, nodes: Sequence[str] | None = None, seed: int = 1
) -> Demands:
    """Make a demand for every ordered pair of nodes, drawn from 0 to `most`, or `most` for all if `equal`.

    Parameters
    ----------
    most : float or str
        The greatest demand, in bit/s or as text.
    equal : bool
        Whether every demand is `most`.
    nodes : sequence of str, optional
        The nodes that send and receive; all if not given.
    seed : int
        The same seed gives the same demands.

    Raises
    ------
    ValueError
        A node that is not in the network; an invalid number, seed or rate.
    """
    most_bps = rate_bps(most, "demand")
    core = _make.uniform(network.core, _members(network, nodes), most_bps, equal, whole("seed", seed))
    return Demands(network, core)


def hot_spots(
    network: Network,
    total: Rate,
    *,
    count: int = 1,
    share: float = 0.5,
    nodes: Sequence[str] | None = None,
    seed: int = 1,
) -> Demands:
    """Make demands of which `count` nodes, drawn by the seed, send or receive a `share` of the total.

    Parameters
    ----------
    total : float or str
        The sum of all demands, in bit/s or as text.
    count : int
        Number of hot spots; 1 or more.
    share : float
        The part of the total that begins or ends at a hot spot; over 0 and at most 1.
    nodes : sequence of str, optional
        The nodes that send and receive; all if not given.
    seed : int
        The same seed gives the same demands.

    Raises
    ------
    ValueError
        A node that is not in the network; an invalid number, seed or rate.
    """
    total_bps = rate_bps(total, "total")
    members, spots = _members(network, nodes), whole("count", count)
    core = _make.hot_spots(network.core, members, total_bps, spots, share, whole("seed", seed))
    return Demands(network, core)


def random_pairs(
    network: Network, count: int, *, demand: Rate | None = None, nodes: Sequence[str] | None = None, seed: int = 1
) -> Demands:
    """Make `count` connections between nodes drawn at random, each with this demand or without limit.

    Parameters
    ----------
    count : int
        Number of connections; two may join the same nodes.
    demand : float or str, optional
        The most each can use, in bit/s or as text; no limit if not given.
    nodes : sequence of str, optional
        The nodes that send and receive; all if not given.
    seed : int
        The same seed gives the same demands.

    Raises
    ------
    ValueError
        A node that is not in the network; an invalid number, seed or rate.
    """
    demand_bps = None if demand is None else rate_bps(demand, "demand")
    members, pairs = _members(network, nodes), whole("count", count)
    return Demands(network, _make.random_pairs(network.core, members, pairs, demand_bps, whole("seed", seed)))
