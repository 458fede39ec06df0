"""SWAN: approximate max-min fair rates by a linear program for each level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.allocation import Allocation
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task

RATIO = 2.0
"""The ratio of a level, or a geometric bin, to the one before."""


def solve(task: Task) -> Allocation:
    """Solve a linear program for each level."""
    # HiGHS and sparse matrices take longer to load than most problems take to solve.
    from anabranch.solvers.approximate.programs import solve_swan

    ratio, first_level = task.options["ratio"], task.rate("first_level")
    rates, programs = solve_swan(task.problem, ratio, first_level, task.progress)
    return Allocation(task.problem, rates, **task.facts(METHOD.name, programs), is_approximation=True)


METHOD = Method(
    name="swan",
    does="SWAN, a linear program for each level [hong2013]",
    fairness=("max-min",),
    solve=solve,
    options={"ratio": RATIO, "first_level": None},
    counts="linear program",
    is_approximation=True,
)
