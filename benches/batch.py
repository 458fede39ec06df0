"""Time many cases on one thread and on two, on instances of ../shared/data/te; prints a Markdown table.

Arguments: kinds of fairness; those below if none are given.
"""

import os
import sys
import time

import numpy as np
from upward_max_min import INSTANCES, print_table, read_problem

import anabranch as ab

FAIRNESS = ("upward-max-min", "max-min", "proportional")
MATRICES, FAILURES = 24, 100
THREADS = (1, 2)
ROUNDS = 2
"""So often each is timed; the least counts."""


def hours() -> list[ab.Case]:
    """The demands of a day on a network of 640 connections: they swing by half, each connection in its own time."""
    problem = read_problem("uninett_k16_s640")
    shift = np.random.default_rng(1).uniform(0, 2 * np.pi, len(problem.demand))
    swing = [1 + 0.5 * np.sin(2 * np.pi * hour / MATRICES + shift) for hour in range(MATRICES)]
    return [ab.Case(f"{hour} h", problem.changed(demand=problem.demand * swing[hour])) for hour in range(MATRICES)]


def failures() -> list[ab.Case]:
    """Each of 38 links fails alone, then pairs of them, until there are enough."""
    problem = read_problem("b4_k8")
    links = problem.core.links
    pairs = [(a, b) for step in range(links) for a in range(links) if (b := (a + step) % links) >= a]
    cases = []
    for pair in pairs[:FAILURES]:
        capacity = problem.capacity.copy()
        capacity[list(pair)] = 0.0
        cases.append(ab.Case(str(pair), problem.changed(capacity=capacity)))
    return cases


def wall(cases: list[ab.Case], fairness: str, threads: int) -> tuple[float, list[bytes], int]:
    """Seconds, the rates of all cases, and how many are certified."""
    began = time.perf_counter()
    solved = list(ab.solve_many(cases, fairness=fairness, threads=threads))
    seconds = time.perf_counter() - began
    rates = [one.allocation.path_rates.tobytes() for one in solved]
    return seconds, rates, sum(one.allocation.certificate.holds for one in solved)


def time_cases(name: str, cases: list[ab.Case], fairness: str) -> str:
    rounds = [[wall(cases, fairness, threads) for threads in THREADS] for _ in range(ROUNDS)]
    one, two = (min(seconds for seconds, _, _ in column) for column in zip(*rounds, strict=True))
    certified = rounds[0][0][2]
    is_same = all(rates == rounds[0][0][1] for row in rounds for _, rates, _ in row)
    cells = (
        name,
        fairness,
        str(len(cases)),
        f"{one:.3f}",
        f"{two:.3f}",
        f"{one / two:.2f}",
        str(certified),
        "yes" if is_same else "NO",
    )
    return " | ".join(cells)


def main() -> None:
    if not INSTANCES.exists():
        print(f"nothing to time: {INSTANCES} is absent")
        return
    print(f"{os.cpu_count()} processors\n")
    kinds = {"demands, uninett_k16_s640": hours(), "failures, b4_k8": failures()}
    headings = ("cases", "fairness", "number", "1 thread s", "2 threads s", "gain", "certified", "same rates")
    wanted = sys.argv[1:] or FAIRNESS
    print_table(headings, (time_cases(name, cases, fairness) for name, cases in kinds.items() for fairness in wanted))


if __name__ == "__main__":
    main()
