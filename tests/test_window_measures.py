"""Measures of what connections deliver and of their windows, of those that match a pattern; marks over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce.report import report
from anabranch.reproduce.reproduction import reproduce

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
[run]
duration = "4 s"
sample = "20 ms"
record = ["subflows", "windows", "links"]

[defaults.link]
discipline = "ecn-ramp"

[defaults.connection]
protocol = "lgcc"
packet = "1000 B"

[[link]]
name = "slow"
source = "a"
target = "b"
capacity = "4 Mbit/s"
delay = "10 ms"

[[link]]
name = "fast"
source = "c"
target = "d"
capacity = "8 Mbit/s"
delay = "10 ms"

[[connection]]
name = "c1"
source = "a"
target = "b"

[[connection]]
name = "c2"
source = "c"
target = "d"
"""

EXPERIMENT = """
paper = "mine"
item = "figure-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"

[[run]]
name = "own"
method = "simulate"
seeds = 2

[[figure]]
draw = "marks"
runs = ["own"]
connections = ["c2"]
bin = "1 s"
caption = "Marks."

[[figure]]
file = "queues"
draw = "queues-over-time"
runs = ["own"]
links = ["fast"]
caption = "Queues."
"""


def test_rates_paces_and_windows_of_a_pattern_and_their_figures(tmp_path: Path) -> None:
    # Each alone on its link, 4 and 8 Mbit/s: nearly nothing waits and is marked, so paces are what links carry, less
    # some percent. A way there and back takes 20 ms, a packet of 8,000 bits 2 or 1 ms, its acknowledgement under 0.2.
    # So windows are 4 Mbit/s x 22.1 ms = 11.05 kB and 8 Mbit/s x 21.05 ms = 21.05 kB, and a packet each: 17 kB.
    wanted = {
        "least-rate c*": (4.0, 0.25),
        "most-rate c*": (8.0, 0.4),
        "average-rate c*": (6.0, 0.3),
        "mean-pace c*": (6.0, 0.3),
        "mean-pace c2": (8.0, 0.4),
        "mean-window c*": (17.0, 0.9),
        "mean-window c1": (12.05, 0.6),
        "marked-share c*": (0.0, 0.05),
    }
    folder = tmp_path / "mine-figure-1"
    folder.mkdir()
    name = '[[quantity]]\nname = "own {}"\nwindow = ["2 s", "4 s"]\n'
    each = name + 'against = {}\ntolerance = {}\ntolerance_why = "rough"\n'
    rows = [each.format(name, *numbers) for name, numbers in wanted.items()]
    for name, text in {"scenario": SCENARIO, "experiment": EXPERIMENT, "expected": "\n".join(rows)}.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    found = reproduce("mine", experiments=tmp_path)
    assert [(row.quantity, row.ours) for row in found if row.is_changed] == []
    units = [row.quantity.rpartition(", ")[2] for row in found]
    assert units == ["Mbit/s"] * 5 + ["kB"] * 2 + ["of the packets"]
    marks, queues = found.figures
    # A mean over both seeds for each second, of one of the two.
    assert marks.frame["name"].to_list() == ["c2/1"] * 4
    assert marks.frame["time_s"].to_list() == [0.5, 1.5, 2.5, 3.5]
    assert (marks.frame["least"] <= marks.frame["mean"]).all()
    assert (marks.frame["mean"] <= marks.frame["most"]).all()
    assert marks.frame["most"].max() < 0.2
    # What shows a run over time is of one seed, and says so; it has the links that were asked for.
    assert (marks.title, queues.title) == ("Figure 1: t", "Figure 1: t; one seed of 2")
    assert queues.frame["link"].unique().to_list() == ["fast"]
    report(found, tmp_path / "report")
    assert {"figure-1.svg", "figure-1.png", "queues.png"} <= {file.name for file in (tmp_path / "report").iterdir()}
