"""c-SLEN: upward max-min fair rates, pass by pass, until every subflow has a bottleneck to the tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.solvers.iterate import solve_by_passes
from anabranch.solvers.method import Method, has_several_paths

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.solvers.task import Task

START_RATIO = 0.3
"""The ratio of the geometric portions from which c-SLEN and IEWF start: docs/how-fast-how-fair.md says why."""


MOST_PASSES = 10_000
"""The passes after which c-SLEN and IEWF stop."""


def solve(task: Task) -> Allocation:
    """Run c-SLEN from its starting portions."""
    solver = _core.c_slen(task.problem.core, task.options["start"])
    return solve_by_passes(task, METHOD.name, solver, task.rate("stop_change"))


METHOD = Method(
    name="c-slen",
    does="c-SLEN, pass by pass until every subflow has a bottleneck to the tolerance [ludena2021]",
    fairness=("upward-max-min",),
    solve=solve,
    options={"start": START_RATIO, "max_passes": MOST_PASSES, "stop_change": None},
    usual_for=("upward-max-min",),
    suits=has_several_paths,
    reason="connections have several paths, and it stops when every subflow has a bottleneck to the tolerance",
)
