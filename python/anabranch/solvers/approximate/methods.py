"""Which approximation does what, from a problem to path rates that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.solvers.approximate.water_fillers import adaptive_water_filler

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.model.problem import Problem
    from anabranch.solvers.approximate.entries import Floats

    Progress = Callable[[str, int, int], None]

ITERATIONS = 10
"""Passes of the adaptive water-filler."""


def approximate(
    problem: Problem,
    method: str,
    options: dict[str, Any],
    *,
    start: str | float | Floats = "equal",
    progress: Progress | None = None,
) -> tuple[Floats, int]:
    """Give path rates that overload nothing, and how many programs or passes they took; options are checked.

    Raises
    ------
    ValueError
        The options make too many levels.
    SolverError
        A linear program failed.
    """
    if method == "water-filling":
        return _core.water_filling(problem.core), 1
    if method == "approximate-water-filler":
        return _core.approximate_water_filler(problem.core), 1
    guide: Floats | None = None
    if method in {"adaptive-water-filler", "equi-depth-binner"}:
        guide, passes = adaptive_water_filler(problem, start, options.get("iterations", ITERATIONS), progress)
        if method == "adaptive-water-filler":
            return guide, passes
    # Only now: scipy's sparse matrices take longer to load than most problems take to solve.
    from anabranch.solvers.approximate.programs import solve_programs

    return solve_programs(problem, method, options, guide, progress)
