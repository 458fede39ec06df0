"""Several methods on one problem, in one table: what each carries, how fair it is, and how long it takes."""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING, Any, Unpack, cast

import polars as pl

from anabranch.errors import ConvergenceWarning
from anabranch.model.problem import Problem, problem_of
from anabranch.solvers.case_table import summarise
from anabranch.solvers.check import check_options
from anabranch.solvers.describe import documented
from anabranch.solvers.dispatch import allocate
from anabranch.solvers.many import Solved
from anabranch.solvers.methods import METHODS, takers_of
from anabranch.solvers.options import OPTIONS, Options
from anabranch.solvers.problem_files import opened
from anabranch.solvers.solve import paths_of, refuse_unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from anabranch.allocation.allocation import Allocation
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network
    from anabranch.model.paths import Paths
    from anabranch.model.search import Metric
    from anabranch.solvers.check import Request
    from anabranch.solvers.task import Progress

COLUMNS = (
    *("method", "fairness", "carried", "carried_bps", "met", "least_met", "least_level", "least_level_bps", "q"),
    *("total", "worst", "cut_off", "saturated_links", "converged", "certified", "residual", "cpu_s"),
)
"""The columns in their order; rates of a network end in their unit."""


@documented
def compare(
    network: Network | Problem | str | os.PathLike[str],
    demands: Demands | str | os.PathLike[str] | None = None,
    *,
    methods: Sequence[str],
    paths: int | Paths | None = None,
    metric: Metric | NDArray[np.float64] | None = None,
    allow_unreachable: bool = False,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> pl.DataFrame:
    """Solve one problem by several methods, and compare the rates with exact max-min ones.

    Parameters
    ----------
    network, demands, paths, metric, allow_unreachable, progress
        What `solve` takes under these names. Paths are found once.
    methods : sequence of str
        The names of the methods.
    **options
        The options that `solve` takes; each goes to the methods that take it.

    Returns
    -------
    DataFrame
        A row for each method, in their order: ``method`` and ``fairness``; ``carried_bps``, ``met``, ``least_met``,
        ``least_level_bps``, ``cut_off``, ``saturated_links``, ``converged``, ``certified`` and ``residual``, as
        `summarise` gives them; ``q``, ``total`` and ``worst``, the comparison with exact max-min rates, as
        `Allocation.compare` gives it; ``cpu_s``, the processor time. Rates of a problem of arrays have no ``_bps``.

    Raises
    ------
    ScenarioError, ValueError, SolverError
        An error that `solve` raises; or no method, a method twice, or an option that no method takes.

    Warns
    -----
    ConvergenceWarning
        A warning of `solve`, with the name of the method.
    """
    requests = requests_for(methods, options)
    network, demands = opened(network, demands)
    found: Paths | None = None
    if isinstance(network, Problem):
        if demands is not None or paths is not None or metric is not None:
            raise ValueError("a problem was given with demands, paths or a metric besides; it has its own")
        problem = network
    else:
        found = paths_of(network, demands, paths, metric, progress)
        if not allow_unreachable:
            refuse_unreachable(found)
        problem = problem_of(found)
    solved = solve_each(problem, found, requests, progress)
    for one in solved:
        if one.allocation.shortcoming is not None:
            message = f"method {one.name}: {one.allocation.shortcoming}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return comparison_table(solved, exact_among(solved, problem, found, progress))


def requests_for(methods: Sequence[str], options: Mapping[str, Any]) -> dict[str, Request]:
    """Check the options of each method; an option goes to the methods that take it."""
    if isinstance(methods, str) or not methods:
        raise ValueError(
            f"methods is {methods!r}; give a list of the names of methods, such as ['dual-simplex', 'swan']"
        )
    if twice := [name for name in methods if list(methods).count(name) > 1]:
        raise ValueError(f"method {twice[0]} is there twice; name each once")
    given = {name: value for name, value in options.items() if value is not None and name != "method"}
    for name in given:
        if name in OPTIONS and not any(_takes(method, name) for method in methods):
            raise ValueError(
                f"{name} was given, and none of the methods takes it; it is for {', '.join(_takers(name))}"
            )
    requests = {}
    for method in methods:
        own = {n: v for n, v in given.items() if n not in OPTIONS or method not in METHODS or _takes(method, n)}
        requests[method] = check_options(**cast("Options", own | {"method": method}))
    return requests


def solve_each(
    problem: Problem, paths: Paths | None, requests: Mapping[str, Request], progress: Progress | None
) -> list[Solved]:
    """Solve a problem by each method, and give the answers with the processor time."""
    solved = []
    for method, request in requests.items():
        began = time.process_time()
        allocation = allocate(problem, paths, request, progress)
        solved.append(Solved(method, allocation, time.process_time() - began))
    return solved


def exact_among(
    solved: Sequence[Solved], problem: Problem, paths: Paths | None, progress: Progress | None
) -> Allocation:
    """Give exact max-min rates: of the answers one that is, or else a new one."""
    answers = (one.allocation for one in solved)
    exact = next((a for a in answers if a.fairness == "max-min" and not a.is_approximation and a.converged), None)
    return allocate(problem, paths, check_options(), progress) if exact is None else exact


def comparison_table(solved: Sequence[Solved], exact: Allocation) -> pl.DataFrame:
    """Give a row for each answer, with its comparison with exact rates."""
    rows = []
    for one in solved:
        found = one.allocation.compare(exact)
        rows.append({"fairness": one.allocation.fairness, "q": found.q, "total": found.total, "worst": found.worst})
    table = pl.concat([summarise(solved).drop("method"), pl.DataFrame(rows)], how="horizontal")
    table = table.rename({"case": "method"})
    return table.select(column for column in COLUMNS if column in table.columns)


def _takes(method: str, option: str) -> bool:
    """Tell whether a method takes an option; alpha is for the methods of alpha fairness."""
    if method not in METHODS:
        return False
    if option == "alpha":
        return "alpha" in METHODS[method].fairness
    return OPTIONS[option].is_general or option in METHODS[method].options


def _takers(option: str) -> tuple[str, ...]:
    if option == "alpha":
        return tuple(name for name, method in METHODS.items() if "alpha" in method.fairness)
    return takers_of(option)
