"""IEWF: upward max-min fair rates by water-filling in equal steps, to compare with c-SLEN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.solvers.iterate import solve_by_passes
from anabranch.solvers.method import Method
from anabranch.solvers.methods.c_slen import MOST_PASSES, START_RATIO

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.solvers.task import Task

CHANGE_BY_UNIT = 0.02
"""The change of a rate in a pass at which IEWF stops, by its unit [ludena2021]."""


def solve(task: Task) -> Allocation:
    """Run IEWF from its starting portions, until rates cease to change or the certificate holds."""
    solver = _core.iewf(task.problem.core, task.options["start"], task.rate("unit"))
    change = task.rate("stop_change")

    def trouble() -> str | None:
        if not solver.is_spent:
            return None
        return f"its passes took {solver.steps:,} steps of {solver.unit:.3g}; give a greater unit"

    return solve_by_passes(
        task, METHOD.name, solver, CHANGE_BY_UNIT * solver.unit if change is None else change, trouble
    )


METHOD = Method(
    name="iewf",
    does="IEWF, water-filling in equal steps, to compare with c-SLEN [ludena2021]",
    fairness=("upward-max-min",),
    solve=solve,
    options={"start": START_RATIO, "unit": None, "max_passes": MOST_PASSES, "stop_change": None},
)
