"""Measures of rates on paths: the rates themselves, loads, and how far they are from fair or from another run's.

The rates of a run over time are those just before the first connection leaves, and so are the numbers that follow from
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.lookup import CONNECTION, LINK, SUBFLOW
from anabranch.reproduce.measures.registry import AnotherRun, measure
from anabranch.reproduce.outcomes.groups import ON_PATHS

if TYPE_CHECKING:
    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.outcomes.kinds import OnPaths

OVERLOAD = 1e-9
"""The relative load over capacity that arithmetic alone makes."""

SATURATED = 1e-4
"""The relative spare capacity below which a link of the run that another is compared with counts as saturated."""

ANOTHER = AnotherRun(ON_PATHS)


@measure("rate", of=CONNECTION, unit="rate", runs=ON_PATHS)
def rate(run: OnPaths, connection: Named) -> float:
    """Give the rate of the connection; of a run over time just before the first connection leaves."""
    return float(run.connection_rates[connection.number])


@measure("subflow", of=SUBFLOW, unit="rate", runs=ON_PATHS)
def subflow(run: OnPaths, path: int) -> float:
    """Give the rate of the subflow; of a run over time just before the first connection leaves."""
    return float(run.path_rates[path])


@measure("load", of=LINK, unit="rate", runs=ON_PATHS)
def load(run: OnPaths, link: Named) -> float:
    """Give the sum of the rates of the subflows on the link."""
    return float(run.certificate().loads[link.number])


@measure("capacity", of=LINK, unit="rate", runs=ON_PATHS)
def capacity(run: OnPaths, link: Named) -> float:
    """Give the capacity of the link."""
    return float(run.problem.capacity[link.number])


@measure("total", unit="rate", runs=ON_PATHS)
def total(run: OnPaths) -> float:
    """Give the sum of the rates of all connections."""
    return float(run.connection_rates.sum())


@measure("overload", unit="of the capacity", runs=ON_PATHS)
def overload(run: OnPaths) -> float:
    """Give the greatest load over capacity, less 1."""
    return run.certificate().overload


@measure("oversaturated", unit="links", runs=ON_PATHS)
def oversaturated(run: OnPaths) -> float:
    """Give the number of links with a load over their capacity."""
    return float((run.certificate().loads > run.problem.capacity * (1.0 + OVERLOAD)).sum())


@measure("residual", unit="of the level", runs=ON_PATHS)
def residual(run: OnPaths) -> float:
    """Give the largest shortfall of a subflow from its best bottleneck; 0 is upward max-min fair."""
    return run.certificate().residual


@measure("distance", of=ANOTHER, unit="of the rate", runs=ON_PATHS)
def distance(run: OnPaths, other: OnPaths) -> float:
    """Give how far rates are from those of the other run, relative to these, as a mean over the connections."""
    check_alike(run, other)
    rates = other.connection_rates
    return float(np.mean(np.abs(run.connection_rates - rates) / rates))


@measure("farthest", of=ANOTHER, unit="of the rate", runs=ON_PATHS)
def farthest(run: OnPaths, other: OnPaths) -> float:
    """Give how far the rate of a subflow is from its rate in the other run, relative to its connection's rate there.

    The greatest over all subflows.
    """
    check_alike(run, other)
    whole = other.connection_rates[other.paths.connection]
    return float(np.max(np.abs(run.path_rates - other.path_rates) / whole))


@measure("undersaturated", of=ANOTHER, unit="links", runs=ON_PATHS)
def undersaturated(run: OnPaths, other: OnPaths) -> float:
    """Give the number of links that the other run saturates and this run does not."""
    check_alike(run, other)
    saturated = other.certificate().loads >= other.problem.capacity * (1.0 - SATURATED)
    return float((saturated & (run.certificate().loads < run.problem.capacity * (1.0 - OVERLOAD))).sum())


def check_alike(run: OnPaths, other: OnPaths) -> None:
    """Refuse two runs of different scenarios."""
    own, theirs = run.paths.demands, other.paths.demands
    if own.core.names != theirs.core.names or own.network.core.link_names != theirs.network.core.link_names:
        raise ScenarioError("the two are of different scenarios; compare runs of one")
