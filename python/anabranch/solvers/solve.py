"""Fair rates in one call: paths, problem, solver, allocation."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Unpack, overload

from anabranch.errors import ConvergenceWarning, ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.model.paths import DEFAULT_PATHS, Paths, find_paths
from anabranch.model.problem import Problem, problem_of
from anabranch.solvers.check import check_options
from anabranch.solvers.describe import documented
from anabranch.solvers.dispatch import allocate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anabranch.allocation.allocation import Allocation
    from anabranch.model.search import Metric
    from anabranch.solvers.options import Options
    from anabranch.solvers.task import Progress


@overload
def solve(
    network: Network | str | os.PathLike[str],
    demands: Demands | str | os.PathLike[str] | None = ...,
    *,
    paths: int | Paths | None = ...,
    metric: Metric | NDArray[np.float64] | None = ...,
    allow_unreachable: bool = ...,
    progress: Progress | None = ...,
    **options: Unpack[Options],
) -> Allocation: ...


@overload
def solve(
    network: Problem, demands: None = ..., *, progress: Progress | None = ..., **options: Unpack[Options]
) -> Allocation: ...


@documented
def solve(
    network: Network | Problem | str | os.PathLike[str],
    demands: Demands | str | os.PathLike[str] | None = None,
    *,
    paths: int | Paths | None = None,
    metric: Metric | NDArray[np.float64] | None = None,
    allow_unreachable: bool = False,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Allocation:
    """Divide the capacity of a network fairly among demands.

    Parameters
    ----------
    network : Network, path or Problem
        A network or its file, which may be a scenario (``.toml``); or a problem made of index arrays.
    demands : Demands or path, optional
        The demands, which fit any network that has nodes of their names; their file; or a rule, such as
        ``"gravity:1Tbit/s"``. If not given, those of the file of the network. None with a problem.
    paths : int or Paths, optional
        The number of shortest loopless paths to find for each connection, or paths that were found before
        (`find_paths`, `given_paths`). If neither this nor `metric` is given, those that came with the demands, or
        else 4.
    metric : {"hops", "delay"} or ndarray of float64, shape (links,), optional
        The length of links by which paths are found; hops if not given.
    allow_unreachable : bool
        Give connections without any path the rate 0 instead of refusing them.
    progress : callable, optional
        Called with a stage (``"paths"``, ``"passes"``, ``"digits"``), how much of it is done, and how much there is.
        Digits count by how many powers of ten the excess of rates has fallen.
    **options
        The options that `anabranch.solvers.options.Options` lists, such as ``fairness``, ``method`` and ``tolerance``.

    Returns
    -------
    Allocation
        Rates with tables ``connections``, ``subflows``, ``links``, arrays ``path_rates``, ``connection_rates``, and
        the proof ``certify()``. Methods with levels give a `LevelledAllocation`, those with prices a
        `PricedAllocation`.

    Raises
    ------
    ScenarioError
        A connection has no path, or nothing limits it.
    ValueError
        An option is out of its range, or the method does not take it.
    SolverError
        A linear program failed.
    SolveInterrupted
        Ctrl-C came while c-SLEN or IEWF was at work; a KeyboardInterrupt with the last pass as its ``allocation``.

    Warns
    -----
    ConvergenceWarning
        The solver was not done after `max_passes`, or rounding spoilt the answer. The message says how far it is from
        fair.

    Notes
    -----
    All connections share the capacity at once: times at which they start and stop count in the simulation of a
    scenario only.
    """
    request = check_options(**options)
    if isinstance(network, (str, os.PathLike)) or isinstance(demands, (str, os.PathLike)):
        # Only now: readers of files take longer to load than most problems take to solve.
        from anabranch.solvers.problem_files import opened

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
    allocation = allocate(problem, found, request, progress)
    if allocation.shortcoming is not None:
        warnings.warn(allocation.shortcoming, ConvergenceWarning, stacklevel=2)
    return allocation


def paths_of(
    network: object,
    demands: object,
    paths: int | Paths | None,
    metric: Metric | NDArray[np.float64] | None,
    progress: Progress | None,
) -> Paths:
    """Give the paths of demands: those chosen, those that came with them, or some found."""
    if not isinstance(network, Network):
        raise TypeError(f"the first argument is a {type(network).__name__}; it must be a Network or a Problem")
    if not isinstance(demands, Demands):
        given = "missing" if demands is None else f"a {type(demands).__name__}"
        raise TypeError(f"the second argument is {given}; it must be the Demands on the network, or their file")
    here = demands.on(network)
    if paths is None and metric is None and here.paths is not None:
        return here.paths
    if isinstance(paths, Paths):
        if metric is not None:
            raise ValueError("a metric was given with paths that are found already; leave one of them out")
        moved = paths if paths.demands is here else paths.on(here)
        if moved is None:
            raise ValueError("the paths take links that the network does not have; find them on this one")
        return moved
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress("paths", done, len(here))

    count = DEFAULT_PATHS if paths is None else paths
    return find_paths(here, count, metric="hops" if metric is None else metric, progress=tell)


def refuse_unreachable(paths: Paths) -> None:
    """Refuse paths that leave a connection without any."""
    cut_off = paths.without
    if not len(cut_off):
        return
    demands = paths.demands
    core, nodes = demands.core, demands.network.core.node_names
    first = int(cut_off[0])
    source, target = nodes[core.source[first]], nodes[core.target[first]]
    parts = int(demands.network.parts.max()) + 1
    where = f"the network has {parts} parts that no link joins" if parts > 1 else "no directed way leads there"
    raise ScenarioError(
        f"connection `{core.names[first]}`: there is no path from `{source}` to `{target}` ({where}; {len(cut_off)} of"
        f" {len(demands)} connections have none); leave such demands out, or give them rate 0 with --allow-unreachable"
        " (in Python: allow_unreachable=True)"
    )
