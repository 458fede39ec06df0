"""Time sweeps: 500 small runs on one thread and on two, what a run costs beyond its simulation, and many runs read.

Usage: python benches/sweep.py [RUNS [MANY]]; MANY runs, 100,000 if not given, are swept once and read as one frame.

RUNS are made of a very small scenario, of some 12 ms, and of the one of `sweeps/`, of some 80 ms.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from anabranch.sweeps import sweep

SCENARIO = """
[run]
duration = "{duration}"
record = ["connections"]
sample = "100 ms"

[defaults.connection]
protocol = "lia"

[[link]]
name = "wifi"
source = "home"
target = "server"
capacity = "12 Mbit/s"
delay = "8 ms"

[[link]]
name = "cellular"
source = "home"
target = "server"
capacity = "9 Mbit/s"
delay = "30 ms"

[[connection]]
name = "phone"
source = "home"
target = "server"
links = [["wifi"], ["cellular"]]

[[connection]]
name = "laptop"
source = "home"
target = "server"
links = [["wifi"]]
"""

OWN = Path(__file__).parents[1] / "scenarios" / "wifi-and-cellular.toml"
"""The scenario that `sweeps/` varies."""

READ = """
import resource, sys, time
from anabranch.sweeps import read_sweep
begin = time.perf_counter()
frame = read_sweep(sys.argv[1]).table("connections").collect()
took = time.perf_counter() - begin
print(len(frame), took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    runs, many = (int(word) for word in [*sys.argv[1:], *["500", "100000"][len(sys.argv) - 1 :]][:2])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, text in {"10 s of two connections": of_s("10 s"), OWN.name: OWN.read_text()}.items():
            times = {threads: swept(place / name, runs, text, threads) for threads in (1, 2)}
            for threads, (wall_s, simulated_s) in times.items():
                beyond_ms = (wall_s * threads - simulated_s) / runs * 1e3
                print(f"{name}: {runs} runs of {simulated_s / runs * 1e3:.1f} ms, {threads} at a time: {wall_s:.2f} s,")
                print(f"  {beyond_ms:.2f} ms a run beyond its simulation")
            print(f"  two at a time are {times[1][0] / times[2][0]:.2f} times as fast")
        if not many:
            return
        wall_s, _ = swept(place, many, of_s("100 ms"), 2)
        print(f"{many:,} runs of 100 ms: {wall_s:.0f} s, {wall_s / many * 1e3:.2f} ms each")
        begin = time.perf_counter()
        sweep(place / "sweep.toml", place / "out-2")
        print(f"swept again, with all of them there: {time.perf_counter() - begin:.1f} s")
        command = [sys.executable, "-c", READ, str(place / "out-2")]
        read = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        print(f"read as one frame: {int(read[0]):,} rows in {float(read[1]):.2f} s, {float(read[2]):,.0f} MiB at most")


def of_s(duration: str) -> str:
    """Give the scenario with a duration."""
    return SCENARIO.format(duration=duration)


def swept(place: Path, runs: int, scenario: str, threads: int) -> tuple[float, float]:
    """Give how long a sweep took, and its simulations together."""
    place.mkdir(exist_ok=True)
    (place / "scenario.toml").write_text(scenario)
    file = place / "sweep.toml"
    file.write_text(f'scenario = "scenario.toml"\n[sweep]\nseed = "1..{runs}"\n')
    out = place / f"out-{threads}"
    begin = time.perf_counter()
    sweep(file, out, threads=threads)
    wall_s = time.perf_counter() - begin
    lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()[-runs:]]
    return wall_s, sum(line["wall_s"] for line in lines)


if __name__ == "__main__":
    main()
