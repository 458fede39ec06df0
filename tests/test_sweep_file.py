"""Sweep files: what is varied, and how mistakes are told."""

from __future__ import annotations

import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import ScenarioError
from anabranch.sweeps import is_sweep, read_file
from anabranch.sweeps.points import axes_of, frame_of, points_of
from anabranch.sweeps.runner import check_sweep
from anabranch.sweeps.trial import corners_first, try_points
from anabranch.sweeps.values import column, drawn, listed, toml
from command import run

SCENARIO = """
[defaults.connection]
protocol = "d-slen"

[[link]]
name = "narrow"
source = "a"
target = "b"
capacity = "1 Mbit/s"
delay = "1 ms"

[[connection]]
name = "one"
source = "a"
target = "b"
links = [["narrow"]]
"""


TABLE = "[[table]]\nfile = '{}'\nof = 'runs'\nvalue = 'events'\n"


@pytest.fixture
def points(tmp_path: Path):
    def read(text: str) -> list[dict[str, object]]:
        sweep = written(tmp_path, text)
        own = read_file(sweep)
        return [point.values for point in points_of(own, axes_of(own))]

    return read


def written(folder: Path, text: str) -> Path:
    (folder / "scenario.toml").write_text(SCENARIO)
    file = folder / "sweep.toml"
    file.write_text(f'scenario = "scenario.toml"\n{text}')
    return file


def test_values_are_crossed_and_the_last_changes_first(points):
    found = points('[sweep]\nconnection.0.weight = [1, 2]\nseed = "5..6"\n')
    assert found == [
        {"connection.0.weight": 1, "seed": 5},
        {"connection.0.weight": 1, "seed": 6},
        {"connection.0.weight": 2, "seed": 5},
        {"connection.0.weight": 2, "seed": 6},
    ]


def test_values_together_go_hand_in_hand(points):
    found = points('[[together]]\nlink.0.capacity = ["1 Mbit/s", "10 Mbit/s"]\nlink.0.queue = ["8 KiB", "80 KiB"]\n')
    # Quantities are numbers in the unit that the column's name ends with.
    assert found == [
        {"link.0.capacity_bps": 1e6, "link.0.queue_bytes": 8192.0},
        {"link.0.capacity_bps": 1e7, "link.0.queue_bytes": 81920.0},
    ]


def test_a_range_of_quantities_has_both_ends(points):
    found = points(
        '[sweep]\nlink.0.delay = { first = "5 ms", last = "50 ms", count = 4 }\n[names]\n"link.0.delay" = "delay"\n'
    )
    assert [row["delay_s"] for row in found] == [0.005, 0.02, 0.035, 0.05]


def test_what_is_left_out_is_left_out_only_where_all_of_an_entry_holds(points):
    found = points(
        '[sweep]\nconnection.0.protocol = ["reno", "cubic"]\nlink.0.delay = ["1 ms", "10 ms", "100 ms"]\n'
        '[[leave_out]]\nconnection.0.protocol = "cubic"\nlink.0.delay = { over = "5 ms", under = "50 ms" }\n'
    )
    # Of 2 x 3 points one: CUBIC at 10 ms.
    kept = [(row["connection.0.protocol"], row["link.0.delay_s"]) for row in found]
    assert kept == [("reno", 0.001), ("reno", 0.01), ("reno", 0.1), ("cubic", 0.001), ("cubic", 0.1)]


@pytest.mark.slow
def test_draws_are_the_same_each_time_and_spread(points):
    text = '[[sample]]\ncount = 8\nseed = 3\nlink.0.delay = { between = ["1 ms", "100 ms"], spacing = "log" }\n'
    first, again = points(text), points(text)
    assert first == again
    # A Latin hypercube has one draw in each eighth of the way, here of the logarithm: from 10^-3 to 10^-1.
    delays = sorted(row["link.0.delay_s"] for row in first)
    for n, delay in enumerate(delays):
        assert 10 ** (-3 + 2 * n / 8) * 0.999 <= delay <= 10 ** (-3 + 2 * (n + 1) / 8) * 1.001


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("1..4", [1, 2, 3, 4]),
        ({"first": 1, "last": 9, "step": 4}, [1, 5, 9]),
        ({"first": 0.1, "last": 0.3, "step": 0.1}, [0.1, 0.2, 0.3]),
        ({"first": "1 ms", "last": "100 ms", "count": 3, "spacing": "log"}, ["1 ms", "10 ms", "100 ms"]),
        ({"first": "500 us", "last": "2 ms", "step": "500 us"}, ["500 us", "1000 us", "1500 us", "2000 us"]),
        ([1, "a"], [1, "a"]),
    ],
)
def test_ranges_have_the_values_one_would_write(given, values):
    assert listed(given) == values


