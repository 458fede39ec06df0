"""The kinds of run, and what each gives: a class for each kind.

Rates are in the experiment's unit, ``rates_in``, from the problem on. The digits of IEWF depend on the arithmetic, so
capacities must be the numbers that the paper computed with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from anabranch.model.problem import Problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from anabranch import _core
    from anabranch.model.paths import Paths
    from anabranch.reproduce.outcomes.simulation import Simulation

    Window = tuple[float, float]

CLOSE = 0.01
"""A rate has reached the optimum if it differs by less than this, relative to the connection's rate there."""


@dataclass(frozen=True)
class OnPaths:
    """Rates on paths, which every kind of run gives but a fluid model.

    Attributes
    ----------
    paths : Paths
        The paths that have these rates.
    tolerance : float
        The relative tolerance of the certificate.
    find : callable
        Gives the problem and the rates of its paths. It is called once, and only if a measure needs it: a large
        simulation takes long for it, or does not record what it needs.
    """

    paths: Paths
    tolerance: float
    find: Callable[[], tuple[Problem, NDArray[np.float64]]]

    @cached_property
    def _found(self) -> tuple[Problem, NDArray[np.float64]]:
        return self.find()

    @property
    def problem(self) -> Problem:
        """The capacities, paths and demands that the rates must respect."""
        return self._found[0]

    @property
    def path_rates(self) -> NDArray[np.float64]:
        """The rate of each path; of a run over time just before the first connection leaves."""
        return self._found[1]

    @property
    def connection_rates(self) -> NDArray[np.float64]:
        """The rate of each connection: the sum over its paths."""
        return self.problem.core.sum_by_connection(self.path_rates)

    def certificate(self) -> _core.Certificate:
        """Check the rates by the definitions alone."""
        return self.problem.core.certify(self.path_rates, self.tolerance)


@dataclass(frozen=True)
class Trace:
    """The rates of connections after each pass of a solver, and the time that each pass took.

    Attributes
    ----------
    rates : ndarray of float64, shape (passes, connections)
    time_us : ndarray of float64, shape (passes,)
        The median over many runs, of each pass alone.
    """

    rates: NDArray[np.float64]
    time_us: NDArray[np.float64]


@dataclass(frozen=True)
class Solved(OnPaths):
    """Rates that a solver found, or that the experiment gives.

    Attributes
    ----------
    passes : int
        0 for rates that are given.
    converged : bool
    steps : int or None
        None if the method counts no steps.
    trace : Trace or None
        None unless a figure needs the rates pass by pass.
    """

    passes: int
    converged: bool
    steps: int | None = None
    trace: Trace | None = None


@dataclass(frozen=True)
class WeightAllocated(Solved):
    """Rates that algorithm 2 of weighted Vegas found, step by step.

    Attributes
    ----------
    step_rates, step_prices : ndarray of float64, shape (steps, paths)
        The rate and the price of each path after each step.
    """

    step_rates: NDArray[np.float64] = field(kw_only=True)
    step_prices: NDArray[np.float64] = field(kw_only=True)

    def until_close(self, aim: NDArray[np.float64], whole: NDArray[np.float64]) -> float:
        """Give the first step from which on every rate stays within 1 % of its aim; infinite if there is none.

        Parameters
        ----------
        aim : ndarray of float64, shape (paths,)
        whole : ndarray of float64, shape (paths,)
            The rate that the 1 % refers to: that of the path's connection.
        """
        is_far = (np.abs(self.step_rates - aim) > CLOSE * whole).any(axis=1)
        last = int(np.flatnonzero(is_far)[-1]) + 1 if is_far.any() else 0
        return math.inf if last == len(self.step_rates) else float(last + 1)


@dataclass(frozen=True)
class FromStarts(OnPaths):
    """An iteration from many random starts; its rates are the optimum.

    Attributes
    ----------
    steps : ndarray of float64, shape (starts,)
        The steps until the rates of connections are within 1 % of the optimum for good; infinite if they never are.
    """

    steps: NDArray[np.float64]


