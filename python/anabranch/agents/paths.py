"""Paths of the network and the links that they share, as an agent knows them at the moment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.agents.asking import answers
from anabranch.agents.reached import agent_of
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

MOST = 16
"""The paths of a pair that are looked at to find one over each interface."""


@dataclass(frozen=True)
class AgentPath:
    """A path over links that are up.

    Attributes
    ----------
    source : str
        The node where it begins.
    links : list of str
        The names of its links.
    back : list of str or None
        The links of the way back; None if a link has no twin.
    group : int
        The number of its group: paths of a group share links.
    forward, reverse : tuple of int and str, or None
        The LIPSIN filters of the path and of its way back: the table, and the bits in hexadecimal digits.
    """

    source: str
    links: list[str]
    back: list[str] | None
    group: int
    forward: tuple[int, str] | None = None
    reverse: tuple[int, str] | None = None


def agent_paths(
    config: str | os.PathLike[str],
    to: str,
    sources: Sequence[str],
    *,
    count: int = 2,
    disjoint: bool = False,
    nodes: bool = False,
) -> list[AgentPath]:
    """Ask an agent for paths from some nodes to another, over links that are up now.

    Parameters
    ----------
    config : path
        The file of the agent, or of a client where it runs on another machine.
    to : str
        The node where the paths end.
    sources : sequence of str
        The nodes where they begin.
    count : int
        The most paths from each: the shortest by hops.
    disjoint : bool
        Whether paths from a node may share no link.
    nodes : bool
        Whether paths that pass through one node are a group, too.

    Raises
    ------
    ScenarioError
        The file cannot be used, no agent runs with it, or there is no such node.
    """
    (found,) = answers(agent_of(config), _question(to, sources, count, disjoint, nodes), once=True)
    return paths_of(found["paths"])


def followed_paths(
    config: str | os.PathLike[str],
    to: str,
    sources: Sequence[str],
    *,
    count: int = 2,
    disjoint: bool = False,
    nodes: bool = False,
) -> Iterator[list[AgentPath]]:
    """Yield what `agent_paths` gives, now and after each change of the network.

    Raises
    ------
    ScenarioError
        As `agent_paths`; also later, if the right to ask is taken away.
    """
    for found in answers(agent_of(config), _question(to, sources, count, disjoint, nodes)):
        yield paths_of(found["paths"])


def paths_of(found: Sequence[dict[str, Any]]) -> list[AgentPath]:
    """Read the paths of an answer."""
    own = [(path["from"], path["links"], path["back"], path["group"]) for path in found]
    filters = [tuple(_filter(path[key]) for key in ("forward", "reverse")) for path in found]
    return [AgentPath(*path, *both) for path, both in zip(own, filters, strict=True)]


def _filter(found: dict[str, Any] | None) -> tuple[int, str] | None:
    return None if found is None else (found["table"], found["bits"])


def _question(to: str, sources: Sequence[str], count: int, disjoint: bool, nodes: bool) -> str:
    wanted = {"to": to, "from": list(sources), "count": count, "disjoint": disjoint, "nodes": nodes}
    return f"paths {json.dumps(wanted)}"


def sending_groups(config: str | os.PathLike[str], to: str, via: Sequence[str]) -> list[int]:
    """Return the group of the shortest path to a node over each interface or address of this machine.

    Raises
    ------
    ScenarioError
        The file has no link over an interface, or no path begins with it.
    """
    agent = agent_of(config)
    paths = agent_paths(config, to, [agent.node], count=MOST)
    firsts = [path.links[0] for path in paths]
    return [_group(config, paths, firsts, link, to) for link in _links(config, via)]


def fetching_groups(config: str | os.PathLike[str], sources: Sequence[str], via: Sequence[str]) -> list[int]:
    """Return the group of the shortest path from each node over each interface or address of this machine, in order.

    Raises
    ------
    ScenarioError
        The file has no link over an interface, or no path ends with it.
    """
    agent = agent_of(config)
    paths = agent_paths(config, agent.node, sources, count=MOST)
    links = _links(config, via)
    groups = []
    for source in sources:
        own_paths = [path for path in paths if path.source == source]
        # The way back leaves this node by the link over which the data come in.
        firsts = [path.back[0] if path.back else "" for path in own_paths]
        groups += [_group(config, own_paths, firsts, link, source) for link in links]
    return groups


def own_links(config: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the links of the file of an agent or a client over each interface or source address that it names."""
    names: dict[str, list[str]] = {}
    for link, own in agent_of(config).links.items():
        for name in {str(own[key]) for key in ("interface", "source") if key in own}:
            names.setdefault(name, []).append(link)
    return names


def _links(config: str | os.PathLike[str], via: Sequence[str]) -> list[str]:
    """Return the link of the agent's file over each interface or source address."""
    names = own_links(config)
    for name in via:
        if name not in names:
            known = ", ".join(names) or "none"
            raise ScenarioError(f"{config}: no link is over `{name}`; those with an interface or a source: {known}")
        if len(names[name]) > 1:
            several = " and ".join(names[name])
            raise ScenarioError(f"{config}: {several} are over `{name}`; give the groups of paths by numbers")
    return [names[name][0] for name in via]


def _group(config: str | os.PathLike[str], paths: list[AgentPath], firsts: list[str], link: str, node: str) -> int:
    """Return the group of the first path with a link."""
    if link not in firsts:
        raise ScenarioError(f"{config}: no path between this node and {node} is over {link} now")
    return paths[firsts.index(link)].group
