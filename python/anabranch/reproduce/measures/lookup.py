"""Whose a measured number is: connections, subflows and links by the names in an experiment's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.reproduce.spec.quantity import is_like

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.model.paths import Paths
    from anabranch.reproduce.spec.quantity import Address


def connection_of(paths: Paths, address: Address, place: Path) -> int:
    """Give the number of a connection.

    Raises
    ------
    ScenarioError
        There is none of this name; so for the other functions.
    """
    return _find(paths.demands.core.names, address, address.subject, "connection", place)


def connections_of(paths: Paths, address: Address, place: Path) -> list[int]:
    """Give the numbers of the connections whose names match a pattern, in which ``*`` is any text: one or more."""
    names = paths.demands.core.names
    if "*" not in address.subject or address.subject in names:
        return [connection_of(paths, address, place)]
    found = [number for number, name in enumerate(names) if is_like(name, address.subject)]
    if not found:
        remedy = f"the first of the scenario's {len(names)} is called `{names[0]}`" if names else "there are none"
        raise ScenarioError(f"{place}: `{address}`: no connection is called `{address.subject}`; {remedy}")
    return found


def link_of(paths: Paths, address: Address, place: Path) -> int:
    """Give the number of a link."""
    return _find(paths.demands.network.core.link_names, address, address.subject, "link", place)


def subflow_of(paths: Paths, address: Address, place: Path) -> int:
    """Give the number of a subflow that is called such as ``c1.2``."""
    name, _, rank = address.subject.rpartition(".")
    connection = _find(paths.demands.core.names, address, name, "connection", place)
    first, end = paths.connection_offsets[connection : connection + 2].tolist()
    if not rank.isdecimal() or not 1 <= int(rank) <= end - first:
        raise ScenarioError(f"{place}: `{address}`: there is no such subflow; `{name}` has 1 to {end - first}")
    return int(first) + int(rank) - 1


def subflows_of(paths: Paths, address: Address, place: Path) -> list[int]:
    """Give the numbers of the subflows of a connection, of those that match a pattern, or of the one that is named."""
    if "*" not in address.subject and address.subject not in paths.demands.core.names and "." in address.subject:
        return [subflow_of(paths, address, place)]
    offsets = paths.connection_offsets.tolist()
    return [path for c in connections_of(paths, address, place) for path in range(offsets[c], offsets[c + 1])]


def _find(names: list[str], address: Address, name: str, what: str, place: Path) -> int:
    if name in names:
        return names.index(name)
    near = _core.nearest_name(name, names)
    hint = f"did you mean `{near}`?" if near else f"name one of the scenario's {len(names)}"
    raise ScenarioError(f"{place}: `{address}`: there is no {what} `{name}`; {hint}")
