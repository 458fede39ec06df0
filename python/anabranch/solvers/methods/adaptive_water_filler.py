"""The adaptive water-filler: approximate max-min fair rates by passes, each with the portions of the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.allocation import Allocation
from anabranch.solvers.approximate.water_fillers import ITERATIONS, adaptive_water_filler
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> Allocation:
    """Make the passes."""
    start, iterations = task.options["start"], task.options["iterations"]
    rates, passes = adaptive_water_filler(task.problem, start, iterations, task.progress)
    return Allocation(task.problem, rates, **task.facts(METHOD.name, passes), is_approximation=True)


METHOD = Method(
    name="adaptive-water-filler",
    does="passes over the links, each with the portions of the one before [namyar2024]",
    fairness=("max-min",),
    solve=solve,
    options={"start": "equal", "iterations": ITERATIONS},
    is_approximation=True,
)
