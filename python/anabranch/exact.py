"""Global max-min fair rates over many paths, exactly: a chain of linear programs.

The common level of all connections that are still free is raised as far as it goes; those that hold it back (a
positive price on their constraint: they are held in every optimum) freeze at it, and the next program raises the
others [nace2008, sec. IV]. One HiGHS model is changed from step to step, so each program starts from the basis of the
one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anabranch.problem import Problem

    Progress = Callable[[str, int, int], None]

FEASIBILITY = 1e-9
"""Relative accuracy of the programs."""

PRICE = 1e-7
"""A constraint with a price above this holds the level back."""


def global_max_min(problem: Problem, *, progress: Progress | None = None) -> tuple[NDArray[np.float64], int]:
    """Compute the max-min fair rates over all ways to use the paths.

    Returns
    -------
    path_rates : ndarray of float64, shape (paths,)
        In the unit of the problem. The rates of connections are unique; their division among paths need not be.
    programs : int
        Linear programs solved.

    Raises
    ------
    RuntimeError
        The solver of linear programs failed.
    """
    paths = len(problem.path_connection)
    if paths == 0:
        return np.zeros(0), 0
    finite = problem.capacity[np.isfinite(problem.capacity) & (problem.capacity > 0)]
    scale = float(np.median(finite)) if len(finite) else 1.0
    demand = problem.demand / scale
    has_path = np.bincount(problem.path_connection, minlength=len(demand)) > 0
    model = _Model(problem, scale)
    free = has_path.copy()
    reach = np.where(free, demand / problem.weight, np.inf)
    programs = 0
    while free.any():
        ceiling = float(reach[free].min())
        level, price = model.raise_level(ceiling)
        programs += 1
        sated = free & (reach <= level * (1 + FEASIBILITY) + FEASIBILITY * 1e-3)
        held = free & ~sated & (price * problem.weight > PRICE)
        if not (sated.any() or held.any()):
            raise RuntimeError("no connection holds the common level back; the linear programs are degenerate")
        model.freeze(np.flatnonzero(sated), demand[sated])
        model.freeze(np.flatnonzero(held), level * problem.weight[held])
        free &= ~(sated | held)
        if progress is not None:
            progress("programs", int((~free).sum()), len(free))
    return model.path_rates() * scale, programs


class _Model:
    """Maximise ``t`` subject to ``sum x <= capacity`` on links, and ``sum x >= weight t`` for free connections."""

    def __init__(self, problem: Problem, scale: float) -> None:
        self.paths = len(problem.path_connection)
        self.level = self.paths
        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
        for option, value in (("primal_feasibility_tolerance", FEASIBILITY), ("threads", 1)):
            solver.setOptionValue(option, value)
        self.solver = solver
        capacity = problem.capacity / scale
        # A path over a dead link carries nothing; rows are divided by capacity, so that accuracy is relative.
        hops = np.diff(problem.path_offsets)
        entry_path = np.repeat(np.arange(self.paths), hops)
        dead = np.zeros(self.paths, dtype=bool)
        np.logical_or.at(dead, entry_path, capacity[problem.path_links] == 0)
        solver.addVars(self.paths + 1, np.zeros(self.paths + 1), np.append(np.where(dead, 0.0, np.inf), np.inf))
        solver.changeColCost(self.level, 1.0)
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        use = np.ones(len(entry_path)) if problem.coefficient is None else problem.coefficient
        self.links = np.flatnonzero(np.isfinite(capacity) & (capacity > 0))
        order = np.argsort(problem.path_links, kind="stable")
        starts = np.searchsorted(problem.path_links[order], np.arange(len(capacity) + 1))
        for link in self.links:
            entries = order[starts[link] : starts[link + 1]]
            columns = entry_path[entries].astype(np.int32)
            solver.addRow(-highspy.kHighsInf, 1.0, len(columns), columns, use[entries] / capacity[link])
        self.first = len(self.links)
        grouped = np.argsort(problem.path_connection, kind="stable")
        offsets = np.searchsorted(problem.path_connection[grouped], np.arange(len(problem.weight) + 1))
        for c, weight in enumerate(problem.weight):
            own = grouped[offsets[c] : offsets[c + 1]].astype(np.int32)
            lower = 0.0 if len(own) else -highspy.kHighsInf
            columns = np.append(own, np.int32(self.level)) if len(own) else own
            values = np.append(np.ones(len(own)), -weight) if len(own) else np.zeros(0)
            solver.addRow(lower, highspy.kHighsInf, len(columns), columns, values)

    def raise_level(self, ceiling: float) -> tuple[float, NDArray[np.float64]]:
        """Give the greatest common level up to `ceiling`, and the price of each connection's constraint."""
        self.solver.changeColBounds(self.level, 0.0, ceiling if np.isfinite(ceiling) else highspy.kHighsInf)
        self.solver.run()
        status = self.solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(
                f"a linear program of the chain ended as {status}; loosen the problem's range of capacities"
            )
        solution = self.solver.getSolution()
        price = np.abs(np.asarray(solution.row_dual)[self.first :])
        return float(solution.col_value[self.level]), price

    def freeze(self, connections: NDArray[np.int64], rates: NDArray[np.float64]) -> None:
        """Hold connections at their rates."""
        for c, rate in zip(connections.tolist(), rates.tolist(), strict=True):
            self.solver.changeCoeff(self.first + c, self.level, 0.0)
            self.solver.changeRowBounds(self.first + c, rate, rate)

    def path_rates(self) -> NDArray[np.float64]:
        """Give the rates of the last program, without the overload that its accuracy allows."""
        self.solver.changeColBounds(self.level, 0.0, 0.0)
        self.solver.run()
        rates = np.maximum(np.asarray(self.solver.getSolution().col_value)[: self.paths], 0.0)
        load = np.asarray(self.solver.getSolution().row_value)[: self.first]
        within: NDArray[np.float64] = rates / max(1.0, float(load.max(initial=0.0)))
        return within
