"""Runs of experiments that follow traces: one simulation for each, and none without the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.report import report
from anabranch.reproduce.reproduction import reproduce

SCENARIO = """
[run]
duration = "4 s"
record = ["links"]

[[link]]
name = "l"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "1 ms"

[[link]]
name = "m"
source = "b"
target = "c"
capacity = "80 Mbit/s"
delay = "1 ms"

[[connection]]
name = "c"
source = "a"
target = "c"
protocol = "reno"
"""

EXPERIMENT = """
paper = "mine"
item = "figure-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"

[[trace]]
name = "steps"
file = "data/steps.csv"
duration = "4 s"

[[trace]]
name = "even"
file = "data/even.down"

[[trace]]
name = "even-rate"
file = "data/even.down"
capacities = "20 ms"
duration = "4 s"

[[run]]
name = "both"
method = "simulate"
traces = { "link.0" = ["steps", "even"], "link.1" = ["even", "steps"] }

[[run]]
name = "optimal"
method = "proportional"
traces = { "link.0" = ["even-rate"] }

[[run]]
name = "first"
method = "simulate"
traces = { "link.0" = ["steps"] }
"""

EXPECTED = """
[[quantity]]
name = "both mean-capacity l"
against = 9
tolerance = 1e-6
tolerance_why = "worked by hand to this"

[[quantity]]
name = "first mean-capacity l"
times = 0.5
against = 3
tolerance = 1e-6
tolerance_why = "worked by hand to this"

[[quantity]]
name = "optimal mean-rate c"
against = 12
tolerance = 1e-4
tolerance_why = "worked by hand to this"
"""


def folder_of(tmp_path: Path, experiment: str = EXPERIMENT) -> Path:
    folder = tmp_path / "mine-figure-1"
    (folder / "data").mkdir(parents=True)
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "experiment.toml").write_text(experiment)
    (folder / "expected.toml").write_text(EXPECTED)
    (folder / "data/steps.csv").write_text("time_s,capacity_bps\n0,4e6\n2,8e6\n9,1e6\n")
    (folder / "data/even.down").write_text("1\n")
    return folder


def test_numbers_are_means_over_the_traces(tmp_path: Path) -> None:
    # 4 Mbit/s for 2 s and 8 for 2 s are 6 in the mean, of which one row has half; 1,500 bytes a millisecond are 12; the
    # mean of both is 9. The optimum is what the link carries.
    rows = reproduce("mine", experiments=folder_of(tmp_path).parent)
    assert [row.ours for row in rows] == pytest.approx([9.0, 3.0, 12.0], rel=1e-4)
    assert [row.seeds for row in rows] == [2, None, None]
    assert not any(row.is_changed for row in rows)
    assert rows.left_out == []


def test_without_the_files_an_experiment_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "data/even.down").unlink()
    rows = reproduce("mine", experiments=tmp_path)
    assert not rows
    assert rows.left_out == [f"Figure 1 is left out: it follows traces in {folder / 'data'}, which are not there"]
    report(rows, tmp_path / "report")
    assert "Figure 1 is left out" in (tmp_path / "report/report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["steps"]', '["stepz"]', r"`link.0`: there is no trace `stepz`; there is steps, even, even-rate"),
        ('["steps"]', "[]", r"`traces`: its lists are empty, or not of one length"),
        ('"link.1" = ["even", "steps"]', '"link.1" = ["even"]', r"not of one length"),
        ('name = "even"\n', 'name = "steps"\n', r"there are two traces `steps`"),
        ('capacities = "20 ms"', 'capacities = "20"', r"`capacities`"),
        ('name = "first"\nmethod = "simulate"', 'name = "first"\nmethod = "lp"', r"`traces`: the method is lp"),
        ('name = "first"', 'name = "first"\nseeds = { margin = 0.1 }', r"`traces`: there are as many `seeds` as"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert EXPERIMENT.count(old) == 1
    with pytest.raises(ScenarioError, match=message):
        read_experiment(folder_of(tmp_path, EXPERIMENT.replace(old, new)))
