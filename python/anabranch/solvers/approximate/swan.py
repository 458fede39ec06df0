"""SWAN's approximate max-min fair rates: levels that grow by a ratio, a linear program for each [hong2013].

    k = 0, 1, ...   maximise sum of all rates   subject to   capacities,
                        w_c U r^(k-1) <= rate of c <= min(demand_c, w_c U r^k)   for each free connection c,
                        rate of c = what it froze at                             for the others;
                    freeze every connection that is short of w_c U r^k.

A connection that freezes in step k is between w_c U r^(k-1) and w_c U r^k. The literature takes the outcome to be
within a factor of r of max-min fair rates. Mostly it is; but what freezes low leaves room, and others may take it in
later steps: on random problems we met rates 10 % beyond that factor. Below the level U nothing is promised.

Written after the program published with [namyar2024], which has a first step without a lower bound, in which rates up
to U are found. differs: weights, which make levels of rates; and no preference for short paths among equals.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anabranch.solvers.approximate.linear_program import Rows, Shares, Solver

if TYPE_CHECKING:
    from anabranch.solvers.approximate.entries import Entries, Floats
    from anabranch.solvers.task import Progress

SLACK = 1e-7
"""The relative amount by which earlier rates of connections may fall because of rounding."""

REACHED = 1e-6
"""A rate this close to its bound, relatively, has reached it."""


def swan(entries: Entries, ratio: float, first_level: float, progress: Progress | None) -> tuple[Floats, int]:
    """Give path rates, and how many linear programs that took."""
    weight = entries.problem.weight
    solver = Solver()
    free = entries.most > 0
    rate, path_rates = np.zeros(len(weight)), np.zeros(len(entries.connection))
    programs, level = 0, first_level
    while free.any():
        bound = np.where(free, np.minimum(entries.most, weight * level), rate)
        # Made fit each time, so that what connections have is possible in the next program.
        path_rates = entries.fit(_step(solver, entries, bound, rate))
        programs += 1
        rate = np.bincount(entries.connection, path_rates, minlength=len(weight)).astype(float)
        free &= (rate >= bound * (1 - REACHED)) & (bound < entries.most)
        level *= ratio
        if progress is not None:
            progress("programs", int((~free).sum()), len(free))
    return path_rates, programs


def _step(solver: Solver, entries: Entries, bound: Floats, least: Floats) -> Floats:
    """Maximise the sum of all rates, each between the least and its bound."""
    shares = Shares(entries, bound)
    rows = Rows()
    shares.add_links(rows)
    lower = np.divide(least, bound, out=np.zeros_like(least), where=bound > 0) * (1 - SLACK)
    rows.add(lower, np.ones(len(bound)), shares.of_connections())
    worth = shares.unit / shares.unit.max()
    return shares.rates(solver.solve(rows, worth, shares.most))


def level_count(entries: Entries, ratio: float, first_level: float) -> int:
    """Count the levels from the first to one that no connection can exceed."""
    top = float((entries.most / entries.problem.weight).max(initial=0.0))
    return 1 + max(0, math.ceil(math.log(top / first_level) / math.log(ratio))) if top > 0 else 1


def lowest_level(entries: Entries) -> float:
    """Give a level that all connections can have together, on any of their paths: the narrowest path among all.

    With equal capacities this is capacity by connections, the least that the programs published with [namyar2024] use.
    """
    alive = entries.most > 0
    narrow = np.where(alive[entries.connection] & (entries.narrowest > 0), entries.narrowest, np.inf)
    least = float(narrow.min(initial=np.inf)) / float(entries.problem.weight[alive].sum() or 1.0)
    if np.isfinite(least):
        return least
    # No link limits anything: all get their demands.
    return float((entries.most[alive] / entries.problem.weight[alive]).max(initial=1.0))
