"""Demands: the sources, targets, rates, weights and times of connections."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.model.demand_table import columns_of
from anabranch.model.quantities import rate_bps, span_s
from anabranch.model.spelling import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from anabranch.model.network import Network
    from anabranch.model.paths import Paths

    Row = tuple[object, ...] | Mapping[str, object]

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
        # Only now: it takes longer to load than most networks to read.
        import polars as pl

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
                "reserved_bps": core.reserved_bps,
                "start_s": core.start_s,
                "stop_s": core.stop_s,
            },
            schema_overrides={"name": pl.String, "source": pl.String, "target": pl.String},
        )
        limits = ("demand_bps", "stop_s")
        return frame.with_columns(pl.when(pl.col(c).is_finite()).then(pl.col(c)).alias(c) for c in limits)

    def on(self, network: Network) -> Demands:
        """Give these demands on another network that has the nodes by the same names.

        Paths that came with them go along where the network has their links, by the same names between the same nodes;
        otherwise they are left out.

        Raises
        ------
        ValueError
            A node that the network does not have.
        """
        if network is self.network:
            return self
        moved = Demands(network, self._core_on(network))
        if self.paths is not None:
            moved.paths = self.paths.on(moved)
        return moved

    def _core_on(self, network: Network) -> _core.Demands:
        own, core = self.network.core.node_names, self.core
        if own == network.core.node_names:
            return core
        number = {name: i for i, name in enumerate(network.core.node_names)}
        ends = [[own[node] for node in nodes] for nodes in (core.source.tolist(), core.target.tolist())]
        if absent := [name for names in ends for name in names if name not in number]:
            raise ValueError(f"the demands are on another network: {unknown('node', absent[0], list(number))}")
        values = (core.demand_bps, core.weight, core.qos, core.reserved_bps, core.start_s, core.stop_s)
        source, target = ([number[name] for name in names] for names in ends)
        return _core.Demands(network.core, core.names, source, target, *(one.tolist() for one in values))

    def __len__(self) -> int:
        return len(self.core)

    def __repr__(self) -> str:
        return f"<Demands {len(self)} connections on {self.network!r}>"

    def _repr_html_(self) -> str:
        from anabranch.notebook import demands_html

        return demands_html(self)


def demands(
    network: Network,
    source: Sequence[str] | Iterable[Row] | pl.DataFrame,
    target: Sequence[str] | None = None,
    *,
    demand_bps: Sequence[float | str | None] | None = None,
    name: Sequence[str | None] | None = None,
    weight: Sequence[float] | None = None,
    qos: Sequence[float] | None = None,
    reserved_bps: Sequence[float | str] | None = None,
    start_s: Sequence[float | str] | None = None,
    stop_s: Sequence[float | str | None] | None = None,
) -> Demands:
    """Make demands from rows or from columns.

    Parameters
    ----------
    source : iterable of tuple or mapping, DataFrame, or sequence of str
        Without `target`: a row for each connection, such as ``("DE", "IT", "1 Gbit/s")`` with source, target and,
        where there are any, demand and weight; a mapping such as ``{"source": "DE", "target": "IT", "demand": "1
        Gbit/s", "weight": 2}``; or a table with such columns. With `target`: the nodes that send.
    target : sequence of str, optional
        The nodes that receive, one for each source.
    demand_bps : sequence of float, str or None
        The most each connection can use, in bit/s or as text such as ``"4 Gbit/s"``; None for no limit.
    name : sequence of str or None
        Unique; ``source>target`` where None, with ``#2`` and so on for further ones.
    weight, qos : sequence of float
        The claim relative to others, and the factor in (0, 1] that lowers it [ludena2021, sec. IV]; 1 if not given.
    reserved_bps : sequence of float or str
        The part of the rate that comes before the share of the rest; 0 if not given.
    start_s, stop_s : sequence of float or str
        Start and end of the connection, in seconds or as text such as ``"5 ms"``; by default 0 and never.

    Raises
    ------
    ScenarioError
        Columns of different lengths, an unknown node, equal ends, a repeated name, a number out of its range.
    """
    columns: dict[str, Any] = {"demand_bps": demand_bps, "name": name, "weight": weight, "qos": qos}
    columns |= {"reserved_bps": reserved_bps, "start_s": start_s, "stop_s": stop_s}
    given = {column: values for column, values in columns.items() if values is not None}
    if target is None:
        if given:
            raise ScenarioError(f"{next(iter(given))} was given with rows; put it into the rows")
        found = columns_of(source)
        return _of_columns(network, found.pop("source"), found.pop("target"), found)
    return _of_columns(network, cast("Sequence[str]", source), target, given)


def _of_columns(
    network: Network, source: Sequence[str], target: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> Demands:
    """Make demands from the columns that are there."""
    count = len(source)
    _check_lengths(count, {"target": target, **columns})
    numbers = (
        [_node(network, node, f"connection {i + 1}") for i, node in enumerate(source)],
        [_node(network, node, f"connection {i + 1}") for i, node in enumerate(target)],
        _numbers("demand_bps", columns.get("demand_bps"), INFINITE, count, rate_bps, or_none=True),
        _numbers("weight", columns.get("weight"), 1.0, count),
        _numbers("qos", columns.get("qos"), 1.0, count),
        _numbers("reserved_bps", columns.get("reserved_bps"), 0.0, count, rate_bps),
        _numbers("start_s", columns.get("start_s"), 0.0, count, span_s),
        _numbers("stop_s", columns.get("stop_s"), INFINITE, count, span_s, or_none=True),
    )
    try:
        core = _core.Demands(network.core, _fill_names(source, target, columns.get("name")), *numbers)
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    return Demands(network, core)


def _check_lengths(count: int, columns: Mapping[str, Sequence[Any]]) -> None:
    for column, given in columns.items():
        if len(given) != count:
            raise ScenarioError(f"{column} has {len(given)} values; it must have {count}, one for each source")


def _numbers(
    column: str,
    given: Sequence[float | str | None] | None,
    default: float,
    count: int,
    parse: Callable[[str], float] = float,
    *,
    or_none: bool = False,
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
            numbers.append(parse(value) if isinstance(value, str) else float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            reason = f"{error}" if isinstance(value, str) and parse is not float else "it must be a number"
            raise ScenarioError(f"connection {i + 1}: {column} is {value!r}; {reason}") from error
    return numbers


def _node(network: Network, name: str, place: str) -> int:
    number = network.core.find_node(name) if isinstance(name, str) else None
    if number is None:
        raise ScenarioError(f"{place}: {unknown('node', name, network.core.node_names)}")
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
