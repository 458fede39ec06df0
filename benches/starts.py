"""Compare the starting portions of c-SLEN: passes to 0.01, and how near to exact max-min; prints a Markdown table.

Arguments: names of instances of ../shared/data/te; those below if none are given.
"""

import sys
import time

import numpy as np
from solver_case import THETA
from solver_methods import BUDGET_S, Found, c_slen, max_min
from upward_max_min import INSTANCES, print_table, read_problem

import anabranch as ab
from anabranch.allocation.comparison import compare_rates

NAMES = ("b4_k8", "uninett_k16_s640", "uninett_k16")
DEMANDS = ("gravity", "uniform")
STARTS = ("equal", 0.9, 0.7, 0.5, 0.3, 0.1)


def rates_of(problem: ab.Problem, found: Found) -> np.ndarray:
    return problem.core.sum_by_connection(found.path_rates)


def try_start(problem: ab.Problem, start: str | float, exact: np.ndarray) -> str:
    began = time.process_time()
    (found,) = c_slen(start, (1e-2,))(problem)
    seconds = time.process_time() - began
    near = compare_rates(rates_of(problem, found), exact, THETA * float(np.median(problem.capacity)))
    passes = f"{found.passes:,}" if found.is_done else f"> {found.passes:,} in {BUDGET_S:.0f} s"
    return f"{start} | {passes} | {seconds:.3g} | {near.q:.3f} | {near.total:.3f} | {near.worst:.3f}"


def main() -> None:
    if not INSTANCES.exists():
        print(f"nothing to compare: {INSTANCES} is absent")
        return
    for name in sys.argv[1:] or NAMES:
        for demands in DEMANDS:
            problem = read_problem(name, demands)
            (exact,) = (rates_of(problem, found) for found in max_min(problem))
            headings = (f"{name}, {demands}: start", "passes", "CPU s", "q", "total", "worst")
            print_table(headings, (try_start(problem, start, exact) for start in STARTS))


if __name__ == "__main__":
    main()
