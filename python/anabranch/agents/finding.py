"""Items that programs publish at an agent, and where they are: the rendezvous."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from anabranch.agents.asking import answers
from anabranch.agents.kept import Kept
from anabranch.agents.paths import paths_of
from anabranch.agents.reached import agent_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from anabranch.agents.paths import AgentPath


@dataclass(frozen=True)
class Source:
    """A place where an item is.

    Attributes
    ----------
    node : str
        The node.
    at : str
        The URL by which the item is fetched there.
    paths : list of AgentPath
        The paths from there, with one numbering of groups for all sources; none if the node is the one that asks, or
        cannot be reached now.
    """

    node: str
    at: str
    paths: list[AgentPath]


def find_sources(
    config: str | os.PathLike[str],
    item: str,
    to: str,
    *,
    count: int = 2,
    disjoint: bool = False,
    nodes: bool = False,
) -> list[Source]:
    """Ask an agent where an item is, and for paths from there.

    Parameters
    ----------
    config : path
        The file of the agent, or of a client where it runs on another machine.
    item : str
        The name of the item.
    to : str
        The node where the paths end.
    count : int
        The most paths from each source, 16 at most: the shortest by hops.
    disjoint : bool
        Whether paths from a source may share no link.
    nodes : bool
        Whether paths that pass through one node are a group, too.

    Raises
    ------
    ScenarioError
        The file cannot be used, no agent answers, there is no such node, or this program may not find the item.
    """
    (found,) = answers(agent_of(config), _question(item, to, count, disjoint, nodes), once=True)
    return _sources(found)


def followed_sources(
    config: str | os.PathLike[str],
    item: str,
    to: str,
    *,
    count: int = 2,
    disjoint: bool = False,
    nodes: bool = False,
) -> Iterator[list[Source]]:
    """Yield what `find_sources` gives, now and after each change of the sources and of the network.

    Raises
    ------
    ScenarioError
        As `find_sources`; also later, if the right to ask is taken away.
    """
    for found in answers(agent_of(config), _question(item, to, count, disjoint, nodes)):
        yield _sources(found)


class Publication:
    """An item that this program publishes at an agent, until it is closed; a context manager.

    While the agent is away, the item is published again and again.

    Parameters
    ----------
    config : path
        The file of the agent, or of a client where it runs on another machine.
    item : str
        The name of the item, such as ``"videos/one"``.
    node : str
        The node where it is.
    at : str
        The URL by which it is fetched there.

    Raises
    ------
    ScenarioError
        The file cannot be used, no agent answers, or it refuses.
    """

    def __init__(self, config: str | os.PathLike[str], item: str, node: str, at: str) -> None:
        self._refusal: str | None = None
        question = f"publish {json.dumps({'item': item, 'node': node, 'at': at})}"
        self._kept = Kept(agent_of(config), lambda: question, self._take)

    @property
    def refusal(self) -> str | None:
        """Why the item is not published now, if it is not."""
        return self._refusal

    def close(self) -> None:
        """Take the item back."""
        self._kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, said: dict[str, Any]) -> None:
        self._refusal = said.get("error") or said.get("lost")


def _question(item: str, to: str, count: int, disjoint: bool, nodes: bool) -> str:
    wanted = {"item": item, "to": to, "count": count, "disjoint": disjoint, "nodes": nodes}
    return f"find {json.dumps(wanted)}"


def _sources(found: dict[str, Any]) -> list[Source]:
    return [Source(own["node"], own["at"], paths_of(own["paths"])) for own in found["sources"]]
