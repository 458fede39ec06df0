"""Put all solvers beside each other, and beside what others measured, on the instances of ../shared/data/te.

Usage: python benches/solvers.py [--quick] [--csv FILE] [INSTANCE ...]; --quick takes the two smallest. Prints Markdown
tables. What others take is in ``anchors.csv``. A method that takes too long is not tried on what is as large.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from solver_case import LIMIT_S
from solver_methods import EXACT, METHODS
from upward_max_min import INSTANCES, MULTIPATH, SINGLE_PATH, cpu, print_table, read_problem

HERE = Path(__file__).parent
DEMANDS = ("gravity", "uniform")
COLUMNS = ("method", "cpu_s", "passes", "residual", "total", "q", "worst", "overload", "peak_mb")
KEPT = ("instance", "demands", "subflows", *COLUMNS, "carried", "is_done", "note")
"""The columns of the CSV file."""


def run_case(instance: str, demands: str, method: str, exact: Path) -> list[dict]:
    """The rows of a method in a process of its own; one with a note if it did not end."""
    command = [sys.executable, str(HERE / "solver_case.py"), instance, demands, method, str(exact)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return [json.loads(line) for line in ran.stdout.splitlines()]
    if ran.returncode == -signal.SIGXCPU:
        reason = f"over {LIMIT_S} s"
    elif ran.returncode < 0:
        reason = f"ended by {signal.Signals(-ran.returncode).name}"
    else:
        reason = ran.stderr.strip().splitlines()[-1]
    return [{"method": method, "note": reason}]


def run_instance(instance: str, demands: str, slow: dict[str, str], folder: Path) -> list[dict]:
    """The rows of all methods; those that prove too slow are added to `slow`, with the instance.

    They are not tried again on this instance, nor on larger ones.
    """
    exact = folder / f"{instance}-{demands}.npy"
    rows = []
    for method in METHODS:
        if method in slow and MULTIPATH.index(instance) >= MULTIPATH.index(slow[method]):
            rows.append({"method": method, "note": f"not tried: too slow on {slow[method]}"})
            continue
        found = run_case(instance, demands, method, exact)
        if "note" in found[0]:
            slow[method] = instance
        rows += found
    return rows


def anchors_of(instance: str, demands: str) -> list[dict]:
    """What others measured on the instance; what they carry is set beside exact rates later."""
    lines = (HERE / "anchors.csv").read_text(encoding="utf-8").splitlines()
    anchors = csv.DictReader(line for line in lines if not line.startswith("#"))
    own = [number_cells(one) for one in anchors if (one["instance"], one["demands"]) == (instance, demands)]
    for one in own:
        one["method"] = f"{one['method']} ({one.pop('by')})"
    return own


def number_cells(row: dict[str, str]) -> dict:
    """A row of the file of anchors without its empty cells, and with numbers."""
    words = ("instance", "demands", "method", "by")
    return {name: cell if name in words else float(cell) for name, cell in row.items() if cell}


def relate(rows: list[dict]) -> None:
    """Give rows that say what they carry, and not beside what, their part of what exact rates carry."""
    exact = next((one["carried"] for one in rows if one["method"] == EXACT and "carried" in one), None)
    for one in rows:
        if exact is not None and "carried" in one and "total" not in one:
            one["total"] = one["carried"] / exact


def shown(row: dict, column: str) -> str:
    """A cell of the table."""
    if column == "cpu_s" and "note" in row:
        return row["note"]
    value = row.get(column)
    if value is None or value == "":
        return ""
    if column == "passes":
        return f"{value:,.0f}" if row.get("is_done", True) else f"> {value:,.0f}"
    digits = {"cpu_s": ".3g", "residual": ".1g", "overload": ".0e", "peak_mb": ",.0f", "method": ""}
    return format(value, digits.get(column, ".3f"))


def print_rows(instance: str, demands: str, rows: list[dict]) -> None:
    headings = ("CPU s", "passes", "residual", "total", "q", "worst", "overload", "peak MB")
    lines = (" | ".join(shown(row, column) for column in COLUMNS) for row in rows)
    print_table((f"{instance}, {demands}", *headings), lines)


def print_single_path(wanted: list[str]) -> list[dict]:
    """Progressive filling beside SimGrid's solver, on one path for each connection."""
    rows = []
    for instance in wanted:
        problem = read_problem(instance)
        seconds = min(cpu(problem.core.max_min)[0] for _ in range(5))
        found = problem.core.certify(problem.core.max_min().path_rates, 1e-9)
        own = {"method": "progressive-filling", "cpu_s": round(seconds, 5)}
        own |= {"residual": float(f"{found.residual:.3g}"), "overload": float(f"{found.overload:.1g}")}
        case = {"instance": instance, "demands": "none", "subflows": problem.core.paths}
        rows += [case | one for one in [own, *anchors_of(instance, "none")]]
    cells = ("instance", "method", "cpu_s", "residual", "overload")
    lines = (" | ".join(row[c] if c == "instance" else shown(row, c) for c in cells) for row in rows)
    print_table(("one path each", "method", "CPU s", "residual", "overload"), lines)
    return [row for row in rows if row["method"] == "progressive-filling"]


def write_rows(file: Path, rows: list[dict]) -> None:
    """Write our own rows as CSV."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, KEPT, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def count_subflows(instance: str) -> int:
    with np.load(INSTANCES / f"{instance}.npz") as arrays:
        return len(arrays["path_ptr"]) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    if not INSTANCES.exists():
        print(f"nothing to time: {INSTANCES} is absent")
        return
    known = MULTIPATH[:2] if options.quick else MULTIPATH
    wanted = [name for name in known if not options.instances or name in options.instances]
    single_path = [name for name in SINGLE_PATH if not options.instances or name in options.instances]
    kept = print_single_path(single_path)
    slow: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for demands, instance in itertools.product(DEMANDS, wanted):
            own = run_instance(instance, demands, slow, Path(folder))
            rows = own + anchors_of(instance, demands)
            relate(rows)
            print_rows(instance, demands, rows)
            case = {"instance": instance, "demands": demands, "subflows": count_subflows(instance)}
            kept += [case | one for one in own]
            if options.csv:
                write_rows(options.csv, kept)


if __name__ == "__main__":
    main()
