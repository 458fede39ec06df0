"""Demands: the sources, targets, rates, weights and times of connections."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.model.network import Network
    from anabranch.model.paths import Paths

INFINITE = float("inf")


class Demands:
    """Connections between nodes of a network; immutable.

    Attributes
    ----------
    network : Network
        Whose nodes the connections join.
    core : _core.Demands
        The checked model that solvers share.
    paths : Paths or None
        The paths of each connection, where the input gave them.
    """

    def __init__(self, network: Network, core: _core.Demands, paths: Paths | None = None) -> None:
        self.network = network
        self.core = core
        self.paths = paths

    @cached_property
    def connections(self) -> pl.DataFrame:
        """A row for each connection: ``name``, ``source``, ``target``, ``demand_bps``, ``weight``, ``qos``, ...

        ``demand_bps`` and ``stop_s`` are null where there is no limit.
        """
        names = np.array(self.network.core.node_names, dtype=object)
        core = self.core
        frame = pl.DataFrame(
            {
                "name": core.names,
                "source": names[core.source].tolist(),
                "target": names[core.target].tolist(),
                "demand_bps": core.demand_bps,
                "weight": core.weight,
                "qos": core.qos,
                "start_s": core.start_s,
                "stop_s": core.stop_s,
            },
            schema_overrides={"name": pl.String, "source": pl.String, "target": pl.String},
        )
        limits = ("demand_bps", "stop_s")
        return frame.with_columns(pl.when(pl.col(c).is_finite()).then(pl.col(c)).alias(c) for c in limits)

    def __len__(self) -> int:
        return len(self.core)

    def __repr__(self) -> str:
        return f"<Demands {len(self)} connections on {self.network!r}>"

    def _repr_html_(self) -> str:
        from anabranch.notebook import demands_html

        return demands_html(self)


def demands(
    network: Network,
    source: Sequence[str],
    target: Sequence[str],
    *,
    demand_bps: Sequence[float | None] | None = None,
    name: Sequence[str | None] | None = None,
    weight: Sequence[float] | None = None,
    qos: Sequence[float] | None = None,
    start_s: Sequence[float] | None = None,
    stop_s: Sequence[float | None] | None = None,
) -> Demands:
    """Make demands from columns.

    Parameters
    ----------
    source, target : sequence of str
        Node names; one of each for every connection.
    demand_bps : sequence of float or None
        The most each connection can use, in bit/s; None for no limit.
    name : sequence of str or None
        Unique; ``source>target`` where None, with ``#2`` and so on for further ones.
    weight, qos : sequence of float
        The claim relative to others, and the factor in (0, 1] that lowers it [ludena2021, sec. IV]; 1 if not given.
    start_s, stop_s : sequence of float
        Start and end of the connection, in seconds; by default 0 and never.

    Raises
    ------
    ScenarioError
        Columns of different lengths, an unknown node, equal ends, a repeated name, a number out of its range.
    """
    count = len(source)
    optional = {"demand_bps": demand_bps, "name": name, "weight": weight, "qos": qos}
    optional |= {"start_s": start_s, "stop_s": stop_s}
    _check_lengths(
        count, {"target": target} | {column: given for column, given in optional.items() if given is not None}
    )
    sources = [_node(network, node, f"connection {i + 1}") for i, node in enumerate(source)]
    targets = [_node(network, node, f"connection {i + 1}") for i, node in enumerate(target)]
    names = _fill_names(source, target, name)
    columns = (
        sources,
        targets,
        _numbers("demand_bps", demand_bps, INFINITE, count, or_none=True),
        _numbers("weight", weight, 1.0, count),
        _numbers("qos", qos, 1.0, count),
        _numbers("start_s", start_s, 0.0, count),
        _numbers("stop_s", stop_s, INFINITE, count, or_none=True),
    )
    try:
        core = _core.Demands(network.core, names, *columns)
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    return Demands(network, core)


def _check_lengths(count: int, columns: Mapping[str, Sequence[Any]]) -> None:
    for column, given in columns.items():
        if len(given) != count:
            raise ScenarioError(f"{column} has {len(given)} values; it must have {count}, one for each source")


def _numbers(
    column: str, given: Sequence[float | None] | None, default: float, count: int, *, or_none: bool = False
) -> list[float]:
    """Take a column of numbers; the default stands for a column that is not given, and for None where it may be."""
    if given is None:
        return [default] * count
    numbers = []
    for i, value in enumerate(given):
        if value is None and or_none:
            numbers.append(default)
            continue
        try:
            numbers.append(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"connection {i + 1}: {column} is {value!r}; it must be a number") from error
    return numbers


def _node(network: Network, name: str, place: str) -> int:
    number = network.core.find_node(name)
    if number is None:
        hint = network.core.node_hint(name)
        raise ScenarioError(f"{place}: there is no node `{name}`{hint}; name one of the network's {len(network)} nodes")
    return number


def _fill_names(source: Sequence[str], target: Sequence[str], name: Sequence[str | None] | None) -> list[str]:
    given = list(name) if name is not None else [None] * len(source)
    taken = {n for n in given if n is not None}
    names: list[str] = []
    count: dict[str, int] = {}
    for a, b, own in zip(source, target, given, strict=True):
        if own is not None:
            names.append(own)
            continue
        base = f"{a}>{b}"
        free = base
        while free in taken:
            count[base] = count.get(base, 1) + 1
            free = f"{base}#{count[base]}"
        taken.add(free)
        names.append(free)
    return names
