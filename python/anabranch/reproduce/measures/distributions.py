"""How numbers of runs of an experiment are distributed: percentiles of one, and of several runs and seeds together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.dynamics import EVER
from anabranch.reproduce.measures.lookup import connections_of, link_of, subflow_of
from anabranch.reproduce.measures.of_simulations import OF_WAITS, UnmeasuredError, waited_ms, waits_ms
from anabranch.reproduce.measures.percentiles import pooled
from anabranch.reproduce.measures.samples import OF_SAMPLES, PARTS, backlogs_kb, jain_indices, rate_differences_bps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from anabranch.reproduce.execute.outcome import Outcome
    from anabranch.reproduce.spec.quantity import Address


@dataclass(frozen=True)
class Distribution:
    """What is told of a distribution."""

    values: tuple[float, ...]
    """In the order of `anabranch.reproduce.measures.samples.PARTS`."""
    count: int
    """Of how many samples, or packets."""


def percentile_of(outcome: Outcome, address: Address, place: Path) -> float:
    """Give one number of ``OF_SAMPLES`` of `samples`, or of ``OF_WAITS`` of `of_simulations`.

    ``median-jain c*``: of Jain's index of what these connections delivered from sample to sample; ``p95-backlog l1``:
    of what waits at the link at samples, in kB; ``p25-rate-difference c* l1``: of how far granted rates are from equal
    parts of what the link can carry at that time; ``median-wait c1.2``, ``p95-wait l1``, ``most-wait l1``: of how long
    packets waited on the whole way of the subflow, or at the link, in milliseconds.

    Raises
    ------
    ScenarioError
        There is no such connection, subflow or link; it was not recorded; the window has no samples.
    """
    try:
        if address.measure in OF_WAITS:
            assert outcome.simulated is not None, "the reader asks for it"
            return waited_ms(outcome.simulated, *_waiting(outcome, address, place), OF_WAITS[address.measure])
        part, _ = OF_SAMPLES[address.measure]
        return float(np.quantile(_samples(outcome, address, place), PARTS[part]))
    except UnmeasuredError as error:
        raise ScenarioError(f"{place}: `{address}`: {error}") from error


def distribution_of(outcomes: Mapping[str, Outcome], addresses: Sequence[Address], place: Path) -> Distribution:
    """Give how one thing is distributed over several runs together, each with all its seeds; each address a median.

    Samples of all have the same weight, and percentiles are exact. Of waits percentiles are recorded, of each run and
    seed; those of all together are by packets, see `anabranch.reproduce.measures.percentiles`.

    Raises
    ------
    ScenarioError
        As for `percentile_of`.
    """
    parts = list(PARTS.values())
    try:
        each = [(one, own) for own in addresses for one in (outcomes[own.run], *outcomes[own.run].others)]
        if addresses[0].measure in OF_WAITS:
            waits = [
                waits_ms(one.simulated, *_waiting(one, own, place)) for one, own in each if one.simulated is not None
            ]
            return Distribution(tuple(pooled(waits, parts)), sum(own.count for own in waits))
        samples = np.concatenate([_samples(one, own, place) for one, own in each])
        return Distribution(tuple(np.quantile(samples, parts).tolist()), len(samples))
    except UnmeasuredError as error:
        raise ScenarioError(f"{place}: `{addresses[0]}`: {error}") from error


def _waiting(outcome: Outcome, address: Address, place: Path) -> tuple[str, str]:
    """Give whose waits are meant: those of the link that is called so, or else of the subflow."""
    if address.subject in outcome.paths.demands.network.core.link_names:
        return "link", address.subject
    assert outcome.simulated is not None, "the reader asks for it"
    return "subflow", outcome.simulated.result.subflows["subflow"][subflow_of(outcome.paths, address, place)]


def _samples(outcome: Outcome, address: Address, place: Path) -> NDArray[np.float64]:
    assert outcome.simulated is not None, "the reader asks for it"
    run, window = outcome.simulated, address.window_s or EVER
    _, what = OF_SAMPLES[address.measure]
    if what == "backlog":
        link_of(outcome.paths, address, place)
        return backlogs_kb(run, address.subject, window)
    if what == "jain":
        return jain_indices(run, _names(outcome, address, place), window)
    pattern, _, link = address.subject.rpartition(" ")
    if not pattern:
        raise UnmeasuredError("it is of connections and a link; name both, such as `c* l1`")
    link_of(outcome.paths, replace(address, subject=link), place)
    names = _names(outcome, replace(address, subject=pattern.strip()), place)
    return rate_differences_bps(run, names, link, window) / outcome.unit_bps


def _names(outcome: Outcome, address: Address, place: Path) -> list[str]:
    names = outcome.paths.demands.core.names
    return [names[number] for number in connections_of(outcome.paths, address, place)]
