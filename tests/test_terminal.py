"""The command line on a terminal of 80 columns: every table is whole there, and names can be told apart."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-c", "from anabranch.cli import program; program()"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
UNIT = re.compile(r"\s*([kMGT]?bit/s|ms)(?!\S)")


def on_terminal(*arguments: object, columns: int = 80, cwd: Path = ROOT) -> list[str]:
    """Run the command with a terminal of some width as its output, and give the lines that are printed."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    environment |= {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [*PROGRAM, *map(str, arguments)], stdin=its, stdout=its, stderr=subprocess.DEVNULL, env=environment, cwd=cwd
    ) as process:
        os.close(its)
        printed = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux says so when the last program has closed the terminal.
                break
            if not piece:
                break
            printed += piece
    os.close(ours)
    assert process.returncode == 0, printed
    return ESCAPES.sub("", printed.decode()).replace("\r", "").splitlines()


def cells(lines: list[str], heading: str) -> list[str]:
    """Give the first column of the table that begins with a heading."""
    begin = next(place for place, line in enumerate(lines) if line.startswith(heading)) + 1
    rows = [line for line in lines[begin:] if line and not line.startswith((" ", "...", "("))]
    end = next((place for place, line in enumerate(lines[begin:]) if not line), len(lines))
    return [re.split(r"\s{2,}", row)[0] for row in rows[:end]]


WITHOUT_SWEEP = [
    ("solve", "scenarios/continent.toml", "--demands", "gravity:1Tbit/s"),
    ("solve", "scenarios/continent.toml", "--demands", "gravity:1Tbit/s", "--each-failure"),
    ("run", "scenarios/join-and-leave.toml"),
    ("run", "scenarios/wifi-and-cellular.toml"),
    ("paths", "scenarios/continent.toml", "--sources", "Rome,Vienna", "--target", "Athens", "--filters"),
    ("reproduce", "upward-max-min", "table-7"),
    ("reproduce", "upward-max-min", "table-7", "--notes"),
    ("list", "protocols"),
    ("list", "disciplines"),
    ("topology", "info", "scenarios/continent.toml"),
    ("check", "scenarios/wifi-and-cellular.toml"),
]


@pytest.mark.slow
@pytest.mark.parametrize("words", WITHOUT_SWEEP, ids=" ".join)
@pytest.mark.parametrize("columns", [80, 60])
def test_no_line_is_longer_than_the_terminal_is_wide(words, columns):
    lines = on_terminal(*words, columns=columns)
    assert len(lines) > 5
    assert max(map(len, lines)) <= columns
    # A unit that begins a line is one whose number is in the line above; those of headings are below several columns.
    assert not [line for line in lines if UNIT.match(line) and not re.fullmatch(r"[\s\w/]*", line)]


@pytest.mark.slow
def test_connections_and_failures_can_be_told_apart():
    connections = on_terminal("solve", "scenarios/continent.toml", "--demands", "gravity:1Tbit/s")
    assert "Marseille>Stockholm" in cells(connections, "connection")
    failures = on_terminal(
        "solve", "scenarios/continent.toml", "--demands", "gravity:1Tbit/s", "--each-failure", "--rows", "0"
    )
    names = cells(failures, "fails")[:57]
    assert len(names) == len(set(names)) == 57
    assert sum(name.startswith("Hamburg") for name in names) >= 2


@pytest.mark.slow
def test_tables_of_a_sweep_are_whole(tmp_path):
    (tmp_path / "sweep.toml").write_text(
        f"""scenario = "{ROOT}/scenarios/join-and-leave.toml"
[sweep]
connection.0.weight = [1, 1.5, 2.25]
seed = "1..2"
[[table]]
file = "rates"
of = "connections"
value = "mean_rate_bps"
by = ["connection.0.weight", "connection"]
""",
        encoding="utf-8",
    )
    lines = on_terminal("sweep", "sweep.toml", cwd=tmp_path)
    assert max(map(len, lines)) <= 80
    assert lines[0] == "rates"
    assert lines[-1] == "6 of 6 runs are in runs/sweep"


@pytest.mark.slow
def test_columns_without_room_are_named_in_a_line():
    lines = on_terminal("solve", "scenarios/continent.toml", "--demands", "gravity:1Tbit/s", columns=40)
    assert max(map(len, lines)) <= 40
    assert "(no room for level, demand; a wider" in lines


@pytest.mark.slow
def test_a_pipe_has_natural_widths_without_blanks_at_the_ends_and_heeds_columns():
    command = [*PROGRAM, "run", "scenarios/join-and-leave.toml"]
    for columns in (None, "40"):
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        environment |= {"COLUMNS": columns} if columns else {}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=True)
        lines = done.stdout.splitlines()
        assert all(line == line.rstrip() for line in lines)
        assert (max(map(len, lines)) <= 40) == (columns == "40")
