"""Max-min fair rates by a plain sequence of linear programs with HiGHS, to compare with: what a general solver takes.

Each program raises the level of all connections that are not fixed yet; those that a price holds at it are fixed there.
Every program begins at the basis of the one before, and nothing else is done for speed. Prints a Markdown table: the
programs, CPU time, and the greatest difference from the exact rates. Arguments: names of instances.
"""

from __future__ import annotations

import sys
import time

import highspy
import numpy as np
from upward_max_min import print_table, read_problem

import anabranch as ab

HELD = 1e-9
"""A connection with a greater price than this, in units of the level, is held."""


def model(problem: ab.Problem, unit: float) -> highspy.HighsLp:
    """Give the first program: path rates and the level as columns; links and connections as rows."""
    links, connections, paths = len(problem.capacity), len(problem.demand), len(problem.path_connection)
    columns = [
        np.append(problem.path_links[first:last], links + problem.path_connection[path])
        for path, (first, last) in enumerate(zip(problem.path_offsets[:-1], problem.path_offsets[1:], strict=True))
    ]
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = paths + 1, links + connections
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = np.append(np.zeros(paths), 1.0)
    program.col_lower_, program.col_upper_ = np.zeros(paths + 1), np.full(paths + 1, highspy.kHighsInf)
    # The row of a connection is its rate less its level by weight.
    program.row_lower_ = np.append(np.full(links, -highspy.kHighsInf), np.zeros(connections))
    program.row_upper_ = np.append(problem.capacity / unit, np.full(connections, highspy.kHighsInf))
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    level = np.arange(links, links + connections)
    lengths = [len(column) for column in columns] + [connections]
    program.a_matrix_.start_ = np.append(0, np.cumsum(lengths)).astype(np.int32)
    program.a_matrix_.index_ = np.concatenate([*columns, level]).astype(np.int32)
    program.a_matrix_.value_ = np.append(np.ones(sum(map(len, columns))), -problem.weight)
    return program


def solve(problem: ab.Problem) -> tuple[np.ndarray, int]:
    """Give the rates of connections, and the number of programs."""
    unit = float(np.median(problem.capacity))
    links, connections, level = len(problem.capacity), len(problem.demand), len(problem.path_connection)
    demand = problem.demand / unit
    highs = highspy.Highs()
    for option, value in {"output_flag": False, "threads": 1, "presolve": "off", "solver": "simplex"}.items():
        highs.setOptionValue(option, value)
    highs.passModel(model(problem, unit))
    rates, free, programs = np.zeros(connections), np.full(connections, True), 0

    def fix(connection: int, rate: float) -> None:
        rates[connection], free[connection] = rate, False
        highs.changeCoeff(links + connection, level, 0.0)
        highs.changeRowBounds(links + connection, rate, highspy.kHighsInf)

    for connection in np.flatnonzero(
        (demand == 0) | (np.bincount(problem.path_connection, minlength=connections) == 0)
    ):
        fix(int(connection), 0.0)
    while free.any():
        # No level beyond the next demand: connections that have it are fixed there.
        next_demand = float((demand[free] / problem.weight[free]).min())
        highs.changeColBounds(level, 0.0, next_demand if np.isfinite(next_demand) else highspy.kHighsInf)
        highs.run()
        programs += 1
        solution = highs.getSolution()
        height = solution.col_value[level]
        price = np.abs(np.asarray(solution.row_dual[links:]))
        met = free & (demand / problem.weight <= height * (1 + 1e-12))
        held = met if met.any() and height >= next_demand * (1 - 1e-12) else free & (price > HELD)
        if not held.any():
            raise RuntimeError("no connection is held by a price; the program has no optimum to trust")
        for connection in np.flatnonzero(held):
            fix(int(connection), float(height * problem.weight[connection]))
    return rates * unit, programs


def line(name: str) -> str:
    problem = read_problem(name)
    began = time.process_time()
    rates, programs = solve(problem)
    spent = time.process_time() - began
    exact = ab.solve(problem, fairness="max-min").connection_rates
    apart = float((np.abs(rates - exact) / np.maximum(exact, 1e-12)).max())
    return f"{name} | {len(problem.path_connection)} | {programs} | {spent:.3f} | {apart:.1e}"


def main() -> None:
    names = sys.argv[1:] or ["b4_k8", "uninett_k16_s640"]
    print_table(("instance", "subflows", "programs", "CPU s", "greatest relative difference"), map(line, names))


if __name__ == "__main__":
    main()
