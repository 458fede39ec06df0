"""Water-fillers that go once over the links, and iterate [namyar2024]: approximate, and no program is solved.

A pass begins with infinite rates and goes over the links in the order of the level at which each would fill up on its
own. On each it solves the link alone: subflows that have a lower rate from an earlier link keep it, the others share
what is left in proportion to their claims. Rates only fall, so that no link is overloaded in the end. The demand of a
connection is a link of its own.

    s            such that sum over the subflows p of the link of a_p min(rate_p, s claim_p) = capacity
    rate_p       min(rate_p, s claim_p)

The approximate water-filler makes one pass, with the connection's weight as the claim of each subflow. The adaptive one
makes several: the claims are weight times portion, and each pass takes the portions that the one before came to.

differs: weights and coefficients, which the programs published with the paper have not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from anabranch.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.approximate.entries import Entries, Floats, Numbers

    Progress = Callable[[str, int, int], None]

ALL_MET = 1e-9
"""Demands are met, to this relative accuracy, once all connections are this close to theirs."""

LEAST_PORTION = 1e-12
"""The least that a geometric start gives, so that a long list of paths does not vanish from the beginning."""


def water_filling(entries: Entries) -> Floats:
    """Give max-min fair rates of subflows that are taken for connections of their own; a demand is a link they share.

    Each has the weight of its connection. Exact for the subflows, by progressive filling.
    """
    problem, paths = entries.problem, len(entries.connection)
    limited = np.flatnonzero(np.isfinite(problem.demand))
    shared = np.full(len(problem.demand), -1)
    shared[limited] = len(problem.capacity) + np.arange(len(limited))
    demand = shared[entries.connection]
    has = demand >= 0
    path = np.concatenate([entries.path, np.flatnonzero(has)])
    order = np.argsort(path, kind="stable")
    apart = Problem(
        np.append(problem.capacity, problem.demand[limited]),
        np.append(0, np.cumsum(np.diff(problem.path_offsets) + has)),
        np.concatenate([entries.link, demand[has]])[order],
        np.arange(paths),
        weight=problem.weight[entries.connection],
        coefficient=np.append(entries.use, np.ones(int(has.sum())))[order],
    )
    return apart.core.max_min().path_rates.copy()


def approximate_water_filler(entries: Entries) -> Floats:
    """Give path rates after one pass over the links."""
    return _Passes(entries).advance(entries.problem.weight[entries.connection])


def adaptive_water_filler(
    entries: Entries, start: str | float | Floats, iterations: int, progress: Progress | None
) -> tuple[Floats, int]:
    """Give path rates, and how many passes were made: fewer than asked for if all demands are met."""
    connection, problem = entries.connection, entries.problem
    portions = starting_portions(entries, start)
    passes = _Passes(entries)
    for done in range(1, iterations + 1):
        rates = passes.advance(problem.weight[connection] * portions)
        total = np.bincount(connection, rates, minlength=len(problem.weight))
        if progress is not None:
            progress("passes", done, iterations)
        if np.all(total >= entries.most * (1 - ALL_MET)):
            break
        own = total[connection]
        portions = np.divide(rates, own, out=portions, where=own > 0)
    return rates, done


def starting_portions(entries: Entries, start: str | float | Floats) -> Floats:
    """Give the portions to begin with: equal, geometric by rank, or as given; they sum to 1 for each connection.

    What they are was checked, but for how many there are.
    """
    connection = entries.connection
    if isinstance(start, str):
        given = np.ones(len(connection))
    elif isinstance(start, float):
        given = np.maximum(start ** _rank(connection), LEAST_PORTION)
    else:
        given = start
        if given.shape != connection.shape:
            raise ValueError(f"{given.size} starting portions for {len(connection)} paths; give one for each")
    top = np.zeros(len(entries.most))
    np.maximum.at(top, connection, given)
    scaled = given / top[connection]
    portions: Floats = scaled / np.bincount(connection, scaled, minlength=len(top))[connection]
    return portions


def _rank(connection: Numbers) -> Numbers:
    """Count the paths of each connection from 0, in the order given."""
    order = np.argsort(connection, kind="stable")
    count = np.bincount(connection)
    begin = np.cumsum(count) - count
    rank = np.empty(len(connection), dtype=np.int64)
    rank[order] = np.arange(len(connection)) - np.repeat(begin, count)
    return rank


class _Passes:
    """What stays from pass to pass: the entries by link, the paths by connection."""

    def __init__(self, entries: Entries) -> None:
        problem = entries.problem
        self.entries = entries
        shape = len(entries.connection), len(problem.capacity)
        self.by_link = csr_array((entries.use, entries.link, problem.path_offsets), shape=shape).tocsc()
        self.path = self.by_link.indices.astype(np.intp)
        self.by_connection = np.argsort(entries.connection, kind="stable")
        self.count = np.bincount(entries.connection, minlength=len(problem.weight))
        self.first = np.cumsum(self.count) - self.count
        self.limited = np.isfinite(problem.demand) & (self.count > 0)

    def advance(self, claim: Floats) -> Floats:
        """Fill all links once, from the one of the lowest level on; demands come in between, all at once."""
        entries, connection = self.entries, self.entries.connection
        rates = np.where(claim > 0, np.inf, 0.0)
        slope = claim @ self.by_link
        claims = np.bincount(connection, claim, minlength=len(entries.demand))
        level = np.divide(entries.capacity, slope, out=np.full(len(slope), np.inf), where=slope > 0)
        share = np.divide(entries.demand, claims, out=np.full(len(claims), np.inf), where=self.limited & (claims > 0))
        order, demands = np.argsort(level, kind="stable"), np.argsort(share, kind="stable")
        order, demands = order[np.isfinite(level[order])], demands[np.isfinite(share[demands])]
        met = np.searchsorted(share[demands], level[order], side="right")
        before = 0
        for link, until in zip(order.tolist(), met.tolist(), strict=True):
            if until > before:
                self._meet(demands[before:until], rates, claim)
                before = until
            self._fill(link, rates, claim)
        self._meet(demands[before:], rates, claim)
        return rates

    def _fill(self, link: int, rates: Floats, claim: Floats) -> None:
        """Let the subflows of a link share its capacity."""
        own = slice(self.by_link.indptr[link], self.by_link.indptr[link + 1])
        path, use = self.path[own], self.by_link.data[own]
        capacity = float(self.entries.capacity[link])
        # No dot product: that would wake threads for a few thousand numbers.
        if not (use * rates[path]).sum() > capacity:
            return
        _share(rates, claim, path, use, np.zeros(len(path), dtype=np.int64), np.array([capacity]))

    def _meet(self, connections: Numbers, rates: Floats, claim: Floats) -> None:
        """Let the subflows of each of these connections share its demand."""
        count = self.count[connections]
        begin = np.cumsum(count) - count
        place = np.arange(int(count.sum())) + np.repeat(self.first[connections] - begin, count)
        path = self.by_connection[place]
        demand = self.entries.demand[connections]
        segment = np.repeat(np.arange(len(connections)), count)
        over = np.bincount(segment, rates[path], minlength=len(connections)) > demand
        kept = over[segment]
        path, segment = path[kept], (np.cumsum(over) - 1)[segment[kept]]
        _share(rates, claim, path, np.ones(len(path)), segment, demand[over])


def _share(rates: Floats, claim: Floats, path: Numbers, use: Floats, segment: Numbers, left: Floats) -> None:
    """Lower the rates of the paths in each segment to what it has, in proportion to claims.

    A path with less keeps what it has; the level only rises as such paths are found, so each is found once.
    """
    asked, had = claim[path], rates[path]
    while len(path):
        slope = np.bincount(segment, use * asked, minlength=len(left))
        level = np.divide(left, slope, out=np.zeros_like(left), where=slope > 0)
        offer = level[segment] * asked
        keeps = had < offer
        done = np.bincount(segment, keeps, minlength=len(left)) == 0
        settled = done[segment]
        rates[path[settled]] = offer[settled]
        left = np.maximum(left - np.bincount(segment[keeps], (use * had)[keeps], minlength=len(left)), 0.0)
        rest = ~(settled | keeps)
        path, use, segment, asked, had = path[rest], use[rest], segment[rest], asked[rest], had[rest]
