"""The dual simplex method with long steps: exact max-min fair rates over several paths, with levels and their proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.levelled import LevelledAllocation
from anabranch.errors import ScenarioError, SolverError
from anabranch.solvers.iterate import run_levels
from anabranch.solvers.method import Method, has_several_paths
from anabranch.solvers.methods import lp

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> LevelledAllocation:
    """Find the levels and their proof; where none is found and the caller named no method, try linear programs."""
    answer = run_levels(task.problem, task.progress)
    facts = task.facts(METHOD.name, answer.exchanges)
    found = LevelledAllocation(task.problem, answer.path_rates, answer.levels, **facts)
    is_final = task.is_method_given or task.problem.has_reserved
    return found if found.shortcoming is None or is_final else _better(found, task)


def _better(unproved: LevelledAllocation, task: Task) -> LevelledAllocation:
    """Solve by linear programs; return the allocation that is nearer to a proof."""
    try:
        other = lp.solve(task)
    except (ScenarioError, SolverError):
        return unproved
    is_nearer = other.shortcoming is None or other.proof.residual <= unproved.proof.residual
    return other if is_nearer else unproved


METHOD = Method(
    name="dual-simplex",
    does="a dual simplex method with long steps, exact, with prices that prove each level",
    fairness=("upward-max-min", "max-min"),
    solve=solve,
    counts="exchange",
    usual_for=("max-min",),
    suits=has_several_paths,
    reason="connections have several paths, and it is exact, with prices that prove each level",
    takes_reserved=True,
)
