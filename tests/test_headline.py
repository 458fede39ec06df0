"""The numbers that say at a glance how a run went are those of its tables, and None where they have no meaning."""

import json
from pathlib import Path

import polars as pl
import pytest

import anabranch as ab
from anabranch.runs.headline import headline

SCENARIOS = Path(__file__).parents[1] / "scenarios"

SHARED = """
link = [{ name = "line", source = "a", target = "b", capacity = "9 Mbit/s", delay = "1 ms" }]
connection = [
  { name = "double", source = "a", target = "b", protocol = "d-slen", weight = 2 },
  { name = "single", source = "a", target = "b", protocol = "d-slen" },
]
run = { duration = "2 s", warm_up = "1 s", record = ["connections", "links", "fairness", "grants"] }
"""

NOBODY = """
link = [{ source = "a", target = "b", capacity = "1 Mbit/s", delay = "1 ms" }]
run = { duration = "1 s" }
"""


@pytest.fixture(scope="module")
def join():
    return ab.run(SCENARIOS / "join-and-leave.toml")


@pytest.fixture(scope="module")
def window():
    return ab.run(SCENARIOS / "wifi-and-cellular.toml", sets=["run.duration=40 s", "run.warm_up=10 s"])


def test_rates_are_compared_by_weight():
    # 6 and 3 of 9 Mbit/s: 3 for each unit of weight.
    found = headline(ab.run(SHARED))
    assert found.jain == pytest.approx(1.0, abs=1e-3)
    assert found.fair_jain == pytest.approx(1.0, abs=1e-9)
    assert found.fair_distance == pytest.approx(0.0, abs=0.01)


def test_fairness_without_data_is_that_of_granted_rates():
    silent = headline(ab.run(SCENARIOS / "join-and-leave.toml", sets=["run.data=false"]))
    # "last" never sends its amount, so that fair are 6, 8 and 6 Mbit/s: (6 + 8 + 6)^2 / (3 (36 + 64 + 36)).
    assert silent.fair_jain == pytest.approx(400 / 408, abs=1e-3)
    assert silent.jain == pytest.approx(silent.fair_jain, abs=0.01)
    assert silent.fair_distance < 0.05
    assert (silent.dropped_packets, silent.lost_share) == (None, None)


def test_the_worst_off_is_the_one_farthest_below_its_fair_rate(window):
    found = headline(window)
    # All have 7 Mbit/s under proportional fairness; the modem shares the slower link with a phone under LIA.
    assert found.fair_jain == pytest.approx(1.0)
    assert found.worst_off == "modem"
    rates = window.series["connections"].filter(connection="modem").filter(pl.col("time_s") > 10.0)
    assert found.worst_share == pytest.approx(rates["delivered_bps"].mean() / 7e6)


def test_convergence_is_counted_by_joins_and_leaves(join):
    found = headline(join)
    # Two connections begin at 0 s and one at 1 s; "last" leaves at some 2 s.
    assert (found.joins.changes, found.joins.settled) == (2, 2)
    assert (found.leaves.changes, found.leaves.settled) == (1, 1)
    assert 0.0 < found.leaves.median_s == found.leaves.worst_s < 0.5
    # Under this protocol rates are still on their way when the next connection comes.
    slow = headline(ab.run(SCENARIOS / "join-and-leave.toml", sets=["defaults.connection.protocol=vo-le-tran"]))
    assert (slow.joins.changes, slow.joins.settled) == (2, 0)
    assert (slow.joins.median_s, slow.joins.worst_s) == (None, None)


def test_windows_never_rest_so_nothing_is_said_of_their_convergence(window):
    found = headline(window)
    assert (found.joins, found.leaves) == (None, None)


def test_queues_loads_and_losses_are_those_of_the_links(window):
    found = headline(window)
    links = {row["link"]: row for row in window.links.iter_rows(named=True)}
    # The limit of the longer queue is 120 packets.
    assert (found.queue_link, found.queue_packets) == ("cellular", 120)
    assert found.queue_s == links["cellular"]["most_wait_s"]
    assert found.utilisation == max(row["utilisation"] for row in links.values())
    assert found.bottleneck_utilisation == pytest.approx(1.0, abs=0.01)
    assert found.dropped_packets == sum(row["dropped"] for row in links.values()) > 0
    assert 0.0 < found.lost_share < 0.01


@pytest.mark.parametrize("record", ["[]", '["links"]', '["connections"]', '["errors", "waits"]'])
def test_what_was_not_recorded_is_none_and_nothing_is_no_number(record):
    found = headline(ab.run(SCENARIOS / "join-and-leave.toml", sets=[f"run.record={record}"]))
    assert (found.fair_distance, found.worst_off, found.bottleneck_utilisation) == (None, None, None)
    assert 0.9 < found.jain <= 1.0
    json.dumps(found.values(), allow_nan=False)


def test_a_run_without_connections_has_none_of_it():
    values = headline(ab.run(NOBODY)).values()
    json.dumps(values, allow_nan=False)
    assert values.pop("utilisation") == 0.0
    assert values.pop("busiest_link") is not None
    assert set(values.values()) == {None}
