"""New capacities of links: by name, as a table, or one for each link in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.model.quantities import rate_bps
from anabranch.model.spelling import unknown

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

    from anabranch.model.network import Network

    Capacities = Mapping[str, float | str] | pl.DataFrame | ArrayLike | Sequence[str]


def new_capacities(network: Network, given: Capacities) -> list[float]:
    """Give the capacity of every link of a network in bit/s, of which some may be given by name.

    Raises
    ------
    ValueError
        An unknown link, another number of capacities, or a value that is no rate.
    """
    # Only now: a network that comes from a file needs no tables.
    import polars as pl

    if isinstance(given, pl.DataFrame):
        return _by_name(network, _rows(given))
    if isinstance(given, Mapping):
        return _by_name(network, given.items())
    count = len(network.core.link_names)
    if isinstance(given, str):
        raise ValueError(f"capacity is one text, {given!r}; give {{name: capacity}}, or {count} capacities")  # noqa: TRY004
    values = np.asarray(given)
    if values.shape != (count,):
        raise ValueError(f"capacity has the shape {values.shape}; it must be ({count},), one for each link")
    names = network.core.link_names
    return [_rate(name, value) for name, value in zip(names, values.tolist(), strict=True)]


def _rows(table: pl.DataFrame) -> Iterable[tuple[str, Any]]:
    column = next((one for one in ("capacity_bps", "capacity") if one in table.columns), None)
    if "name" not in table.columns or column is None:
        raise ValueError(f"the table has the columns {table.columns}; it must have `name` and `capacity_bps`")
    return table.select("name", column).iter_rows()


def _by_name(network: Network, given: Iterable[tuple[str, Any]]) -> list[float]:
    names = network.core.link_names
    number = {name: i for i, name in enumerate(names)}
    capacity: list[float] = network.core.capacity_bps.tolist()
    for name, value in given:
        if name not in number:
            raise ValueError(unknown("link", name, names))
        capacity[number[name]] = _rate(name, value)
    return capacity


def _rate(name: str, value: Any) -> float:
    try:
        return rate_bps(value, "capacity")
    except TypeError:
        reason = f"capacity is {value!r}; it must be a number of bit/s, or text such as 10 Gbit/s"
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"link `{name}`: {reason}")
