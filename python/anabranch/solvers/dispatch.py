"""A problem and checked options become an allocation, by the method that was named or is usual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.solvers.methods import METHODS, usual_method
from anabranch.solvers.task import Task

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem
    from anabranch.solvers.check import Request
    from anabranch.solvers.task import Progress


def allocate(problem: Problem, paths: Paths | None, request: Request, progress: Progress | None) -> Allocation:
    """Solve a problem, without a warning if the answer falls short.

    Parameters
    ----------
    paths : Paths or None
        The paths of the problem in their network; None for a problem of arrays.

    Raises
    ------
    ValueError
        An option that does not go with this problem.
    SolverError
        A linear program failed.
    SolveInterrupted
        Ctrl-C while c-SLEN or IEWF was at work.
    """
    method = usual_method(problem, request.fairness) if request.method is None else request.method
    if problem.has_reserved and not (method.takes_reserved and request.fairness in method.fairness):
        takers = " or ".join(name for name, other in METHODS.items() if other.takes_reserved)
        what = method.name if request.method else f"{request.fairness} fairness"
        raise ValueError(
            f"parts of rates are reserved, and {what} takes none; leave `reserved` out,"
            f" or take max-min fairness by {takers}"
        )
    options = request.options_for(method)
    return method.solve(Task(problem, paths, request.fairness, request.method is not None, options, progress))
