"""The geometric binner: approximate max-min fair rates by one linear program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.allocation import Allocation
from anabranch.solvers.method import Method
from anabranch.solvers.methods.swan import RATIO

if TYPE_CHECKING:
    from anabranch.solvers.task import Task

LAST_WORTH = 1e-6
"""The worth of a rate in the last bin, where it is 1 in the first, as in the program published with [namyar2024]."""


def solve(task: Task) -> Allocation:
    """Solve the linear program."""
    # HiGHS and sparse matrices take longer to load than most problems take to solve.
    from anabranch.solvers.approximate.programs import solve_geometric_binner

    ratio, first_level = task.options["ratio"], task.rate("first_level")
    rates, programs = solve_geometric_binner(task.problem, ratio, first_level, task.options["last_worth"])
    return Allocation(task.problem, rates, **task.facts(METHOD.name, programs), is_approximation=True)


METHOD = Method(
    name="geometric-binner",
    does="one linear program in which the higher a part of a rate is, the less it is worth [namyar2024]",
    fairness=("max-min",),
    solve=solve,
    options={"ratio": RATIO, "first_level": None, "last_worth": LAST_WORTH},
    counts="linear program",
    is_approximation=True,
)
