"""A run of a published experiment, done, and what it gave.

All rates are in the experiment's unit, ``rates_in``, from the problem on: IEWF's digits depend on the arithmetic, so
capacities must be the numbers that the paper computed with.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.interrupts import result_of
from anabranch.model.problem import Problem, problem_of
from anabranch.reproduce.execute.fluid import FluidRun, follow_fluid
from anabranch.reproduce.execute.optimum import Optimum
from anabranch.reproduce.execute.pseudo_code import run_pseudo_code
from anabranch.reproduce.execute.simulated import simulate
from anabranch.reproduce.execute.weight_steps import WeightSteps, first_weights, weight_steps
from anabranch.reproduce.spec.traces import sets_of
from anabranch.runs.scenario import read_plan, read_scenario
from anabranch.solvers.methods import STARTING
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Literal

    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.reproduce.execute.simulated import Simulated
    from anabranch.reproduce.spec.run import Run
    from anabranch.runs.simulate import Progress

    Simulations = dict[tuple[Path, tuple[str, ...], int | None], Simulated]

REPEATS = 300
"""How often a run is timed; the times are medians over this many."""


@dataclass(frozen=True)
class Outcome:
    """Rates, how they were found, and whose they are; of a simulated run those before the first connection left."""

    run: Run
    on: Paths | None
    """The paths that it has rates for; a fluid model has none."""
    find: Callable[[], tuple[Problem, NDArray[np.float64]]]
    """Gives the problem and the rates of its paths; of a large simulated run that takes long, or is not recorded."""
    passes: int
    converged: bool
    steps: int | None
    trace: Trace | None
    simulated: Simulated | None = None
    unit_bps: float = 1.0
    """One of the unit that its rates are in."""
    optimum: Optimum | None = None
    weights: WeightSteps | None = None
    fluid: FluidRun | None = None
    others: tuple[Outcome, ...] = ()
    """The same simulated with the other seeds and traces."""

    @cached_property
    def _found(self) -> tuple[Problem, NDArray[np.float64]]:
        return self.find()

    @property
    def paths(self) -> Paths:
        """Whose rates they are."""
        assert self.on is not None, "the reader refuses measures of paths for fluid models"
        return self.on

    @property
    def problem(self) -> Problem:
        """Whose rates they are."""
        return self._found[0]

    @property
    def path_rates(self) -> NDArray[np.float64]:
        """The rate of each path."""
        return self._found[1]

    @property
    def connection_rates(self) -> NDArray[np.float64]:
        """Sums over the paths of each connection."""
        return self.problem.core.sum_by_connection(self.path_rates)

    def certificate(self) -> _core.Certificate:
        """Check the rates by the definitions alone."""
        return self.problem.core.certify(self.path_rates, self.run.tolerance)


@dataclass(frozen=True)
class Trace:
    """Rates of the connections after each pass, and how long the pass took."""

    rates: NDArray[np.float64]
    """Shape (passes, connections)."""
    time_us: NDArray[np.float64]
    """Median over `REPEATS` runs, of each pass alone."""


def execute(
    run: Run,
    unit_bps: float,
    simulations: Simulations,
    *,
    timed: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Do a run, rates in so many bit/s.

    Parameters
    ----------
    simulations : dict
        Those that were made before; a new one is added.
    timed : bool
        Also follow it pass by pass (c-SLEN and IEWF only).
    progress : callable, optional
        Told how far a simulation is, as by `anabranch.run`.
    """
    if run.method == "simulate":
        return _each(run, unit_bps, simulations, progress)
    if run.method == "proportional":
        return _each(run, unit_bps, simulations, None)
    if run.method == "fluid":
        return _fluid(run)
    scenario = read_scenario(run.scenario)
    paths = scenario.demands.paths
    if paths is None:
        raise ScenarioError(f"{run.scenario}: it gives no paths; an experiment needs those of the paper")
    problem = problem_of(paths, unit_bps=unit_bps / run.capacities_times)
    stop_change = None if run.stop_change_bps is None else run.stop_change_bps / unit_bps
    unit = None if run.unit_bps is None else run.unit_bps / unit_bps
    if run.method == "given":
        return _given(run, problem, paths)
    if run.method == "weight-allocation":
        return _by_weights(run, problem, paths)
    if run.method == "pseudo-code":
        reading: Literal["as-printed", "as-meant"] = "as-printed" if run.reading == "as-printed" else "as-meant"
        assert stop_change is not None, "the reader asks for it"
        found = run_pseudo_code(problem, reading=reading, stop_change=stop_change, most=run.passes)
        rates = found.path_rates
        return Outcome(run, paths, lambda: (problem, rates), found.passes, found.converged, found.steps, None)
    answer = solve(
        problem,
        fairness="max-min" if run.method == "lp" else "upward-max-min",
        method=run.method,
        # Where the papers start.
        start="equal" if run.method in STARTING else None,
        tolerance=run.tolerance,
        max_passes=run.passes,
        stop_change=stop_change,
        unit=unit,
    )
    steps = _steps(problem, unit, answer.passes) if run.method == "iewf" else None
    trace = _trace(run, problem, unit, answer.passes) if timed else None
    solved = answer.path_rates
    return Outcome(run, paths, lambda: (problem, solved), answer.passes, answer.converged, steps, trace)


