"""Time exact max-min fair rates over several paths on instances of ../shared/data/te; prints a Markdown table.

Arguments: names of instances; those below if none are given.
"""

import sys

import numpy as np
from upward_max_min import INSTANCES, cpu, print_table, read_problem

from anabranch import _core

NAMES = ("b4_k8", "uninett_k16_s640", "uninett_k16", "gtsce_k16", "uscarrier_k16", "cogentco_k16")
TOLERANCE = 1e-6


def solve(problem) -> _core.Levelled:
    solver = _core.global_max_min(problem.core)
    while not solver.run(1_000):
        pass
    return solver.finish()


def time_instance(name: str) -> str:
    problem = read_problem(name)
    seconds, found = cpu(lambda: solve(problem))
    proof_s, proof = cpu(lambda: _core.certify_levels(problem.core, found.path_rates, found.levels, TOLERANCE))
    record = INSTANCES / f"gmmf_rate_{name}_gravity.npy"
    error = f"{np.abs(found.connection_rates / np.load(record) - 1).max():.0e}" if record.exists() else ""
    cells = (
        name,
        f"{problem.core.connections:,}",
        f"{problem.core.paths:,}",
        f"{seconds:.3f}",
        f"{found.exchanges:,}",
        f"{len(found.levels)}",
        f"{proof_s:.3f}",
        "yes" if proof.holds else "NO",
        f"{proof.overload:.0e}",
        error,
    )
    return " | ".join(cells)


def main() -> None:
    if not INSTANCES.exists():
        print(f"nothing to time: {INSTANCES} is absent")
        return
    headings = ("max-min", "connections", "subflows", "solve s", "exchanges", "levels", "proof s", "proved", "overload")
    print_table((*headings, "from record"), (time_instance(name) for name in sys.argv[1:] or NAMES))


if __name__ == "__main__":
    main()
