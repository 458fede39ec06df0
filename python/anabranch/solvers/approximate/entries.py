"""The (path, link) entries of a problem as arrays, what limits paths and connections, and rates that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.model.problem import Problem

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]


VANISHING = 1e-100
"""Amounts under this count as 0, as in all solvers."""


class Entries:
    """The uses of links by paths, as a list of entries.

    Attributes
    ----------
    capacity : ndarray of float64, shape (links,)
    demand : ndarray of float64, shape (connections,)
        Those of the problem; what is too small to be told from 0 is 0.
    path, link : ndarray of int, shape (entries,)
    use : ndarray of float64, shape (entries,)
        Capacity used for each unit of rate.
    narrowest : ndarray of float64, shape (paths,)
        The rate that a path could have alone; infinite if no link limits it.
    most : ndarray of float64, shape (connections,)
        The rate that a connection cannot exceed, whatever the others do.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.capacity = np.where(problem.capacity < VANISHING, 0.0, problem.capacity)
        self.demand = np.where(problem.demand < VANISHING, 0.0, problem.demand)
        paths = len(problem.path_connection)
        self.connection = problem.path_connection.astype(np.int64)
        self.path = np.repeat(np.arange(paths), np.diff(problem.path_offsets))
        self.link = problem.path_links
        self.use = np.ones(len(self.path)) if problem.coefficient is None else problem.coefficient
        self.narrowest = self._over_links(self.capacity[self.link] / self.use, np.minimum)
        widest = np.bincount(self.connection, self.narrowest, minlength=len(problem.weight))
        self.most: Floats = np.minimum(self.demand, widest)

    def _over_links(self, values: Floats, fold: np.ufunc) -> Floats:
        """Fold the values of each path's entries into one; every path has a link."""
        offsets = self.problem.path_offsets[:-1]
        folded: Floats = fold.reduceat(values, offsets) if len(offsets) else np.zeros(0)
        return folded

    def fit(self, path_rates: Floats) -> Floats:
        """Take away what is over a capacity or a demand: each path is divided by the worst excess on it."""
        load = np.bincount(self.link, self.use * path_rates[self.path], minlength=len(self.capacity)).astype(float)
        total = self.problem.core.sum_by_connection(path_rates)
        on_links = self._over_links(_excess(load, self.capacity)[self.link], np.maximum)
        fitting: Floats = path_rates / np.maximum(on_links, _excess(total, self.demand)[self.connection])
        return fitting


def _excess(amount: Floats, limit: Floats) -> Floats:
    over: Floats = np.maximum(np.divide(amount, limit, out=np.ones_like(amount), where=limit > 0), 1.0)
    return over
