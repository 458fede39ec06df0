"""The scenario file: network, connections and paths in one TOML text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.demands import Demands
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.network import Network
from anabranch.paths import Paths
from anabranch.read import read_network

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class Scenario:
    """What to do: a network, and the connections on it with their paths.

    Attributes
    ----------
    title : str
        For headings; may be empty.
    network : Network
    demands : Demands
        With ``demands.paths``, the paths that the file gives or asks for.
    """

    title: str
    network: Network
    demands: Demands


def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file.

    Parameters
    ----------
    path : path
        TOML: ``[[link]]`` and ``[[node]]`` tables or a ``[network]`` with a file, and ``[[connection]]`` tables; every
        key stands in the reference under "The scenario file".

    Raises
    ------
    ScenarioError
        The first mistake, with file, line, column, reason and remedy.
    """
    source = load(path)
    try:
        core = _core.Scenario(source.text)
        network = _network(core, Path(path))
        demands = Demands(network, core.demands(network.core))
        demands.paths = Paths(demands, core.paths(network.core, demands.core))
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from error
    return Scenario(core.title, network, demands)


def _network(core: _core.Scenario, path: Path) -> Network:
    inline = core.network()
    if inline is not None:
        return Network(inline, core.title)
    apart = core.network_file()
    if apart is None:
        raise ScenarioError(f"{path}: it has no network; add [[link]] tables or a [network] with a file")
    file, capacity_bps, delay = apart
    return read_network(path.parent / file, capacity=capacity_bps, delay=delay)
