"""Random problems for the solvers, few in the tests and thousands by hand: ``python tests/soak.py KIND COUNT``.

Kinds: allocator, methods, heterogeneous, exact. Each prints what it tried and what failed, and leaves with 1 if
anything did.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import anabranch as ab
from anabranch.solvers.fairness import FAIRNESS
from anabranch.solvers.methods import methods_for
from fairness_judge import infeasible, max_min_levels, unfair_paths

LONGEST_S = 20.0
"""No method may take longer on a small problem, in seconds of the processor."""

SPANS = (2, 6, 8, 10, 12, 14, 16)
"""Over how many powers of ten numbers are spread."""


def random_problem(rng, span, *, most_paths=5, is_rich=True, links=24, connections=34):
    """Draw links, connections, paths; all amounts are spread evenly over `span` powers of ten."""

    def amounts(count):
        return 10.0 ** rng.uniform(-span / 2, span / 2, count)

    count, wanted = int(rng.integers(2, links + 1)), int(rng.integers(2, connections + 1))
    owner = np.repeat(np.arange(wanted), rng.integers(1, most_paths + 1, wanted))
    paths = [rng.choice(count, int(rng.integers(1, min(5, count) + 1)), replace=False) for _ in owner]
    entries = sum(map(len, paths))
    has_use = is_rich and rng.random() < 0.5
    return ab.Problem(
        amounts(count),
        np.cumsum([0, *map(len, paths)]),
        np.concatenate(paths),
        owner,
        np.where(rng.random(wanted) < 0.5, amounts(wanted), np.inf),
        rng.uniform(0.5, 4, wanted) if is_rich and rng.random() < 0.5 else np.ones(wanted),
        coefficient=rng.uniform(0.05, 2.5, entries) if has_use else None,
    )


def apart(one, other):
    """Give the greatest relative difference."""
    most = np.maximum(np.maximum(one, other), 1e-300)
    return float((np.abs(one - other) / most).max(initial=0.0))


def allocator_sequence(seed, *, changes=10):
    """Follow random changes; gives (updates, warnings, updates that differ from `solve` without a warning)."""
    rng = np.random.default_rng([seed, 1])
    span = SPANS[seed % len(SPANS)]
    problem = random_problem(rng, span)
    told, silent, count = 0, [], 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ab.ConvergenceWarning)
        allocator = ab.Allocator(problem)
    for step in range(changes):
        now, kind = allocator.problem, rng.integers(4)
        value = float(10.0 ** rng.uniform(-span / 2, span / 2))
        connection, link = int(rng.integers(len(now.demand))), int(rng.integers(len(now.capacity)))
        if kind == 0:
            change = {"demand": {connection: float(rng.choice([0.0, value, np.inf]))}}
        elif kind == 1:
            change = {"capacity": {link: float(rng.choice([0.0, value]))}}
        elif kind == 2:
            change = {"weight": {connection: float(rng.uniform(0.5, 4))}}
        else:
            change = {"capacity": problem.capacity}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ab.ConvergenceWarning)
            found = allocator.update(**change)
        count += 1
        with warnings.catch_warnings(record=True) as doubted:
            warnings.simplefilter("always", ab.ConvergenceWarning)
            solved = ab.solve(allocator.problem, fairness="max-min", tolerance=1e-6)
        told += bool(said)
        if not said and not doubted and apart(found, solved.connection_rates) > 1e-5:
            silent.append((seed, step, apart(found, solved.connection_rates)))
    return count, told, silent


def every_method(seed):
    """Solve a random problem by every method; gives (method, what is wrong) of those that failed, and who was slow."""
    rng = np.random.default_rng([seed, 2])
    problem = random_problem(rng, SPANS[seed % len(SPANS)], most_paths=1 if seed % 10 == 0 else 5)
    wrong = []
    choices = [
        (fairness, method, alpha)
        for fairness in FAIRNESS
        for method in methods_for(fairness)
        for alpha in ((0.5, 2.0, 8.0) if fairness == "alpha" else (None,))
    ]
    for fairness, method, alpha in choices:
        if method == "progressive-filling" and seed % 10:
            continue
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                solved = ab.solve(problem, fairness=fairness, method=method, alpha=alpha)
            except ValueError as error:
                # A utility may be refused for prices that no number can hold, and IEWF for steps that take for ever.
                solved = None
                if fairness not in ("alpha", "proportional") and method != "iewf":
                    wrong.append((seed, fairness, method, alpha, str(error)))
            except ab.SolverError as error:
                solved = None
                wrong.append((seed, fairness, method, alpha, str(error)))
        took = time.process_time() - began
        if took > LONGEST_S:
            wrong.append((seed, fairness, method, alpha, f"{took:.1f} s"))
        said = infeasible(problem, solved.path_rates) if solved is not None and method != "iewf" else None
        if said:
            wrong.append((seed, fairness, method, alpha, said))
    return wrong


def heterogeneous(seed, *, tolerance=1e-2):
    """Solve for upward max-min rates where levels lie six powers apart; gives (converged, paths judged unfair)."""
    rng = np.random.default_rng([seed, 3])
    problem = random_problem(rng, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = "equal" if seed % 2 else None
        solved = ab.solve(problem, fairness="upward-max-min", tolerance=tolerance, start=start, max_passes=20_000)
    return solved.converged, solved.passes, unfair_paths(problem, solved.path_rates, tolerance * (1 + 1e-6))


def exact(seed):
    """Compare exact max-min rates with those of an independent chain of programs, relative to the greater."""
    rng = np.random.default_rng([seed, 4])
    problem = random_problem(rng, 2, most_paths=3, links=6, connections=6)
    expected = max_min_levels(problem)
    return {
        method: apart(ab.solve(problem, fairness="max-min", method=method).connection_rates, expected)
        for method in ("dual-simplex", "lp")
    }


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    seeds = range(first, first + count)
    failed = []
    if kind == "allocator":
        results = [allocator_sequence(seed) for seed in seeds]
        failed = [one for _, _, silent in results for one in silent]
        print(f"{count} sequences, {sum(r[0] for r in results)} updates, {sum(r[1] for r in results)} with a warning")
    elif kind == "methods":
        failed = [one for seed in seeds for one in every_method(seed)]
        print(f"{count} problems under every method")
    elif kind == "heterogeneous":
        results = [heterogeneous(seed) for seed in seeds]
        missed = sum(not converged for converged, *_ in results)
        passes = np.array([r[1] for r in results])
        print(f"{count} problems, {missed} said not to be converged")
        print(f"passes: median {np.median(passes):g}, most {passes.max()}")
        failed = [seed for seed, (converged, _, unfair) in zip(seeds, results, strict=True) if converged and unfair]
    elif kind == "exact":
        results = [exact(seed) for seed in seeds]
        failed = [(seed, r) for seed, r in zip(seeds, results, strict=True) if max(r.values()) > 1e-6]
        print(f"{count} problems; greatest difference {max(max(r.values()) for r in results):.1e}")
    else:
        sys.exit(f"there is no kind `{kind}`: allocator, methods, heterogeneous, exact")
    print(f"failed: {len(failed)} {failed[:20]}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
