"""The numbers measured on what runs of a published experiment gave, and their means over seeds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.reproduce.execute.fluid import measure_fluid
from anabranch.reproduce.measures.distributions import percentile_of
from anabranch.reproduce.measures.dynamics import (
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
from anabranch.reproduce.measures.lookup import connection_of, link_of, subflow_of
from anabranch.reproduce.measures.means import mean_over_time
from anabranch.reproduce.measures.of_simulations import OF_STAY, OF_TIME, OF_WAITS, dropped
from anabranch.reproduce.measures.samples import OF_SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.execute.outcome import Outcome
    from anabranch.reproduce.execute.simulated import Simulated
    from anabranch.reproduce.spec.quantity import Address, Ratio

OVERLOAD = 1e-9
"""Relative load over capacity that arithmetic alone makes."""

SATURATED = 1e-4
"""A link that lacks less, relative to its capacity, counts as saturated by a run that others are compared with."""


def measure(outcomes: dict[str, Outcome], address: Address, place: Path) -> float:
    """Give one number of a run; the measures are those of `anabranch.reproduce.spec.quantity.MEASURES`.

    ``rate c1``, ``subflow c1.2`` (the second of the connection), ``load l3``, ``capacity l3``, ``total``; ``overload``
    (the greatest load over capacity, less 1), ``oversaturated`` (links over capacity), ``residual`` (the largest
    shortfall of a subflow from its best bottleneck: 0 is upward max-min fair); ``distance gmmf`` (from the rates of
    another run, relative to these, the mean over connections), ``undersaturated limit`` (links that another run
    saturates and this one does not); ``passes``, ``steps``, ``converged``,
    and ``time`` (in microseconds, of all passes). For the others see `anabranch.reproduce.measures.dynamics`.

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
    if address.measure in (*OF_TIME, *OF_STAY):
        return mean_over_time(outcomes, address, place)
    if address.measure in (*OF_SAMPLES, *OF_WAITS):
        return percentile_of(outcome, address, place)
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
