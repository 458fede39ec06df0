"""Global max-min fair rates over many paths, exactly: a chain of linear programs.

The common level of all connections that are still free is raised as far as it goes; those that hold it back (a
positive price on their constraint: they are held in every optimum) freeze at it, and the next program raises the
others [nace2008, sec. IV]:

    maximise t   subject to   sum x_p a_pl <= c_l  on each link l,
                              sum x_p >= w_c t     for each free connection c,
                              sum x_p >= r_c       for each frozen connection c.

Capacities may lie many powers of ten apart, so each program has units of its own, in which no number is over 1: the
level counts in U, the most that it can come to; a path in the least of its narrowest capacity and what its connection
needs at most (w_c U or r_c); a row in its right side (c_l, w_c U, r_c). All programs have the same shape, so each
starts from the basis of the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import highspy
import numpy as np

from anabranch.errors import ScenarioError, SolverError
from anabranch.solvers.highs import FEASIBILITY, NEGLIGIBLE, NO_LIMIT, Highs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anabranch import _core
    from anabranch.model.problem import Problem

    Floats = NDArray[np.float64]
    Progress = Callable[[str, int, int], None]

PRICE = 1e-6
"""A constraint with a price above this holds the level back; all prices together are at most 1."""

COARSE = 0.1
"""A level below this share of its unit is solved for again in a smaller unit."""

RETREATS = (0.0, 1e-9, 1e-8, 1e-7)
"""The relative amounts by which frozen rates may fall where rounding has made a program infeasible."""

AGREEMENT = 1e-6
"""The rates must be those at which the connections froze, to this relative accuracy."""

WIDE = 1e9
"""Numbers further apart than this are taken to be the reason where the programs fail."""

TRIALS = 200
"""The most units tried for one level."""


def global_max_min(problem: Problem, *, progress: Progress | None = None) -> tuple[Floats, list[_core.Level], int]:
    """Compute the max-min fair rates over all ways to use the paths.

    Returns
    -------
    path_rates : ndarray of float64, shape (paths,)
        In the unit of the problem. The rates of connections are unique; their division among paths need not be.
    levels : list of Level
        Those at which links hold connections, from the lowest on, with the prices of their programs as proof.
    programs : int
        Linear programs solved to find the levels.

    Raises
    ------
    ScenarioError
        Capacities, demands or weights lie so far apart that double precision cannot tell the rates.
    SolverError
        The solver of linear programs failed.
    """
    if len(problem.path_connection) == 0:
        return np.zeros(0), [], 0
    chain = _Chain(problem)
    while chain.free.any():
        chain.advance()
        if progress is not None:
            progress("programs", int((~chain.free).sum()), len(chain.free))
    rates = _fit(problem, chain.divide(), chain.rate)
    totals = np.bincount(problem.path_connection, rates, minlength=len(chain.rate))
    if np.any(np.abs(totals - chain.rate) > AGREEMENT * chain.rate):
        raise _failure(problem)
    return rates, chain.levels, chain.programs


class _Chain:
    """The connections that are free, the rates of those that are frozen, and the programs from one to the next."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = _Model(problem)
        connections = len(problem.weight)
        widest = np.bincount(problem.path_connection, self.model.narrowest, minlength=connections)
        # What a connection cannot exceed, whatever the others do.
        self.most = np.minimum(problem.demand, widest)
        self.free = self.most > 0
        self.rate = np.zeros(connections)
        self.level = 0.0
        self.levels: list[_core.Level] = []
        self.programs = 0

    def advance(self) -> None:
        """Raise the level as far as it goes, and freeze the connections that it has reached or that hold it back."""
        weight, free = self.problem.weight, self.free
        reach = np.where(free, self.most / weight, np.inf)
        ceiling = float(reach.min())
        share, unit, price = self._raise(ceiling)
        self.level = max(self.level, min(share * unit, ceiling))
        sated = free & (reach <= self.level * (1 + FEASIBILITY))
        held = free & ~sated & (price > PRICE)
        if not (sated.any() or held.any()):
            held = free & (price >= price[free].max()) & (price > 0)
            if not held.any():
                raise _failure(self.problem)
        self.rate[sated] = self.most[sated]
        self.rate[held] = (self.level * weight)[held]
        if held.any():
            self.levels.append(self._proved(held, self.model.prices_holding(held)))
        # Who has not all that it asks for, but all that its paths could carry, is held by the narrowest link of each.
        for c in np.flatnonzero(sated & (self.most < self.problem.demand)).tolist():
            self.levels.append(self._proved(np.arange(len(free)) == c, self.model.narrowest_prices(c)))
        self.free = free & ~(sated | held)

    def _proved(self, held: NDArray[np.bool_], prices: Floats) -> _core.Level:
        """Give the level with those that it holds, and the prices of the links, which are its proof."""
        links = np.flatnonzero(prices > 0)
        return self.level, np.flatnonzero(held).astype(np.uint32), links.astype(np.uint32), prices[links]

    def _raise(self, ceiling: float) -> tuple[float, float, Floats]:
        """Find the level: its share of a unit that fits it, the unit, and the price of each connection."""
        unit = ceiling
        for _ in range(TRIALS):
            self.programs += 1
            share, price = self._solve(unit)
            if share >= 1 - FEASIBILITY and unit < ceiling:
                unit = min(4 * unit, ceiling)
            elif share < COARSE and unit > 2 * self.level:
                # A very small share is mostly rounding: go down step by step.
                unit = max(unit * max(4 * share, 1e-5), 2 * self.level)
            else:
                return share, unit, price
        raise _failure(self.problem)

    def _solve(self, unit: float) -> tuple[float, Floats]:
        need = np.where(self.free, self.problem.weight * unit, self.rate)
        for retreat in RETREATS:
            if self.model.solve(need, self.free, retreat):
                return self.model.share, self.model.prices
        raise _failure(self.problem)

    def divide(self) -> Floats:
        """Divide the frozen rates among the paths."""
        self._solve(1.0)
        return self.model.path_rates


