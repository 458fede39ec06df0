"""Control loops and how they join: chains, aggregation trees, and any other arrangement without a cycle.

A **loop** is a part of a connection's way on which a rate of its own is set: x with two indices in [teymoori2023]. It
crosses links, and goes on into another loop, or ends at the destination. What the loop that it goes on into sends is
its carrying capacity, or the least capacity of the links it crosses, if that is less:

```text
k = min(x of the loop it goes on into, c of the links it crosses)                      [teymoori2023, eq. 10]
```

A link without a capacity of its own is the virtual queue of the receivers at a loop's beginning: it drains at the rate
of the loop that those which cross it go on into. So several loops are aggregated into one where they cross such a link,
and where each goes on into one of its own they are chained flow by flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import count, one_for_each, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

LAST = -1
"""In place of the loop that it goes on into: the loop ends at the destination."""


class Loops:
    """Loops, the links that they cross, and the loops that they continue into; checked when made.

    Parameters
    ----------
    links : sequence of sequences of int
        Of each loop the links that it crosses, numbered from 0.
    onward : sequence of int, shape (loops,)
        Of each loop the one that it goes on into, or -1.
    capacity : array_like of float, shape (links,)
        In any unit, rates are in the same; infinite for a virtual queue.
    weight : array_like of float, shape (loops,)
        Claims of loops relative to others that cross the same links, such as the number of connections in each.

    Attributes
    ----------
    crosses : ndarray of bool, shape (loops, links)
    onward : ndarray of int64, shape (loops,)
    capacity : ndarray of float64, shape (links,)
    weight : ndarray of float64, shape (loops,)
    outlet : ndarray of int64, shape (links,)
        The loop at whose rate a virtual queue drains; -1 for links with a capacity.
    order : list of (ndarray of int64, ndarray of int64)
        Loops and links in levels, the last loops first: those of a level depend on the levels before it only.

    Raises
    ------
    ValueError
        What is wrong, and what would do.
    """

    def __init__(
        self,
        links: Sequence[Sequence[int]],
        onward: Sequence[int],
        capacity: ArrayLike,
        weight: ArrayLike = 1.0,
    ) -> None:
        self.capacity = np.atleast_1d(positive("capacity", capacity, infinite=True))
        if self.capacity.ndim != 1:
            raise ValueError(f"capacity has {self.capacity.ndim} axes; it must have one, a number for each link")
        if not links:
            raise ValueError("there are no loops; give the links of one or more")
        self.weight = one_for_each("weight", positive("weight", weight), len(links), "loops")
        self.crosses = np.zeros((len(links), len(self.capacity)), dtype=bool)
        for loop, own in enumerate(links):
            self._cross(loop, own)
        self.onward = self._checked_onward(onward)
        self.outlet = np.array([self._drain_of(link) for link in range(len(self.capacity))], dtype=np.int64)
        self.order = self._levels()
        own_limit = np.where(self.crosses, self.capacity, np.inf).min(axis=1)
        self.own_limit = own_limit
        """The least capacity of the links that each loop crosses."""
        unlimited = np.flatnonzero(np.isinf(own_limit) & (self.onward == LAST))
        if unlimited.size:
            raise ValueError(
                f"loop {unlimited[0]} ends at the destination, and no link limits it; give a link it crosses a capacity"
            )

    def _cross(self, loop: int, own: Sequence[int]) -> None:
        known = range(len(self.capacity))
        unknown = next((link for link in own if link not in known), None)
        if unknown is not None or not len(own):
            what = "no link" if unknown is None else f"link {unknown}"
            raise ValueError(f"loop {loop} crosses {what}; it must cross one or more of 0 to {len(known) - 1}")
        self.crosses[loop, list(own)] = True

    def _checked_onward(self, onward: Sequence[int]) -> NDArray[np.int64]:
        loops = len(self.crosses)
        array = np.asarray(onward)
        if array.shape != (loops,) or array.dtype.kind not in "iu":
            raise ValueError(f"onward has shape {array.shape}; it must have a whole number for each of {loops} loops")
        wrong = np.flatnonzero((array < LAST) | (array >= loops))
        if wrong.size:
            raise ValueError(
                f"loop {wrong[0]} goes on into {array[wrong[0]]}; it must be one of 0 to {loops - 1}, or -1 at the end"
            )
        return array.astype(np.int64)

    def _drain_of(self, link: int) -> int:
        users = np.flatnonzero(self.crosses[:, link])
        if not users.size:
            raise ValueError(f"link {link} is crossed by no loop; leave it out")
        if np.isfinite(self.capacity[link]):
            return LAST
        outlets = np.unique(self.onward[users])
        if len(outlets) > 1 or outlets[0] == LAST:
            raise ValueError(
                f"link {link} has no capacity, and its loops go on into {outlets.tolist()};"
                " let them go on into one loop, or give it a capacity"
            )
        return int(outlets[0])

    def _levels(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        level = np.where(self.onward == LAST, 0, -1)
        while (level < 0).any():
            ready = np.flatnonzero((level < 0) & (level[self.onward] >= 0))
            if not ready.size:
                raise ValueError(f"loop {np.flatnonzero(level < 0)[0]} never ends: it goes on into itself in a circle")
            level[ready] = level[self.onward[ready]] + 1
        of_link = np.where(self.crosses, level[:, None], len(level)).min(axis=0)
        return [(np.flatnonzero(level == n), np.flatnonzero(of_link == n)) for n in range(int(level.max()) + 1)]

    def with_capacity(self, capacity: ArrayLike) -> Loops:
        """Give these loops with other capacities of links."""
        links = [np.flatnonzero(own).tolist() for own in self.crosses]
        return Loops(links, self.onward.tolist(), capacity, self.weight)

    def __repr__(self) -> str:
        return f"<Loops {len(self.onward)} loops, {len(self.capacity)} links, {len(self.order)} in a row>"


def one_link(loops: int, capacity: float = 1.0, weight: ArrayLike = 1.0) -> Loops:
    """Make loops that share one link [teymoori2023, sec. V]."""
    return Loops([[0]] * count("loops", loops), [LAST] * loops, [capacity], weight)


def chain(length: int, sharing: int = 1, capacity: float = 1.0) -> Loops:
    """Make a chain: on each link a number of loops, which are aggregated into one loop of the next link.

    Parameters
    ----------
    length : int
        Loops in a row. Those with the numbers 0 to ``length - 1`` lead from the source to the last link; the others
        share their links.
    sharing : int
        Loops at each link. 1 and 2 are scenarios 1 and 2 [teymoori2023, fig. 7]. There source 1 is the only one in the
        first loop; differs: it shares that too, as the printed shares have it.
    capacity : float
        Of the last link; the others are virtual queues.
    """
    row, more = range(count("length", length)), count("sharing", sharing) - 1
    links = [[n] for n in row] + [[n] for n in row for _ in range(more)]
    after = [*range(1, length), LAST]
    return Loops(links, after + [after[n] for n in row for _ in range(more)], [np.inf] * (length - 1) + [capacity])


def tree(breadth: int, depth: int, capacity: float = 1.0) -> Loops:
    """Make an aggregation tree [teymoori2023, fig. 11].

    Parameters
    ----------
    breadth : int
        Loops that meet at each node, zeta in the paper.
    depth : int
        Loops in a row, delta in the paper.
    capacity : float
        Of the last link, K in the paper; the others are virtual queues.

    Returns
    -------
    Loops
        The last ones first: ``breadth`` of them, then the ``breadth`` that each of these continues, and so on.
    """
    count("breadth", breadth), count("depth", depth)
    links, onward, last = [[0]] * breadth, [LAST] * breadth, list(range(breadth))
    links_made = 1
    for _ in range(depth - 1):
        first = len(onward)
        for loop in last:
            links = links + [[links_made]] * breadth
            onward += [loop] * breadth
            links_made += 1
        last = list(range(first, len(onward)))
    return Loops(links, onward, [capacity] + [np.inf] * (links_made - 1))


def row_of_links(links: int, capacity: float = 1.0) -> Loops:
    """Make a loop over several links, and for each link a loop that crosses it alone [teymoori2023, sec. VIII-C]."""
    each = range(count("links", links))
    return Loops([list(each), *([link] for link in each)], [LAST] * (links + 1), [capacity] * links)
