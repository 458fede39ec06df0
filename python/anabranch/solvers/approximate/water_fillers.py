"""The adaptive water-filler, pass by pass [namyar2024]; compiled code makes each pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core

if TYPE_CHECKING:
    from anabranch.model.problem import Problem
    from anabranch.solvers.approximate.entries import Floats
    from anabranch.solvers.task import Progress

ITERATIONS = 10
"""Passes of the adaptive water-filler where no number is given."""


def adaptive_water_filler(
    problem: Problem, start: str | float | Floats, iterations: int, progress: Progress | None
) -> tuple[Floats, int]:
    """Return path rates and the number of passes, which is below `iterations` if all demands are met before."""
    filler = _core.adaptive_water_filler(problem.core, start)
    while filler.passes < iterations and not filler.has_met_all:
        filler.advance()
        if progress is not None:
            progress("passes", filler.passes, iterations)
    return filler.path_rates, filler.passes
