"""The equi-depth binner: approximate max-min fair rates by one linear program, with connections in bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.allocation import Allocation
from anabranch.solvers.approximate.water_fillers import ITERATIONS, adaptive_water_filler
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task

BINS = 8
"""The number of bins."""

LAST_WORTH = 1e-2
"""The worth of a rate in the last bin, where it is 1 in the first, as in the program published with [namyar2024]."""


def solve(task: Task) -> Allocation:
    """Find the order of connections by a water-filler, then solve the linear program."""
    options = task.options
    guide, _ = adaptive_water_filler(task.problem, options["start"], options["iterations"], task.progress)
    # HiGHS and sparse matrices take longer to load than most problems take to solve.
    from anabranch.solvers.approximate.programs import solve_equi_depth_binner

    rates, programs = solve_equi_depth_binner(task.problem, guide, options["bins"], options["last_worth"])
    return Allocation(task.problem, rates, **task.facts(METHOD.name, programs), is_approximation=True)


METHOD = Method(
    name="equi-depth-binner",
    does="one linear program with connections in bins, in the order that a water-filler finds [namyar2024]",
    fairness=("max-min",),
    solve=solve,
    options={"start": "equal", "bins": BINS, "iterations": ITERATIONS, "last_worth": LAST_WORTH},
    counts="linear program",
    is_approximation=True,
)
