"""Water-fillers that go over the links in passes [namyar2024]: compiled code does each; progress is told between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.model.problem import Problem
    from anabranch.solvers.approximate.entries import Floats

    Progress = Callable[[str, int, int], None]


def adaptive_water_filler(
    problem: Problem, start: str | float | Floats, iterations: int, progress: Progress | None
) -> tuple[Floats, int]:
    """Give path rates, and how many passes were made: fewer than asked for if all demands are met."""
    filler = _core.adaptive_water_filler(problem.core, start)
    while filler.passes < iterations and not filler.has_met_all:
        filler.advance()
        if progress is not None:
            progress("passes", filler.passes, iterations)
    return filler.path_rates, filler.passes
