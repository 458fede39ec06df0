"""A chain of linear programs: exact max-min fair rates over several paths, to compare with the dual simplex method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.levelled import LevelledAllocation
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> LevelledAllocation:
    """Find the levels by linear programs, whose prices are their proof."""
    # HiGHS takes longer to load than most problems take to solve.
    from anabranch.solvers.lp_chain import global_max_min

    rates, levels, programs = global_max_min(task.problem, progress=task.progress)
    return LevelledAllocation(task.problem, rates, levels, **task.facts(METHOD.name, programs))


METHOD = Method(
    name="lp",
    does="a chain of linear programs, exact, with prices that prove each level",
    fairness=("max-min",),
    solve=solve,
    counts="linear program",
    reason="the dual simplex method lost digits to rounding, and a chain of linear programs may lose fewer",
)