def _each(run: Run, unit_bps: float, simulations: Simulations, progress: Progress | None) -> Outcome:
    """Do a run with each of its seeds and traces, simulating as many at a time as there are processors."""
    alone = _alone(run)
    if run.method == "proportional":
        first, *others = [_optimum(one, unit_bps) for one in alone]
        return replace(first, run=run, others=tuple(others))
    if len(alone) == 1:
        return replace(_simulated(alone[0], unit_bps, simulations, progress), run=run)
    told = Told(len(alone), progress)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        under_way = [
            pool.submit(_simulated, one, unit_bps, simulations, told.of(number)) for number, one in enumerate(alone)
        ]
        try:
            first, *others = [result_of(one) for one in under_way]
        except BaseException:
            told.is_over = True
            pool.shutdown(cancel_futures=True)
            raise
    return replace(first, run=run, others=tuple(others))


def _alone(run: Run) -> list[Run]:
    """Give a run with each of its traces and seeds."""
    traced = [replace(run, sets=(*run.sets, *sets_of(own)), followed=()) for own in run.followed or ((),)]
    return [replace(own, seed=seed, seeds=()) for own in traced for seed in run.seeds or (run.seed,)]


class Told:
    """How far several simulations are, told as if they were one; and whether they are to end."""

    def __init__(self, count: int, progress: Progress | None) -> None:
        self.progress = progress
        self.time_s = [0.0] * count
        self.events = [0] * count
        self.is_over = False

    def of(self, number: int) -> Progress:
        """Give what one of them tells."""

        def tell(time_s: float, duration_s: float, events: int) -> None:
            if self.is_over:
                raise KeyboardInterrupt
            self.time_s[number], self.events[number] = time_s, events
            if self.progress is not None:
                self.progress(sum(self.time_s) / len(self.time_s), duration_s, sum(self.events))

        return tell


def _simulated(run: Run, unit_bps: float, simulations: Simulations, progress: Progress | None) -> Outcome:
    key = run.scenario.resolve(), run.sets, run.seed
    if key not in simulations:
        simulations[key] = simulate(run.scenario, run.sets, run.seed, progress)
    found = simulations[key]

    def find() -> tuple[Problem, NDArray[np.float64]]:
        return problem_of(found.paths, unit_bps=unit_bps), found.path_rates_bps / unit_bps

    return Outcome(run, found.paths, find, 0, True, None, None, simulated=found, unit_bps=unit_bps)


def _optimum(run: Run, unit_bps: float) -> Outcome:
    found = Optimum(read_plan(run.scenario, sets=run.sets), unit_bps)

    def find() -> tuple[Problem, NDArray[np.float64]]:
        return problem_of(found.paths, unit_bps=unit_bps), found.first_path_rates

    return Outcome(run, found.paths, find, 0, True, None, None, optimum=found, unit_bps=unit_bps)


def _fluid(run: Run) -> Outcome:
    assert run.fluid is not None, "the reader asks for it"

    def find() -> tuple[Problem, NDArray[np.float64]]:
        raise AssertionError("the reader refuses measures of rates on paths for fluid models")

    return Outcome(run, None, find, 0, True, None, None, fluid=follow_fluid(run.name, run.fluid))


def _by_weights(run: Run, problem: Problem, paths: Paths) -> Outcome:
    found = weight_steps(problem, first_weights(paths, run.weights), run.passes)
    rates = found.rates[-1]
    steps = len(found.rates)
    return Outcome(run, paths, lambda: (problem, rates), steps, found.converged, steps, None, weights=found)


def _given(run: Run, problem: Problem, paths: Paths) -> Outcome:
    if len(run.path_rates) != len(paths):
        remedy = f"{run.scenario} has {len(paths)} subflows; give a rate for each"
        raise ScenarioError(f"run `{run.name}`: `path_rates` has {len(run.path_rates)} numbers; {remedy}")
    return Outcome(run, paths, lambda: (problem, np.array(run.path_rates)), 0, True, None, None)


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
