"""Scenarios made of Python objects: the tables of the file as plain values, checked by its reader, as TOML."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.folder import put_file
from anabranch.formats.as_toml import Lines, as_toml
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.runs.scenario import read_scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

PLACE = re.compile(r"line (\d+), column \d+")
"""The place in a text, as the reader of scenarios names it."""

DEEPEST = 32
"""Values within values; a scenario has six levels."""


class ScenarioText(str):
    """A scenario as the text of its TOML file, which `run`, `live` and `read_scenario` take; it prints as the file."""

    __slots__ = ()

    def write(self, file: str | os.PathLike[str]) -> None:
        """Write the scenario to a file; an existing one is replaced.

        Raises
        ------
        ScenarioError
            It cannot be written there.
        StorageError
            It cannot be written to its end, as on a full disk.
        """
        put_file(str(self), Path(file))


def scenario(
    tables: Mapping[str, Any] | None = None,
    *,
    network: Network | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    nodes: Iterable[Any] | None = None,
    links: Iterable[Any] | None = None,
    connections: Demands | Iterable[Any] | None = None,
    **more: Any,
) -> ScenarioText:
    """Make a scenario of Python objects.

    Tables are mappings or instances of data classes, with the keys of the scenario file. Quantities are text with a
    unit, as there; what is None is left out.

    Parameters
    ----------
    tables : mapping, optional
        The whole file, or a part of it, under its own keys: ``{"run": {"duration": "10 s"}, "link": [...]}``.
    network : Network, mapping or path, optional
        A network, which is written out; the table ``[network]``, such as ``{"generate": {"ring": {"nodes": 5}}}``; or
        the file of a network.
    nodes, links : iterable of mapping, optional
        The tables ``[[node]]`` and ``[[link]]``.
    connections : Demands or iterable of mapping, optional
        The tables ``[[connection]]``; demands bring their paths, if there are any.
    **more
        Other keys of the file, such as ``title``, ``run``, ``traffic`` and ``defaults``.

    Returns
    -------
    ScenarioText
        The text of the file. `run` takes it, and ``write("x.toml")`` writes it.

    Raises
    ------
    ScenarioError
        A value that a scenario cannot hold, a key given twice, or the first mistake that the reader of the file finds;
        the message names the place, such as ``connection.0``.
    """
    parts: dict[str, Any] = dict(tables or {})
    for key, value in _given(network, nodes, links, connections, more):
        if key in parts:
            raise ScenarioError(f"{key}: it is given twice; keep one")
        parts[key] = value
    lines = as_toml(_plain(parts, ()))
    text = ScenarioText(lines.text + "\n")
    try:
        read_scenario(text)
    except ScenarioError as error:
        raise ScenarioError(_placed(str(error), lines)) from error
    return text


def text_of(given: Any) -> Any:
    """Give the text of a scenario that is given as a mapping; files and texts stay as they are."""
    return scenario(given) if isinstance(given, Mapping) else given


def _given(
    network: object,
    nodes: Iterable[Any] | None,
    links: Iterable[Any] | None,
    connections: Demands | Iterable[Any] | None,
    more: Mapping[str, Any],
) -> Iterable[tuple[str, Any]]:
    """Give the keys of the file with their values, as far as they are given."""
    if isinstance(network, Network):
        yield "node", _nodes(network)
        yield "link", _links(network)
    elif isinstance(network, (str, os.PathLike)):
        yield "network", {"file": os.fspath(network)}
    elif network is not None:
        yield "network", network
    if nodes is not None:
        yield "node", list(nodes)
    if links is not None:
        yield "link", list(links)
    if isinstance(connections, Demands):
        yield "connection", _connections(connections)
    elif connections is not None:
        yield "connection", list(connections)
    yield from more.items()


def _nodes(network: Network) -> list[dict[str, Any]]:
    return list(network.nodes.iter_rows(named=True))


def _links(network: Network) -> list[dict[str, Any]]:
    """Give each link as a one-way link; of two twins the first names the other."""
    rows = []
    named: set[str] = set()
    for name, source, target, capacity_bps, delay_s, twin in network.links.iter_rows():
        row = {"name": name, "source": source, "target": target, "two_way": False}
        row |= {"capacity": _rate(capacity_bps), "delay": _quantity(delay_s, "s")}
        if twin is not None and name not in named:
            row["twin"] = twin
            named.add(twin)
        rows.append(row)
    return rows


def _connections(demands: Demands) -> list[dict[str, Any]]:
    rows = []
    names = demands.network.core.link_names
    own: list[list[list[str]]] = [[] for _ in range(len(demands))]
    if demands.paths is not None:
        for connection, numbers in demands.paths.links().iter_rows():
            own[connection].append([names[number] for number in numbers])
    for row, paths in zip(demands.connections.iter_rows(named=True), own, strict=True):
        times = {"start": row["start_s"] or None, "stop": row["stop_s"]}
        kept = {key: row[key] for key in ("name", "source", "target")}
        kept |= {"demand": None if row["demand_bps"] is None else _rate(row["demand_bps"])}
        kept |= {key: None if row[key] == 1.0 else row[key] for key in ("weight", "qos")}
        kept |= {"reserved": _rate(row["reserved_bps"]) if row["reserved_bps"] else None}
        kept |= {key: None if seconds is None else _quantity(seconds, "s") for key, seconds in times.items()}
        rows.append(kept | {"links": paths or None})
    return rows


def _rate(bps: float) -> str:
    return "unlimited" if bps == float("inf") else _quantity(bps, "bit/s")


def _quantity(value: float, unit: str) -> str:
    """Write a number with its unit, to the last bit."""
    return f"{np.format_float_positional(value, trim='-')} {unit}"


def _plain(value: Any, path: tuple[str, ...]) -> Any:
    """Give a value as TOML knows it: mappings, lists, text, numbers, truth values."""
    place = ".".join(path) or "the scenario"
    if len(path) > DEEPEST:
        raise ScenarioError(f"{'.'.join(path[:8])}...: values are too deep; a scenario has six levels at most")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if item is not None}
        if bad := [key for key in kept if not isinstance(key, str)]:
            raise ScenarioError(f"{place}: the key {bad[0]!r} is no text; keys are those of the scenario file")
        return {key: _plain(item, (*path, key)) for key, item in kept.items()}
    if isinstance(value, np.ndarray):
        value = _listed(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item, (*path, str(number))) for number, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, (str, bool, int, float)):
        return value
    raise ScenarioError(f"{place}: it is a {type(value).__name__}; give text, numbers, lists or mappings")


def _listed(values: NDArray[Any]) -> list[Any]:
    found: list[Any] = values.tolist()
    return found


def _placed(message: str, lines: Lines) -> str:
    """Name the key in a message in place of the line of a text that nobody has written."""

    def key(match: re.Match[str]) -> str:
        number = int(match[1]) - 1
        return lines.keys[number] if number < len(lines.keys) else match[0]

    return PLACE.sub(key, message, count=1)
