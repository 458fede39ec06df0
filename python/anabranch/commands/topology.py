"""``anabranch topology``: what a network is, in other formats, or made by rule."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from anabranch import _core, generate
from anabranch.commands.inputs import (
    MOST,
    Capacity,
    Delay,
    Format,
    Input,
    InputNodes,
    NetworkId,
    load_network,
)
from anabranch.commands.of_scenario import MOST_SEED
from anabranch.commands.places import Force, check_output
from anabranch.commands.subcommands import SubCommands
from anabranch.commands.tables.table import print_facts
from anabranch.formats.known import WRITTEN_SUFFIXES
from anabranch.formats.write import write_network

if TYPE_CHECKING:
    from anabranch.model.network import Network

app = typer.Typer(
    cls=SubCommands,
    help="Describe, convert and generate networks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
made = typer.Typer(
    cls=SubCommands,
    help="Generate a network by a rule.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(made, name="generate")

MOST_CAPACITIES = 5
"""The number of different capacities that are shown."""

DIAMETER_NODES = 2_000
"""The number of nodes beyond which the diameter is not computed."""

Target = Annotated[Path, typer.Argument(help=f"File to write: {' or '.join(WRITTEN_SUFFIXES)}.")]
Count = Annotated[int, typer.Option(min=1, max=MOST)]
CountOrNone = Annotated[int, typer.Option(min=0, max=MOST)]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same network.")]


@app.command()
def info(
    input: Input,
    format: Format = None,
    network_id: NetworkId = None,
    nodes: InputNodes = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
) -> None:
    """Print the facts of a network: sizes, capacities, delays, parts, degrees, diameter."""
    # Links without a capacity count as unlimited here, and are told apart by that.
    network = load_network(input, math.inf, None, format, network_id=network_id, nodes=nodes)
    facts = describe(network)
    if as_json:
        typer.echo(json.dumps(facts, indent=1))
        return
    if not facts["most_delay_s"]:
        facts = {("delays" if name == "least_delay_s" else name): value for name, value in facts.items()}
        facts.update(delays="no delays")
        del facts["most_delay_s"]
    print_facts((_label(name), _text(name, value)) for name, value in facts.items())


def describe(network: Network) -> dict[str, Any]:
    """Give the facts of a network as plain values."""
    core = network.core
    capacity, delay = core.capacity_bps, core.delay_s
    known = capacity[np.isfinite(capacity)]
    ends = np.stack([core.link_source, core.link_target], axis=1)
    parts = np.bincount(network.parts) if len(network) else np.zeros(0, dtype=int)
    degree = np.bincount(core.link_source, minlength=len(network))
    return {
        "name": network.name,
        "nodes": len(network),
        "nodes_with_position": sum(p is not None for p in core.positions),
        "directed_links": len(capacity),
        "two_way_links": int((core.twin >= 0).sum()) // 2,
        "parallel_links": len(ends) - len(np.unique(ends, axis=0)),
        "links_without_capacity": len(capacity) - len(known),
        "least_capacity_bps": float(known.min()) if len(known) else None,
        "most_capacity_bps": float(known.max()) if len(known) else None,
        "capacities": [
            {"capacity_bps": float(bps), "links": int(count)}
            for bps, count in zip(*np.unique(known, return_counts=True), strict=True)
        ],
        "least_delay_s": float(delay.min()) if len(delay) else None,
        "most_delay_s": float(delay.max()) if len(delay) else None,
        "parts": len(parts),
        "nodes_in_largest_part": int(parts.max(initial=0)),
        "least_degree": int(degree.min()) if len(degree) else 0,
        "mean_degree": float(degree.mean()) if len(degree) else 0.0,
        "most_degree": int(degree.max()) if len(degree) else 0,
        "diameter_hops": _diameter(network),
    }


def _diameter(network: Network) -> int | None:
    """Give the longest of the shortest ways, or None if some node cannot be reached or there are too many."""
    if not 0 < len(network) <= DIAMETER_NODES:
        return None
    # Only now: it takes longer to load than most commands to run.
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(network)))
    graph.add_edges_from(zip(network.core.link_source.tolist(), network.core.link_target.tolist(), strict=True))
    lengths = (nx.single_source_shortest_path_length(graph, node) for node in graph)
    reach = [(len(found), max(found.values())) for found in lengths]
    return max(far for _, far in reach) if all(count == len(network) for count, _ in reach) else None


def _capacities_text(capacities: list[dict[str, Any]]) -> str:
    """Give the most frequent capacities, each with the number of its links."""
    often = sorted(capacities, key=lambda own: -own["links"])[:MOST_CAPACITIES]
    texts = [f"{_core.format_rate(own['capacity_bps'])} ({own['links']})" for own in often]
    more = len(capacities) - len(often)
    return ", ".join([*texts, *([f"and {more} more"] if more else [])]) or "-"


def _label(name: str) -> str:
    """Give the name of a fact without its unit, which stands beside the value."""
    return name.removesuffix("_bps").removesuffix("_s").replace("two_way", "two-way").replace("_", " ")


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_bps"):
        return _core.format_rate(value)
    if name == "capacities":
        return _capacities_text(value)
    if name.endswith("_s"):
        return f"{value * 1e3:g} ms"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@app.command()
def convert(
    input: Input,
    target: Target,
    force: Force = False,
    capacity: Capacity = None,
    delay: Delay = None,
    format: Format = None,
    to: Annotated[
        str | None, typer.Option(metavar="NAME", help="Format to write, if the name of the file does not show it.")
    ] = None,
    nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With CSV: a second file to write the nodes to.")
    ] = None,
    network_id: NetworkId = None,
    input_nodes: Annotated[
        Path | None,
        typer.Option("--input-nodes", metavar="FILE", help="With CSV: a second file to read, which lists the nodes."),
    ] = None,
) -> None:
    """Write a network in another format."""
    network = load_network(input, capacity, delay, format, network_id=network_id, nodes=input_nodes)
    check_output(nodes, force=force)
    _put(network, target, force=force, format=to, nodes=nodes)


def _put(network: Network, target: Path, *, force: bool, format: str | None = None, nodes: Path | None = None) -> None:
    check_output(target, force=force)
    write_network(network, target, format=format, nodes=nodes)


Rate = Annotated[str, typer.Option(metavar="RATE")]
Time = Annotated[str, typer.Option(metavar="TIME")]


@made.command()
def dumbbell(
    target: Target, force: Force = False, pairs: Count = 2, access: Rate = "100 Mbit/s", bottleneck: Rate = "10 Mbit/s"
) -> None:
    """Join senders and receivers by one bottleneck."""
    _put(generate.dumbbell(pairs, access=access, bottleneck=bottleneck), target, force=force)


@made.command("parking-lot")
def parking_lot(
    target: Target,
    force: Force = False,
    hops: Count = 3,
    cross_pairs: CountOrNone = 1,
    access: Rate = "100 Mbit/s",
    bottleneck: Rate = "10 Mbit/s",
) -> None:
    """Put bottlenecks in a row, each with hosts of its own."""
    _put(generate.parking_lot(hops, cross_pairs, access=access, bottleneck=bottleneck), target, force=force)


@made.command()
def ring(
    target: Target, force: Force = False, nodes: Count = 8, capacity: Rate = "10 Gbit/s", delay: Time = "1 ms"
) -> None:
    """Join nodes in a ring."""
    _put(generate.ring(nodes, capacity=capacity, delay=delay), target, force=force)


@made.command()
def grid(
    target: Target,
    force: Force = False,
    rows: Count = 4,
    columns: Count = 4,
    wrapped: Annotated[bool, typer.Option("--wrapped", help="Make it a torus.")] = False,
    capacity: Rate = "10 Gbit/s",
    delay: Time = "1 ms",
) -> None:
    """Join nodes in a grid."""
    _put(generate.grid(rows, columns, wrapped=wrapped, capacity=capacity, delay=delay), target, force=force)


@made.command("fat-tree")
def fat_tree(
    target: Target,
    force: Force = False,
    k: Annotated[int, typer.Option("--ports", min=2, max=MOST, help="Ports of a switch; even.")] = 4,
    hosts: Annotated[bool, typer.Option(help="Add k^3/4 hosts.")] = True,
    capacity: Rate = "10 Gbit/s",
) -> None:
    """Make a fat tree of switches."""
    _put(generate.fat_tree(k, hosts=hosts, capacity=capacity), target, force=force)


@made.command("leaf-spine")
def leaf_spine(
    target: Target,
    force: Force = False,
    leaves: Count = 4,
    spines: Count = 2,
    hosts_per_leaf: CountOrNone = 4,
    uplink: Rate = "100 Gbit/s",
    host: Rate = "25 Gbit/s",
) -> None:
    """Join every leaf to every spine."""
    network = generate.leaf_spine(leaves, spines, hosts_per_leaf=hosts_per_leaf, uplink=uplink, host=host)
    _put(network, target, force=force)


@made.command()
def waxman(
    target: Target,
    force: Force = False,
    nodes: Count = 50,
    alpha: float = 0.4,
    beta: float = 0.2,
    capacity: Rate = "10 Gbit/s",
    delay: Time = "1 ms",
    seed: Seed = 1,
) -> None:
    """Draw a connected Waxman graph."""
    network = generate.waxman(nodes, alpha=alpha, beta=beta, capacity=capacity, delay=delay, seed=seed)
    _put(network, target, force=force)


@made.command("random-regular")
def random_regular(
    target: Target,
    force: Force = False,
    nodes: Count = 20,
    degree: Count = 3,
    capacity: Rate = "10 Gbit/s",
    delay: Time = "1 ms",
    seed: Seed = 1,
) -> None:
    """Draw a connected graph in which all nodes have the same degree."""
    _put(generate.random_regular(nodes, degree, capacity=capacity, delay=delay, seed=seed), target, force=force)


@made.command("transit-stub")
def transit_stub(
    target: Target,
    force: Force = False,
    routers: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="100, 110, 600, 1100 or 11000; 110 if not given.")
    ] = None,
    spec: Annotated[Path | None, typer.Option(help="Parameter file of GT-ITM instead.")] = None,
    transit: Rate = "5 Gbit/s",
    stub: Rate = "1 Gbit/s",
    least_delay: Time = "1 ms",
    most_delay: Time = "10 ms",
    hosts: Annotated[int, typer.Option(min=0, max=MOST, help="Number of hosts on each stub router.")] = 0,
    host: Rate = "100 Mbit/s",
    seed: Seed = 1,
) -> None:
    """Draw a transit-stub network after GT-ITM."""
    size = 110 if routers is None and spec is None else routers
    delay = (least_delay, most_delay)
    network = generate.transit_stub(
        size, spec=spec, transit=transit, stub=stub, delay=delay, hosts=hosts, host=host, seed=seed
    )
    _put(network, target, force=force)
