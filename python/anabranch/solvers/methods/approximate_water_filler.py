"""The approximate water-filler: approximate max-min fair rates by one pass over the links, each subflow by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> Allocation:
    """Make the pass."""
    rates = _core.approximate_water_filler(task.problem.core)
    return Allocation(task.problem, rates, **task.facts(METHOD.name, passes=1), is_approximation=True)


METHOD = Method(
    name="approximate-water-filler",
    does="one pass over the links, each subflow by itself [namyar2024]",
    fairness=("max-min",),
    solve=solve,
    is_approximation=True,
)
