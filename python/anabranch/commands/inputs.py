"""The common input of several commands: networks, demands by file or by rule, shared options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from anabranch.errors import ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.model.paths import DEFAULT_PATHS
from anabranch.solvers import problem_files

Input = Annotated[Path, typer.Argument(help="Topology (GraphML, GML, SNDlib, RFC 8345, CSV, ...) or scenario (TOML).")]
Capacity = Annotated[
    str | None, typer.Option(metavar="RATE", help='Capacity of links that have none in the file, such as "10 Gbit/s".')
]
Delay = Annotated[
    str | None,
    typer.Option(metavar="TIME", help='Delay of links that have none in the file, such as "5 ms", or "coordinates".'),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Format of the topology, if the name of the file does not show it."),
]
NetworkId = Annotated[
    str | None,
    typer.Option("--network-id", metavar="ID", help="With RFC 8345: the network to read among those of the file."),
]
InputNodes = Annotated[
    Path | None, typer.Option("--nodes", metavar="FILE", help="With CSV: a second file to read, which lists the nodes.")
]
PathCount = Annotated[
    int | None,
    typer.Option(min=1, max=65_536, help=f"The most paths to find for each connection; {DEFAULT_PATHS} if not given."),
]
PathKind = Annotated[
    Literal["shortest", "equal-cost", "disjoint"] | None,
    typer.Option(help="The kind of paths to find; the shortest if not given."),
]
PathMetric = Annotated[
    Literal["hops", "delay"] | None,
    typer.Option(help="The length of links by which paths are found; hops if not given."),
]
Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The most memory to use, such as 12GB. Default: 70 % of the free memory."),
]
MOST = 10_000_000
"""The greatest count that an option takes."""

Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a value of a scenario: connection.0.weight=2. Repeatable."),
]
LinkChanges = Annotated[
    list[str] | None,
    typer.Option(
        "--link", metavar="NAME=RATE", help="New capacity of a link: Oslo-Bergen=40Gbit/s; 0 is down. Repeatable."
    ),
]


def load_network(
    path: Path,
    capacity: str | float | None,
    delay: str | None,
    format: str | None,
    *,
    network_id: str | None = None,
    nodes: Path | None = None,
) -> Network:
    """Read a network, from a topology file or a scenario, and say which options change nothing."""
    return problem_files.load_network(path, capacity, delay, format, network_id=network_id, nodes=nodes, told=warn_of)


def load_problem(
    input: Path,
    demands: str | None,
    seed: int | None,
    topology: dict[str, Any],
    *,
    sets: Sequence[str] = (),
    links: Sequence[str] = (),
) -> tuple[Network, Demands]:
    """Read a network and who wants what of it, change links, and say which options change nothing."""
    network, wanted = problem_files.load_problem(input, demands, seed, topology, sets=sets, told=warn_of)
    changed = with_links(network, links)
    return changed, wanted.on(changed)


def with_links(network: Network, changes: Sequence[str]) -> Network:
    """Give a network with the capacities that options such as ``--link Oslo-Bergen=40Gbit/s`` name."""
    capacity: dict[str, str | float] = {}
    for change in changes:
        name, equals, rate = change.rpartition("=")
        if not equals or not name:
            raise ScenarioError(f"--link {change}: it is no change; write it like --link Oslo-Bergen=40Gbit/s")
        if name in capacity:
            raise ScenarioError(f"--link {change}: link `{name}` is changed twice; keep one")
        capacity[name] = 0.0 if rate.strip() == "0" else rate
    try:
        return network.with_capacities(capacity) if capacity else network
    except ValueError as error:
        raise ScenarioError(f"--link: {error}") from error


def warn_of(sentence: str) -> None:
    """Say on the error stream that something given changes nothing."""
    typer.echo(f"anabranch: {sentence}", err=True)