def test_whole_draws_reach_both_ends():
    # Shares from 0 to 1 over 1, 2, 3: a third of the way each.
    assert drawn({"between": [1, 3]}, [0.0, 0.33, 0.34, 0.66, 0.67, 0.999]) == [1, 1, 2, 2, 3, 3]
    assert drawn({"among": ["a", "b"]}, [0.0, 0.49, 0.5, 1.0]) == ["a", "a", "b", "b"]


def test_columns_are_numbers_where_all_values_are_of_one_kind():
    assert column("delay", ["1 ms", "2 s"]).values == [0.001, 2.0]
    assert column("delay_s", ["1 ms"]).name == "delay_s"
    assert column("mixed", ["1 ms", "10 Mbit/s"]).values == ["1 ms", "10 Mbit/s"]
    assert column("form", [{"nmcc": {"x": 1}}, "lia"]).values == ["{ nmcc = { x = 1 } }", "lia"]


@given(
    st.recursive(
        st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
        max_leaves=8,
    )
)
def test_values_are_written_as_toml_reads_them(value):
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[swep]\na.b = [1]\n", "`swep`: there is no such key (did you mean `sweep`?)"),
        ("[sweep]\nconnection.0.wieght = [1]\n", "no key `wieght` here (did you mean `weight`?)"),
        ('[sweep]\nconnection.0.protocol = ["lia", "wvegos"]\n', "no protocol `wvegos` (did you mean `wvegas`?)"),
        ("[sweep]\nconnection.3.weight = [1]\n", "`connection` is a list without `3`"),
        ('[sweep]\nlink.0.delay = "5 ms"\n', '"5 ms" is no range; write it like "1..30"'),
        ("[sweep]\nseed = []\n", "the list is empty"),
        ('[sweep]\nseed = "3..1"\n', "must rise"),
        ('[sweep]\nlink.0.delay = { first = "1 ms", last = "2 Mbit/s", count = 2 }\n', "are not of one kind"),
        ('[sweep]\nlink.0.delay = { first = "1 ms", last = "2 ms", cuont = 2 }\n', "a range has no `cuont`"),
        ('[sweep]\nlink.0.delay = { first = "1 ms", last = "2 ms" }\n', "needs `step` or `count`"),
        ("[sweep]\nlink.0.delay = { first = 0, last = 1, count = 3, spacing = 'log' }\n", "both ends must be over 0"),
        ("[[together]]\nlink.0.delay = ['1 ms']\nlink.0.queue = ['1 kB', '2 kB']\n", "give as many of each"),
        ("[sweep]\nseed = [1]\nrun.seed = [2]\n", "the path `run.seed` is varied twice"),
        ("[sweep]\nseed = [1]\n[repeat]\nof = [{ of = 'runs', value = 'events' }]\n", "`seed` cannot be varied too"),
        ("[names]\n'link.0.delay' = 'd'\n", "`link.0.delay` is not varied"),
        ("[sweep]\nseed = [1]\n[[leave_out]]\nseeed = 1\n", "it is not varied (did you mean `seed`?)"),
        ("[sweep]\nseed = [1]\n[[leave_out]]\nseed = 2\n", "2 is none of its values"),
        ("[sweep]\nseed = [1]\n[[leave_out]]\nseed = 1\n", "leaves out every point"),
        ("[[sample]]\ncount = 3\n", "nothing is drawn"),
        ("[[sample]]\ncount = 3\nlink.0.delay = ['1 ms']\n", "say from what to draw"),
        ("[[table]]\nfile = 'a'\nof = 'connections'\nvalue = 'error'\njion = 'sum'\n", "`table.0.jion`"),
        ("[[table]]\nfile = 'a'\nof = 'connections'\n", "`table.0.value` is missing"),
        ("[sweep]\nseed = [1\n", "it is not TOML"),
        ("[repeat]\nmargin = 0.1\n", "no number to be sure of"),
        ("[repeat]\nleast = 5\nmost = 3\nof = [{ of = 'runs', value = 'events' }]\n", "most is to be no less"),
        ("[sweep]\nlink.0.delay = {}\n", "{  } is one value"),
        ('[sweep]\nlink.0.delay = { first = "5 ms", count = 4 }\n', "add `last`"),
        ("[sweep]\nseed = { first = 1, last = 1e308, step = 1e-308 }\n", "at most 1,000,000 will do"),
        (
            "[sweep]\nconnection.0.weight = [1, 2]\n[names]\n'connection.0.weight' = 'run'\n",
            "column `run` of their own",
        ),
        ("[sweep]\nconnection.0.weight = [1, 2]\n[names]\n'connection.0.weight' = 'seed'\n", "the column of the seed"),
        ("[sweep]\nconnection.0.weight = [1, -5]\n", "weight"),
        (f"{TABLE.format('m')}{TABLE.format('M')}", "two tables or figures have the file `m`"),
    ],
)
def test_mistakes_say_what_where_and_what_would_do(tmp_path, text, words):
    with pytest.raises(ScenarioError) as caught:
        check_sweep(written(tmp_path, text))
    assert words in str(caught.value)
    assert "sweep.toml" in str(caught.value)


