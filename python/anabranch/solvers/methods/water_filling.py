"""Water-filling: progressive filling with every subflow as a connection, an approximation of max-min fair rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> Allocation:
    """Fill the links once."""
    rates = _core.water_filling(task.problem.core)
    return Allocation(task.problem, rates, **task.facts(METHOD.name, passes=1), is_approximation=True)


METHOD = Method(
    name="water-filling",
    does="progressive filling, with every subflow as a connection of its own",
    fairness=("max-min",),
    solve=solve,
    is_approximation=True,
)
