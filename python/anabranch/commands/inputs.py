"""The common input of several commands: networks, demands by file or by rule, shared options."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from anabranch import generate
from anabranch.errors import ScenarioError
from anabranch.formats.detect import find_format
from anabranch.formats.known import FORMATS
from anabranch.formats.read import read_demands, read_network
from anabranch.formats.source import load
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.runs.scenario import read_scenario
from anabranch.solvers.solve import DEFAULT_PATHS

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

MOST_SEED = 2**63 - 1
"""The greatest seed that an option takes."""

RULES: dict[str, Callable[..., Demands]] = {
    "gravity": generate.gravity,
    "uniform": generate.uniform,
    "hot-spots": generate.hot_spots,
}
"""Rules that make demands from one rate and a seed."""


def is_scenario(path: Path) -> bool:
    """Tell whether a file is a scenario, by its name."""
    return path.suffix == ".toml"


def load_network(
    path: Path,
    capacity: str | float | None,
    delay: str | None,
    format: str | None,
    *,
    network_id: str | None = None,
    nodes: Path | None = None,
) -> Network:
    """Read a network, from a topology file or a scenario."""
    if is_scenario(path):
        refuse_for_scenario(path, capacity, delay, format, network_id=network_id, nodes=nodes)
        return read_scenario(path).network
    return read_network(path, capacity=capacity, delay=delay, format=format, nodes=nodes, network_id=network_id)


def refuse_for_scenario(
    path: Path,
    capacity: str | float | None,
    delay: str | None,
    format: str | None,
    *,
    network_id: str | None = None,
    nodes: Path | None = None,
) -> None:
    """Refuse options about the topology beside a scenario, which says all that itself."""
    given: dict[str, object] = {"--capacity": capacity, "--delay": delay, "--format": format}
    given |= {"--network-id": network_id, "a file of nodes": nodes}
    for option, value in given.items():
        if value is not None and value != math.inf:
            raise ScenarioError(f"{path}: {option} does nothing for a scenario; write it into the file instead")


def load_demands(path: Path, network: Network, demands: str | None, seed: int, format: str | None) -> Demands:
    """Read demands from a file, make them by a rule such as ``gravity:40Gbit/s``, or take those of the topology."""
    if demands is None:
        return _own_demands(path, network, format)
    rule, _, rate = demands.partition(":")
    if rule in RULES:
        if not rate:
            raise ScenarioError(f"--demands {demands}: the rule has no rate; write it like {rule}:40Gbit/s")
        return RULES[rule](network, rate, seed=seed)
    if rate and not Path(demands).exists():
        raise ScenarioError(
            f"--demands {demands}: there is neither a file nor a rule of that name; rules are {', '.join(RULES)}"
        )
    return read_demands(demands, network)


def load_problem(input: Path, demands: str | None, seed: int, topology: dict[str, Any]) -> tuple[Network, Demands]:
    """Read a network and who wants what of it; a scenario has both."""
    if is_scenario(input) and demands is None:
        refuse_for_scenario(input, **topology)
        scenario = read_scenario(input)
        if not len(scenario.demands):
            raise ScenarioError(f"{input}: it has no [[connection]]; add some, or give --demands")
        return scenario.network, scenario.demands
    network = load_network(input, **topology)
    return network, load_demands(input, network, demands, seed, topology["format"])


def _own_demands(path: Path, network: Network, format: str | None) -> Demands:
    kind = None if is_scenario(path) else find_format(load(path), format, FORMATS)
    own = read_demands(path, network, format=kind.name) if kind is not None and kind.has_own_demands else None
    if own is None or not len(own):
        raise ScenarioError(
            f"{path}: the file has no demands; give them with --demands FILE, or by a rule such as"
            " --demands gravity:40Gbit/s"
        )
    return own