class _Model:
    """The linear program of one step; the share of its unit that the level comes to is its last variable."""

    def __init__(self, problem: Problem) -> None:
        paths, connections = len(problem.path_connection), len(problem.weight)
        self.connection = problem.path_connection.astype(np.int64)
        hops = np.diff(problem.path_offsets)
        path = np.repeat(np.arange(paths), hops)
        use = np.ones(len(path)) if problem.coefficient is None else problem.coefficient
        capacity = problem.capacity[problem.path_links]
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.where(use > 0, capacity / use, np.inf)
        self.narrowest = np.full(paths, np.inf)
        np.minimum.at(self.narrowest, path, alone)
        # An infinite or dead link has an empty row: nothing, or the path's own unit, is in its way.
        binding = np.isfinite(alone) & (alone > 0)
        links = len(problem.capacity)
        own = np.arange(paths)
        rows = np.concatenate([problem.path_links[binding].astype(np.int64), links + self.connection])
        columns = np.concatenate([path[binding], own])
        order = np.lexsort((rows, columns))
        self.divisor = np.concatenate([alone[binding], np.ones(paths)])[order]
        self.is_link = (rows < links)[order]
        self.column, self.row = columns[order], rows[order]
        self.capacity = problem.capacity
        level_rows = links + np.arange(connections)
        self.links = links
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = paths + 1, links + connections
        lp.col_cost_ = np.append(np.zeros(paths), 1.0)
        lp.col_lower_ = np.zeros(paths + 1)
        lp.row_upper_ = np.append(np.ones(links), np.full(connections, NO_LIMIT))
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        starts = np.searchsorted(self.column, np.arange(paths + 1))
        lp.a_matrix_.start_ = np.append(starts, len(rows) + connections).astype(np.int32)
        lp.a_matrix_.index_ = np.concatenate([rows[order], level_rows]).astype(np.int32)
        self.lp = lp
        self.solver = Highs()

    def solve(self, need: Floats, free: NDArray[np.bool_], retreat: float) -> bool:
        """Raise the level of the free connections, whose units are their needs; tell whether it is possible.

        `need` is what a connection can use at most, in the unit of the problem; a frozen one gets it, less `retreat`.
        """
        self.need = need
        own = need[self.connection]
        self.unit = np.minimum(self.narrowest, own)
        share = np.divide(self.unit, own, out=np.zeros_like(own), where=own > 0)
        entry = np.where(self.is_link, self.unit[self.column] / self.divisor, share[self.column])
        served = np.bincount(self.connection, share, minlength=len(need)) > 0
        lower = np.where(free, 0.0, np.where(served & (need > 0), 1 - retreat, -NO_LIMIT))
        self.lp.a_matrix_.value_ = np.append(entry, np.where(free, -1.0, 0.0))
        # Room above the need, so that the bound itself holds nothing back; the narrowest capacity really is a bound.
        self.lp.col_upper_ = np.append(np.where(own < self.narrowest, 2.0, 1.0), 1.0)
        self.lp.row_lower_ = np.append(np.full(self.links, -NO_LIMIT), lower)
        return self.solver.solve(self.lp)

    @property
    def share(self) -> float:
        """The level in its unit."""
        return float(self.solver.columns[-1])

    @property
    def prices(self) -> Floats:
        """For each connection, how much of the level one more unit of it costs."""
        prices: Floats = np.abs(self.solver.prices[self.links :])
        return prices

    def prices_holding(self, held: NDArray[np.bool_]) -> Floats:
        """Give what each link charges for a unit of its capacity, so that those held pay what the level row says.

        A path that takes all of its narrowest link may be stopped by its own bound, whose price is that link's. The
        share of a link that is far too narrow to matter is lost in the programs' accuracy; it is made up for there.
        """
        shares = np.abs(self.solver.prices[: self.links])
        bound, extra = np.abs(self.solver.reduced_costs[:-1]), np.zeros(self.links)
        for p in np.flatnonzero((self.solver.columns[:-1] >= 1 - FEASIBILITY) & (bound > 0)).tolist():
            for link, _ in self._narrowest_of(p):
                extra[link] = max(extra[link], bound[p])
        shares += extra
        shares[shares <= FEASIBILITY * shares.max(initial=0.0)] = 0.0
        prices: Floats = np.divide(shares, self.capacity, out=np.zeros_like(shares), where=self.capacity > 0)
        for p in np.flatnonzero(held[self.connection]).tolist():
            c = self.connection[p]
            own = slice(*np.searchsorted(self.column, [p, p + 1]))
            links, alone = self.row[own][self.is_link[own]], self.divisor[own][self.is_link[own]]
            lacking = self.prices[c] / self.need[c] - float((prices[links] * self.capacity[links] / alone).sum())
            if self.narrowest[p] > 0 and lacking > FEASIBILITY * self.prices[c] / self.need[c]:
                for link, most in self._narrowest_of(p):
                    prices[link] += lacking * most / self.capacity[link]
        return prices

    def narrowest_prices(self, connection: int) -> Floats:
        """Give prices by which a unit of a connection's rate costs 1 at the narrowest link of each of its paths."""
        prices: Floats = np.zeros(self.links)
        for p in np.flatnonzero((self.connection == connection) & (self.narrowest > 0)).tolist():
            for link, alone in self._narrowest_of(p):
                prices[link] = max(prices[link], alone / self.capacity[link])
        return prices

    def _narrowest_of(self, path: int) -> list[tuple[int, float]]:
        """Give the narrowest link of a path and what the path could carry there alone, or nothing if none binds it."""
        own = slice(*np.searchsorted(self.column, [path, path + 1]))
        links, alone = self.row[own][self.is_link[own]], self.divisor[own][self.is_link[own]]
        return [(int(links[np.argmin(alone)]), float(alone.min()))] if len(links) else []

    @property
    def path_rates(self) -> Floats:
        """The rates of the paths, in the unit of the problem."""
        used = np.maximum(self.solver.columns[:-1], 0.0)
        rates: Floats = used * self.unit
        return rates


