"""A run that is solved: by a solver, by pseudo-code, by algorithm 2 of weighted Vegas, or with rates that are given."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from anabranch import _core
from anabranch.errors import ConvergenceWarning, ScenarioError
from anabranch.model.problem import Problem, problem_of
from anabranch.reproduce.execute.pseudo_code import run_pseudo_code
from anabranch.reproduce.execute.random_starts import from_starts
from anabranch.reproduce.execute.weight_steps import first_weights, weight_steps
from anabranch.reproduce.outcomes.kinds import FromStarts, Solved, Trace, WeightAllocated
from anabranch.runs.scenario import read_scenario
from anabranch.solvers.methods import takers_of
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from anabranch.model.paths import Paths
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.starts import Starts

Solver = Literal["c-slen", "iewf", "lp", "progressive-filling"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)

REPEATS = 300
"""The number of times that a solver is timed; the times of a trace are medians over these."""


def solve_run(run: Run, unit_bps: float, *, timed: bool) -> Solved:
    """Solve a run, with rates in a unit of this many bit/s.

    Parameters
    ----------
    timed : bool
        Also follow it pass by pass (c-SLEN and IEWF only).

    Raises
    ------
    ScenarioError
        The scenario has a mistake or gives no paths; weights or rates that are given do not fit its paths.
    """
    problem, paths = _problem(run, unit_bps)
    stop_change = None if run.stop_change_bps is None else run.stop_change_bps / unit_bps
    unit = None if run.unit_bps is None else run.unit_bps / unit_bps
    if run.method == "given":
        return _given(run, problem, paths)
    if run.method == "weight-allocation":
        return _by_weights(run, problem, paths)
    if run.method == "pseudo-code":
        return _by_pseudo_code(run, problem, paths, stop_change)
    method = next(own for own in SOLVERS if own == run.method)
    with warnings.catch_warnings():
        # An experiment may end a solver early on purpose; the measure `converged` says whether it did.
        warnings.simplefilter("ignore", ConvergenceWarning)
        answer = solve(
            problem,
            fairness="max-min" if method == "lp" else "upward-max-min",
            method=method,
            # Where the papers start.
            start="equal" if method in takers_of("start") else None,
            tolerance=run.tolerance,
            max_passes=run.passes if method in takers_of("max_passes") else None,
            stop_change=stop_change,
            unit=unit,
        )
    steps = _steps(problem, unit, answer.passes) if run.method == "iewf" else None
    trace = _trace(run, problem, unit, answer.passes) if timed else None
    solved = answer.path_rates
    return Solved(paths, run.tolerance, lambda: (problem, solved), answer.passes, answer.converged, steps, trace)


def solve_from_starts(run: Run, starts: Starts, unit_bps: float) -> FromStarts:
    """Follow an iteration from random starts, with rates in a unit of this many bit/s.

    Raises
    ------
    ScenarioError
        The scenario has a mistake or gives no paths.
    """
    problem, paths = _problem(run, unit_bps)
    return from_starts(problem, paths, starts, run.passes, run.tolerance)


def _problem(run: Run, unit_bps: float) -> tuple[Problem, Paths]:
    scenario = read_scenario(run.scenario)
    paths = scenario.demands.paths
    if paths is None:
        raise ScenarioError(f"{run.scenario}: it gives no paths; an experiment needs those of the paper")
    return problem_of(paths, unit_bps=unit_bps / run.capacities_times), paths


def _given(run: Run, problem: Problem, paths: Paths) -> Solved:
    if len(run.path_rates) != len(paths):
        remedy = f"{run.scenario} has {len(paths)} subflows; give a rate for each"
        raise ScenarioError(f"run `{run.name}`: `path_rates` has {len(run.path_rates)} numbers; {remedy}")
    return Solved(paths, run.tolerance, lambda: (problem, np.array(run.path_rates)), passes=0, converged=True)


def _by_weights(run: Run, problem: Problem, paths: Paths) -> WeightAllocated:
    found = weight_steps(problem, first_weights(paths, run.weights), run.passes)
    steps = len(found.rates)
    return WeightAllocated(
        paths,
        run.tolerance,
        lambda: (problem, found.rates[-1]),
        passes=steps,
        converged=found.converged,
        steps=steps,
        step_rates=found.rates,
        step_prices=found.prices,
    )


def _by_pseudo_code(run: Run, problem: Problem, paths: Paths, stop_change: float | None) -> Solved:
    reading: Literal["as-printed", "as-meant"] = "as-printed" if run.reading == "as-printed" else "as-meant"
    found = run_pseudo_code(problem, reading=reading, stop_change=stop_change, most=run.passes)
    rates = found.path_rates
    return Solved(paths, run.tolerance, lambda: (problem, rates), found.passes, found.converged, found.steps)


def _start(run: Run, problem: Problem, unit: float | None) -> _core.CSlen | _core.Iewf:
    return _core.iewf(problem.core, "equal", unit) if run.method == "iewf" else _core.c_slen(problem.core, "equal")


def _steps(problem: Problem, unit: float | None, passes: int) -> int:
    solver = _core.iewf(problem.core, "equal", unit)
    for _ in range(passes):
        solver.advance()
    return solver.steps


def _trace(run: Run, problem: Problem, unit: float | None, passes: int) -> Trace:
    """Follow a run once for the rates, and `REPEATS` times for the clock alone."""
    solver = _start(run, problem, unit)
    rates = np.empty((passes, problem.core.connections))
    for row in rates:
        solver.advance()
        row[:] = solver.allocation(False, run.tolerance).connection_rates
    took = np.empty((REPEATS, passes))
    for row in took:
        solver = _start(run, problem, unit)
        for i in range(passes):
            began = time.perf_counter()
            solver.advance()
            row[i] = time.perf_counter() - began
    return Trace(rates, np.median(took, axis=0) * 1e6)
