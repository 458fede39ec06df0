"""Solvers that go in passes or exchanges: how long they run, and what they give if they are stopped."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.errors import SolveInterrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.model.problem import Problem
    from anabranch.solvers.task import Progress, Task

LOOK_S = 0.2
"""The time that a solver runs between two looks at the keyboard and the progress bar, in seconds."""

DIGITS = 12
"""Digits of progress: powers of ten by which the excess of rates falls until they fit; the last counts at the end."""


STOPPED = "it was stopped; solve again, and let it run to the end"


def no_trouble() -> None:
    """Tell that nothing keeps a solver from going on."""


def solve_by_passes(
    task: Task,
    method: str,
    solver: _core.CSlen | _core.Iewf,
    change: float | None,
    trouble: Callable[[], str | None] = no_trouble,
) -> Allocation:
    """Run a solver until its stop rule is met, and return its rates.

    Parameters
    ----------
    change : float or None
        The change of a rate in a pass at which it stops; None to go on until the certificate holds.
    trouble : callable
        Says what keeps the solver from going on; None if nothing does.

    Raises
    ------
    SolveInterrupted
        Ctrl-C after the first pass; the error has the rates of the last pass.
    """

    def allocation(unmet: str | None) -> Allocation:
        rates = solver.allocation(unmet is None, task.options["tolerance"]).path_rates
        facts = task.facts(method, solver.passes)
        return Allocation(task.problem, rates, **facts, unmet=unmet, has_stop_rule=True)

    try:
        unmet = _run(task, solver, change, trouble)
    except KeyboardInterrupt as stopped:
        if solver.passes == 0:
            raise
        raise SolveInterrupted(allocation(STOPPED)) from stopped
    return allocation(unmet)


def _run(
    task: Task, solver: _core.CSlen | _core.Iewf, change: float | None, trouble: Callable[[], str | None]
) -> str | None:
    """Run until the stop rule is met, and say what was not met if it was not.

    It runs in stretches of about `LOOK_S`, so that Ctrl-C and the progress bar have their turn. A solver that goes on
    until its rates cease to change may be done before: the certificate is asked after 1, 3, 7, 15, ... passes. The
    clock decides nothing.
    """
    tolerance: float = task.options["tolerance"]
    max_passes: int = task.options["max_passes"]
    rule: tuple[str, float] = ("certificate", tolerance) if change is None else ("change", change)
    stretch = 1
    while True:
        began = time.perf_counter()
        look = (1 << (solver.passes + 1).bit_length()) - 1
        met = solver.run(*rule, min(solver.passes + stretch, max_passes, max_passes if change is None else look))
        if task.progress is not None:
            task.progress("passes", solver.passes, max_passes)
        is_last = solver.passes >= max_passes
        is_look = is_last or (change is not None and solver.passes == look)
        if met or (is_look and solver.has_met("certificate", tolerance)):
            return None
        if (said := trouble()) is not None:
            return said
        if is_last:
            break
        took = time.perf_counter() - began
        stretch = max(1, min(2 * stretch, int(stretch * LOOK_S / max(took, 1e-6))))
    if change is None:
        return "raise max_passes or the tolerance"
    return f"some rate still changes by {change:.3g} or more in a pass; raise max_passes or stop_change"


def run_levels(problem: Problem, progress: Progress | None) -> _core.Levelled:
    """Find max-min fair levels until all rates fit, in stretches of about `LOOK_S`."""
    solver = _core.global_max_min(problem.core)
    stretch, most = 64, 0
    while True:
        began = time.perf_counter()
        is_done = solver.run(stretch)
        if progress is not None:
            most = max(most, DIGITS if is_done else min(_digits(solver.lack), DIGITS - 1))
            progress("digits", most, DIGITS)
        if is_done:
            return solver.finish()
        took = time.perf_counter() - began
        stretch = max(1, min(2 * stretch, int(stretch * LOOK_S / max(took, 1e-6))))


def _digits(lack: float) -> int:
    """Return by how many powers of ten an excess is below the sum of all demands."""
    return int(-math.log10(lack)) if 0.0 < lack < 1.0 else 0
