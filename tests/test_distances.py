"""How far connections are from fair is told alike by tables, by cards and by the head line of the page."""

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.runs.headline import headline
from command import run

SCENARIOS = Path(__file__).parents[1] / "scenarios"

LIMITED = """
link = [{ name = "line", source = "a", target = "b", capacity = "10 Mbit/s", delay = "5 ms", queue = "100 packets" }]
connection = [
  { name = "call", source = "a", target = "b", protocol = "cubic", demand = "1 Mbit/s" },
  { name = "rest", source = "a", target = "b", protocol = "cubic" },
]
run = { duration = "10 s", warm_up = "2 s", record = ["connections", "fairness"] }
"""


def test_a_connection_with_a_demand_is_measured_by_what_is_fair_given_that():
    # The call asks for 1 of 10 Mbit/s and has it; fair for the rest are the 9 that are left.
    frame = ab.run(LIMITED).mean_rates()
    assert frame["fair_bps"].to_list() == pytest.approx([1e6, 9e6], rel=1e-6)
    assert frame["rate_bps"].to_list() == pytest.approx([1e6, 9e6], rel=0.01)
    assert frame["distance"].to_list() == pytest.approx([0.0, 0.0], abs=0.01)


def test_a_call_beside_a_download_is_not_far_from_fair_whatever_its_window_would_allow():
    result = ab.run(SCENARIOS / "classics" / "bufferbloat.toml")
    granted = dict(result.connections.select("connection", "error").iter_rows())
    own = dict(result.mean_rates().select("connection", "distance").iter_rows())
    # The window over the round trip is ten times what a call of 64 kbit/s sends.
    assert granted["codel-call"] > 5
    assert own["codel-call"] == pytest.approx(0.0, abs=0.01)


def test_means_are_over_the_time_that_a_connection_is_there():
    # "first" begins at 1 of 4 s, with a fair rate of 8 Mbit/s until "last" is gone at about 2 s, and then of 7.
    frame = ab.run(SCENARIOS / "join-and-leave.toml").mean_rates()
    through, first, last = frame["fair_bps"].to_list()
    # "through" has 6 for 2.03 s, then 7: 7 - 2.03 / 4; "first" 7 + 1.03 / 3.
    assert (through, first, last) == pytest.approx((6.49e6, 7.34e6, 6e6), rel=0.002)
    own = [1 - rate / fair for rate, fair in frame.select("rate_bps", "fair_bps").iter_rows()]
    assert frame["distance"].to_list() == pytest.approx([-value for value in own])


def test_what_comes_after_the_last_sample_counts():
    # Some answers come by a timeout, all within the last millisecond: 32 kB in 201 ms are 1.27 Mbit/s.
    result = ab.run(SCENARIOS / "classics" / "incast.toml")
    frame = result.mean_rates().join(result.connections.select("connection", "completion_s"), on="connection")
    late = frame.filter(frame["completion_s"] > 0.2)
    assert late["rate_bps"].to_list() == pytest.approx([32e3 * 8 / 0.201] * len(late), rel=0.01)


def test_without_data_the_granted_rates_are_those_that_count():
    frame = ab.run(SCENARIOS / "join-and-leave.toml", sets=["run.data=false"]).mean_rates()
    # "last" never sends its amount.
    assert frame["rate_bps"].to_list() == pytest.approx([6e6, 8e6, 6e6], rel=0.01)
    assert frame["distance"].to_list() == pytest.approx([0.0, 0.0, 0.0], abs=0.01)


def test_what_was_not_recorded_is_null():
    frame = ab.run(SCENARIOS / "join-and-leave.toml", sets=['run.record=["connections"]']).mean_rates()
    assert frame["rate_bps"].null_count() == 0
    assert (frame["fair_bps"].null_count(), frame["distance"].null_count()) == (3, 3)
    silent = ab.run(SCENARIOS / "join-and-leave.toml", sets=["run.data=false", "run.record=[]"])
    assert silent.mean_rates().select("rate_bps", "distance").null_count().row(0) == (3, 3)


@pytest.mark.parametrize("name", ["join-and-leave", "wifi-and-cellular", "classics/incast", "classics/bufferbloat"])
def test_the_head_line_of_the_page_is_the_mean_of_what_the_table_prints(name):
    result = ab.run(SCENARIOS / f"{name}.toml")
    told = headline(result)
    printed = run("run", str(SCENARIOS / f"{name}.toml")).stdout.split("\n\n")[0].splitlines()
    assert "from fair" in printed[0]
    words = [line.split() for line in printed[2:]]
    column = [float(next(word for word in line if word.endswith("%")).rstrip("%")) / 100 for line in words]
    # Printed to a tenth of a per cent.
    assert told.fair_distance == pytest.approx(sum(map(abs, column)) / len(column), abs=1e-3)
    worst = min(range(len(column)), key=column.__getitem__)
    assert told.worst_share == pytest.approx(1 + column[worst], abs=1e-3)
    assert told.worst_off in {line[0] for line, value in zip(words, column, strict=True) if value == column[worst]}
