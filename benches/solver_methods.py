"""The solvers that are put beside each other: a name each, and what gives its path rates, step by step."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.solvers.approximate.methods import approximate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    import anabranch as ab

TOLERANCES = (1e-2, 1e-3)
"""To which c-SLEN goes on, one after the other."""

BUDGET_S = 20.0
"""CPU time after which c-SLEN gives up."""

EXACT = "dual-simplex"
"""The method whose rates are the reference of all others."""


@dataclass(frozen=True)
class Found:
    """What a method gives: its name with all that was chosen, path rates, passes, and whether it came to its end."""

    method: str
    path_rates: NDArray[np.float64]
    passes: int
    is_done: bool = True


def max_min(problem: ab.Problem) -> Iterator[Found]:
    solver = _core.global_max_min(problem.core)
    while not solver.run(1_000):
        pass
    answer = solver.finish()
    yield Found(EXACT, answer.path_rates, answer.exchanges)


def proportional(problem: ab.Problem) -> Iterator[Found]:
    answer = _core.alpha_fair(problem.core, 1.0)
    yield Found("proportional", answer.path_rates, answer.steps)


def c_slen(start: str | float, tolerances: tuple[float, ...] = TOLERANCES) -> Callable[[ab.Problem], Iterator[Found]]:
    """c-SLEN from these portions to each tolerance; none after one that the budget does not allow."""

    def solve(problem: ab.Problem) -> Iterator[Found]:
        solver = _core.c_slen(problem.core, start)
        began = time.process_time()
        for tolerance in tolerances:
            is_done = False
            while not is_done and time.process_time() - began < BUDGET_S:
                is_done = solver.run("certificate", tolerance, solver.passes + 10)
            name = f"c-SLEN from {start} to {tolerance:g}"
            yield Found(name, solver.allocation(is_done, tolerance).path_rates, solver.passes, is_done)
            if not is_done:
                return

    return solve


def approximation(method: str, start: str | float = "equal") -> Callable[[ab.Problem], Iterator[Found]]:
    def solve(problem: ab.Problem) -> Iterator[Found]:
        rates, passes = approximate(problem, method, {}, start=start)
        yield Found(method if start == "equal" else f"{method} from {start}", rates, passes)

    return solve


METHODS: dict[str, Callable[[ab.Problem], Iterator[Found]]] = {
    EXACT: max_min,
    "c-SLEN from equal": c_slen("equal"),
    "c-SLEN from 0.3": c_slen(0.3),
    "swan": approximation("swan"),
    "geometric-binner": approximation("geometric-binner"),
    "equi-depth-binner": approximation("equi-depth-binner"),
    "equi-depth-binner from 0.3": approximation("equi-depth-binner", 0.3),
    "adaptive-water-filler from 0.9": approximation("adaptive-water-filler", 0.9),
    "adaptive-water-filler from 0.3": approximation("adaptive-water-filler", 0.3),
    "approximate-water-filler": approximation("approximate-water-filler"),
    "water-filling": approximation("water-filling"),
    "proportional": proportional,
}
