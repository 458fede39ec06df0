"""A run of a published experiment, carried out: once, or with each of its seeds and traces."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.interrupts import result_of
from anabranch.reproduce.execute.fluid import follow_fluid
from anabranch.reproduce.execute.optimum import optimum_over_time
from anabranch.reproduce.execute.simulate import capacities_times, simulate
from anabranch.reproduce.execute.solve import solve_from_starts, solve_run
from anabranch.reproduce.outcomes.kinds import simulated
from anabranch.reproduce.spec.traces import sets_of
from anabranch.runs.scenario import read_plan

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.outcomes.kinds import Outcome, Simulated
    from anabranch.reproduce.outcomes.simulation import Simulation
    from anabranch.reproduce.spec.run import Run
    from anabranch.runs.simulate import Progress

    Simulations = dict[tuple[Path, tuple[str, ...], int | None], Simulation]


def execute(
    run: Run,
    unit_bps: float,
    simulations: Simulations,
    *,
    timed: bool = False,
    progress: Progress | None = None,
) -> tuple[Outcome, ...]:
    """Carry out a run, with rates in a unit of this many bit/s.

    Parameters
    ----------
    simulations : dict
        The simulations made before; each new one is added.
    timed : bool
        Also follow it pass by pass (c-SLEN and IEWF only).
    progress : callable, optional
        Called with the progress of a simulation, as by `anabranch.run`.

    Returns
    -------
    tuple of Outcome
        An outcome for each combination of traces and seeds; a single one if the run has neither.
    """
    if run.fluid is not None:
        return (follow_fluid(run.name, run.fluid),)
    if run.method == "simulate":
        return _simulate_all(run, unit_bps, simulations, progress)
    if run.method == "proportional":
        plans = (read_plan(one.scenario, sets=one.sets) for one in _single_runs(run))
        return tuple(optimum_over_time(plan, unit_bps, run.tolerance) for plan in plans)
    if run.starts is not None:
        return (solve_from_starts(run, run.starts, unit_bps),)
    return (solve_run(run, unit_bps, timed=timed),)


def _simulate_all(
    run: Run, unit_bps: float, simulations: Simulations, progress: Progress | None
) -> tuple[Outcome, ...]:
    """Simulate a run with each of its seeds and traces, as many at a time as there are processors."""
    single = _single_runs(run)
    if len(single) == 1:
        return (_simulated(single[0], unit_bps, simulations, progress),)
    told = JointProgress(len(single), progress)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        under_way = [
            pool.submit(_simulated, one, unit_bps, simulations, told.of(number)) for number, one in enumerate(single)
        ]
        try:
            return tuple(result_of(one) for one in under_way)
        except BaseException:
            told.is_over = True
            pool.shutdown(cancel_futures=True)
            raise


def _single_runs(run: Run) -> list[Run]:
    """Give a run for each combination of traces and seeds."""
    larger = capacities_times(run.scenario, run.capacities_times)
    sets = [(*larger, *run.sets, *sets_of(own)) for own in run.followed or ((),)]
    traced = [replace(run, sets=own, followed=()) for own in sets]
    return [replace(own, seed=seed, seeds=()) for own in traced for seed in run.seeds or (run.seed,)]


def _simulated(run: Run, unit_bps: float, simulations: Simulations, progress: Progress | None) -> Simulated:
    key = run.scenario.resolve(), run.sets, run.seed
    if key not in simulations:
        simulations[key] = simulate(run.scenario, run.sets, run.seed, progress)
    return simulated(simulations[key], unit_bps, run.tolerance)


class JointProgress:
    """The progress of several simulations, reported as one; a stop ends them all."""

    def __init__(self, count: int, progress: Progress | None) -> None:
        self.progress = progress
        self.time_s = [0.0] * count
        self.events = [0] * count
        self.is_over = False

    def of(self, number: int) -> Progress:
        """Give the callable that one of the simulations reports its progress to."""

        def tell(time_s: float, duration_s: float, events: int) -> None:
            if self.is_over:
                raise KeyboardInterrupt
            self.time_s[number], self.events[number] = time_s, events
            if self.progress is not None:
                self.progress(sum(self.time_s) / len(self.time_s), duration_s, sum(self.events))

        return tell
