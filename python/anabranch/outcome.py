"""What a run of a published experiment gave, and the numbers measured on it.

All rates are in the experiment's unit, ``rates_in``, from the problem on: IEWF's digits depend on the arithmetic, so
capacities must be the numbers that the paper computed with.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anabranch import _core
from anabranch.as_printed import run_pseudo_code
from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.fluid_run import FluidRun, follow_fluid, measure_fluid
from anabranch.means import mean_over_time
from anabranch.optimum import Optimum
from anabranch.problem import Problem, problem_of
from anabranch.scenario import read_plan, read_scenario
from anabranch.simulated import simulate
from anabranch.simulated_means import OF_STAY, OF_TIME, OF_WAITS, dropped
from anabranch.simulated_measures import (
    EVER,
    OF_CONNECTION,
    OF_RUN,
    OF_SPREAD,
    agreeing,
    error_of,
    longest_queue,
    most_turns,
    turning,
    turns,
)
from anabranch.solve import solve
from anabranch.subjects import connection_of, link_of, subflow_of
from anabranch.weight_steps import WeightSteps, first_weights, weight_steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Literal

    from numpy.typing import NDArray

    from anabranch.experiment_quantity import Address, Ratio
    from anabranch.experiment_run import Run
    from anabranch.paths import Paths
    from anabranch.simulate import Progress
    from anabranch.simulated import Simulated

    Simulations = dict[tuple[Path, tuple[str, ...], int | None], Simulated]

OVERLOAD = 1e-9
"""Relative load over capacity that arithmetic alone makes."""

SATURATED = 1e-4
"""A link that lacks less, relative to its capacity, counts as saturated by a run that others are compared with."""

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
    """The same simulated with the other seeds."""

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
        return _seeded(run, unit_bps, simulations, progress)
    if run.method == "fluid":
        return _fluid(run)
    if run.method == "proportional":
        return _optimum(run, unit_bps)
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
        tolerance=run.tolerance,
        max_passes=run.passes,
        stop_change=stop_change,
        unit=unit,
    )
    steps = _steps(problem, unit, answer.passes) if run.method == "iewf" else None
    trace = _trace(run, problem, unit, answer.passes) if timed else None
    solved = answer.path_rates
    return Outcome(run, paths, lambda: (problem, solved), answer.passes, answer.converged, steps, trace)


def _seeded(run: Run, unit_bps: float, simulations: Simulations, progress: Progress | None) -> Outcome:
    """Simulate a run with each of its seeds, as many at a time as there are processors."""
    if not run.seeds:
        return _simulated(run, unit_bps, simulations, progress)
    told = Told(len(run.seeds), progress)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        alone = [replace(run, seed=seed) for seed in run.seeds]
        under_way = [
            pool.submit(_simulated, one, unit_bps, simulations, told.of(number)) for number, one in enumerate(alone)
        ]
        try:
            first, *others = [one.result() for one in under_way]
        except BaseException:
            told.is_over = True
            pool.shutdown(cancel_futures=True)
            raise
    return replace(first, run=run, others=tuple(others))


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


def measure(outcomes: dict[str, Outcome], address: Address, place: Path) -> float:
    """Give one number of a run; the measures are those of `anabranch.experiment_quantity.MEASURES`.

    ``rate c1``, ``subflow c1.2`` (the second of the connection), ``load l3``, ``capacity l3``, ``total``; ``overload``
    (the greatest load over capacity, less 1), ``oversaturated`` (links over capacity), ``residual`` (the largest
    shortfall of a subflow from its best bottleneck: 0 is upward max-min fair); ``distance gmmf`` (from the rates of
    another run, relative to these, the mean over connections), ``undersaturated limit`` (links that another run
    saturates and this one does not); ``passes``, ``steps``, ``converged``,
    and ``time`` (in microseconds, of all passes). For the others see `anabranch.simulated_measures`.

    Raises
    ------
    ScenarioError
        There is no such connection, subflow or link, or the run does not give this number.
    """
    outcome = outcomes[address.run]
    if outcome.fluid is not None:
        return measure_fluid(outcome.fluid, address, place)
    if address.measure == "rate":
        return float(outcome.connection_rates[connection_of(outcome.paths, address, place)])
    if address.measure == "subflow":
        return float(outcome.path_rates[subflow_of(outcome.paths, address, place)])
    if address.measure in ("load", "capacity", "queue"):
        return _of_link(outcome, address, place)
    if address.measure in ("distance", "undersaturated", "farthest", "steps-to"):
        return _beside(outcome, outcomes[address.subject], address, place)
    if address.measure in (*OF_TIME, *OF_STAY, *OF_WAITS):
        return mean_over_time(outcomes, address, place)
    number = None
    if outcome.simulated is not None:
        number = _of_simulation(outcomes, outcome.simulated, address, place)
    if number is None:
        number = _of_run(outcome, address.measure)
    if number is None:
        remedy = "steps are of iewf and pseudo-code, times of runs in a figure"
        raise ScenarioError(f"{place}: `{address}`: run `{address.run}` does not give this; {remedy}")
    return number


def estimate_ratio(outcomes: dict[str, Outcome], ratio: Ratio, place: Path) -> Estimate:
    """Give one number, or the quotient of two, of each seed, as a mean with its interval.

    If the two have different numbers of seeds, it is that of the seeds that both have.
    """
    needed = {run: outcomes[run] for address in ratio.addresses for run in address.runs}
    count = min((1 + len(outcome.others) for outcome in needed.values() if outcome.others), default=1)
    return estimate([_measure_ratio(_with_seed(needed, number), ratio, place) for number in range(count)])


def _with_seed(outcomes: dict[str, Outcome], number: int) -> dict[str, Outcome]:
    """Give the runs as they were with one of their seeds; those that are made once as they are."""
    return {name: (own, *own.others)[number] if own.others else own for name, own in outcomes.items()}


def _measure_ratio(outcomes: dict[str, Outcome], ratio: Ratio, place: Path) -> float:
    top = measure(outcomes, ratio.top, place)
    return top if ratio.bottom is None else quotient(top, measure(outcomes, ratio.bottom, place))


def quotient(top: float, bottom: float) -> float:
    """Give one number by another: 1 if they are the same, also 0 by 0; infinite if the latter alone is 0."""
    if top == bottom:
        return 1.0
    return top / bottom if bottom else math.copysign(math.inf, top)


def _of_link(outcome: Outcome, address: Address, place: Path) -> float:
    link = link_of(outcome.paths, address, place)
    if address.measure == "queue":
        assert outcome.simulated is not None, "the reader asks for it"
        return float(outcome.simulated.result.links["most_packets"][link])
    values = outcome.certificate().loads if address.measure == "load" else outcome.problem.capacity
    return float(values[link])


def _beside(outcome: Outcome, other: Outcome, address: Address, place: Path) -> float:
    """Compare rates or loads with those of another run."""
    own, theirs = outcome.paths.demands, other.paths.demands
    if own.core.names != theirs.core.names or own.network.core.link_names != theirs.network.core.link_names:
        raise ScenarioError(f"{place}: `{address}`: the two are of different scenarios; compare runs of one")
    if address.measure in ("farthest", "steps-to"):
        whole = other.connection_rates[other.paths.connection]
        if address.measure == "farthest":
            return float(np.max(np.abs(outcome.path_rates - other.path_rates) / whole))
        if outcome.weights is None:
            raise ScenarioError(f'{place}: `{address}`: steps to an aim are of runs with method = "weight-allocation"')
        return outcome.weights.until_close(other.path_rates, whole)
    if address.measure == "distance":
        rates = other.connection_rates
        return float(np.mean(np.abs(outcome.connection_rates - rates) / rates))
    saturated = other.certificate().loads >= other.problem.capacity * (1.0 - SATURATED)
    return float((saturated & (outcome.certificate().loads < outcome.problem.capacity * (1.0 - OVERLOAD))).sum())


def _of_simulation(outcomes: dict[str, Outcome], run: Simulated, address: Address, place: Path) -> float | None:
    """Give what is measured of simulated runs only; None if it is not."""
    name, subject = address.measure, address.subject
    window = address.window_s or EVER
    if name in ("turning", "most-turns"):
        return (turning if name == "turning" else most_turns)(run, window)
    try:
        if name in OF_SPREAD:
            return error_of(run, name, subject, window)
        if name == "longest-queue":
            return longest_queue(run, window)
        if name == "dropped":
            return dropped(run)
        if name in OF_RUN:
            return OF_RUN[name](run)
        if name == "agreeing":
            other = outcomes[subject].simulated
            assert other is not None, "the reader asks for it"
            return float(agreeing(run, other))
    except ScenarioError as error:
        raise ScenarioError(f"{place}: `{address}`: {error}") from error
    if name == "turns" and subject not in run.connections and "." in subject:
        rank = subject.rpartition(".")[2]
        subflow_of(outcomes[address.run].paths, address, place)
        return float(turns(run, subject.removesuffix(f".{rank}"), int(rank), window))
    if name == "turns" or name in OF_CONNECTION:
        connection_of(outcomes[address.run].paths, address, place)
        return float(turns(run, subject, None, window)) if name == "turns" else OF_CONNECTION[name](run, subject)
    return None


def _of_run(outcome: Outcome, name: str) -> float | None:
    found = outcome.certificate()
    if name == "total":
        return float(outcome.connection_rates.sum())
    if name == "overload":
        return found.overload
    if name == "oversaturated":
        return float((found.loads > outcome.problem.capacity * (1.0 + OVERLOAD)).sum())
    if name == "residual":
        return found.residual
    if name == "passes":
        return float(outcome.passes)
    if name == "converged":
        return float(outcome.converged)
    if name == "steps":
        return None if outcome.steps is None else float(outcome.steps)
    return None if outcome.trace is None else float(outcome.trace.time_us.sum())
