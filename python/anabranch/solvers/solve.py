"""Fair rates in one call: paths, problem, solver, allocation."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Unpack, overload

from anabranch.errors import ConvergenceWarning, ScenarioError
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.model.paths import Metric, Paths, find_paths
from anabranch.model.problem import Problem, problem_of
from anabranch.solvers.dispatch import allocate
from anabranch.solvers.options import MOST_PASSES, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from anabranch.allocation.allocation import Allocation
    from anabranch.solvers.approximate import Options
    from anabranch.solvers.methods import Fairness, Method
    from anabranch.solvers.options import Asked

    Progress = Callable[[str, int, int], None]

DEFAULT_PATHS = 4


@overload
def solve(
    network: Network,
    demands: Demands,
    *,
    paths: int | Paths | None = ...,
    metric: Metric | NDArray[np.float64] | None = ...,
    allow_unreachable: bool = ...,
    progress: Progress | None = ...,
    **asked: Unpack[Asked],
) -> Allocation: ...


@overload
def solve(
    network: Problem, demands: None = ..., *, progress: Progress | None = ..., **asked: Unpack[Asked]
) -> Allocation: ...


def solve(
    network: Network | Problem,
    demands: Demands | None = None,
    *,
    fairness: Fairness = "upward-max-min",
    method: Method | None = None,
    paths: int | Paths | None = None,
    metric: Metric | NDArray[np.float64] | None = None,
    start: str | float | ArrayLike | None = None,
    alpha: float | None = None,
    tolerance: float | None = None,
    max_passes: int = MOST_PASSES,
    stop_change: float | str | None = None,
    unit: float | str | None = None,
    allow_unreachable: bool = False,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Allocation:
    """Divide the network's capacity fairly among the demands.

    Parameters
    ----------
    network : Network or Problem
        A network with its `demands`, or a problem as index arrays on its own.
    demands : Demands
        On this network.
    fairness : {"upward-max-min", "max-min", "proportional", "alpha"}
        Upward max-min: no connection can gain even if all with greater rates are removed [danna2017]. Max-min: the
        least rate is as great as can be, then the second least, and so on, over all ways to use the paths.
        Proportional: the sum of ``weight * log(rate)`` is as great as can be [kelly1998]. Alpha: that of ``weight *
        level ** (1 - alpha) / (1 - alpha)`` is, with the level rate by weight [mo2000]; the greater `alpha`, the
        nearer to max-min. The last two give a `PricedAllocation`, which has the prices of links and paths besides.
    method : {"c-slen", "iewf", "progressive-filling", "dual-simplex", "lp", "interior-point", ...}, optional
        The usual one if not given: progressive filling where every connection has one path at the most; else c-SLEN
        [ludena2021] for upward max-min, and a dual simplex method for max-min, which is exact and gives a
        `LevelledAllocation`; where numbers lie too far apart for it, a chain of linear programs. Proportional and alpha
        fairness have one, an interior-point method. Approximations of max-min: ``"swan"`` [hong2013];
        ``"geometric-binner"``, ``"equi-depth-binner"``, ``"adaptive-water-filler"``, ``"approximate-water-filler"``
        [namyar2024]; ``"water-filling"``, with subflows as connections of their own.
    paths : int or Paths, optional
        The most shortest loopless paths for each connection, or paths found otherwise (`find_paths`, `given_paths`).
        If neither this nor `metric` is given, those that came with the demands, or else 4.
    metric : {"hops", "delay"} or ndarray of float64, shape (links,), optional
        What makes a path short, if they are to be found; hops if not given.
    start : {"equal"}, float or array_like, optional
        Starting portions of the methods that iterate: equal, geometric (``ratio ** rank``; favours the shortest path),
        or one for each path. Upward max-min fair allocations are not unique, and the start decides which one is found.
        If not given, 0.3 for c-SLEN and IEWF, equal for approximations; [ludena2021] starts from equal portions.
    alpha : float, optional
        From 0.1 to 100, for alpha fairness only; 1 is proportional fairness.
    tolerance : float, optional
        Relative; the answer is done when every path has a bottleneck to this tolerance. 0.01 if not given. For
        proportional and alpha fairness 1e-6; to this, prices and rates must be those of the optimum.
    max_passes : int
        A solver that is not done by then stops, and warns.
    stop_change : float or str, optional
        Stop instead when no connection's rate changed by this much in a pass, the rule of [ludena2021]; it may stop
        far from a fair allocation. In the unit of the capacities, or for a network text such as ``"1 kbit/s"``. For
        IEWF the default is 2 % of `unit`; it also stops at the certificate.
    unit : float or str, optional
        What IEWF adds to a connection of weight 1 in a step. If not given, so much that a first step adds at most 5 %
        of its capacity to any link.
    allow_unreachable : bool
        Give connections without any path the rate 0 instead of refusing them.
    progress : callable, optional
        Called with a stage (``"paths"``, ``"passes"``, ``"digits"``), how much of it is done, and how much there is.
        Digits are those of what does not fit yet, by all that is asked for.
    ratio : float, optional
        Of SWAN's levels, or of geometric bins, from one to the next; 2 if not given.
    first_level : float or str, optional
        The least of them, as a rate by weight. If not given, one that all connections can have together.
    bins : int, optional
        Of the equi-depth binner; 8 if not given.
    iterations : int, optional
        Passes of the adaptive water-filler, or of the one that guides the equi-depth binner; 10 if not given.
    last_worth : float, optional
        What a rate is worth in the last bin of a binner, beside 1 in the first: the less, the fairer, and the less is
        carried. If not given, 1e-6 for the geometric and 0.01 for the equi-depth binner.

    Returns
    -------
    Allocation
        With tables ``connections``, ``subflows``, ``links``, arrays ``path_rates``, ``connection_rates``, and the
        proof: ``certify()``.

    Raises
    ------
    ScenarioError
        A connection without a path, or that nothing limits.
    ValueError
        An option out of its range, or that the method does not take.
    SolverError
        A linear program failed.
    SolveInterrupted
        Ctrl-C while c-SLEN or IEWF was at work; a KeyboardInterrupt with the last pass as its ``allocation``.

    Warns
    -----
    ConvergenceWarning
        The answer is not what was asked for: the solver was not done after `max_passes`, or rounding spoilt it. The
        message says how far it is from fair.

    Notes
    -----
    All connections are there at once: when they start and stop is for the simulation of a scenario.
    """
    choice = choose(
        fairness=fairness,
        method=method,
        start=start,
        alpha=alpha,
        tolerance=tolerance,
        max_passes=max_passes,
        stop_change=stop_change,
        unit=unit,
        **options,
    )
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
    allocation = allocate(problem, found, choice, progress)
    if allocation.shortcoming is not None:
        warnings.warn(allocation.shortcoming, ConvergenceWarning, stacklevel=2)
    return allocation


def paths_of(
    network: Network,
    demands: Demands | None,
    paths: int | Paths | None,
    metric: Metric | NDArray[np.float64] | None,
    progress: Progress | None,
) -> Paths:
    """Give the paths of demands: those chosen, those that came with them, or some found."""
    if not isinstance(network, Network):
        raise TypeError(f"the first argument is a {type(network).__name__}; it must be a Network or a Problem")
    if not isinstance(demands, Demands):
        given = "missing" if demands is None else f"a {type(demands).__name__}"
        raise TypeError(f"the second argument is {given}; it must be the Demands on the network")
    if demands.network is not network:
        raise ValueError("the demands are on another network; make them on this one")
    if paths is None and metric is None and demands.paths is not None:
        return demands.paths
    if isinstance(paths, Paths):
        if metric is not None:
            raise ValueError("a metric was given with paths that are found already; leave one of them out")
        if paths.demands is not demands:
            raise ValueError("the paths are of other demands; find them for these")
        return paths
    done = 0

    def tell(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress("paths", done, len(demands))

    count = DEFAULT_PATHS if paths is None else paths
    return find_paths(demands, count, metric="hops" if metric is None else metric, progress=tell)


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
