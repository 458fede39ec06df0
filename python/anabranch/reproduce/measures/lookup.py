"""Connections, subflows and links that numbers are measured on, found by their names in an experiment's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.pattern import is_like
from anabranch.reproduce.measures.registry import Subject

if TYPE_CHECKING:
    from anabranch.model.paths import Paths
    from anabranch.reproduce.outcomes.kinds import OnPaths


class Named(NamedTuple):
    """A connection or link: its number and its name."""

    number: int
    name: str


class ConnectionOrSubflow(NamedTuple):
    """A connection, or one of its subflows: the name of the connection, and the rank of the subflow, from 1 on."""

    connection: str
    rank: int | None


class ConnectionsAndLink(NamedTuple):
    """Connections and a link."""

    connections: list[str]
    link: str


def connection_of(run: OnPaths, text: str) -> Named:
    """Give a connection by its name.

    Raises
    ------
    ScenarioError
        There is none of this name. The other functions of this module raise it too.
    """
    return Named(_find(run.paths.demands.core.names, text, "connection"), text)


def connections_of(run: OnPaths, text: str) -> list[Named]:
    """Give the connections whose names match a pattern, in which ``*`` is any text: one or more."""
    names = run.paths.demands.core.names
    if "*" not in text or text in names:
        return [connection_of(run, text)]
    found = [Named(number, name) for number, name in enumerate(names) if is_like(name, text)]
    if not found:
        remedy = f"the first of the scenario's {len(names)} is called `{names[0]}`" if names else "there are none"
        raise ScenarioError(f"no connection is called `{text}`; {remedy}")
    return found


def link_of(run: OnPaths, text: str) -> Named:
    """Give a link by its name."""
    return Named(_find(run.paths.demands.network.core.link_names, text, "link"), text)


def subflow_of(run: OnPaths, text: str) -> int:
    """Give the path of the subflow with a name such as ``c1.2``."""
    name, _, rank = text.rpartition(".")
    connection = _find(run.paths.demands.core.names, name, "connection")
    first, end = run.paths.connection_offsets[connection : connection + 2].tolist()
    if not rank.isdecimal() or not 1 <= int(rank) <= end - first:
        raise ScenarioError(f"there is no such subflow; `{name}` has 1 to {end - first}")
    return int(first) + int(rank) - 1


def subflows_of(run: OnPaths, text: str) -> list[int]:
    """Give the paths of a connection, of the connections that match a pattern, or of the subflow that is named."""
    if _is_subflow(run.paths, text):
        return [subflow_of(run, text)]
    return [path for own in connections_of(run, text) for path in paths_of(run.paths, own)]


def paths_of(paths: Paths, connection: Named) -> list[int]:
    """Give the paths of a connection."""
    first, end = paths.connection_offsets[connection.number : connection.number + 2].tolist()
    return list(range(first, end))


def _rated_of(run: OnPaths, text: str) -> ConnectionOrSubflow:
    if not _is_subflow(run.paths, text):
        return ConnectionOrSubflow(connection_of(run, text).name, None)
    subflow_of(run, text)
    name, _, rank = text.rpartition(".")
    return ConnectionOrSubflow(name, int(rank))


def _group_of(run: OnPaths, text: str) -> ConnectionsAndLink:
    pattern, _, link = text.rpartition(" ")
    if not pattern:
        raise ScenarioError("it is of connections and a link; name both, such as `c* l1`")
    found = link_of(run, link)
    return ConnectionsAndLink([own.name for own in connections_of(run, pattern.strip())], found.name)


def _is_subflow(paths: Paths, text: str) -> bool:
    return "*" not in text and text not in paths.demands.core.names and "." in text


def _find(names: list[str], name: str, what: str) -> int:
    if name in names:
        return names.index(name)
    near = _core.nearest_name(name, names)
    hint = f"did you mean `{near}`?" if near else f"name one of the scenario's {len(names)}"
    raise ScenarioError(f"there is no {what} `{name}`; {hint}")


CONNECTION = Subject("connection", connection_of)
CONNECTIONS = Subject("connection or pattern", connections_of)
CONNECTIONS_AND_LINK = Subject("connection or pattern, and a link", _group_of)
SUBFLOW = Subject("subflow", subflow_of)
SUBFLOWS = Subject("connection or subflow", subflows_of)
SUBFLOWS_OF_CONNECTIONS = Subject("connection or pattern", subflows_of)
CONNECTION_OR_SUBFLOW = Subject("connection or subflow", _rated_of)
LINK = Subject("link", link_of)
