"""HiGHS, set up for chains of linear programs: silent, accurate, on one thread, from the basis of the last program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEASIBILITY = 1e-9
"""Relative accuracy of the programs."""

NEGLIGIBLE = 1e-12
"""Entries under this are left out of the programs: the least that HiGHS allows."""

NO_LIMIT = float(highspy.kHighsInf)


class Highs:
    """A solver for programs of one shape, one after the other."""

    def __init__(self) -> None:
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._highs.silent()
        options = {
            "primal_feasibility_tolerance": FEASIBILITY,
            "dual_feasibility_tolerance": FEASIBILITY,
            "small_matrix_value": NEGLIGIBLE,
            "threads": 1,
        }
        for option, value in options.items():
            self._highs.setOptionValue(option, value)
        self._basis: Any = None

    def solve(self, program: Any, *, interior_point: bool = False) -> bool:
        """Find the optimum, from the basis of the program before; tell whether there is one.

        With `interior_point` that method is tried where the simplex method does not get there.
        """
        is_solved = self._run(program)
        if not is_solved and self._basis is not None:
            # The simplex method may lose its way from a basis that another scale has made a bad one.
            self._basis = None
            is_solved = self._run(program)
        if not is_solved:
            # The presolve may find no way where there is one, if numbers are far apart.
            self._highs.setOptionValue("presolve", "off")
            is_solved = self._run(program)
            self._highs.setOptionValue("presolve", "choose")
        if not is_solved and interior_point:
            self._highs.setOptionValue("solver", "ipm")
            is_solved = self._run(program)
            self._highs.setOptionValue("solver", "choose")
        if is_solved:
            self._basis = self._highs.getBasis()
        return is_solved

    def _run(self, program: Any) -> bool:
        self._highs.passModel(program)
        if self._basis is not None:
            self._highs.setBasis(self._basis)
        self._highs.run()
        return bool(self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    @property
    def status(self) -> str:
        """The state in which the last program ended, in the words of HiGHS."""
        return str(self._highs.modelStatusToString(self._highs.getModelStatus()))

    @property
    def columns(self) -> Floats:
        """The variables at the optimum."""
        values: Floats = np.asarray(self._highs.getSolution().col_value)
        return values

    @property
    def reduced_costs(self) -> Floats:
        """The gain in the optimum for one more unit of the bound that holds each variable."""
        values: Floats = np.asarray(self._highs.getSolution().col_dual)
        return values

    @property
    def prices(self) -> Floats:
        """The gain in the optimum for one more unit of each row's bound."""
        values: Floats = np.asarray(self._highs.getSolution().row_dual)
        return values
