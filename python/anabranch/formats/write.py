"""Networks, written to files from which the same network is read back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.folder import put_file
from anabranch.formats.known import WRITTEN_FORMATS, WRITTEN_SUFFIXES
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    import os

    from anabranch.model.network import Network


def write_network(
    network: Network,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    nodes: str | os.PathLike[str] | None = None,
) -> None:
    """Write a network to a file that `read_network` reads back: nodes, links, capacities, delays, twins, positions.

    The file is written aside and then put in place, so that none is ever there by half.

    Parameters
    ----------
    path : path
        Replaced if there is one.
    format : str, optional
        The name of the format, such as ``"graphml"``; found from the suffix if not given, where ``.json`` is node-link.
    nodes : path, optional
        With CSV: a second file for the nodes. Needed if a node has a position or no link, which a table of links
        cannot hold.

    Raises
    ------
    ScenarioError
        An unknown format, something that the format cannot hold, or a file that cannot be written.
    """
    target = Path(path)
    name = format or WRITTEN_SUFFIXES.get(target.suffix.lower(), "")
    kind = WRITTEN_FORMATS.get(name)
    if kind is None or kind.write is None:
        reason = f"there is no format `{excerpt(format or target.suffix)}` to write"
        raise ScenarioError(f"{target}: {reason}; choose one of {', '.join(WRITTEN_FORMATS)} by `format` or the suffix")
    if not target.name:
        raise ScenarioError(f"{target}: this is a folder; name a file in it")
    if nodes is not None and kind.write_nodes is None:
        takers = ", ".join(name for name, one in WRITTEN_FORMATS.items() if one.write_nodes is not None)
        raise ScenarioError(f"{target}: {kind.name} keeps its nodes in the same file; give `nodes` only with {takers}")
    if nodes is not None and Path(nodes) == target:
        raise ScenarioError(f"{target}: links and nodes would go to the same file; name two")
    _check_names(network, target)
    if kind.write_nodes is not None and nodes is None:
        _check_held(network, target)
    if kind.write_nodes is not None and nodes is not None:
        put_file(kind.write_nodes(network), Path(nodes))
    put_file(kind.write(network), target)


def _check_names(network: Network, target: Path) -> None:
    """Refuse names that would not come back: formats drop blanks around a name and cannot hold control characters."""
    core = network.core
    named = [("node", n) for n in core.node_names] + [("link", n) for n in core.link_names]
    for what, name in [*named, ("network", network.name)]:
        if name != name.strip() or any(ord(c) < 32 or c in "\ufffe\uffff" for c in name):
            reason = f"{what} `{excerpt(name)}`: the name has a control character, or blanks around it"
            raise ScenarioError(f"{target}: {reason}; rename it before writing")
    for name in core.link_names:
        if not name:
            raise ScenarioError(f"{target}: a link's name is empty; rename it before writing")


def _check_held(network: Network, target: Path) -> None:
    """Refuse what a table of links would lose."""
    core = network.core
    linked = set(core.link_source.tolist()) | set(core.link_target.tolist())
    alone = [name for i, name in enumerate(core.node_names) if i not in linked]
    placed = sum(position is not None for position in core.positions)
    if alone or placed:
        lost = f"{placed} positions and {len(alone)} nodes without links"
        raise ScenarioError(f'{target}: a table of links would lose {lost}; give a second file with nodes="nodes.csv"')
