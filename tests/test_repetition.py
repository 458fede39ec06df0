"""More seeds until margins are small, measures of many connections, and bars of measured numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from anabranch import figures
from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.repeat import STEP, margin_of
from anabranch.reproduce.report import report
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.rows import Rows

SCENARIO = """
[run]
duration = "5 s"
sample = "0.5 s"
record = ["subflows", "windows"]

[defaults.connection]
protocol = "reno"
amount = "500 kB"

[[link]]
name = "shared"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "10 ms"
queue = "30 packets"

[[connection]]
name = "two"
source = "a"
target = "b"
links = [["shared"], ["shared"]]
protocol = "nmcc"

[[traffic]]
name = "one-"
count = 2
from = ["a"]
to = ["b"]
"""

EXPERIMENT = """
paper = "mine"
item = "figure-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"

[[run]]
name = "many"
method = "simulate"
seeds = { margin = 0.02, least = 3, most = 12 }

[[run]]
name = "certain"
method = "simulate"
set = ["run.transport.jitter=0"]
seeds = { margin = 0.02, least = 3, most = 12 }

[[run]]
name = "once"
method = "simulate"

[[figure]]
draw = "bars"
groups = ["two", "one"]
ylabel = "share (%)"
times = 100.0
less = 0.5
caption = "c"

[[figure.bar]]
name = "ours"
of = ["many transfer-rate two / many transfer-rate *", "many transfer-rate one-* / many transfer-rate *"]

[[figure.bar]]
name = "printed"
given = [40.0, 60.0]
"""

EXPECTED = """
[[quantity]]
name = "many transfer-rate two / many transfer-rate *"
against = 0.4
tolerance = 0.3
tolerance_why = "worked by hand to this"

[[quantity]]
name = "certain transfer-rate two / certain transfer-rate *"
against = 0.4
tolerance = 0.3
tolerance_why = "worked by hand to this"

[[quantity]]
name = "once mean-rate *"
window = ["0 s", "1 s"]
against = 8.0
tolerance = 1.0
tolerance_why = "worked by hand to this"

[[quantity]]
name = "once average-rate one-*"
window = ["0 s", "1 s"]
against = 2.6
tolerance = 1.5
tolerance_why = "worked by hand to this"

[[quantity]]
name = "once mean-rtt two.1"
window = ["0 s", "1 s"]
against = 40.0
tolerance = 20.0
tolerance_why = "worked by hand to this"

