"""Networks and demands made by rule and seed: the same arguments give the same answer, anywhere.

All links are two-way. Rates are numbers of bit/s or text such as ``"10 Gbit/s"``; times are numbers of seconds or
text such as ``"5 ms"``. Wrong arguments raise ValueError with what would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.demands import Demands
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.network import Network, rate_bps, span_s

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

_make = _core.generate

Rate = float | str
Time = float | str


def _kind(capacity: Rate, delay: Time) -> tuple[float, float]:
    return rate_bps(capacity, "capacity"), span_s(delay, "delay")


def dumbbell(
    pairs: int,
    *,
    access: Rate = "100 Mbit/s",
    bottleneck: Rate = "10 Mbit/s",
    access_delay: Time = "1 ms",
    bottleneck_delay: Time = "10 ms",
) -> Network:
    """Join `pairs` senders and receivers by one bottleneck."""
    core = _make.dumbbell(pairs, _kind(access, access_delay), _kind(bottleneck, bottleneck_delay))
    return Network(core, f"dumbbell-{pairs}")


def parking_lot(
    hops: int,
    cross_pairs: int = 1,
    *,
    access: Rate = "100 Mbit/s",
    bottleneck: Rate = "10 Mbit/s",
    access_delay: Time = "1 ms",
    bottleneck_delay: Time = "10 ms",
) -> Network:
    """Put `hops` bottlenecks in a row, each with `cross_pairs` pairs of hosts of its own."""
    access_kind, bottleneck_kind = _kind(access, access_delay), _kind(bottleneck, bottleneck_delay)
    return Network(_make.parking_lot(hops, cross_pairs, access_kind, bottleneck_kind), f"parking-lot-{hops}")


def ring(nodes: int, *, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms") -> Network:
    """Join `nodes` nodes in a ring."""
    return Network(_make.ring(nodes, _kind(capacity, delay)), f"ring-{nodes}")


def grid(
    rows: int, columns: int, *, wrapped: bool = False, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms"
) -> Network:
    """Join nodes in a grid, or in a torus if it is `wrapped`."""
    return Network(_make.grid(rows, columns, wrapped, _kind(capacity, delay)), f"grid-{rows}x{columns}")


def fat_tree(
    k: int, *, hosts: bool = True, capacity: Rate = "10 Gbit/s", delay: Time = "10 us", host_delay: Time = "1 us"
) -> Network:
    """Make a fat tree of switches with `k` ports [alfares2008]: k^3/4 hosts, if it has `hosts`."""
    host_kind = _kind(capacity, host_delay) if hosts else None
    return Network(_make.fat_tree(k, _kind(capacity, delay), host_kind), f"fat-tree-{k}")


def leaf_spine(
    leaves: int,
    spines: int,
    *,
    hosts_per_leaf: int = 0,
    uplink: Rate = "100 Gbit/s",
    host: Rate = "25 Gbit/s",
    delay: Time = "1 us",
) -> Network:
    """Join every leaf to every spine, with hosts on the leaves."""
    core = _make.leaf_spine(leaves, spines, hosts_per_leaf, _kind(uplink, delay), _kind(host, delay))
    return Network(core, f"leaf-spine-{leaves}x{spines}")


def waxman(
    nodes: int,
    *,
    alpha: float = 0.4,
    beta: float = 0.2,
    capacity: Rate = "10 Gbit/s",
    delay: Time = "1 ms",
    seed: int = 1,
) -> Network:
    """Draw a connected Waxman graph [waxman1988]: links with probability ``alpha exp(-d / (beta L))``."""
    capacity_bps, delay_s = _kind(capacity, delay)
    return Network(_make.waxman(nodes, alpha, beta, (capacity_bps, delay_s, delay_s), seed), f"waxman-{nodes}")


def random_regular(
    nodes: int, degree: int, *, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms", seed: int = 1
) -> Network:
    """Draw a connected graph in which every node has `degree` neighbours [steger1999]."""
    core = _make.random_regular(nodes, degree, _kind(capacity, delay), seed)
    return Network(core, f"random-regular-{nodes}-{degree}")


def transit_stub(
    routers: int | None = None,
    *,
    spec: str | os.PathLike[str] | None = None,
    transit: Rate = "5 Gbit/s",
    stub: Rate = "1 Gbit/s",
    delay: tuple[Time, Time] = ("1 ms", "10 ms"),
    hosts: int = 0,
    host: Rate = "100 Mbit/s",
    host_delay: Time = "1 us",
    seed: int = 1,
) -> Network:
    """Draw a transit-stub network after GT-ITM [zegura1996].

    Parameters
    ----------
    routers : {100, 110, 600, 1100, 11000}
        A size with known parameters: GT-ITM's own samples (100, 600), or those of [ludena2021] and [mozo2012].
    spec : path, optional
        A parameter file of GT-ITM instead.
    transit, stub : float or str
        Capacity of links between transit routers, and of all others [mozo2012].
    delay : (time, time)
        Each link draws its delay between these.
    hosts : int
        So many on each stub router, with links of capacity `host` and delay `host_delay`.
    """
    least, most = (span_s(d, "delay") for d in delay)
    transit_bps, stub_bps = rate_bps(transit, "transit capacity"), rate_bps(stub, "stub capacity")
    links = [(capacity, least, most) for capacity in (transit_bps, stub_bps, stub_bps)]
    parameters = None if spec is None else _read_spec(spec)
    host_kind = (hosts, _kind(host, host_delay)) if hosts else None
    core = _make.transit_stub(routers, parameters, links, host_kind, seed)
    return Network(core, f"transit-stub-{len(core.node_names)}")


def _read_spec(
    path: str | os.PathLike[str],
) -> tuple[list[int], list[int], list[tuple[int, float, float, float]]]:
    """Read a ``ts`` parameter file of GT-ITM."""
    source = load(path)
    lines = [(n, text.split()) for n, text in enumerate(source.text.splitlines(), 1)]
    lines = [(n, words) for n, words in lines if words and not words[0].startswith("#")]
    if len(lines) < 5 or lines[0][1][0] != "ts":
        raise ScenarioError(f"{path}: it is not a transit-stub parameter file; it must have `ts` and four more lines")
    try:
        number, words = lines[1]
        k, extra_ts, extra_ss = (int(word) for word in words[:3])
        counts: list[int] = []
        methods: list[tuple[int, float, float, float]] = []
        for number, words in lines[2:5]:  # noqa: B007
            counts.append(int(words[0]))
            alpha, beta, gamma = ([float(word) for word in words[3:6]] + [0.0, 0.0, 0.0])[:3]
            methods.append((int(words[2]), alpha, beta, gamma))
    except (ValueError, IndexError) as error:
        raise ScenarioError(f"{path}, line {number}: `{' '.join(words)}` does not hold the numbers it must") from error
    t, nt, ns = counts
    return [t, nt, k, ns], [extra_ts, extra_ss], methods


def _members(network: Network, nodes: Sequence[str] | None) -> list[int] | None:
    if nodes is None:
        return None
    numbers = []
    for name in nodes:
        number = network.core.find_node(name)
        if number is None:
            raise ValueError(f"there is no node `{name}`{network.core.node_hint(name)}; name nodes of the network")
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
        The sum of all demands.
    masses : {"random", "capacity"} or sequence of float
        Drawn from an exponential distribution by the seed, the capacity attached to each node, or one for each.
    nodes : sequence of str, optional
        The nodes that send and receive; all if not given.
    """
    given = masses if isinstance(masses, str) else [float(m) for m in masses]
    core = _make.gravity(network.core, _members(network, nodes), rate_bps(total, "total"), given, seed)
    return Demands(network, core)


def uniform(
    network: Network, most: Rate, *, equal: bool = False, nodes: Sequence[str] | None = None, seed: int = 1
) -> Demands:
    """Make a demand for every ordered pair of nodes, drawn from 0 to `most`, or `most` for all if `equal`."""
    return Demands(
        network, _make.uniform(network.core, _members(network, nodes), rate_bps(most, "demand"), equal, seed)
    )


def hot_spots(
    network: Network,
    total: Rate,
    *,
    count: int = 1,
    share: float = 0.5,
    nodes: Sequence[str] | None = None,
    seed: int = 1,
) -> Demands:
    """Make demands of which `count` nodes, drawn by the seed, send or receive a `share` of the total."""
    total_bps = rate_bps(total, "total")
    return Demands(network, _make.hot_spots(network.core, _members(network, nodes), total_bps, count, share, seed))


def random_pairs(
    network: Network, count: int, *, demand: Rate | None = None, nodes: Sequence[str] | None = None, seed: int = 1
) -> Demands:
    """Make `count` connections between nodes drawn at random, each with this demand or without limit."""
    demand_bps = None if demand is None else rate_bps(demand, "demand")
    return Demands(network, _make.random_pairs(network.core, _members(network, nodes), count, demand_bps, seed))
