"""Runs with several seeds, means over windows, the optimum over time, and algorithm 2 step by step."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from anabranch.errors import ScenarioError
from anabranch.estimate import estimate, student_t
from anabranch.reproduce.execute.optimum import optimum_over_time
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.report import report
from anabranch.reproduce.report.table import columns, seeds_note
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.rows import Rows
from anabranch.runs.scenario import read_plan

pytestmark = pytest.mark.slow

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"

SCENARIO = """
[run]
duration = "30 s"
sample = "0.5 s"
record = ["connections", "subflows", "links"]

[defaults.link]
queue = "50 packets"

[defaults.connection]
protocol = "wvegas"

[[link]]
name = "upper"
source = "a"
target = "b"
capacity = "6 Mbit/s"
delay = "10 ms"

[[link]]
name = "lower"
source = "a"
target = "b"
capacity = "9 Mbit/s"
delay = "10 ms"
capacity_changes = [{ at = "20 s", capacity = "0 bit/s" }]

[[connection]]
name = "both"
source = "a"
target = "b"
links = [["upper"], ["lower"]]
path_times = [{}, { start = "5 s" }]

[[connection]]
name = "one"
source = "a"
target = "b"
links = [["upper"]]
start = "10 s"
"""

EXPERIMENT = """
paper = "mine"
item = "table-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"

[[run]]
name = "optimal"
method = "proportional"

[[run]]
name = "wvegas"
method = "simulate"
seeds = 3

[[run]]
name = "some"
method = "simulate"
seeds = [1, 2]

[[run]]
name = "steps"
method = "weight-allocation"
weights = { both = [0.9, 0.1] }
passes = 40

[[figure]]
draw = "mean-subflow-rates"
runs = ["wvegas"]
target = "optimal"
bin = "5 s"
caption = "c"

[[figure]]
file = "steps"
draw = "steps"
runs = ["steps"]
target = "optimal"
caption = "c"
"""

EXPECTED = """
[[quantity]]
name = "optimal mean-rate both"
window = ["10 s", "20 s"]
against = 9.0
tolerance = 1e-4
tolerance_why = "worked by hand to this"

[[quantity]]
name = "wvegas mean-granted both.1"
window = ["10 s", "20 s"]
published = 3.0
expect = "off"
cause = "open"
against = "optimal mean-rate both.1"
tolerance = 2.0
tolerance_why = "worked by hand to this"

[[quantity]]
name = "wvegas mean-load upper / wvegas capacity upper"
window = ["10 s", "20 s"]
against = 1.0
tolerance = 0.05
tolerance_why = "worked by hand to this"

