"""Linear programs over the rates of paths, in units that keep their numbers near 1.

    maximise worth x   subject to   sum x_p a_pl <= c_l  on each link l,   rows of the method's own,   0 <= x <= most.

A path counts in the least of its narrowest capacity and what its connection needs at most, a link in its capacity, a
connection in its need. So all programs can be solved in plain double precision where capacities lie far apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
from scipy.sparse import coo_array

from anabranch.errors import SolverError
from anabranch.solvers.highs import NO_LIMIT, Highs

if TYPE_CHECKING:
    from anabranch.solvers.approximate.entries import Entries, Floats, Numbers


class Rows:
    """Constraints, collected a block at a time."""

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[tuple[Numbers, Numbers, Floats]] = []
        self._bounds: list[tuple[Floats, Floats]] = []

    def add(self, lower: Floats, upper: Floats, *parts: tuple[Numbers, Numbers, Floats]) -> None:
        """Add a block of rows; each part has rows counted within the block, columns, and values."""
        self._parts += [(rows + self.count, columns, values) for rows, columns, values in parts]
        self._bounds.append((lower, upper))
        self.count += len(lower)

    def matrix(self, columns: int) -> Any:
        """Give all entries, column by column."""
        rows, places, values = (np.concatenate([part[i] for part in self._parts]) for i in range(3))
        return coo_array((values, (rows, places)), shape=(self.count, columns)).tocsc()

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest value of each row."""
        return np.concatenate([low for low, _ in self._bounds]), np.concatenate([high for _, high in self._bounds])


class Shares:
    """The paths as columns of a program: in which units they count, and what links say to it."""

    def __init__(self, entries: Entries, need: Floats) -> None:
        """`need` is what each connection can use at most, in the unit of the problem."""
        own = need[entries.connection]
        self.entries = entries
        self.unit = np.minimum(entries.narrowest, own)
        self.most = np.where(self.unit > 0, 1.0, 0.0)
        self.of_need = np.divide(self.unit, own, out=np.zeros_like(own), where=own > 0)

    def add_links(self, rows: Rows) -> None:
        """Add a row for each link that has a limit."""
        entries, capacity = self.entries, self.entries.capacity
        finite = np.isfinite(capacity) & (capacity > 0)
        number = np.cumsum(finite) - 1
        kept = finite[entries.link]
        link, path = entries.link[kept], entries.path[kept]
        load = entries.use[kept] * (self.unit[path] / capacity[link])
        count = int(finite.sum())
        rows.add(np.full(count, -NO_LIMIT), np.ones(count), (number[link], path, load))

    def of_connections(self) -> tuple[Numbers, Numbers, Floats]:
        """Give the entries that add up each connection's rate, in its need, to a row of its number."""
        return self.entries.connection, np.arange(len(self.unit)), self.of_need

    def rates(self, columns: Floats) -> Floats:
        """Give the rates of the paths in the unit of the problem, of the columns of a solution."""
        used: Floats = np.clip(columns[: len(self.unit)], 0.0, self.most) * self.unit
        return used


class Solver:
    """HiGHS, which begins each program of the same shape where the one before ended."""

    def __init__(self) -> None:
        self._highs = Highs()

    def solve(self, rows: Rows, worth: Floats, most: Floats) -> Floats:
        """Give the columns of the greatest worth.

        Raises
        ------
        SolverError
            HiGHS found no optimum.
        """
        matrix = rows.matrix(len(worth))
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(worth), rows.count
        program.sense_ = highspy.ObjSense.kMaximize
        program.col_cost_, program.col_lower_, program.col_upper_ = worth, np.zeros(len(worth)), most
        program.row_lower_, program.row_upper_ = rows.bounds
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        program.a_matrix_.index_ = matrix.indices.astype(np.int32)
        program.a_matrix_.value_ = matrix.data
        if not self._highs.solve(program, interior_point=True):
            raise SolverError(
                f"a linear program found no optimum ({self._highs.status}); bring capacities, demands and weights"
                " closer together"
            )
        return self._highs.columns
