"""Programs that tests start: ours alone, and labs of them over the links of a scenario."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch import _core
from anabranch.commands.exit_codes import DOES_NOT_HOLD

PROGRAM = [str(Path(sys.executable).with_name("anabranch"))]
"""The command as it is installed."""

PAIR = '[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "10 Mbit/s"\ndelay = "1 ms"\n'
"""The smallest network, as a scenario has it."""

ATTEMPTS = 3
"""So many times a lab is tried that is late, since the machine has other things to do."""

HALT_S = 0.025
"""A lab in which packets were later than this is tried again too: then the machine halted, which rates feel."""

SERVE = ("--listen", "0.0.0.0:4433", "--host")

RED = "discipline = { red = { min = 5, max = 30 } }"
"""Packets are marked at random: whoever meets a full queue does so by chance, and not by the rhythm of arrivals."""

FIRST = ["nice", "-n", "-15"]
"""Programs in a lab go before others on the machine, as the emulator does: ends that wait for a processor are late."""


def refusal() -> str | None:
    """Say why the kernel refuses a lab here; nothing if it does not."""
    return _core.Lab.refusal() if hasattr(_core, "Lab") else "it is not Linux"


def told(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, and give what it says."""
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def words(*command: str | Path) -> str:
    """Give a command as one line for a shell."""
    return shlex.join(map(str, command))


def python(folder: Path, text: str, *arguments: str) -> str:
    """Keep a Python program in a folder, and give the command that runs it."""
    file = folder / f"program-{len(list(folder.glob('*.py')))}.py"
    file.write_text(text, encoding="utf-8")
    return words(sys.executable, file, *arguments)


def emulate(
    folder: Path, scenario: str, *, at: dict[str, str], serve: list[tuple[str, str]], timeout_s: float = 60.0
) -> dict[str, Any]:
    """Run programs at nodes of a scenario, and again if the lab was late; skip if the last was.

    They run in `folder`, in which there are no files then but Python programs and the scenario. Gives the report.
    """
    for attempt in range(1, ATTEMPTS + 1):
        for old in (file for file in folder.iterdir() if file.is_file() and file.suffix != ".py"):
            old.unlink()
        (folder / "scenario.toml").write_text(scenario, encoding="utf-8")
        options = [option for node, line in serve for option in ("--serve", f"{node}={line}")]
        options += [option for node, line in at.items() for option in ("--at", f"{node}={line}")]
        done = subprocess.run(
            [*FIRST, *PROGRAM, "emulate", "scenario.toml", "--json", *options],
            cwd=folder,
            env=os.environ | {"XDG_DATA_HOME": str(folder)},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode in {0, DOES_NOT_HOLD}, done.stdout + done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        if done.returncode == 0 and (report["lateness_max_s"] <= HALT_S or attempt == ATTEMPTS):
            return report
    pytest.skip(f"the machine is too busy, so the lab is not valid: {report['faults']}")


def punctual(run: Callable[[], anabranch.Result]) -> anabranch.Result:
    """Give a result of a live run that is valid, if it can be had of a machine that did not halt; skip without one."""
    valid = None
    for _ in range(ATTEMPTS):
        result = run()
        if result.meta["valid"]:
            valid = result
            if result.meta["lateness_max_s"] <= HALT_S:
                break
    if valid is None:
        pytest.skip(f"the machine is too busy, so the run is not valid: {result.meta['faults']}")
    return valid


def two_links(rates_mbps: tuple[int, int], delays_ms: tuple[int, int]) -> str:
    """Give a scenario of two hosts and a link of each rate and delay between them.

    West is 10.0.0.1 and 10.0.1.1, east is 10.0.0.2 and 10.0.1.2.
    """
    return f"""
[defaults.link]
queue = "300 packets"
[[link]]
name = "fast"
source = "west"
target = "east"
capacity = "{rates_mbps[0]} Mbit/s"
delay = "{delays_ms[0]} ms"
[[link]]
name = "slow"
source = "west"
target = "east"
capacity = "{rates_mbps[1]} Mbit/s"
delay = "{delays_ms[1]} ms"
[[connection]]
name = "both"
source = "west"
target = "east"
links = [["fast"], ["slow"]]
"""


def sharer(shared: Path, host: str, into: str = "url") -> str:
    """Give the command line of a sharer that writes its URL into a file."""
    return f"exec {words(*PROGRAM, 'share', shared, *SERVE, host)} > {into}"


def serve_perf() -> str:
    """Give the command line of a server that writes its URL into a file; its host is HOST."""
    return f"exec {words(*PROGRAM, 'perf', '--serve', '0.0.0.0:4433', '--name', 'HOST')} > url"


def measured_bps(report: dict[str, Any], begin_s: float) -> float:
    """Give the mean rate of a measurement from a time on."""
    sums = [each["sum"] for each in report["intervals"] if each["sum"]["start"] >= begin_s - 0.5]
    total: float = 8 * sum(each["bytes"] for each in sums)
    return total / float(sums[-1]["end"] - sums[0]["start"])
