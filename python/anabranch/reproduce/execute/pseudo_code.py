"""c-SLEN by its pseudo-code, line by line, with its defect or without: for checks only, never for answers.

[ludena2021, function 2, line 3] subtracts from a link's capacity the rates of the subflows that are already saturated
elsewhere, N[l]. But function 1, line 14, adds ``z P[f]`` to rates that hold the increments of earlier rounds, so the
unsaturated subflows have used capacity too. The words below the listing have it right: "remaining (not already
assigned to any subflow) capacity". As printed, links are oversaturated and the outer loop never stops::

    as printed   S[l] = (capacity - sum of T_f over N[l]) / sum of P over R[l]
    as meant     S[l] = (capacity - sum of T_f over F(l)) / sum of P over R[l]

F(l): all subflows on the link; R[l]: those not yet saturated; N[l] = F(l) without R[l]. Solvers: `anabranch.solve`,
which is another implementation (crates/fair); this one counts rounds and shares nothing with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.model.problem import Problem

Reading = Literal["as-printed", "as-meant"]

TIES = 1e-12
"""Saturation levels this close are equal (function 1, line 16, in floating point); relative."""


@dataclass(frozen=True)
class PseudoRun:
    """What the pseudo-code gave: rates, and how often its loops went round."""

    path_rates: NDArray[np.float64]
    passes: int
    steps: int
    converged: bool


def run_pseudo_code(problem: Problem, *, reading: Reading, stop_change: float, most: int) -> PseudoRun:
    """Run algorithm 1 of [ludena2021].

    Parameters
    ----------
    reading : {"as-printed", "as-meant"}
        Of function 2, line 3.
    stop_change : float
        Stop when no connection's rate changed by this much in a pass; in the unit of the problem.
    most : int
        Passes after which to give up.

    Raises
    ------
    ValueError
        A demand, weight or coefficient: the paper's algorithm has none.
    """
    if np.isfinite(problem.demand).any() or (problem.weight != 1.0).any() or problem.coefficient is not None:
        raise ValueError("the problem has demands, weights or coefficients; the pseudo-code knows none, so use solve")
    connection = problem.path_connection
    count = problem.core.connections
    crosses = _crosses(problem)
    portions = 1.0 / np.bincount(connection, minlength=count)[connection]
    rates, before, steps = np.zeros(len(connection)), np.zeros(count, dtype=np.float64), 0
    for done in range(1, most + 1):
        rates, rounds = _connection_rates(problem, crosses, portions, reading)
        steps += rounds
        totals = problem.core.sum_by_connection(rates)
        portions = rates / totals[connection]
        if np.abs(totals - before).max() < stop_change:
            return PseudoRun(rates, done, steps, converged=True)
        before = totals
    return PseudoRun(rates, most, steps, converged=False)


def _crosses(problem: Problem) -> NDArray[np.bool_]:
    """Tell for each link and path whether the path crosses the link."""
    crosses = np.zeros((len(problem.capacity), len(problem.path_connection)), dtype=bool)
    path = np.repeat(np.arange(crosses.shape[1]), np.diff(problem.path_offsets))
    crosses[problem.path_links, path] = True
    return crosses


def _connection_rates(
    problem: Problem, crosses: NDArray[np.bool_], portions: NDArray[np.float64], reading: Reading
) -> tuple[NDArray[np.float64], int]:
    """Give subflow rates from portions, and the rounds it took: function 1."""
    portions = portions.copy()
    saturated = portions == 0.0
    rates = np.zeros(len(portions))
    rounds = 0
    while not saturated.all():
        restricted = crosses & ~saturated
        open_links = np.flatnonzero(restricted.any(axis=1))
        # Function 2: here the readings part.
        subtracted = (crosses & saturated) if reading == "as-printed" else crosses
        left = problem.capacity[open_links] - subtracted[open_links] @ rates
        levels = left / (restricted[open_links] @ portions)
        level = levels.min()
        rates[~saturated] += level * portions[~saturated]
        full = open_links[levels <= level + TIES * abs(level)]
        saturated |= crosses[full].any(axis=0)
        # Function 3.
        portions[saturated] = 0.0
        sums = np.bincount(problem.path_connection, portions)[problem.path_connection]
        portions = np.divide(portions, sums, out=np.zeros_like(portions), where=sums > 0.0)
        rounds += 1
    return rates, rounds
