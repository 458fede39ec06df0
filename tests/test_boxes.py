"""Boxes of experiments: what is put together in each, and how it is drawn."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from matplotlib.patches import PathPatch

from anabranch import figures
from anabranch.errors import ScenarioError
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.report import report
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.rows import Rows

SCENARIO = """
[defaults.connection]
protocol = "d-slen"

[run]
duration = "4 s"
sample = "1 s"
record = ["connections", "links", "waits"]

[[link]]
name = "l"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "1 ms"
capacity_changes = [{ at = "2 s", capacity = "4 Mbit/s" }]

[[connection]]
name = "c1"
source = "a"
target = "b"

[[connection]]
name = "c2"
source = "a"
target = "b"
start = "1 s"
"""


EXPERIMENT = """
paper = "mine"
item = "figure-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"

[[run]]
name = "even-1"
method = "simulate"
set = ["run.sample=200 ms"]
seeds = 2

[[run]]
name = "even-2"
method = "simulate"
set = ["run.sample=200 ms", "link.0.capacity=6 Mbit/s"]
seeds = 2

[[run]]
name = "uneven"
method = "simulate"
set = ["run.sample=200 ms", "connection.0.weight=3"]
seeds = 2

[[figure]]
draw = "boxes"
groups = ["one", "both"]
across = "capacities"
ylabel = "queueing delay (ms)"
logarithmic = true
caption = "Waits."

[[figure.box]]
name = "even"
of = ["even-1 wait l", "even-* wait c1.1"]

[[figure.box]]
name = "uneven"
of = ["uneven wait l", ""]

[[figure]]
file = "jain"
draw = "boxes"
groups = ["all"]
ylabel = "Jain's index"
window = ["1.5 s", "4 s"]
caption = "Jain."

[[figure.box]]
name = "even"
of = ["even-1 jain c*"]

[[figure.box]]
name = "uneven"
of = ["uneven jain c*"]
"""

EXPECTED = """
[[quantity]]
name = "uneven median-jain c*"
window = ["1.5 s", "4 s"]
against = 0.8
tolerance = 0.01
tolerance_why = "worked by hand to this"

[[quantity]]
name = "uneven median-rate-difference c* l"
window = ["2.5 s", "4 s"]
against = 1.0
tolerance = 0.05
tolerance_why = "worked by hand to this"

[[quantity]]
name = "Percentiles are in their order"
published = "as they must"
check = "even-1 p25-wait l <= even-1 median-wait l"
show = ["even-1 p75-wait c1.1", "even-1 p95-backlog l"]
"""


def folder_of(tmp_path: Path, experiment: str = EXPERIMENT) -> Path:
    folder = tmp_path / "mine-figure-1"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "experiment.toml").write_text(experiment)
    (folder / "expected.toml").write_text(EXPECTED)
    return folder


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return reproduce("mine", experiments=folder_of(tmp_path_factory.mktemp("experiments")).parent)


def test_percentiles_over_samples_are_measures(rows: Rows) -> None:
    # Weights 3 and 1: Jain's index of 3 and 1 is 0.8; of 4 Mbit/s they get 3 and 1, each 1 off 2.
    assert [row.quantity for row in rows if row.is_changed] == []
    assert rows[1].quantity == "uneven median-rate-difference c* l from 2.5 to 4 s, Mbit/s"


def test_a_box_is_of_all_runs_that_match_and_all_their_seeds(rows: Rows) -> None:
    frame = rows.figures[0].frame
    names = [("one", "even", 2), ("both", "even", 4), ("one", "uneven", 2), ("both", "uneven", None)]
    assert frame.select("group", "name", "runs").rows() == names
    one, both, *_ = frame["count"].to_list()
    # Over the link went 8 + 8 + 4 + 4 Mbit. Of that c1 had 8 + 4 + 2 + 2, and with 6 Mbit/s at first 6 + 3 + 2 + 2.
    assert both / one == pytest.approx((16.0 + 13.0) / 24.0, rel=0.01)
    assert (frame["p5"] <= frame["p25"]).drop_nulls().all()
    jain = rows.figures[1].frame
    assert jain["median"].to_list() == pytest.approx([1.0, 0.8], abs=0.01)


def test_boxes_are_drawn_with_their_numbers_beside(rows: Rows, tmp_path: Path) -> None:
    report(rows, tmp_path / "report")
    names = {file.name for file in (tmp_path / "report").iterdir()}
    assert {"figure-1.svg", "figure-1.png", "figure-1.csv", "jain.png"} <= names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"uneven wait l", ""', '"uneven wait l"', 'there are 1; give 2, one for each group, "" for no box'),
        (
            '"uneven wait l"',
            '"uneven queue l"',
            "nothing is known of `queue`; the second word must be one of jain, backlog",
        ),
        ('"uneven wait l"', '"other-* wait l"', "there is no run `other-*`"),
        ('name = "uneven"\nof = ["uneven w', 'name = "even"\nof = ["uneven w', "there are two `even`"),
        ('"uneven jain c*"', '"uneven wait l"', "waits are of all the time after the warm-up"),
        ('"even-1 jain c*"', '""', "`even` has no box in any group"),
        ('groups = ["all"]', 'groups = ["all"]\nruns = ["uneven"]', "`runs`: boxes are of numbers"),
    ],
)
def test_a_mistake_in_boxes_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in EXPERIMENT
    with pytest.raises(ScenarioError) as told:
        read_experiment(folder_of(tmp_path, EXPERIMENT.replace(old, new, 1)))
    assert message in str(told.value)


# The figure.


def test_boxes_reach_from_quartile_to_quartile_and_whiskers_to_the_outer_percentiles() -> None:
    numbers = {"p5": [1.0], "p25": [2.0], "median": [3.0], "p75": [5.0], "p95": [9.0]}
    axes = figures.draw_boxes(pl.DataFrame({"group": ["g"], "name": ["n"]} | numbers), ylabel="y", title="t").axes[0]
    (box,) = (patch for patch in axes.patches if isinstance(patch, PathPatch))
    assert (box.get_path().vertices[:, 1].min(), box.get_path().vertices[:, 1].max()) == (2.0, 5.0)
    heights = sorted(tuple(line.get_ydata()) for line in axes.lines)
    assert [(min(h), max(h)) for h in heights] == [(1.0, 1.0), (1.0, 2.0), (3.0, 3.0), (5.0, 9.0), (9.0, 9.0)]


def test_a_logarithmic_axis_has_room_for_all_boxes_in_the_order_of_the_groups() -> None:
    # The first name has no box in the first group.
    numbers = {column: [None, 2.0, 3.0, 900.0] for column in ("p5", "p25", "median", "p75", "p95")}
    frame = pl.DataFrame({"group": ["g", "h"] * 2, "name": ["m", "m", "n", "n"]} | numbers)
    axes = figures.draw_boxes(frame, ylabel="y", logarithmic=True, title="t").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["g", "h"]
    assert len([patch for patch in axes.patches if isinstance(patch, PathPatch)]) == 3
    assert axes.get_ylim() == pytest.approx((1.6, 1125.0))


def test_what_is_0_reaches_the_end_of_a_logarithmic_axis() -> None:
    numbers = {"p5": [0.0], "p25": [0.0], "median": [1.0], "p75": [10.0], "p95": [100.0]}
    frame = pl.DataFrame({"group": ["g"], "name": ["n"]} | numbers)
    axes = figures.draw_boxes(frame, ylabel="y", logarithmic=True, title="t").axes[0]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] == pytest.approx(0.8)
    assert min(min(line.get_ydata()) for line in axes.lines) == pytest.approx(0.8)
