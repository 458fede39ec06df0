"""The solvers by their names: a problem and a choice become an allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.allocation.levelled import LevelledAllocation
from anabranch.allocation.priced import PricedAllocation
from anabranch.errors import ScenarioError, SolveInterrupted, SolverError
from anabranch.solvers.approximate import OPTIONS
from anabranch.solvers.approximate.methods import approximate
from anabranch.solvers.iterate import run_levels, run_passes, start_solver
from anabranch.solvers.lp_chain import global_max_min
from anabranch.solvers.methods import PRICED, usual_method, usual_start
from anabranch.solvers.options import rate_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem
    from anabranch.solvers.options import Choice

    Progress = Callable[[str, int, int], None]

STOPPED = "it was stopped; solve again, and let it run to the end"


def allocate(problem: Problem, found: Paths | None, choice: Choice, progress: Progress | None) -> Allocation:
    """Solve a problem, of these paths if they are of a network; nobody is warned.

    Raises
    ------
    ValueError
        What was chosen does not go with this problem.
    SolverError
        A linear program failed.
    SolveInterrupted
        Ctrl-C while c-SLEN or IEWF was at work.
    """
    chosen = usual_method(problem, choice.fairness) if choice.method is None else choice.method
    if choice.fairness in PRICED:
        return _priced(problem, found, choice)
    if chosen == "dual-simplex":
        levelled = _levelled(problem, found, choice, progress)
        if levelled.shortcoming is None or choice.method is not None:
            return levelled
        return _better(levelled, problem, found, choice, progress)
    if chosen == "lp":
        return _by_programs(problem, found, choice, progress)
    if chosen in OPTIONS:
        rates, passes = _approximate(problem, found, chosen, choice, progress)
    elif chosen == "progressive-filling":
        rates, passes = problem.core.max_min().path_rates, 1
    else:
        return _by_passes(problem, found, chosen, choice, progress)
    return _plain(problem, found, chosen, choice, rates, passes)


def _plain(
    problem: Problem,
    found: Paths | None,
    method: str,
    choice: Choice,
    rates: NDArray[np.float64],
    passes: int,
    unmet: str | None = None,
) -> Allocation:
    """Give an allocation with neither prices nor levels."""
    return Allocation(
        problem,
        rates,
        fairness=choice.fairness,
        method=method,
        tolerance=choice.tolerance,
        passes=passes,
        unmet=unmet,
        paths=found,
    )


def _by_passes(
    problem: Problem, found: Paths | None, method: str, choice: Choice, progress: Progress | None
) -> Allocation:
    """Run c-SLEN or IEWF; Ctrl-C takes what it has along."""
    is_bare = found is None
    start = usual_start(method) if choice.start is None else choice.start
    change = rate_of(choice.stop_change, "stop_change", problem=is_bare)
    solver = start_solver(problem, method, start, rate_of(choice.unit, "unit", problem=is_bare))

    def give(unmet: str | None) -> Allocation:
        rates = solver.allocation(unmet is None, choice.tolerance).path_rates
        return _plain(problem, found, method, choice, rates, solver.passes, unmet)

    try:
        unmet = run_passes(solver, choice.tolerance, change, choice.max_passes, progress)
    except KeyboardInterrupt as stopped:
        if solver.passes == 0:
            raise
        raise SolveInterrupted(give(STOPPED)) from stopped
    return give(unmet)


def _approximate(
    problem: Problem, found: Paths | None, method: str, choice: Choice, progress: Progress | None
) -> tuple[NDArray[np.float64], int]:
    """Give rates that are not quite fair, and how many programs or passes they took."""
    options = dict(choice.options)
    if "first_level" in options:
        options["first_level"] = rate_of(options["first_level"], "first_level", problem=found is None)
    start = usual_start(method) if choice.start is None else choice.start
    return approximate(problem, method, options, start=start, progress=progress)


def _levelled(problem: Problem, found: Paths | None, choice: Choice, progress: Progress | None) -> LevelledAllocation:
    """Find the levels and their proof."""
    answer = run_levels(problem, progress)
    return LevelledAllocation(
        problem,
        answer.path_rates,
        answer.levels,
        fairness=choice.fairness,
        method="dual-simplex",
        tolerance=choice.tolerance,
        passes=answer.exchanges,
        paths=found,
    )


def _by_programs(
    problem: Problem, found: Paths | None, choice: Choice, progress: Progress | None
) -> LevelledAllocation:
    """Find the levels by a chain of linear programs, whose prices are their proof."""
    rates, levels, programs = global_max_min(problem, progress=progress)
    return LevelledAllocation(
        problem,
        rates,
        levels,
        fairness=choice.fairness,
        method="lp",
        tolerance=choice.tolerance,
        passes=programs,
        paths=found,
    )


def _better(
    unproved: LevelledAllocation, problem: Problem, found: Paths | None, choice: Choice, progress: Progress | None
) -> LevelledAllocation:
    """Try linear programs where levels are not proved; if they come no nearer, give what there is, as it is."""
    try:
        other = _by_programs(problem, found, choice, progress)
    except (ScenarioError, SolverError):
        return unproved
    is_nearer = other.shortcoming is None or other.proof.residual <= unproved.proof.residual
    return other if is_nearer else unproved


def _priced(problem: Problem, found: Paths | None, choice: Choice) -> PricedAllocation:
    """Maximise the utility."""
    priced = _core.alpha_fair(problem.core, choice.alpha)
    return PricedAllocation(
        problem,
        priced.path_rates,
        priced.link_prices,
        alpha=choice.alpha,
        fairness=choice.fairness,
        method="interior-point",
        tolerance=choice.tolerance,
        passes=priced.steps,
        paths=found,
    )
