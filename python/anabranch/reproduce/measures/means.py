"""Means over a window, of runs that have rates over time: simulated ones, and the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.dynamics import EVER
from anabranch.reproduce.measures.lookup import connections_of, link_of, subflow_of, subflows_of
from anabranch.reproduce.measures.of_simulations import (
    OF_STAY,
    UnmeasuredError,
    jain_index,
    lost_share,
    marked_share,
    mean_backlog_kb,
    mean_capacity_bps,
    mean_sample,
    mean_utilisation,
    mean_wait_ms,
    transfer_rate_bps,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from anabranch.reproduce.execute.optimum import Optimum
    from anabranch.reproduce.execute.outcome import Outcome
    from anabranch.reproduce.execute.simulated import Simulated
    from anabranch.reproduce.spec.quantity import Address

    Window = tuple[float, float]


STATES = {"mean-pace": "pace_bps", "mean-window": "window_bytes", "marked-share": "marked_share"}
"""What belongs to windows, and the columns of samples that it is in."""

EXTREMES: dict[str, Callable[[Sequence[float]], float]] = {"least-rate": min, "most-rate": max}


def mean_over_time(outcomes: dict[str, Outcome], address: Address, place: Path) -> float:
    """Give one number of `anabranch.reproduce.measures.of_simulations.OF_TIME` or ``OF_STAY``.

    ``mean-rate c1``, ``mean-rate c1.2``, ``mean-rate c*``: what was delivered, a second, the last by all connections
    whose names begin so; ``average-rate c*``: by each of them; ``least-rate c*``, ``most-rate c*``: by the one of them
    that delivered least, or most; ``jain c*``: Jain's index of these; ``mean-granted``: what was granted at samples;
    ``mean-pace c*``, ``mean-window c*``, ``marked-share c*``: how fast their packets might be sent, their windows, and
    the smoothed share of marked packets that their protocol goes by, means over subflows and samples with such;
    ``transfer-rate c*``: what each delivered a second from its start until all had
    arrived, and the sum of these; ``lost c*``: bytes taken for lost by bytes sent; ``marked c*``: marked packets by
    delivered ones; ``mean-rtt c1.2``: the round trip in milliseconds;
    ``mean-load l1``, ``mean-capacity l1``, ``utilisation l1``: what the link carried and could have carried, a second,
    and the one by the other; ``mean-wait l1``: how long what it carried waited and was in transmission, in
    milliseconds; ``mean-backlog l1``: how much that was, in kB;
    ``deviation optimal``, ``subflow-deviation optimal``: by how much mean rates differ from those of
    another run, the mean over the connections, or their subflows, that are there all the time.

    Raises
    ------
    ScenarioError
        There is no such connection, subflow or link; it was not recorded; the window has no samples.
    """
    outcome, name, window = outcomes[address.run], address.measure, address.window_s or EVER
    try:
        if name.endswith("deviation"):
            return _deviation(outcome, outcomes[address.subject], window, by_subflow=name != "deviation")
        if name in ("mean-rate", "mean-granted"):
            paths = subflows_of(outcome.paths, address, place)
            return _mean_rate(outcome, paths, window, "granted_bps" if name == "mean-granted" else "delivered_bps")
        if name in STATES:
            return _mean_state(outcome, subflows_of(outcome.paths, address, place), name, window)
        if name in ("average-rate", *EXTREMES, "jain", *OF_STAY):
            return _of_connections(outcome, address, window, place)
        if name == "mean-rtt":
            return _mean_rtt_ms(outcome, subflow_of(outcome.paths, address, place), window)
        link = link_of(outcome.paths, address, place)
        if outcome.optimum is not None:
            return _of_optimal_link(outcome.optimum, link, name, window)
        assert outcome.simulated is not None, "the reader asks for it"
        return _of_simulated_link(outcome.simulated, address.subject, name, window, outcome.unit_bps)
    except UnmeasuredError as error:
        raise ScenarioError(f"{place}: `{address}`: {error}") from error


def _mean_rate(outcome: Outcome, paths: list[int], window: Window, column: str = "delivered_bps") -> float:
    if outcome.optimum is not None:
        return outcome.optimum.mean_rate(paths, window)
    assert outcome.simulated is not None, "the reader asks for it"
    names = outcome.simulated.result.subflows["subflow"].gather(paths).to_list()
    return len(names) * mean_sample(outcome.simulated, "subflow", names, column, window) / outcome.unit_bps


def _of_connections(outcome: Outcome, address: Address, window: Window, place: Path) -> float:
    connections = connections_of(outcome.paths, address, place)
    if address.measure == "average-rate":
        return _mean_rate(outcome, subflows_of(outcome.paths, address, place), window) / len(connections)
    if address.measure in (*EXTREMES, "jain"):
        offsets = outcome.paths.connection_offsets.tolist()
        rates = [_mean_rate(outcome, list(range(*offsets[c : c + 2])), window) for c in connections]
        return EXTREMES.get(address.measure, jain_index)(rates)
    assert outcome.simulated is not None, "the reader asks for it"
    if address.measure == "lost":
        return lost_share(outcome.simulated, connections)
    if address.measure == "marked":
        return marked_share(outcome.simulated, connections)
    return transfer_rate_bps(outcome.simulated, connections) / outcome.unit_bps


def _mean_state(outcome: Outcome, paths: list[int], name: str, window: Window) -> float:
    assert outcome.simulated is not None, "the reader asks for it"
    names = outcome.simulated.result.subflows["subflow"].gather(paths).to_list()
    scale = {"mean-pace": outcome.unit_bps, "mean-window": 1e3}.get(name, 1.0)
    return mean_sample(outcome.simulated, "subflow", names, STATES[name], window) / scale


def _mean_rtt_ms(outcome: Outcome, path: int, window: Window) -> float:
    assert outcome.simulated is not None, "the reader asks for it"
    name = outcome.simulated.result.subflows["subflow"][path]
    return 1e3 * mean_sample(outcome.simulated, "subflow", [name], "rtt_s", window)


def _of_optimal_link(optimum: Optimum, link: int, name: str, window: Window) -> float:
    if name == "mean-load":
        return optimum.mean_load(link, window)
    capacity = optimum.mean_capacity(link, window)
    return capacity if name == "mean-capacity" else optimum.mean_load(link, window) / capacity


def _of_simulated_link(run: Simulated, link: str, name: str, window: Window, unit_bps: float) -> float:
    if name == "mean-wait":
        return mean_wait_ms(run, link, window)
    if name == "mean-backlog":
        return mean_backlog_kb(run, link, window)
    if name == "utilisation":
        return mean_utilisation(run, link, window)
    if name == "mean-capacity":
        return mean_capacity_bps(run, link, window) / unit_bps
    return mean_sample(run, "link", [link], "carried_bps", window) / unit_bps


def _deviation(outcome: Outcome, other: Outcome, window: Window, *, by_subflow: bool) -> float:
    demands, offsets = outcome.paths.demands.core, outcome.paths.connection_offsets.tolist()
    stays = (demands.start_s <= window[0]) & (demands.stop_s >= window[1])
    groups = [list(range(offsets[c], offsets[c + 1])) for c in np.flatnonzero(stays)]
    if by_subflow:
        groups = [[path] for group in groups for path in group]
    if not groups:
        raise UnmeasuredError("no connection is there all the time; take another window")
    return float(np.mean([abs(_mean_rate(outcome, own, window) - _mean_rate(other, own, window)) for own in groups]))
