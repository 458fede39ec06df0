"""Networks made by rule and seed. All links are two-way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.model.arguments import Rate, Time, whole
from anabranch.model.network import Network
from anabranch.model.quantities import rate_bps, span_s

if TYPE_CHECKING:
    import os

_make = _core.generate


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
    """Join `pairs` senders and receivers by one bottleneck.

    Parameters
    ----------
    pairs : int
        Senders, and as many receivers; 1 or more.
    access, bottleneck : float or str
        Capacity of each host's link and of the bottleneck, in bit/s or as text.
    access_delay, bottleneck_delay : float or str
        Their delays in one direction, in seconds or as text.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    core = _make.dumbbell(whole("pairs", pairs), _kind(access, access_delay), _kind(bottleneck, bottleneck_delay))
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
    """Put `hops` bottlenecks in a row, each with `cross_pairs` pairs of hosts of its own.

    Parameters
    ----------
    hops : int
        Bottlenecks; 1 or more.
    cross_pairs : int
        Pairs of hosts at each bottleneck, besides the pair that crosses all.
    access, bottleneck : float or str
        Capacity of each host's link and of each bottleneck, in bit/s or as text.
    access_delay, bottleneck_delay : float or str
        Their delays in one direction, in seconds or as text.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    access_kind, bottleneck_kind = _kind(access, access_delay), _kind(bottleneck, bottleneck_delay)
    core = _make.parking_lot(whole("hops", hops), whole("cross_pairs", cross_pairs), access_kind, bottleneck_kind)
    return Network(core, f"parking-lot-{hops}")


def ring(nodes: int, *, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms") -> Network:
    """Join `nodes` nodes in a ring.

    Parameters
    ----------
    nodes : int
        3 or more.
    capacity : float or str
        Of each link, in bit/s or as text.
    delay : float or str
        Of each link and direction, in seconds or as text.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    return Network(_make.ring(whole("nodes", nodes), _kind(capacity, delay)), f"ring-{nodes}")


def grid(
    rows: int, columns: int, *, wrapped: bool = False, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms"
) -> Network:
    """Join nodes in a grid, or in a torus if it is `wrapped`.

    Parameters
    ----------
    rows, columns : int
        Nodes down and across.
    wrapped : bool
        Whether the last row and column are joined to the first.
    capacity : float or str
        Of each link, in bit/s or as text.
    delay : float or str
        Of each link and direction, in seconds or as text.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    core = _make.grid(whole("rows", rows), whole("columns", columns), wrapped, _kind(capacity, delay))
    return Network(core, f"grid-{rows}x{columns}")


def fat_tree(
    k: int, *, hosts: bool = True, capacity: Rate = "10 Gbit/s", delay: Time = "10 us", host_delay: Time = "1 us"
) -> Network:
    """Make a fat tree of switches with `k` ports [alfares2008]: k^3/4 hosts, if it has `hosts`.

    Parameters
    ----------
    k : int
        Ports of a switch; even.
    hosts : bool
        Whether the edge switches have hosts.
    capacity : float or str
        Of each link, in bit/s or as text.
    delay, host_delay : float or str
        Of links between switches and to hosts, in one direction, in seconds or as text.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    host_kind = _kind(capacity, host_delay) if hosts else None
    return Network(_make.fat_tree(whole("k", k), _kind(capacity, delay), host_kind), f"fat-tree-{k}")


def leaf_spine(
    leaves: int,
    spines: int,
    *,
    hosts_per_leaf: int = 0,
    uplink: Rate = "100 Gbit/s",
    host: Rate = "25 Gbit/s",
    delay: Time = "1 us",
) -> Network:
    """Join every leaf to every spine, with hosts on the leaves.

    Parameters
    ----------
    leaves, spines : int
        1 or more.
    hosts_per_leaf : int
        0 or more.
    uplink, host : float or str
        Capacity of links from leaf to spine and from host to leaf, in bit/s or as text.
    delay : float or str
        Of each link and direction, in seconds or as text.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    counts = whole("leaves", leaves), whole("spines", spines), whole("hosts_per_leaf", hosts_per_leaf)
    core = _make.leaf_spine(*counts, _kind(uplink, delay), _kind(host, delay))
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
    """Draw a connected Waxman graph [waxman1988]: links with probability ``alpha exp(-d / (beta L))``.

    Nodes lie at random on the unit square; d is the distance between two of them, and L the square's diagonal. Parts
    that come out apart are joined by the fewest links of the least total length.

    Parameters
    ----------
    nodes : int
        1 or more.
    alpha : float
        The probability of a link at distance zero; over 0 and at most 1.
    beta : float
        How far links reach, as a part of the diagonal; positive.
    capacity : float or str
        Of each link, in bit/s or as text.
    delay : float or str
        Of each link and direction, in seconds or as text.
    seed : int
        The same seed gives the same network.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    capacity_bps, delay_s = _kind(capacity, delay)
    link = (capacity_bps, delay_s, delay_s)
    return Network(_make.waxman(whole("nodes", nodes), alpha, beta, link, whole("seed", seed)), f"waxman-{nodes}")


def random_regular(
    nodes: int, degree: int, *, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms", seed: int = 1
) -> Network:
    """Draw a connected graph in which every node has `degree` neighbours [steger1999].

    Parameters
    ----------
    nodes, degree : int
        Nodes, and links at each; the degree is under the number of nodes, and the product of both is even.
    capacity : float or str
        Of each link, in bit/s or as text.
    delay : float or str
        Of each link and direction, in seconds or as text.
    seed : int
        The same seed gives the same network.

    Raises
    ------
    ValueError
        A count, a seed, a rate or a time that cannot be.
    """
    counts = whole("nodes", nodes), whole("degree", degree)
    core = _make.random_regular(*counts, _kind(capacity, delay), whole("seed", seed))
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
        Capacity of links between transit routers, and of all others [mozo2012], in bit/s or as text.
    delay : (time, time)
        Each link draws its delay between these, in seconds or as text.
    hosts : int
        Hosts on each stub router, with links of capacity `host` (bit/s or text) and delay `host_delay` (seconds or
        text).
    seed : int
        The same seed gives the same network.

    Raises
    ------
    ScenarioError
        The parameter file cannot be read.
    ValueError
        A size without parameters; a count, a seed, a rate or a time that cannot be.
    """
    least, most = (span_s(d, "delay") for d in delay)
    transit_bps, stub_bps = rate_bps(transit, "transit capacity"), rate_bps(stub, "stub capacity")
    links = [(capacity, least, most) for capacity in (transit_bps, stub_bps, stub_bps)]
    parameters = None if spec is None else _read_spec(spec)
    host_kind = (whole("hosts", hosts), _kind(host, host_delay)) if hosts else None
    size = None if routers is None else whole("routers", routers)
    core = _make.transit_stub(size, parameters, links, host_kind, whole("seed", seed))
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
