"""The problem that every solver takes: capacities, paths and demands as index arrays."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.memory import ask_for_memory
from anabranch.model.quantities import rate_bps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anabranch.model.paths import Paths

PATH_BYTES, STEP_BYTES = 160, 28
"""Bytes of memory for a path and for each link of it, from the problem to the tables of the allocation. Measured."""


class Problem:
    """Capacities, paths, demands, weights and reserved parts; checked and immutable.

    Parameters
    ----------
    capacity : array_like of float, shape (links,)
        In any unit; rates come out in the same. 0 or more; may be infinite.
    path_offsets : array_like of int, shape (paths + 1,)
        Links of path p: ``path_links[path_offsets[p]:path_offsets[p + 1]]``.
    path_links : array_like of int
        Link numbers along the paths.
    path_connection : array_like of int, shape (paths,)
        The connection that each path belongs to, in any order.
    demand : array_like of float, shape (connections,), optional
        The most each connection can use; infinite for no limit, which is the default.
    weight : array_like of float, shape (connections,), optional
        The claim of each connection relative to others; 1 by default.
    reserved : array_like of float, shape (connections,), optional
        The part of each connection's rate that comes before its share, in the unit of `capacity`; 0 by default. Methods
        of max-min fairness take it.
    coefficient : array_like of float, optional
        Capacity used for each unit of rate, for each entry of `path_links`; 1 by default.

    Raises
    ------
    ValueError
        What is wrong, and where.

    Notes
    -----
    There are as many connections as `demand`, `weight` or `reserved` has values; without any, as `path_connection`
    names. Index arrays take integers, the others integers or floats; neither takes truth values, text, dates or masked
    arrays. A connection of demand 0 or without a path has rate 0, as has every path over a link of capacity 0.
    """

    def __init__(
        self,
        capacity: ArrayLike,
        path_offsets: ArrayLike,
        path_links: ArrayLike,
        path_connection: ArrayLike,
        demand: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        coefficient: ArrayLike | None = None,
        reserved: ArrayLike | None = None,
    ) -> None:
        self.capacity = _array("capacity", capacity, np.float64)
        self.path_offsets = _array("path_offsets", path_offsets, np.int64)
        self.path_links = _array("path_links", path_links, np.uint32)
        self.path_connection = _array("path_connection", path_connection, np.uint32)
        given = next((values for values in (demand, weight, reserved) if values is not None), None)
        count = self._named_connections() if given is None else len(np.atleast_1d(np.asarray(given)))
        self.demand = _array("demand", np.full(count, np.inf) if demand is None else demand, np.float64)
        self.weight = _array("weight", np.ones(count) if weight is None else weight, np.float64)
        use = None if coefficient is None else _array("coefficient", coefficient, np.float64)
        self.coefficient = use
        self.reserved = _array("reserved", np.zeros(count) if reserved is None else reserved, np.float64)
        self.core = _core.Problem(
            self.capacity,
            self.path_offsets,
            self.path_links,
            self.path_connection,
            self.demand,
            self.weight,
            use,
            self.reserved if self.has_reserved else None,
        )

    @property
    def has_reserved(self) -> bool:
        """Whether some connection has a reserved part."""
        return bool(self.reserved.any())

    def changed(
        self,
        *,
        capacity: ArrayLike | None = None,
        demand: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        reserved: ArrayLike | None = None,
    ) -> Self:
        """Give a problem with the same paths and other numbers; what is not given stays.

        It costs little: all that depends on paths alone is checked and kept once. A link that fails has capacity 0.

        Parameters
        ----------
        capacity : array_like of float, shape (links,), optional
        demand, weight, reserved : array_like of float, shape (connections,), optional

        Raises
        ------
        ValueError
            Arrays of another length, a number that cannot be, or a path that nothing limits any more.
        """
        given = {"capacity": capacity, "demand": demand, "weight": weight, "reserved": reserved}
        arrays = {name: None if values is None else _array(name, values, np.float64) for name, values in given.items()}
        other = copy(self)
        other.core = self.core.changed(**arrays)
        for name, values in arrays.items():
            if values is not None:
                setattr(other, name, values)
        return other

    def _named_connections(self) -> int:
        """Count the connections that paths name, each of which must have one."""
        paths = len(self.path_connection)
        count = int(self.path_connection.max()) + 1 if paths else 0
        if count > paths:
            raise ValueError(
                f"path_connection names connection {count - 1}, and {paths} paths leave some connection without any;"
                " give demand or weight, so that the number of connections is known, or number connections from 0 on"
            )
        return count

    def __repr__(self) -> str:
        core = self.core
        return f"<Problem {core.connections} connections, {core.paths} paths, {core.links} links>"


def _array(name: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """One contiguous, immutable axis of numbers, without loss."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; fill it, or leave out what is masked")  # noqa: TRY004
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} has rows of different lengths; it must have one axis of numbers") from error
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} axes; it must have one")
    whole = np.issubdtype(dtype, np.integer)
    if array.size and array.dtype.kind not in ("iu" if whole else "iuf"):
        raise ValueError(f"{name} holds {array.dtype} values; it must hold {'whole numbers' if whole else 'numbers'}")
    if whole and array.size:
        info = np.iinfo(dtype)
        low, high = int(array.min()), int(array.max())
        if low < info.min or high > info.max:
            raise ValueError(f"{name} has {low if low < info.min else high}; it must be within 0 and {info.max}")
    own = np.array(array, dtype=dtype, order="C")
    own.flags.writeable = False
    return own


def problem_of(paths: Paths, *, unit_bps: float | str = 1.0) -> Problem:
    """Make the problem of sharing a network among connections with these paths.

    Parameters
    ----------
    unit_bps : float or str
        The unit in which rates are counted, in bit/s or as text such as ``"1 Mbit/s"``.

    Raises
    ------
    ScenarioError
        A connection that no link and no demand limits; or more paths than there is memory for.
    """
    unit = rate_bps(unit_bps, "unit_bps")
    if not 0.0 < unit < np.inf:
        raise ValueError(f"unit_bps is {unit_bps}; it must be positive and finite")
    core, network = paths.demands.core, paths.demands.network
    count, links = len(paths), len(paths.path_links)
    size = count * PATH_BYTES + links * STEP_BYTES
    ask_for_memory([(f"{count} paths over {links} links in all", size, "ask for fewer `paths`")], "the solver")
    try:
        return Problem(
            network.core.capacity_bps / unit,
            paths.path_offsets,
            paths.path_links,
            paths.connection,
            core.demand_bps / unit,
            core.weight * core.qos,
            reserved=core.reserved_bps / unit,
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from error
