"""Fair rates in many cases, on all processors: one thread for each case, answers in order."""

from __future__ import annotations

import os
import time
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import length_hint
from threading import Event
from typing import TYPE_CHECKING, Unpack

from anabranch.errors import ConvergenceWarning
from anabranch.interrupts import result_of
from anabranch.model.demands import Demands
from anabranch.model.demands import demands as some_demands
from anabranch.model.network import Network
from anabranch.model.paths import Paths
from anabranch.model.problem import Problem
from anabranch.solvers.cases import Case, cases_of, named
from anabranch.solvers.check import check_options
from anabranch.solvers.describe import documented
from anabranch.solvers.dispatch import allocate
from anabranch.solvers.solve import paths_of, refuse_unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from anabranch.allocation.allocation import Allocation
    from anabranch.model.search import Metric
    from anabranch.solvers.check import Request
    from anabranch.solvers.options import Options
    from anabranch.solvers.task import Progress

AHEAD = 2
"""The number of cases for each thread that are begun before the caller asks for the first of them."""


@dataclass(frozen=True)
class Solved:
    """The answer to a case.

    Attributes
    ----------
    name : str
        The name of the case; its number, counted from 0, if it has none.
    allocation : Allocation
        The rates, as `solve` returns them.
    cpu_s : float
        The processor time of solving and checking, in seconds.
    """

    name: str
    allocation: Allocation
    cpu_s: float


class _StoppedError(Exception):
    """Nobody wants the answer any more."""


@documented
def solve_many(
    cases: Network | Iterable[Case | Problem],
    demands: Iterable[Demands] | Mapping[str, Demands] | None = None,
    *,
    paths: int | Paths | None = None,
    metric: Metric | NDArray[np.float64] | None = None,
    allow_unreachable: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Iterator[Solved]:
    """Solve many cases, several at a time, and yield the answers in their order.

    Each answer is to the last bit the one that `solve` gives for the case alone, for any number of threads. Cases are
    taken from an iterator as they are needed, and answers are yielded as they come. After Ctrl-C the answers until then
    remain, and the work that has begun ends as soon as its method allows.

    Parameters
    ----------
    cases : Network, or iterable of Case or Problem
        A network with many `demands`; or cases, such as `single_failures` makes, or problems.
    demands : iterable of Demands, or mapping of str to Demands
        Demands on the network, with names or without. Paths are found once for demands between the same nodes.
    paths, metric, allow_unreachable
        With a network: what `solve` takes under these names. Paths that were found before serve all demands between the
        same nodes.
    threads : int, optional
        The number of cases at a time; the number of processors if not given.
    progress : callable, optional
        Called with a stage (``"paths"``, ``"cases"``), how much of it is done, and how much there is.
    **options
        The options that `solve` takes, such as ``fairness``, ``method`` and ``tolerance``, for all cases alike.

    Yields
    ------
    Solved
        The name of the case, its allocation, and the time it took.

    Raises
    ------
    ScenarioError, ValueError, SolverError
        An error that `solve` raises. If it concerns one case, the message names the case, and the answers before it
        come first.

    Warns
    -----
    ConvergenceWarning
        A warning of `solve`, with the name of the case.
    """
    request = check_options(**options)
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}; it must be 1 or more")
    if isinstance(cases, Network):
        if not isinstance(demands, Iterable) or isinstance(demands, Demands):
            raise TypeError(
                f"the second argument is a {type(demands).__name__}; it must be many Demands on the network"
            )
        _check_search(cases, paths, metric)
        total = length_hint(demands)
        given = cases_of(_by_name(demands), partial(_paths, cases, paths, metric, allow_unreachable, progress))
    else:
        if demands is not None or paths is not None or metric is not None:
            raise ValueError("cases were given with demands, paths or a metric besides; they have their own")
        if not isinstance(cases, Iterable):
            raise TypeError(f"the first argument is a {type(cases).__name__}; it must be a Network, cases or problems")
        total = length_hint(cases)
        given = _as_cases(cases)
    return _answers(given, total, request, threads or os.cpu_count() or 1, progress)


def _check_search(network: Network, paths: int | Paths | None, metric: Metric | NDArray[np.float64] | None) -> None:
    """Refuse a search for paths that no demands could be given any by."""
    if not isinstance(paths, Paths) or metric is not None:
        paths_of(network, some_demands(network, [], []), paths, metric, None)


def _by_name(demands: Iterable[Demands] | Mapping[str, Demands]) -> Iterable[tuple[str, Demands]]:
    if isinstance(demands, Mapping):
        return demands.items()
    return ((str(number), one) for number, one in enumerate(demands))


def _paths(
    network: Network,
    paths: int | Paths | None,
    metric: Metric | NDArray[np.float64] | None,
    allow_unreachable: bool,
    progress: Progress | None,
    demands: Demands,
    before: Paths | None,
) -> Paths:
    """Give the paths of some demands: those before, if these were found and serve them too."""
    if not isinstance(demands, Demands):
        raise TypeError(f"it is a {type(demands).__name__}; it must be Demands on the network")
    demands = demands.on(network)
    own = paths is None and metric is None and demands.paths is not None
    known = before if before is not None and before is not before.demands.paths and not own else None
    if isinstance(paths, Paths) and metric is None:
        known = paths
    if known is not None and known.serves(demands):
        found = known.serving(demands)
    else:
        found = paths_of(network, demands, paths, metric, progress)
    if not allow_unreachable:
        refuse_unreachable(found)
    return found


def _as_cases(given: Iterable[Case | Problem]) -> Iterator[Case]:
    for number, case in enumerate(given):
        if isinstance(case, Case):
            yield case
        elif isinstance(case, Problem):
            yield Case(str(number), case)
        else:
            raise TypeError(f"case `{number}`: it is a {type(case).__name__}; it must be a Case or a Problem")


def _answers(
    cases: Iterator[Case], total: int, request: Request, threads: int, progress: Progress | None
) -> Iterator[Solved]:
    """Solve several cases at a time, one on each thread; begin a few cases before the caller asks for them."""
    stopped = Event()
    begun: deque[Future[Solved]] = deque()
    trouble: Exception | None = None
    done, is_more = 0, True
    pool = ThreadPoolExecutor(threads, thread_name_prefix="anabranch")
    try:
        while is_more or begun:
            while is_more and len(begun) < AHEAD * threads:
                try:
                    begun.append(pool.submit(_solved, next(cases), request, stopped))
                except StopIteration:
                    is_more = False
                except Exception as error:
                    # First what came before it.
                    is_more, trouble = False, error
            if begun:
                solved = result_of(begun.popleft())
                done += 1
                if progress is not None:
                    progress("cases", done, max(total, done))
                if solved.allocation.shortcoming is not None:
                    message = f"case `{solved.name}`: {solved.allocation.shortcoming}"
                    warnings.warn(message, ConvergenceWarning, stacklevel=2)
                yield solved
        if trouble is not None:
            raise trouble
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _solved(case: Case, request: Request, stopped: Event) -> Solved:
    def look(_stage: str, _done: int, _total: int) -> None:
        if stopped.is_set():
            raise _StoppedError

    began = time.thread_time()
    with named(case.name):
        allocation = allocate(case.problem, case.paths, request, look)
    # Here, where it is one of several threads, and not when somebody asks.
    _ = allocation.certificate, allocation.shortcoming
    return Solved(case.name, allocation, time.thread_time() - began)
