"""Time c-SLEN and progressive filling on the instances of ../shared/data/te; prints a Markdown table.

c-SLEN starts where `solve` lets it. Arguments: names of instances; all if none are given.
"""

import sys
import time
from pathlib import Path

import numpy as np

import anabranch as ab
from anabranch import _core
from anabranch.solvers.methods import START_RATIO

INSTANCES = Path(__file__).parents[2] / "shared" / "data" / "te"
MULTIPATH = ("b4_k8", "uninett_k16_s640", "uninett_k16", "gtsce_k16", "uscarrier_k16", "cogentco_k16", "kdl_k16_s62500")
SINGLE_PATH = ("sp_fattree16_10000", "sp_fattree16_100000", "sp_rand2000_10000", "sp_rand2000_100000")
PASSES = 10
TOLERANCES = (1e-2, 1e-3)
BUDGET_S = 30.0
"""CPU time after which the way to a tolerance is given up."""


def read_problem(name: str, demands: str = "gravity") -> ab.Problem:
    """Read an instance with its demands of a kind: gravity or uniform."""
    with np.load(INSTANCES / f"{name}.npz") as arrays:
        counts = np.diff(arrays["conn_ptr"])
        connection = np.repeat(np.arange(len(counts)), counts)
        kind = f"conn_demand_{demands}"
        demand = arrays[kind] if kind in arrays else np.full(len(counts), np.inf)
        return ab.Problem(arrays["link_capacity"], arrays["path_ptr"], arrays["path_links"], connection, demand)


def cpu(call) -> tuple[float, object]:
    """CPU seconds of a call, and what it gave."""
    began = time.process_time()
    given = call()
    return time.process_time() - began, given


def passes_to(problem: ab.Problem, tolerance: float) -> str:
    solver = _core.c_slen(problem.core, START_RATIO)
    began = time.process_time()
    while not solver.run("certificate", tolerance, solver.passes + 10):
        if time.process_time() - began > BUDGET_S:
            return f"> {solver.passes}"
    return f"{solver.passes} ({time.process_time() - began:.2f} s)"


def time_multipath(name: str) -> str:
    problem = read_problem(name)
    index_s, solver = cpu(lambda: _core.c_slen(problem.core, START_RATIO))
    times = [cpu(solver.advance)[0] for _ in range(PASSES)]
    answer = solver.allocation(False, 1e-3)
    certify_s, found = cpu(lambda: problem.core.certify(answer.path_rates, 1e-3))
    cells = (
        name,
        f"{problem.core.paths:,}",
        f"{len(problem.path_links):,}",
        f"{index_s * 1e3:.0f}",
        f"{times[0] * 1e3:.2f}",
        f"{np.median(times) * 1e3:.2f}",
        f"{certify_s * 1e3:.0f}",
        f"{found.overload:.0e}",
        *(passes_to(problem, tolerance) for tolerance in TOLERANCES),
    )
    return " | ".join(cells)


def time_single_path(name: str) -> str:
    problem = read_problem(name)
    times = []
    for _ in range(5):
        seconds, answer = cpu(problem.core.max_min)
        times.append(seconds)
    found = problem.core.certify(answer.path_rates, 1e-9)
    rates = answer.connection_rates
    cells = (
        name,
        f"{problem.core.paths:,}",
        f"{len(problem.path_links):,}",
        f"{np.median(times) * 1e3:.2f}",
        f"{rates.min():.9g}",
        f"{rates.mean():.9g}",
        "yes" if found.holds else "NO",
    )
    return " | ".join(cells)


def print_table(headings: tuple[str, ...], rows) -> None:
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for row in rows:
        print(f"| {row} |", flush=True)
    print()


def main() -> None:
    if not INSTANCES.exists():
        print(f"nothing to time: {INSTANCES} is absent")
        return
    wanted = sys.argv[1:]
    multipath = [n for n in MULTIPATH if not wanted or n in wanted]
    single_path = [n for n in SINGLE_PATH if not wanted or n in wanted]
    headings = ("c-SLEN", "subflows", "entries", "index ms", "first pass ms", "pass ms", "certify ms")
    headings += ("overload", *(f"passes to {t:g}" for t in TOLERANCES))
    print_table(headings, (time_multipath(n) for n in multipath))
    headings = ("progressive filling", "connections", "entries", "solve ms", "least rate", "mean rate", "certified")
    print_table(headings, (time_single_path(n) for n in single_path))


if __name__ == "__main__":
    main()