@dataclass(frozen=True)
class Optimal(OnPaths):
    """Proportionally fair rates over time, while connections come and go and capacities change.

    Attributes
    ----------
    unit_bps : float
        The unit of the rates, in bit/s.
    time_s : list of float
        The times from which on the rates of each row hold.
    end_s : float
        The end of the run.
    capacity : ndarray of float64, shape (times, links)
    rates : ndarray of float64, shape (times, paths)
    """

    unit_bps: float
    time_s: Sequence[float]
    end_s: float
    capacity: NDArray[np.float64]
    rates: NDArray[np.float64]

    def mean_rate(self, paths: Sequence[int], window_s: Window) -> float:
        """Give the mean over a window of the sum of the rates of some subflows."""
        return self._mean(self.rates[:, paths].sum(axis=1), window_s)

    def mean_load(self, link: int, window_s: Window) -> float:
        """Give the mean load of a link over a window."""
        entries = self.paths.path_links == link
        path = np.repeat(np.arange(len(self.paths)), np.diff(self.paths.path_offsets))[entries]
        return self._mean(self.rates[:, path].sum(axis=1), window_s)

    def mean_capacity(self, link: int, window_s: Window) -> float:
        """Give the mean capacity of a link over a window."""
        return self._mean(self.capacity[:, link], window_s)

    def _mean(self, values: NDArray[np.float64], window_s: Window) -> float:
        edges = np.clip([*self.time_s, self.end_s], *window_s)
        return float((values * np.diff(edges)).sum() / (edges[-1] - edges[0]))


@dataclass(frozen=True)
class Simulated(OnPaths):
    """A simulation with one seed.

    Attributes
    ----------
    unit_bps : float
        The unit of the rates, in bit/s.
    simulation : Simulation
        Its rates are in bit/s.
    """

    unit_bps: float
    simulation: Simulation


def simulated(simulation: Simulation, unit_bps: float, tolerance: float) -> Simulated:
    """Give the outcome of a simulation, with rates in a unit of this many bit/s."""

    def find() -> tuple[Problem, NDArray[np.float64]]:
        return problem_of(simulation.paths, unit_bps=unit_bps), simulation.path_rates_bps / unit_bps

    return Simulated(simulation.paths, tolerance, find, unit_bps, simulation)


@dataclass(frozen=True, eq=False)
class Followed:
    """A fluid model over its steps or over time.

    Attributes
    ----------
    at : ndarray of float64, shape (points,)
        Steps, times or round trips, from 0 on; for a sweep step sizes, as multiples of the bound.
    series : dict of str to ndarray
        Rates ``x1``, ``x2``, ... or windows ``w1``, ..., and marking probabilities or prices ``p1``, ... For a sweep
        the columns that `anabranch.figures.draw_eigenvalues` draws.
    rest : dict of str to float
        The value at which each series comes to rest, where the model gives it.
    numbers : dict of str to float
        The numbers of the run as a whole.
    settling : dict of int to float
        For each phase, by the step at which it begins: the steps until rates stay near their rest.
    """

    at: NDArray[np.float64]
    series: Mapping[str, NDArray[np.float64]]
    rest: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    settling: Mapping[int, float] = field(default_factory=dict)

    def frame(self, run: str) -> pl.DataFrame:
        """Give a row for each point and series: ``run``, ``at``, ``name``, ``value``."""
        parts = [
            pl.DataFrame({"at": self.at, "value": values}).with_columns(name=pl.lit(name))
            for name, values in self.series.items()
        ]
        return pl.concat(parts).select(pl.lit(run).alias("run"), "at", "name", "value")


Outcome: TypeAlias = Solved | WeightAllocated | FromStarts | Optimal | Simulated | Followed
"""The outcome of a run with one seed and one set of traces."""
