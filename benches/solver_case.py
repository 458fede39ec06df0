"""Solve one instance by one method, in a process of its own, and print what is found as JSON, a line for each row.

Usage: python benches/solver_case.py INSTANCE DEMANDS METHOD EXACT; EXACT is a file with the exact rates of connections,
which the exact method writes and the others read, if it is there.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

# Before numpy and the solvers of linear programs are loaded: one thread.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")

import numpy as np
from solver_methods import EXACT, METHODS, Found
from upward_max_min import read_problem

import anabranch as ab
from anabranch.allocation.comparison import compare_rates

LIMIT_S = 60
"""CPU time that a method may take; then the kernel ends the process."""

SHORT_S, ROUNDS = 1.0, 5
"""What takes less is done so often, and the least time counts."""

COUNTED = 1e-2
"""Subflows with less of the rate of their connection than this do not count in the residual."""

THETA = 1e-4
"""Rates under this part of the median capacity count as this in q."""


def solve(problem: ab.Problem, method: str) -> tuple[list[Found], list[float]]:
    """What a method gives, and the CPU seconds from its beginning to each."""
    found, seconds = [], []
    # All work is on this thread. With a limit set, Linux counts the time of the process in ticks only.
    began = time.thread_time()
    for step in METHODS[method](problem):
        found.append(step)
        seconds.append(time.thread_time() - began)
    return found, seconds


def read_peak_mb() -> float:
    """The most memory that this process had; getrusage would count that of the process it came from."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(problem: ab.Problem, method: str) -> tuple[list[Found], list[float], float]:
    """What a method gives, the least CPU seconds of several rounds if they are short, and the peak of memory in MB."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + LIMIT_S, resource.RLIM_INFINITY))
    found, seconds = solve(problem, method)
    peak_mb = read_peak_mb()
    if seconds[-1] < SHORT_S:
        rounds = [seconds, *(solve(problem, method)[1] for _ in range(ROUNDS - 1))]
        seconds = [min(times) for times in zip(*rounds, strict=True)]
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return found, seconds, peak_mb


def row(problem: ab.Problem, step: Found, seconds: float, peak_mb: float, exact: np.ndarray | None) -> dict:
    """The numbers of a row, by column."""
    rates = problem.core.sum_by_connection(step.path_rates)
    certificate = problem.core.certify(step.path_rates, COUNTED)
    found = {
        "method": step.method,
        "cpu_s": round(seconds, 5),
        "passes": step.passes,
        "is_done": step.is_done,
        "residual": float(f"{certificate.residual:.3g}"),
        "carried": float(f"{rates.sum():.6g}"),
        "overload": float(f"{certificate.overload:.1g}"),
        "peak_mb": round(peak_mb),
    }
    if exact is not None:
        near = compare_rates(rates, exact, THETA * float(np.median(problem.capacity)))
        found |= {"total": round(near.total, 4), "q": round(near.q, 4), "worst": round(near.worst, 4)}
    return found


def main() -> None:
    instance, demands, method, exact_file = sys.argv[1:]
    problem = read_problem(instance, demands)
    found, seconds, peak_mb = measure(problem, method)
    file = Path(exact_file)
    if method == EXACT:
        np.save(file, problem.core.sum_by_connection(found[0].path_rates))
    exact = np.load(file) if file.exists() else None
    for step, took in zip(found, seconds, strict=True):
        print(json.dumps(row(problem, step, took, peak_mb, exact)))


if __name__ == "__main__":
    main()
