"""A problem as a matrix of links by paths: what differential equations over a network work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.model.problem import Problem


@dataclass(frozen=True, eq=False)
class Incidence:
    """Paths and what limits them.

    Attributes
    ----------
    uses : ndarray of float64, shape (links, paths)
        Capacity used for each unit of rate. Links are those with a finite capacity, and after them a link for each
        finite demand.
    capacity : ndarray of float64, shape (links,)
    connection : ndarray of int64, shape (paths,)
    weight : ndarray of float64, shape (paths,)
        That of the path's connection.
    """

    uses: NDArray[np.float64]
    capacity: NDArray[np.float64]
    connection: NDArray[np.int64]
    weight: NDArray[np.float64]

    @property
    def least_capacity(self) -> NDArray[np.float64]:
        """The least capacity on each path."""
        return np.asarray(np.where(self.uses > 0.0, self.capacity[:, None], np.inf).min(axis=0))

    def totals(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give, of each path, the sum of the rates of all paths of its connection."""
        return np.asarray(np.bincount(self.connection, rates)[self.connection], dtype=np.float64)


def incidence(problem: Problem) -> Incidence:
    """Give the matrix of a problem.

    Raises
    ------
    ValueError
        No path, a capacity of 0 on a path, or a path that nothing limits.
    """
    connection = problem.path_connection.astype(np.int64)
    paths = len(connection)
    if not paths:
        raise ValueError("the problem has no paths; give one or more")
    uses = np.zeros((len(problem.capacity), paths))
    of_entry = np.repeat(np.arange(paths), np.diff(problem.path_offsets))
    np.add.at(uses, (problem.path_links, of_entry), 1.0 if problem.coefficient is None else problem.coefficient)
    limited = np.flatnonzero(np.isfinite(problem.demand))
    demands = (connection[None, :] == limited[:, None]).astype(np.float64)
    whole, capacity = np.vstack([uses, demands]), np.concatenate([problem.capacity, problem.demand[limited]])
    kept = np.isfinite(capacity) & (whole > 0.0).any(axis=1)
    whole, capacity = whole[kept], capacity[kept]
    if (capacity <= 0.0).any():
        raise ValueError("a link on a path, or a demand, has capacity 0; leave out the paths over it, whose rate is 0")
    free = np.flatnonzero(~(whole > 0.0).any(axis=0))
    if free.size:
        raise ValueError(f"path {free[0]} has no limit; give one of its links a finite capacity")
    return Incidence(whole, capacity, connection, problem.weight[connection])
