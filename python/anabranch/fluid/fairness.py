"""Which fairness loops come to: theorems 8.3 and 8.4, and logarithmic proportional fairness.

All of it is from [teymoori2023, sec. VIII-C].

**Theorem 8.3.** Loops that are aggregated, with weights equal to the number of sources in each, give max-min fair rates
to the sources: `aggregated_weights` for `Loops`, a scheduler for the weights, and `problem_behind` for the solvers. It
does so where the last link is the bottleneck, which the equations take for granted. A link with less before it marks
the loop besides what is marked at the last one, and the loop may get less than is fair.

**Theorem 8.4.** One by one, hop by hop, a scheduler whose weights are inverse to the cost so far, ``-log(1 - p)`` with
p the probability of a mark on the way up to and with its own queue, gives proportionally fair rates: the last link with
a cost grants a connection ``unit / cost``, and the loops before it are held back to that. `proportional_chains` takes
that grant for the rate and has Dual1 at the links: it says that prices find the costs, not that senders find the rates.

LGCC senders at every hop, with these weights on what a link can carry, send less than is granted: marks of each loop
count at it once more. So rates of sources are proportionally fair the nearer the less is marked: on the networks of the
tests within 13 % with a tenth of the least capacity as ``unit``, within 1.3 % with a hundredth, and so on.

differs: the paper counts the queues before the scheduler only. A connection without a mark so far would have an
infinite weight there, and so would each at its first link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import one_for_each, positive
from anabranch.fluid.incidence import incidence
from anabranch.fluid.loops import LAST
from anabranch.fluid.prices import slowed
from anabranch.fluid.senders import MOST_MARKED
from anabranch.fluid.trajectory import Trajectory, checked_times, follow
from anabranch.model.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anabranch.fluid.loops import Loops


def aggregated_weights(loops: Loops) -> NDArray[np.float64]:
    """Give the number of sources whose data each loop carries: 1 for a source's own first loop."""
    sources = np.where(np.isin(np.arange(len(loops.onward)), loops.onward), 0.0, 1.0)
    for level, _ in reversed(loops.order):
        for loop in level[loops.onward[level] != LAST].tolist():
            sources[loops.onward[loop]] += sources[loop]
    return sources


def problem_behind(loops: Loops) -> Problem:
    """Give what the sources share, for the solvers: a connection for each, over all links with a capacity on its way.

    Returns
    -------
    Problem
        Connections in the order of the loops that nothing goes on into; the links with a finite capacity in order.
    """
    real = np.flatnonzero(np.isfinite(loops.capacity))
    number = {link: n for n, link in enumerate(real.tolist())}
    offsets, path_links = [0], []
    for source in np.flatnonzero(~np.isin(np.arange(len(loops.onward)), loops.onward)).tolist():
        loop = source
        while loop != LAST:
            path_links += [number[link] for link in np.flatnonzero(loops.crosses[loop]).tolist() if link in number]
            loop = int(loops.onward[loop])
        offsets.append(len(path_links))
    return Problem(loops.capacity[real], offsets, path_links, list(range(len(offsets) - 1)))


def proportional_chains(
    problem: Problem, times: ArrayLike, *, beta: float = 1.0, unit: float | None = None, marked: ArrayLike = 0.5
) -> Trajectory:
    """Follow connections that are chained flow by flow, with weights inverse to their costs.

    ```text
    x = min(unit weight / cost, c of its links),   cost = -log(1 - p) summed over its links,   p' = beta (y - c) / c
    ```

    Parameters
    ----------
    problem : Problem
        One path for each connection.
    times : array_like of float, shape (times,)
        Increasing, in the unit that `beta` is by.
    beta : float
    unit : float, optional
        Rate of a connection whose cost is 1, in the unit of the capacities; a tenth of the least capacity if not given.
        The less it is, the less is marked.
    marked : array_like of float, shape () or (links,)
        Marking probabilities at first, from 0 to 0.999.

    Returns
    -------
    Trajectory
        Rates of the connections, and marking probabilities.
    """
    over = incidence(problem)
    if len(over.connection) != len(np.unique(over.connection)):
        raise ValueError("a connection has several paths; give one for each, since loops follow each other on one")
    scale = float(positive("unit", over.capacity.min() / 10.0 if unit is None else unit))
    first = one_for_each("marked", marked, len(over.capacity), "links")
    if not ((first >= 0.0) & (first <= MOST_MARKED)).all():
        raise ValueError(f"marked has {first.max():g} or less than 0; it must be from 0 to {MOST_MARKED:g}")
    gain, least = positive("beta", beta), over.least_capacity

    def rates_at(marks: NDArray[np.float64]) -> NDArray[np.float64]:
        cost = -np.log1p(-np.clip(marks, 0.0, MOST_MARKED)) @ over.uses
        return np.asarray(np.minimum(scale * over.weight / np.maximum(cost, 1e-12), least))

    def slope(_: float, marks: NDArray[np.float64]) -> NDArray[np.float64]:
        return slowed(marks, gain * (over.uses @ rates_at(marks) / over.capacity - 1.0), MOST_MARKED, 1.0)

    time = checked_times(times)
    marks = np.clip(follow(slope, first, time), 0.0, MOST_MARKED)
    return Trajectory(time, np.array([rates_at(row) for row in marks]), marks)


def logarithmic_gain(best: ArrayLike, other: ArrayLike) -> float:
    """Give the left side of logarithmic proportional fairness [teymoori2023, eq. 24].

    Parameters
    ----------
    best : array_like of float
        Normalised rates, over 0 and at most 1, that may be fair.
    other : array_like of float
        Any other rates that are feasible; the same shape.

    Returns
    -------
    float
        The sum of ``-log(best) (other - best)``: 0 or less for all `other` if `best` is fair.
    """
    fair, rates = positive("best", best), np.asarray(other, dtype=np.float64)
    if fair.shape != rates.shape:
        raise ValueError(f"other has shape {rates.shape}; it must have that of best, {fair.shape}")
    return float((-np.log(fair) * (rates - fair)).sum())
