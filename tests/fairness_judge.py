"""Judges of fair rates that share nothing with the package: definitions in numpy, and a chain of linear programs."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.optimize import linprog

OVER = 1e-9
"""Relative overload that is rounding."""


def loads_of(problem, rates):
    """Add up the load of each link, and the rate of each connection."""
    hops = np.diff(problem.path_offsets)
    path = np.repeat(np.arange(len(hops)), hops)
    use = np.ones(len(path)) if problem.coefficient is None else np.asarray(problem.coefficient)
    load = np.bincount(problem.path_links, use * rates[path], minlength=len(problem.capacity))
    totals = np.bincount(problem.path_connection, rates, minlength=len(problem.weight))
    return load, totals


def infeasible(problem, rates):
    """Say what cannot be; None if all can."""
    load, totals = loads_of(problem, rates)
    if not (np.isfinite(rates).all() and (rates >= 0).all()):
        return "a rate that is negative or no number"
    scale = problem.capacity[np.isfinite(problem.capacity)].max(initial=0.0)
    limit = np.where(problem.capacity > 0, problem.capacity * (1 + OVER), OVER * scale)
    if (load > limit).any():
        return f"link {int(np.argmax(load - limit))} is overloaded"
    if (totals > problem.demand * (1 + OVER)).any():
        return "a demand is exceeded"
    return None


def unfair_paths(problem, rates, tolerance):
    """Name the paths whose connection could gain more than `tolerance` by taking from larger connections alone.

    A connection gains over a path if on each link of it there is room, or larger connections (by more than the
    tolerance) that carry more there than the tolerance of what the connection could use at its rate.
    """
    load, totals = loads_of(problem, rates)
    level = totals / problem.weight
    on_link = defaultdict(lambda: defaultdict(float))
    uses = []
    for p, c in enumerate(problem.path_connection):
        entries = range(problem.path_offsets[p], problem.path_offsets[p + 1])
        use = 1.0 if problem.coefficient is None else None
        own = [(int(problem.path_links[e]), use if use else float(problem.coefficient[e])) for e in entries]
        uses.append(own)
        for link, a in own:
            on_link[link][int(c)] += a * rates[p]
    unfair = []
    for p, c in enumerate(problem.path_connection):
        if totals[c] >= problem.demand[c] * (1 - tolerance):
            continue
        can_gain = True
        for link, a in uses[p]:
            capacity = problem.capacity[link]
            if not np.isfinite(capacity):
                continue
            larger = sum(carried for d, carried in on_link[link].items() if level[d] * (1 - tolerance) > level[c])
            has_room = load[link] < (1 - tolerance) * capacity
            takes = larger > tolerance * min(capacity, a * totals[c])
            can_gain &= bool(has_room or takes)
        if can_gain:
            unfair.append(p)
    return unfair


def max_min_levels(problem):
    """Find the max-min fair rates of connections by one linear program for each test: slow, and plain.

    Raises the level of all that are free as far as it goes; then asks of each whether it can have more than that while
    the others keep what they have. Those that cannot are held. Rates count in their own connection's most.
    """
    connections, paths = len(problem.weight), len(problem.path_connection)
    use = np.ones(len(problem.path_links)) if problem.coefficient is None else np.asarray(problem.coefficient)
    finite = np.isfinite(problem.capacity)
    matrix = np.zeros((len(problem.capacity), paths))
    for p in range(paths):
        for e in range(problem.path_offsets[p], problem.path_offsets[p + 1]):
            matrix[problem.path_links[e], p] = use[e]
    matrix, capacity = matrix[finite], problem.capacity[finite]
    owner = np.zeros((connections, paths))
    owner[problem.path_connection, np.arange(paths)] = 1.0
    rate, free = np.zeros(connections), np.ones(connections, dtype=bool)
    has_path = owner.sum(axis=1) > 0
    free &= has_path & (problem.demand > 0)
    while free.any():
        level = _highest(matrix, capacity, owner, problem, rate, free, None)
        floor = np.where(free, problem.weight * level, rate)
        sated = free & (problem.demand <= floor * (1 + 1e-9))
        held = sated.copy()
        for c in np.flatnonzero(free & ~sated):
            most = _highest(matrix, capacity, owner, problem, np.minimum(floor, problem.demand), free, c)
            held[c] = most <= floor[c] * (1 + 1e-7)
        if not held.any():
            raise RuntimeError("nobody is held")
        rate[held] = np.minimum(floor, problem.demand)[held]
        free &= ~held
    return rate


def _highest(matrix, capacity, owner, problem, rate, free, alone):
    """Raise the common level of the free, or the rate of one of them, as far as it goes."""
    paths = owner.shape[1]
    if alone is None:
        cost = np.append(np.zeros(paths), -1.0)
        need = np.hstack([-owner, np.where(free, problem.weight, 0.0)[:, None]])
    else:
        cost = np.append(-owner[alone], 0.0)
        need = np.hstack([-owner, np.zeros((len(rate), 1))])
    at_least = np.where(free, 0.0, -rate * (1 - 1e-10)) if alone is None else -rate * (1 - 1e-10)
    wanted = np.isfinite(problem.demand)
    rows = [np.hstack([matrix, np.zeros((len(matrix), 1))]), need, np.hstack([owner, np.zeros((len(rate), 1))])[wanted]]
    limits = [capacity, at_least, problem.demand[wanted]]
    # The level goes no higher than the least demand of the free.
    ceiling = (problem.demand / problem.weight)[free].min()
    bounds = [(0, None)] * paths + [(0, ceiling if np.isfinite(ceiling) else None)]
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, np.vstack(rows), np.concatenate(limits), bounds=bounds, method="highs", options=tight)
    if found.status != 0:
        raise RuntimeError(found.message)
    return -found.fun