[[quantity]]
name = "Links are full"
published = "full"
window = ["10 s", "20 s"]
check = "wvegas utilisation upper >= 0.95"
show = ["wvegas mean-wait upper", "wvegas mean-granted one", "wvegas subflow-deviation optimal", "wvegas dropped"]
"""


def folder_of(tmp_path: Path, experiment: str = EXPERIMENT, expected: str = EXPECTED) -> Path:
    folder = tmp_path / "mine-table-1"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "experiment.toml").write_text(experiment)
    (folder / "expected.toml").write_text(expected)
    return folder


# Intervals.


@pytest.mark.parametrize(("degrees", "t"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622)])
def test_students_t_is_that_of_the_tables(degrees: int, t: float) -> None:
    assert student_t(degrees) == pytest.approx(t, abs=5e-5)


def test_with_many_degrees_students_t_is_that_of_the_normal_distribution() -> None:
    assert student_t(10_000) == pytest.approx(1.96, abs=1e-3)
    assert student_t(2, 0.9) == pytest.approx(2.91999, abs=1e-4)


def test_the_interval_of_three_values_is_as_by_hand() -> None:
    # Mean 2, standard deviation 1: 4.3027 / sqrt(3).
    found = estimate([1.0, 2.0, 3.0])
    assert (found.mean, found.count) == (2.0, 3)
    assert found.half_width == pytest.approx(4.3027 / math.sqrt(3.0), abs=1e-4)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([4.2], "4.2"),
        ([5.0, 5.0], "5 ± 0"),
        ([1.0, 2.0, 3.0], "2.0 ± 2.5"),
        ([4.22, 4.21, 4.25], "4.227 ± 0.052"),
        ([707.0, 720.0, 699.0], "709 ± 26"),
        ([math.inf], "never"),
        ([math.inf, 1.0], "never"),
    ],
)
def test_an_estimate_is_shown_to_two_digits_of_its_half_width(values: list[float], text: str) -> None:
    assert str(estimate(values)) == text


# The optimum over time.


def test_the_optimum_follows_connections_paths_and_capacities() -> None:
    # Alone on the upper link: 6. From 5 s on with the lower: 6 + 9. From 10 s on the other leaves it nothing of the
    # upper link: 9 and 6. From 20 s on the lower link carries nothing: 3 and 3.
    optimum = optimum_over_time(read_plan(SCENARIO), 1e6, 1e-3)
    assert optimum.time_s == [0.0, 5.0, 10.0, 20.0]
    wanted = [[6.0, 0.0, 0.0], [6.0, 9.0, 0.0], [0.0, 9.0, 6.0], [3.0, 0.0, 3.0]]
    for own, row in zip(optimum.rates.tolist(), wanted, strict=True):
        assert own == pytest.approx(row, abs=1e-4)
    # From 15 s to 25 s: 9 for five seconds, then 3.
    assert optimum.mean_rate(range(2), (15.0, 25.0)) == pytest.approx(6.0, abs=1e-4)
    assert optimum.mean_load(2, (0.0, 30.0)) == pytest.approx(9.0 * 15.0 / 30.0, abs=1e-4)
    assert optimum.mean_capacity(2, (15.0, 25.0)) == pytest.approx(4.5)


def test_demands_that_change_are_refused() -> None:
    changing = SCENARIO.replace(
        'start = "10 s"\n', 'demand = "1 Mbit/s"\ndemand_changes = [{ at = "3 s", demand = "2 Mbit/s" }]\n'
    )
    with pytest.raises(ScenarioError, match="demands change"):
        optimum_over_time(read_plan(changing), 1e6, 1e-3)


# An experiment with seeds.


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return reproduce("mine", experiments=folder_of(tmp_path_factory.mktemp("experiments")).parent)


def test_numbers_are_means_over_the_seeds_with_their_interval(rows: Rows) -> None:
    optimum, rate, load, claim = rows
    assert (optimum.half_width, optimum.seeds, optimum.against) == (None, None, 9.0)
    assert (rate.published, rate.seeds) == (3.0, 3)
    assert rate.against == pytest.approx(0.0, abs=1e-4)
    assert rate.half_width is not None
    assert 0.0 < rate.half_width < 2.0
    assert "±" in rate.ours_text
    assert (rate.verdict, rate.beside) == ("off", "agrees")
    assert (load.verdict, claim.verdict) == ("agrees", "borne out")
    assert "±" in str(claim.ours)
    assert (claim.seeds, claim.half_width) == (3, None)
    assert seeds_note(rows).startswith("Ours are means over 3 seeds")


def test_a_column_says_what_ours_is_compared_with(rows: Rows) -> None:
    assert [name for name, _ in columns(rows)][:4] == ["quantity", "published", "ours", "difference"]
    assert dict(columns(rows))["beside"][0] == "compared with 9 ± 0.0001"
    assert str(dict(columns(rows))["beside"][1]).endswith(": agrees")
    assert "beside" not in dict(columns(rows[3:]))


def test_one_simulation_of_each_seed_serves_all_runs(rows: Rows) -> None:
    # The second run has two of the three seeds of the first: nothing is simulated anew.
    assert [(made.run, made.simulated_s) for made in rows.made] == [("wvegas", 90.0)]


def test_what_progress_raises_ends_all_seeds(tmp_path: Path) -> None:
    told = []

    def tell(run: str, time_s: float, duration_s: float, events: int) -> None:
        told.append((run, time_s <= duration_s, events))
        raise ValueError("enough")

    # Long enough that it is told more than at the end.
    folder = folder_of(tmp_path)
    (folder / "scenario.toml").write_text(SCENARIO.replace('"30 s"', '"3000 s"'))
    with pytest.raises(ValueError, match="enough"):
        reproduce("mine", experiments=folder.parent, progress=tell)
    assert told[0][:2] == ("table-1: wvegas", True)


def test_a_report_has_figures_and_the_number_of_seeds(rows: Rows, tmp_path: Path) -> None:
    report(rows, tmp_path / "report")
    files = {file.name for file in (tmp_path / "report").iterdir()}
    assert {"table-1.svg", "table-1.png", "table-1.csv", "steps.svg", "steps.csv"} <= files
    assert "| beside |" in (tmp_path / "report/report.md").read_text(encoding="utf-8")
    assert "means over 3 seeds" in (tmp_path / "report/report.md").read_text(encoding="utf-8")


MISTAKES = [
    (EXPERIMENT, "seeds = 3", "seeds = 1", "`seeds`: it is 1; give how many, 2 or more"),
    (EXPERIMENT, "seeds = 3", "seeds = [1, 1]", r"`seeds`: it is \[1, 1\]"),
    (EXPERIMENT, "seeds = 3", 'seeds = "3"', "`seeds`: it is text"),
    (EXPERIMENT, "seeds = 3", "seeds = 3\nseed = 1", "`seeds`: there is a `seed` besides"),
    (EXPERIMENT, '"proportional"', '"proportional"\nseeds = 2', "`seeds`: the method is proportional; leave it out"),
    (EXPERIMENT, "seeds = 3", "seeds = 3\nweights = { both = [1.0] }", "`weights`: the method is simulate"),
    (EXPERIMENT, 'runs = ["steps"]', 'runs = ["wvegas"]', "`runs`: it must be one with steps"),
    (EXPERIMENT, 'target = "optimal"\nbin', 'target = "steps"\nbin', "`target`: run `steps` is of another method"),
    (EXPECTED, '"optimal mean-rate both"', '"steps mean-rate both"', "is of runs that are simulated or proportional"),
    (EXPECTED, "published = 3.0", "recorded = 3.0", "`against`: there is another number to judge ours by"),
    (EXPECTED, "wvegas capacity upper", "some capacity upper", "its runs have different numbers of seeds"),
    (EXPECTED, "subflow-deviation optimal", "deviation steps", "there is no run over time `steps`"),
    (EXPECTED, 'published = "full"', 'published = "full"\nagainst = 1.0', "a claim is given `against` besides"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), MISTAKES)
def test_a_mistake_in_a_file_is_told(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    assert old in file
    changed = file.replace(old, new, 1)
    is_expected = file is EXPECTED
    folder = folder_of(tmp_path, EXPERIMENT if is_expected else changed, changed if is_expected else EXPECTED)
    with pytest.raises(ScenarioError, match=message):
        read_experiment(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.9, 0.1]", "[0.9, 0.1, 0.1]", "`both` has 3; it must have one for each of 2 paths"),
        ("[0.9, 0.1]", "[0.9, 0.2]", "those of `both` add to 1.1"),
        ("{ both =", "{ bath =", "there is no connection `bath`"),
    ],
)
def test_weights_that_do_not_fit_are_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    alone = EXPERIMENT.partition("[[figure]]")[0].replace("seeds = 3", "seeds = 2").replace(old, new)
    folder = folder_of(tmp_path, alone, '[[quantity]]\nname = "steps farthest optimal"\nagainst = 0.0\n')
    with pytest.raises(ScenarioError, match=message):
        reproduce("mine", experiments=folder.parent)
