"""Max-min fair rates that follow changes of demands, weights, capacities and connections."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from anabranch import _core
from anabranch.allocation.levelled import LevelledAllocation
from anabranch.errors import ConvergenceWarning
from anabranch.model.paths import Paths
from anabranch.model.problem import Problem, problem_of
from anabranch.model.quantities import rate_bps
from anabranch.model.spelling import unknown
from anabranch.solvers.check import check_options
from anabranch.solvers.dispatch import allocate
from anabranch.solvers.fairness import EXACT_TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anabranch.allocation.allocation import Allocation

    Numbers = ArrayLike | Sequence[str] | Mapping[int, float | str] | Mapping[str, float | str]


class Allocator:
    """Max-min fair rates over several paths, kept up to date while what is shared changes.

    It holds the answer to a problem and goes on from there when numbers change. Rates of connections are unique, so
    they do not depend on the way there; how they are divided among paths may.

    Parameters
    ----------
    subject : Problem or Paths
        A problem of arrays, or the paths of demands on a network, in bit/s.

    Attributes
    ----------
    problem : Problem
        The problem after the last change.
    exchanges : int
        The number of exchanges of one path or link for another that the last change took.

    Raises
    ------
    ScenarioError
        A connection that no link and no demand limits.
    """

    def __init__(self, subject: Problem | Paths) -> None:
        if not isinstance(subject, (Problem, Paths)):
            raise TypeError(f"the subject is a {type(subject).__name__}; it must be a Problem or Paths")
        self._paths = subject if isinstance(subject, Paths) else None
        self.problem = subject if isinstance(subject, Problem) else problem_of(subject)
        self._core = _core.Allocator(self.problem.core)
        self._allocation: Allocation | None = None
        self._settle()

    def __repr__(self) -> str:
        core = self.problem.core
        return f"<Allocator {core.connections} connections, {core.paths} paths, {core.links} links>"

    @property
    def connection_rates(self) -> NDArray[np.float64]:
        """The rate of each connection, proved to a millionth unless a warning said otherwise."""
        if self._core.is_proved or self._allocation is None:
            return self._core.connection_rates
        return self._allocation.connection_rates.copy()

    @property
    def exchanges(self) -> int:
        """The number of exchanges that the last change took."""
        return self._core.exchanges

    @property
    def allocation(self) -> Allocation:
        """The rates with their levels, tables and proof, made at the first use after a change.

        This is a `LevelledAllocation`, unless every connection has one path and rounding spoilt the proof: then it is
        the allocation by progressive filling.

        Warns
        -----
        ConvergenceWarning
            Nothing proves the rates of all paths, since numbers lie too far apart; the message says how far they are
            from fair.
        """
        if self._allocation is None:
            found: Allocation = self._levelled()
            self._allocation = found if found.shortcoming is None else self._solved()
        return self._allocation

    def update(
        self,
        *,
        demand: Numbers | None = None,
        capacity: Numbers | None = None,
        weight: Numbers | None = None,
        reserved: Numbers | None = None,
    ) -> NDArray[np.float64]:
        """Change numbers, keep the paths, and return the rate of each connection. Numbers that are not given stay.

        The rates are proved to a millionth. Where they are not, since numbers lie too far apart, it solves from the
        beginning, as `solve` does.

        Parameters
        ----------
        demand, weight, reserved : array_like of float, or mapping of int or str to float, optional
            Values of all connections, or of some by number or, on a network, by name: ``{"DE>IT": "2 Gbit/s"}``.
        capacity : array_like of float, or mapping of int or str to float, optional
            Values of all links, or of some: ``{"DE-AT": 0}``. A link that fails has capacity 0, and its old one again
            when it is repaired. On a network rates may be text with a unit.

        Raises
        ------
        ValueError
            A number is out of its range, a connection or link does not exist, or nothing limits a path any more. Then
            nothing changes.

        Warns
        -----
        ConvergenceWarning
            Nothing proves the rates; the message says how far they are from fair.
        """
        old = self.problem
        changed = old.changed(
            demand=None if demand is None else self._all("demand", demand, old.demand),
            capacity=None if capacity is None else self._all("capacity", capacity, old.capacity),
            weight=None if weight is None else self._all("weight", weight, old.weight),
            reserved=None if reserved is None else self._all("reserved", reserved, old.reserved),
        )
        return self._follow(changed)

    def add(
        self, paths: Sequence[Sequence[int]], *, demand: float = np.inf, weight: float = 1.0, reserved: float = 0.0
    ) -> int:
        """Add a connection with these paths, each the numbers of its links; gives its number, the highest.

        Its paths use of their links as much as their rate. It solves from the beginning, as `remove` does. Only for a
        problem of arrays.

        Raises
        ------
        ValueError
            A path that cannot be, or that nothing limits, or a number that cannot be; or the problem is of a network.
        """
        old, number = self._of_arrays("add"), self.problem.core.connections
        links = [np.asarray(path) if len(path) else np.zeros(0, dtype=np.uint32) for path in paths]
        ends = old.path_offsets[-1] + np.cumsum([len(path) for path in links], dtype=np.int64)
        extra = sum(len(path) for path in links)
        problem = Problem(
            old.capacity,
            np.concatenate([old.path_offsets, ends]),
            np.concatenate([old.path_links, *links]),
            np.concatenate([old.path_connection, np.full(len(links), number, dtype=np.uint32)]),
            np.append(old.demand, demand),
            np.append(old.weight, weight),
            coefficient=None if old.coefficient is None else np.append(old.coefficient, np.ones(extra)),
            reserved=np.append(old.reserved, reserved),
        )
        self._follow(problem)
        return number

    def remove(self, connection: int) -> None:
        """Take a connection and its paths away; those after it count one less.

        Raises
        ------
        ValueError
            There is no such connection, or the problem is of a network: there a demand of 0 does the same.
        """
        old = self._of_arrays("remove")
        count = old.core.connections
        if not 0 <= connection < count:
            raise ValueError(f"there is no connection {connection}; there are {count}, numbered from 0")
        is_kept = old.path_connection != connection
        lengths = np.diff(old.path_offsets)
        entries = np.repeat(is_kept, lengths)
        owner = old.path_connection[is_kept]
        problem = Problem(
            old.capacity,
            np.concatenate([[0], np.cumsum(lengths[is_kept])]),
            old.path_links[entries],
            np.where(owner > connection, owner - 1, owner),
            np.delete(old.demand, connection),
            np.delete(old.weight, connection),
            coefficient=None if old.coefficient is None else old.coefficient[entries],
            reserved=np.delete(old.reserved, connection),
        )
        self._follow(problem)

    def _levelled(self) -> LevelledAllocation:
        found = self._core.levelled()
        return LevelledAllocation(
            self.problem,
            found.path_rates,
            found.levels,
            fairness="max-min",
            method="dual-simplex",
            tolerance=EXACT_TOLERANCE,
            passes=found.exchanges,
            paths=self._paths,
        )

    def _follow(self, problem: Problem) -> NDArray[np.float64]:
        self._core.follow(problem.core)
        self.problem, self._allocation = problem, None
        self._settle()
        return self.connection_rates

    def _settle(self) -> None:
        """Solve as `solve` does where the rates that followed are not proved."""
        if not self._core.is_proved:
            self._allocation = self._solved()

    def _solved(self) -> Allocation:
        """Solve from the beginning, and warn if that does not prove the rates either."""
        request = check_options(fairness="max-min", tolerance=EXACT_TOLERANCE)
        found = allocate(self.problem, self._paths, request, None)
        if found.shortcoming is not None:
            warnings.warn(found.shortcoming, ConvergenceWarning, stacklevel=_levels_to_caller())
        return found

    def _of_arrays(self, what: str) -> Problem:
        """Give the problem, if connections may come and go."""
        if self._paths is not None:
            raise ValueError(
                f"the connections are those of demands on a network, and {what} would part from them; make an allocator"
                " of other paths, or give those that come and go a demand of 0 meanwhile"
            )
        return self.problem

    def _all(self, quantity: str, given: Numbers, old: NDArray[np.float64]) -> ArrayLike:
        """Give the numbers of all connections or links, of which some may be given."""
        if not isinstance(given, Mapping):
            if isinstance(given, Sequence) and not isinstance(given, str):
                return [self._value(quantity, value) for value in given]
            return given
        what = "link" if quantity == "capacity" else "connection"
        values = old.copy()
        for key, value in given.items():
            values[self._number(quantity, what, key, len(old))] = self._value(quantity, value)
        return values

    def _value(self, quantity: str, value: float | str) -> float:
        """Give a number in the unit of the problem, from a number or, on a network, a rate as text."""
        if not isinstance(value, str):
            return value
        if self._paths is None or quantity == "weight":
            unit = "is a number" if quantity == "weight" else "has the unit of the problem's arrays"
            raise ValueError(f"{quantity} is {value!r}; it {unit}; give a number")
        return rate_bps(value, quantity)

    def _number(self, quantity: str, what: str, key: int | str, count: int) -> int:
        if isinstance(key, str):
            names = self._numbers(what)
            if key not in names:
                if self._paths is None:
                    raise ValueError(f"{quantity}: there is no {what} `{key}`; a problem of arrays has no names")
                raise ValueError(f"{quantity}: {unknown(what, key, list(names), 'the problem')}")
            return names[key]
        number = index(key)
        if not 0 <= number < count:
            raise ValueError(f"{quantity}: there is no {what} {number}; there are {count}, numbered from 0")
        return number

    def _numbers(self, what: str) -> dict[str, int]:
        """Give the number of each link or connection by its name."""
        if self._paths is None:
            return {}
        demands = self._paths.demands
        names = demands.network.core.link_names if what == "link" else demands.core.names
        return {name: number for number, name in enumerate(names)}


def _levels_to_caller() -> int:
    """Give how many calls are between the function that asks and the code of others, as `warnings.warn` counts them."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"] == __name__:
        frame, levels = frame.f_back, levels + 1
    return levels
