"""Count the instructions that six fixed scenarios take, and compare with those on record.

Counts repeat to a few in a million on any machine of a kind, however busy; times do not. They tell of work done, not of
waiting for memory. The program is the one that tests have built already; ``--release`` counts the optimised one, which
takes minutes to build and has a record of its own. More than 5 % above the record is a failure, exit code 1;
``--update`` makes the present counts the record. Without valgrind nothing is checked.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "instructions.json"
MOST = 1.05
"""What counts may be, by what is on record."""


def build(profile: str) -> Path:
    """Build the program that runs a scenario and nothing else, as `cargo test` does; say where it is."""
    command = ["cargo", "build", "--quiet", "--profile", profile, "--workspace", "--example", "run"]
    lines = subprocess.run([*command, "--message-format=json"], check=True, cwd=HERE, capture_output=True, text=True)
    made = [json.loads(line).get("executable") for line in lines.stdout.splitlines()]
    return Path(next(path for path in reversed(made) if path))


def count(program: Path, scenario: Path) -> int:
    """Count the instructions of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), str(scenario)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    found = re.search(r"refs:\s+([\d,]+)", told)
    assert found, told
    return int(found[1].replace(",", ""))


def main() -> int:
    """Count, compare, tell."""
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: instructions are not counted")
        return 0
    profile = "release" if "--release" in sys.argv else "dev"
    program = build(profile)
    scenarios = sorted((HERE / "instructions").glob("*.toml"))
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda scenario: count(program, scenario), scenarios)
        counts = {scenario.stem: number for scenario, number in zip(scenarios, found, strict=True)}
    records = json.loads(RECORD.read_text(encoding="utf-8"))
    if "--update" in sys.argv:
        records[profile] = counts
        RECORD.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    record = records[profile]
    for name, now in counts.items():
        print(f"{name:8} {now / 1e6:8.1f} million instructions, {now / record[name] - 1:+.2%} on record")
    grown = [name for name, now in counts.items() if now > MOST * record[name]]
    if grown:
        print(f"more than 5 % above the record: {', '.join(grown)}; see what grew, or --update and say why")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
