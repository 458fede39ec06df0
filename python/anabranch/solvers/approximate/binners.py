"""Soroush's binners: approximate max-min fair rates by one linear program [namyar2024].

The geometric binner cuts the rate of each connection into bins that grow by a ratio, and pays less for each next one:

    maximise   sum over c and b of e^b f_cb   subject to   capacities,   sum of c's path rates = sum over b of f_cb,
               f_c0 <= w_c U,   f_cb <= w_c U (r^b - r^(b-1)).

A program that pays more for a lower bin fills it first, so that rates rise together, a bin at a time.

The equi-depth binner puts the connections themselves into bins of equal size, in the order of rates that a water-filler
finds. Borders t_b between the bins are variables, and worth falls from bin to bin:

    maximise   sum over c of e^bin(c) rate_c   subject to   capacities and demands,
               w_c t_(b-1) <= rate_c <= w_c t_b   for each connection c in bin b.

Both worths fall to a fixed least one in the last bin, as in the programs published with the paper.

differs: weights, which make levels of rates. The borders of the equi-depth binner give no slack, so that the order of
bins holds strictly; the published program lets rates go over them by a slack that its caller chooses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.solvers.approximate.linear_program import Rows, Shares, Solver
from anabranch.solvers.approximate.swan import level_count
from anabranch.solvers.highs import NO_LIMIT

if TYPE_CHECKING:
    from anabranch.solvers.approximate.entries import Entries, Floats, Numbers

LAST_GEOMETRIC = 1e-6
"""What a rate is worth in the last geometric bin, where it is worth 1 in the first, if nothing else is said."""

LAST_EQUI_DEPTH = 1e-2
"""The same of the equi-depth bins."""


def geometric_binner(entries: Entries, ratio: float, first_level: float, last_worth: float) -> Floats:
    """Give path rates; `last_worth` is what a rate is worth in the last bin."""
    weight, most = entries.problem.weight, entries.most
    shares = Shares(entries, most)
    paths, bins = len(shares.unit), level_count(entries, ratio, first_level)
    borders = np.append(0.0, first_level * ratio ** np.arange(bins))
    # The last border is above all rates. A connection has the bins that begin below the most that it can have.
    own, number = np.nonzero(weight[:, None] * borders[None, :-1] < most[:, None])
    width = np.minimum(weight[own] * borders[number + 1], most[own]) - weight[own] * borders[number]
    worth = width * _falling(bins, last_worth)[number]
    rows = Rows()
    shares.add_links(rows)
    # At least what its bins have; more is worth nothing. With "just as much" rounding may leave no way.
    rows.add(
        np.zeros(len(most)),
        np.full(len(most), NO_LIMIT),
        shares.of_connections(),
        (own, paths + np.arange(len(own)), -width / most[own]),
    )
    worth = np.append(np.zeros(paths), worth / worth.max(initial=1e-300))
    return shares.rates(Solver().solve(rows, worth, np.append(shares.most, np.ones(len(own)))))


def equi_depth_binner(entries: Entries, guide: Floats, bins: int, last_worth: float) -> Floats:
    """Give path rates, with connections in the order of their levels under the path rates that `guide` has."""
    weight, most = entries.problem.weight, entries.most
    level = np.bincount(entries.connection, guide, minlength=len(weight)) / weight
    order = np.flatnonzero(most > 0)
    order = order[np.argsort(level[order], kind="stable")]
    parts = [part for part in np.array_split(order, bins) if len(part)]
    number = np.zeros(len(weight), dtype=np.int64)
    for b, part in enumerate(parts):
        number[part] = b
    shares = Shares(entries, most)
    rows = Rows()
    shares.add_links(rows)
    rows.add(np.zeros(len(most)), np.ones(len(most)), shares.of_connections())
    # Each border counts in the level that the guide has there.
    unit = np.array([max(float(level[part[-1]]), np.finfo(float).tiny) for part in parts[:-1]])
    first = len(shares.unit)
    for b in range(len(unit)):
        _add_border(rows, entries, shares, parts[b], first + b, unit[b], above=False)
        _add_border(rows, entries, shares, parts[b + 1], first + b, unit[b], above=True)
    worth = shares.unit * _falling(len(parts), last_worth)[number[entries.connection]]
    worth = np.append(worth / worth.max(initial=1e-300), np.zeros(len(unit)))
    return shares.rates(Solver().solve(rows, worth, np.append(shares.most, np.full(len(unit), NO_LIMIT))))


def _add_border(
    rows: Rows, entries: Entries, shares: Shares, part: Numbers, border: int, unit: float, *, above: bool
) -> None:
    """Hold the connections of a bin above or below a border, a row for each, in the connection's need."""
    place = np.full(len(entries.most), -1)
    place[part] = np.arange(len(part))
    paths = np.flatnonzero(place[entries.connection] >= 0)
    columns = np.full(len(part), border)
    lower, upper = (0.0, NO_LIMIT) if above else (-NO_LIMIT, 0.0)
    rows.add(
        np.full(len(part), lower),
        np.full(len(part), upper),
        (place[entries.connection[paths]], paths, shares.of_need[paths]),
        (np.arange(len(part)), columns, -unit * entries.problem.weight[part] / entries.most[part]),
    )


def _falling(bins: int, last: float) -> Floats:
    """Give the worth of a rate in each bin, from 1 down to the last, each the same part of the one before."""
    worth: Floats = last ** (np.arange(bins) / max(bins - 1, 1))
    return worth
