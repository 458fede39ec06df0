"""The wall clock of a program moves while it runs, and the clock by which it measures time does not."""

import os
import subprocess
import sys
import time
from pathlib import Path

from wall_clock import WallClock, wanted_preload

PROGRAM = """
import sys, time
for line in sys.stdin:
    print(time.time(), time.monotonic(), flush=True)
"""


def test_the_clock_of_a_program_jumps_while_it_runs(tmp_path: Path) -> None:
    clock = WallClock(wanted_preload(tmp_path), tmp_path / "ahead")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | clock.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for ahead_s in (0, -7200, 43_200, 0):
            clock.move(ahead_s)
            program.stdin.write("\n")
            program.stdin.flush()
            wall_s, steady_s = map(float, program.stdout.readline().split())
            assert abs(wall_s - time.time() - ahead_s) < 5
            assert abs(steady_s - time.monotonic()) < 5
        program.stdin.close()
