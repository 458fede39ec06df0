"""Time changes of max-min fair rates on instances of ../shared/data/te; prints a Markdown table.

In each change the demand of one connection, drawn at random, becomes 0.5 to 1.5 times what it was at first, or one link
fails and comes back. Arguments: names of instances; those below if none are given.
"""

import sys
import time

import numpy as np
from max_min import solve
from upward_max_min import INSTANCES, cpu, print_table, read_problem

from anabranch import _core

NAMES = ("b4_k8", "uninett_k16_s640", "uninett_k16")
CHANGES = 500
BUDGET_S = 10.0
"""CPU time after which no more changes are made."""


def demands_of(problem, rng):
    """Make the problems in which one demand after the other changes."""
    demand = problem.demand.copy()
    for _ in range(CHANGES):
        c = rng.integers(len(demand))
        demand[c] = problem.demand[c] * rng.uniform(0.5, 1.5)
        yield problem.changed(demand=demand)


def failures_of(problem, rng):
    """Make the problems in which one link after the other fails and comes back."""
    for link in rng.permutation(problem.core.links):
        capacity = problem.capacity.copy()
        capacity[link] = 0.0
        yield problem.changed(capacity=capacity)
        yield problem


def time_changes(name: str, kind: str, problems) -> str:
    problem = read_problem(name)
    allocator = _core.Allocator(problem.core)
    times, exchanges = [], 0
    for changed in problems(problem, np.random.default_rng(1)):
        seconds, _ = cpu_ns(lambda changed=changed: (allocator.follow(changed.core), allocator.connection_rates))
        times.append(seconds)
        exchanges += allocator.exchanges
        if sum(times) > BUDGET_S:
            break
    fresh_s, fresh = cpu(lambda: solve(changed))
    found = allocator.levelled()
    rates = fresh.connection_rates
    error = np.abs(found.connection_rates - rates).max() / rates.max()
    proof = _core.certify_levels(changed.core, found.path_rates, found.levels, 1e-6)
    micro = 1e6 * np.array(times)
    cells = (
        name,
        kind,
        f"{len(times)}",
        f"{micro.mean():,.0f}",
        f"{np.median(micro):,.0f}",
        f"{np.quantile(micro, 0.99):,.0f}",
        f"{exchanges / len(times):.1f}",
        f"{1e6 * fresh_s:,.0f}",
        f"{fresh.exchanges:,}",
        "yes" if proof.holds else "NO",
        f"{error:.0e}",
    )
    return " | ".join(cells)


def cpu_ns(call) -> tuple[float, object]:
    """CPU seconds of a short call, and what it gave."""
    began = time.process_time_ns()
    given = call()
    return (time.process_time_ns() - began) / 1e9, given


def main() -> None:
    if not INSTANCES.exists():
        print(f"nothing to time: {INSTANCES} is absent")
        return
    headings = ("update", "change", "changes", "mean us", "median us", "99 % us", "exchanges each")
    kinds = {"demand": demands_of, "failure": failures_of}
    rows = (time_changes(name, kind, made) for name in sys.argv[1:] or NAMES for kind, made in kinds.items())
    print_table((*headings, "fresh us", "fresh exchanges", "proved", "from fresh"), rows)


if __name__ == "__main__":
    main()