[[quantity]]
name = "once lost *"
against = 0.05
tolerance = 0.05
tolerance_why = "worked by hand to this"
"""


def folder_of(tmp_path: Path, experiment: str = EXPERIMENT, expected: str = EXPECTED) -> Path:
    folder = tmp_path / "mine-figure-1"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "experiment.toml").write_text(experiment)
    (folder / "expected.toml").write_text(expected)
    return folder


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return reproduce("mine", experiments=folder_of(tmp_path_factory.mktemp("experiments")).parent)


def test_a_run_has_more_seeds_until_its_margin_is_small_or_it_has_had_the_most(rows: Rows) -> None:
    many, certain = rows[:2]
    assert many.seeds is not None
    assert many.half_width is not None
    assert (many.seeds - 3) % STEP == 0 or many.seeds == 12
    is_sure = many.half_width <= 0.02 * float(many.ours)
    assert is_sure or many.seeds == 12
    assert ("margin" in many.note) == (not is_sure)
    # Without jitter nothing is random: all seeds give the same.
    assert (certain.seeds, certain.half_width) == (3, 0.0)
    assert "margin" not in certain.note


def test_the_seeds_do_not_depend_on_what_was_run_before(rows: Rows, tmp_path: Path) -> None:
    again = reproduce("mine", experiments=folder_of(tmp_path).parent)
    assert list(again) == list(rows)


def test_a_margin_that_no_seed_misses_needs_no_more(tmp_path: Path) -> None:
    wide = EXPERIMENT.replace("margin = 0.02", "margin = 10.0")
    rows = reproduce("mine", experiments=folder_of(tmp_path, wide).parent)
    assert [row.seeds for row in rows[:2]] == [3, 3]


def test_a_margin_is_relative_to_the_mean() -> None:
    # Mean 2, half-width 4.3027 / sqrt(3) = 2.484.
    assert margin_of(estimate([1.0, 2.0, 3.0])) == pytest.approx(1.242, abs=1e-3)
    assert margin_of(estimate([-1.0, -2.0, -3.0])) == pytest.approx(1.242, abs=1e-3)
    assert margin_of(estimate([5.0])) == margin_of(estimate([5.0, 5.0])) == 0.0
    assert margin_of(estimate([float("inf"), 1.0])) == 0.0
    assert margin_of(Estimate(0.0, 1.0, 3)) == float("inf")


def test_measures_of_a_pattern_are_of_all_connections_that_match(rows: Rows) -> None:
    # The link is full for the first second: 8 Mbit/s, less what is under way and lost. Packets wait for 30 ms at most.
    assert [row.quantity for row in rows if row.is_changed] == []


def test_a_pattern_that_nothing_matches_is_told(tmp_path: Path) -> None:
    none = '[[quantity]]\nname = "once average-rate three-*"\nagainst = 1.0\n'
    with pytest.raises(
        ScenarioError, match="no connection is called `three-\\*`; the first of the scenario's 3 is called"
    ):
        reproduce("mine", experiments=folder_of(tmp_path, expected=none).parent)


def test_bars_are_means_less_something_times_something_and_what_is_given(rows: Rows, tmp_path: Path) -> None:
    frame = rows.figures[0].frame
    assert frame["group"].to_list() == ["two", "one"] * 2
    assert frame["is_given"].to_list() == [False, False, True, True]
    two, one, *given = frame["value"].to_list()
    assert two == pytest.approx(100.0 * (float(rows[0].ours) - 0.5))
    assert two + one == pytest.approx(0.0, abs=1e-9)
    assert given == [40.0, 60.0]
    report(rows, tmp_path / "report")
    assert {"figure-1.svg", "figure-1.png", "figure-1.csv"} <= {file.name for file in (tmp_path / "report").iterdir()}


def test_numbers_of_bars_stand_beyond_their_intervals() -> None:
    columns = {"group": ["a", "b"], "name": ["x", "x"], "value": [2.0, -3.0], "half_width": [0.5, None]}
    frame = pl.DataFrame(columns | {"is_given": [False, False]}, strict=False)
    axes = figures.draw_estimates(frame, ylabel="y", title="t").axes[0]
    assert [(text.get_text(), text.xy) for text in axes.texts] == [("2.00", (0.0, 2.5)), ("-3.00", (1.0, -3.0))]  # type: ignore[attr-defined]


SEEDS = "seeds = { margin = 0.02, least = 3, most = 12 }"

MISTAKES = [
    (SEEDS, "seeds = { least = 1 }", "`least`: it is"),
    (SEEDS, "seeds = { least = 3, most = 2 }", "`most`: it is"),
    (SEEDS, "seeds = { margin = 0 }", "`margin`: it is 0; it must be over 0"),
    (SEEDS, "seeds = { margins = 1 }", "there is no such key; did you mean `margin`"),
    ("given = [40.0, 60.0]", "given = [40.0]", "`of`: there are 0, and 1 in `given`; give 2"),
    ('name = "printed"', 'name = "ours"', "there are two `ours`"),
    ('groups = ["two", "one"]', 'groups = ["two", "one"]\nruns = ["many"]', "`runs`: bars are of numbers"),
    ("many transfer-rate one-* / many", "many transfer-rate one-* / few", "there is no run `few`"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_in_seeds_or_bars_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in EXPERIMENT
    with pytest.raises(ScenarioError, match=message):
        read_experiment(folder_of(tmp_path, EXPERIMENT.replace(old, new, 1)))


def test_a_quotient_is_of_runs_that_are_repeated_alike(tmp_path: Path) -> None:
    mixed = '[[quantity]]\nname = "many mean-rate two / certain mean-rate two"\nagainst = 1.0\n'
    assert read_experiment(folder_of(tmp_path, expected=mixed)).quantities
    other = EXPERIMENT.replace("margin = 0.02", "margin = 0.03", 1)
    (tmp_path / "other").mkdir()
    with pytest.raises(ScenarioError, match="different numbers of seeds"):
        read_experiment(folder_of(tmp_path / "other", other, mixed))
