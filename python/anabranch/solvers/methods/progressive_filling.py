"""Progressive filling: exact max-min fair rates where no connection has more than one path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.allocation import Allocation
from anabranch.solvers.method import Method, has_single_paths

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> Allocation:
    """Fill the links once."""
    rates = task.problem.core.max_min().path_rates
    return Allocation(task.problem, rates, **task.facts(METHOD.name, passes=1))


METHOD = Method(
    name="progressive-filling",
    does="progressive filling, exact where every connection has one path",
    fairness=("upward-max-min", "max-min"),
    solve=solve,
    usual_for=("upward-max-min", "max-min"),
    suits=has_single_paths,
    reason="no connection has more than one path, and one filling of the links is exact",
)
