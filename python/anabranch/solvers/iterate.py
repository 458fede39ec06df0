"""Solvers that go in passes: where they start, and how long they run."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from anabranch.model.problem import Problem

    Progress = Callable[[str, int, int], None]

LOOK_S = 0.2
"""How long the solver runs between two looks at the keyboard and the progress bar, in seconds."""

DIGITS = 12
"""How many digits of what does not fit are to go until exact rates do; the last is counted when all is done."""


def start_solver(
    problem: Problem, method: str, start: str | float | NDArray[np.float64], unit: float | None
) -> _core.CSlen | _core.Iewf:
    """Begin c-SLEN or IEWF with these portions; `unit` is for IEWF alone."""
    if method == "iewf":
        return _core.iewf(problem.core, start, unit)
    return _core.c_slen(problem.core, start)


def run_passes(
    solver: _core.CSlen | _core.Iewf,
    tolerance: float,
    change: float | None,
    max_passes: int,
    progress: Progress | None,
) -> str | None:
    """Run until the stop rule is met, and say what was not met if it was not.

    In stretches of about `LOOK_S`, so that Ctrl-C and the progress bar have their turn. A solver that goes on until its
    rates cease to change may be done before: the certificate is asked after 1, 3, 7, 15, ... passes. The clock decides
    nothing.
    """
    if change is None and isinstance(solver, _core.Iewf):
        change = 0.02 * solver.unit
    rule = ("certificate", tolerance) if change is None else ("change", change)
    stretch = 1
    while True:
        began = time.perf_counter()
        look = (1 << (solver.passes + 1).bit_length()) - 1
        met = solver.run(*rule, min(solver.passes + stretch, max_passes, max_passes if change is None else look))
        if progress is not None:
            progress("passes", solver.passes, max_passes)
        is_last = solver.passes >= max_passes
        is_look = is_last or (change is not None and solver.passes == look)
        if met or (is_look and solver.has_met("certificate", tolerance)):
            return None
        if isinstance(solver, _core.Iewf) and solver.is_spent:
            return f"its passes took {solver.steps:,} steps of {solver.unit:.3g}; give a greater unit"
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
    """How many powers of ten below all that is asked for something is."""
    return int(-math.log10(lack)) if 0.0 < lack < 1.0 else 0
