"""Measures of how connections share: shares, the factor of NMCC, groups of paths, and scores over several runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.model.paths import groups
from anabranch.reproduce.measures.lookup import CONNECTION, CONNECTIONS, connections_of, paths_of
from anabranch.reproduce.measures.means import average_rate, mean_rate
from anabranch.reproduce.measures.registry import AnotherRun, Subject, UnmeasuredError, measure, other_runs
from anabranch.reproduce.measures.transfers import lost, transfer_rate
from anabranch.reproduce.measures.windows import mean_rtt
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.measures.registry import Among, Window
    from anabranch.reproduce.outcomes.kinds import Simulated

Aimed = tuple[list["Named"], float]
"""Connections, and the share that they should have."""

SEVERAL = other_runs(SIMULATED)


def _aimed(run: Simulated, text: str) -> Aimed:
    pattern, _, aim = text.rpartition(" ")
    try:
        return connections_of(run, pattern.strip()), float(aim)
    except ValueError:
        raise ScenarioError("it is of connections and a share; name both, such as `c* 0.75`") from None


@measure("share", of=CONNECTIONS, unit="of all", runs=SIMULATED, windowed=True)
def share(run: Simulated, connections: Sequence[Named], window_s: Window) -> float:
    """Give the rate of the connections by that of all, of what was delivered in the window."""
    own = [path for one in connections for path in paths_of(run.paths, one)]
    every = mean_rate(run, list(range(len(run.paths))), window_s)
    if every <= 0.0:
        raise UnmeasuredError("nothing was delivered in the window; take another time")
    return mean_rate(run, own, window_s) / every


@measure("share-distance", of=Subject("connection or pattern, and a share", _aimed), unit="", runs=SIMULATED)
def share_distance(run: Simulated, aimed: Aimed) -> float:
    """Give how far the share of the connections is from this share."""
    connections, aim = aimed
    return abs(share(run, connections, (0.0, np.inf)) - aim)


@measure("transfer-share", of=CONNECTIONS, unit="of all", runs=SIMULATED)
def transfer_share(run: Simulated, connections: Sequence[Named]) -> float:
    """Give the rate of the connections by the sum of all, each from its start until its amount has arrived."""
    return transfer_rate(run, list(connections)) / transfer_rate(run, connections_of(run, "*"))


@measure("shortfall", of=AnotherRun(SIMULATED), unit="%", runs=SIMULATED, windowed=True)
def shortfall(run: Simulated, other: Simulated, window_s: Window) -> float:
    """Give by how many per cent all connections of the run deliver less than all of the other run."""
    own, most = (mean_rate(one, list(range(len(one.paths))), window_s) for one in (run, other))
    return 100.0 * (1.0 - own / most)


@measure("friendliness-factor", of=CONNECTION, unit="", runs=SIMULATED, windowed=True)
def friendliness_factor(run: Simulated, connection: Named, window_s: Window) -> float:
    """Give m of NMCC, from the mean round trips of the subflows: least round trip by each, summed [thomas2016, eq. 2].

    Only if `windows` are recorded.
    """
    rtts = [mean_rtt(run, path, window_s) for path in paths_of(run.paths, connection)]
    return min(rtts) * sum(1.0 / rtt for rtt in rtts)


@measure("path-groups", of=CONNECTION, unit="groups", runs=SIMULATED)
def path_groups(run: Simulated, connection: Named) -> float:
    """Give the number of groups of the connection's paths, where paths of a group share links [thomas2016, IV-A]."""
    own = groups(run.paths)[paths_of(run.paths, connection)]
    return float(len(np.unique(own)))


@measure("less-lost", of=SEVERAL, unit="%", runs=SIMULATED, windowed=True)
def less_lost(run: Simulated, among: Among[Simulated], _window_s: Window) -> float:
    """Give by how many per cent the first connections lose less than the second, as a mean over the runs."""
    pairs = _lists_in_each(run, among, 2)
    return 100.0 * float(np.mean([1.0 - lost(one, first) / lost(one, second) for one, (first, second) in pairs]))


@measure("score-spread", of=SEVERAL, unit="", runs=SIMULATED, windowed=True)
def score_spread(run: Simulated, among: Among[Simulated], window_s: Window) -> float:
    """Give the standard deviation, over the runs, of the rate of the first connections by that of the second."""
    return float(np.std(_scores(run, among, window_s), axis=0)[0])


@measure("runs-closer", of=SEVERAL, unit="runs", runs=SIMULATED, windowed=True)
def runs_closer(run: Simulated, among: Among[Simulated], window_s: Window) -> float:
    """Give the number of runs in which the first connections are nearer to the rate of the third than the second."""
    off = np.abs(_scores(run, among, window_s) - 1.0)
    return float((off[:, 0] < off[:, 1]).sum())


def _scores(run: Simulated, among: Among[Simulated], window_s: Window) -> NDArray[np.float64]:
    """Give for each run the mean rates of all patterns but the last, by that of the last."""
    rates = [
        [average_rate(one, connections, window_s) for connections in lists]
        for one, lists in _lists_in_each(run, among, len(among.words))
    ]
    found: NDArray[np.float64] = np.array(rates)
    return np.divide(found[:, :-1], found[:, -1:])


def _lists_in_each(run: Simulated, among: Among[Simulated], count: int) -> list[tuple[Simulated, list[list[Named]]]]:
    """Give each run with the connections that each pattern stands for in it."""
    if len(among.words) != count or count < 2:
        raise ScenarioError("it compares connections; name those of each side, such as `a-* b-* with run-2 run-3`")
    return [(one, [connections_of(one, words) for words in among.words]) for one in (run, *among.others)]
