"""Compare the numbers of two builds, bit by bit: twenty runs, ten allocations, two reproductions.

``python benches/same_numbers.py BEFORE AFTER`` takes two programs, such as ``../old/.venv/bin/anabranch`` and
``.venv/bin/anabranch``. Scenarios are those of the checkout of this file. It says which tables and
columns differ; exit code 1 if any does. ``--skip-reproductions`` leaves out what takes some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

ROOT = Path(__file__).parents[1]

RUNS = (
    *(f"scenarios/{name}.toml" for name in ("join-and-leave", "three-loops", "three-sources", "two-paths")),
    *(f"scenarios/{name}.toml" for name in ("false-positives", "live-agents", "live-shared", "live-two-paths")),
    "scenarios/wifi-and-cellular.toml",
    *(f"benches/instructions/{name}.toml" for name in ("crowd", "data", "faults", "levels", "prices", "records")),
    *(f"experiments/{name}/scenario.toml" for name in ("acceptance-a2", "acceptance-a6", "lgcc-figure-12")),
    *(f"experiments/{name}/scenario.toml" for name in ("wvegas-figure-6", "upward-max-min-scenario-1")),
)

CONTINENT = ("scenarios/continent.toml", "--demands", "gravity:1Tbit/s")
FAIRNESS = "--fairness"
ALLOCATIONS = (
    (*CONTINENT, "--paths", "4"),
    (*CONTINENT, "--paths", "1", "--method", "progressive-filling"),
    (*CONTINENT, "--method", "iewf"),
    (*CONTINENT, FAIRNESS, "max-min"),
    (*CONTINENT, FAIRNESS, "max-min", "--method", "lp"),
    (*CONTINENT, FAIRNESS, "max-min", "--method", "swan"),
    (*CONTINENT, FAIRNESS, "max-min", "--method", "adaptive-water-filler"),
    (*CONTINENT, FAIRNESS, "proportional"),
    (*CONTINENT, FAIRNESS, "alpha", "--alpha", "4"),
    (*CONTINENT, "--each-failure"),
)

REPRODUCTIONS = ("upward-max-min", "wvegas")

Numbers = dict[str, str]
"""The digest of each column of numbers, by table and column."""


def main(before: str, after: str, reproductions: tuple[str, ...]) -> int:
    """Compare, and say what differs."""
    jobs = [("run", path) for path in RUNS] + [("solve", *arguments) for arguments in ALLOCATIONS]
    differing = 0
    for job in [*jobs, *(("reproduce", paper, "--json") for paper in reproductions)]:
        found = [rows(program, job) if job[0] == "reproduce" else tables(program, job) for program in (before, after)]
        both = found[0].keys() & found[1].keys()
        apart = sorted(key for key in both if found[0][key] != found[1][key])
        alone = sorted(found[0].keys() ^ found[1].keys())
        differing += bool(apart or alone or not both)
        told = f"{len(both)} alike" if not apart else f"{len(apart)} of {len(both)} DIFFER: {', '.join(apart[:9])}"
        print(" ".join(job), "-", told, f"- IN ONE ONLY: {', '.join(alone[:9])}" if alone else "", flush=True)
    print("all numbers are the same" if not differing else f"{differing} differ")
    return 1 if differing else 0


def tables(program: str, job: tuple[str, ...]) -> Numbers:
    """Run a job into a folder and digest the columns of its tables."""
    with TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        subprocess.run([program, *job, "--out", str(out)], check=True, cwd=ROOT, capture_output=True)
        found: Numbers = {}
        for file in sorted(out.rglob("*.parquet")):
            table = pl.read_parquet(file)
            if file.stem.startswith("series"):
                found |= series(table, file.stem)
            else:
                found |= {f"{file.stem}.{name}": digest(table[name]) for name in numeric(table)}
    return found


def series(table: pl.DataFrame, stem: str) -> Numbers:
    """Digest samples, of all things in one table with nulls or of one kind of thing in a table of its own."""
    things = (
        table.partition_by("of", as_dict=True) if "of" in table.columns else {(stem.removeprefix("series_"),): table}
    )
    found = {}
    for (of,), rows_of in things.items():
        kind = str(of).rstrip("s")
        whose = next((name for name in ("name", kind) if name in rows_of.columns), "time_s")
        for name in numeric(rows_of):
            values = rows_of.select(
                pl.col(whose).alias("whose"), pl.col("time_s").alias("when"), pl.col(name).alias("value")
            )
            values = values.drop_nulls("value").sort("whose", "when")
            if len(values):
                found[f"series of {kind}.{name}"] = digest(values["value"])
    return found


def numeric(table: pl.DataFrame) -> list[str]:
    """Name the columns of numbers, but those that say how long the work took."""
    return [name for name, kind in table.schema.items() if kind.is_numeric() and name != "cpu_s"]


def digest(column: pl.Series) -> str:
    """Digest numbers to the last bit, and where there is none."""
    values = column.cast(pl.Float64)
    return blake2b(values.fill_null(-0.125).to_numpy().tobytes() + column.is_null().to_numpy().tobytes()).hexdigest()


def rows(program: str, job: tuple[str, ...]) -> Numbers:
    """Reproduce a paper; give each number as it is printed, with its verdict."""
    told = subprocess.run([program, *job], check=True, cwd=ROOT, capture_output=True, text=True).stdout
    return {
        f"{i} {row.get('item')} {row.get('quantity')}": json.dumps(row, sort_keys=True)
        for i, row in enumerate(json.loads(told))
    }


if __name__ == "__main__":
    programs = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(programs) != 2:
        sys.exit(__doc__)
    before, after = (str(Path(program).absolute()) for program in programs)
    sys.exit(main(before, after, () if "--skip-reproductions" in sys.argv else REPRODUCTIONS))