def test_a_value_that_no_point_can_have_is_told_and_a_combination_is_not(tmp_path):
    # It may start at 0 or 150 ms, and stop at 100 or 200 ms; only to stop before it starts cannot be.
    text = '[sweep]\nconnection.0.start = ["0 ms", "150 ms"]\nconnection.0.stop = ["100 ms", "{}"]\n'
    assert len(check_sweep(written(tmp_path, text.format("200 ms"))).points) == 4
    with pytest.raises(ScenarioError, match="stop"):
        check_sweep(written(tmp_path, text.format("0 ms")))


NEVER = """
[sweep]
connection.0.start = ["150 ms", "0 ms"]
connection.0.stop = ["100 ms", "200 ms"]
seed = [1, 2, 3]
"""


def test_a_trial_plans_every_combination_and_tells_of_those_that_cannot_run(tmp_path):
    # To stop at 100 ms after a start at 150 ms cannot be: one of four, and the first of all points.
    tried = try_points(check_sweep(written(tmp_path, NEVER)))
    assert (tried.combinations, tried.tried, len(tried.refused)) == (4, 4, 1)
    assert "connection.0.start=150 ms connection.0.stop=100 ms" in str(tried.refused[0]).replace('"', "")
    assert list(tried.first.values.values()) == [0.15, 0.2, 1]
    done = run("check", tmp_path / "sweep.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "note: 1 of 4 combinations of values cannot run, such as" in done.stdout


def test_a_trial_that_takes_long_begins_with_the_ends_of_all_axes(tmp_path):
    checked = check_sweep(written(tmp_path, "[sweep]\nconnection.0.weight = '1..9'\nseed = [7]\n"))
    tried = try_points(checked, within_s=0.0)
    assert (tried.combinations, tried.tried) == (9, 1)
    assert [next(iter(point.values.values())) for point in corners_first(checked.points, checked)] == [
        *(1, 9),
        *range(2, 9),
    ]


def test_the_same_values_drawn_twice_are_one_point(points):
    found = points("[[sample]]\ncount = 30\nrun.seed = { between = [1, 5] }\n")
    assert sorted(row["seed"] for row in found) == [1, 2, 3, 4, 5]


def test_too_many_points_are_refused_before_they_are_made(tmp_path):
    file = written(tmp_path, '[sweep]\nseed = "1..1000000"\nconnection.0.weight = "1..1000"\n')
    with pytest.raises(ScenarioError, match="1,000,000,000 points"):
        axes_of(read_file(file))


def test_a_sweep_file_names_a_scenario_and_a_scenario_does_not():
    assert is_sweep('scenario = "a.toml"')
    assert not is_sweep(SCENARIO)
    assert not is_sweep("= no TOML")


def test_nothing_varied_is_one_point(tmp_path):
    checked = check_sweep(written(tmp_path, ""))
    assert len(checked.points) == 1
    assert frame_of(checked.points).shape == (0, 0)


@given(st.text(max_size=60))
def test_no_text_makes_reading_fail_in_another_way(text):
    with tempfile.TemporaryDirectory() as folder, suppress(ScenarioError):
        check_sweep(written(Path(folder), text))