def _fit(problem: Problem, path_rates: Floats, target: Floats) -> Floats:
    """Take away what the accuracy of the programs allows too much, then give out what it leaves unused."""
    connection, links = problem.path_connection, problem.path_links
    hops = np.diff(problem.path_offsets)
    path = np.repeat(np.arange(len(connection)), hops)
    use = np.ones(len(path)) if problem.coefficient is None else problem.coefficient
    capacity = problem.capacity
    totals = np.bincount(connection, path_rates, minlength=len(target))
    excess = np.divide(totals, target, out=np.ones_like(totals), where=target > 0)
    rates: Floats = np.where(target[connection] > 0, path_rates / np.maximum(excess, 1.0)[connection], 0.0)
    load = np.bincount(links, use * rates[path], minlength=len(capacity))
    overload = np.ones(len(rates))
    crossed = np.divide(load, capacity, out=np.ones_like(load), where=capacity > 0)
    np.maximum.at(overload, path, np.where(use > 0, crossed[links], 1.0))
    rates /= overload

    load = np.bincount(links, use * rates[path], minlength=len(capacity))
    spare = np.maximum(capacity - load, 0.0)
    wanted = np.maximum(problem.demand - np.bincount(connection, rates, minlength=len(target)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(use > 0, spare[links] / use, np.inf)
        scale = np.where(use > 0, capacity[links] / use, np.inf)
    most, narrowest = np.full(len(rates), np.inf), np.full(len(rates), np.inf)
    np.minimum.at(most, path, room)
    np.minimum.at(narrowest, path, scale)
    # The connections of the lowest levels first.
    candidates = np.flatnonzero((most > NEGLIGIBLE * narrowest) & (wanted[connection] > 0))
    level = target / problem.weight
    for p in candidates[np.argsort(level[connection[candidates]], kind="stable")].tolist():
        entries = slice(problem.path_offsets[p], problem.path_offsets[p + 1])
        own, c = use[entries], connection[p]
        used = own > 0
        crossing = links[entries][used]
        more = min(float(wanted[c]), float((spare[crossing] / own[used]).min(initial=np.inf)))
        rates[p] += more
        wanted[c] -= more
        spare[crossing] = np.maximum(spare[crossing] - more * own[used], 0.0)
    return rates


def _failure(problem: Problem) -> ScenarioError | SolverError:
    """Say what the trouble is: the range of the numbers, and what would do, or else the solver."""
    numbers = np.concatenate([problem.capacity, problem.demand])
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    span = float(numbers.max() / numbers.min()) if len(numbers) else 1.0
    weights = float(problem.weight.max() / problem.weight.min())
    if max(span, weights) < WIDE:
        return SolverError("the linear programs of max-min fairness did not come to an end, for no reason known to us")
    return ScenarioError(
        f"capacities and demands span a factor of {span:.1g} and weights one of {weights:.1g}: that is more than linear"
        ' programs in double precision can tell apart; leave the smallest links out, or take fairness="upward-max-min"'
    )
