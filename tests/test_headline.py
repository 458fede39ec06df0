"""The numbers that say at a glance how a run went are those of its tables, and None where they have no meaning."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import anabranch as ab
from anabranch.runs.headline import _utilisation, headline

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
    rates = window.connections["mean_rate_bps"]
    assert found.worst_share == pytest.approx(rates[2] / 7e6)
    assert found.fair_distance == pytest.approx(sum(abs(rate / 7e6 - 1) for rate in rates) / 3)


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
    assert (found.utilisation, found.busiest_link) == (pytest.approx(1.0), "wifi")
    assert found.dropped_packets == sum(row["dropped"] for row in links.values()) > 0
    assert 0.0 < found.lost_share < 0.01


def test_the_use_of_bottlenecks_is_the_mean_over_those_that_fair_rates_fill():
    # Both links of 10 Mbit/s would be full. One is; a saw between w / 2 and w fills 3/4 of the other: (1 + 3/4) / 2.
    saw = headline(ab.run(SCENARIOS / "classics" / "sawtooth.toml"))
    assert saw.bottleneck_utilisation == pytest.approx(0.875, rel=0.01)
    assert (saw.utilisation, saw.busiest_link) == (pytest.approx(1.0, rel=0.002), "deep")
    # "line" is full of 9 Mbit/s; its way back, and "spare" of 90 Mbit/s with 9 in it, are no bottlenecks.
    spare = 'link = [{ name = "spare", source = "b", target = "c", capacity = "90 Mbit/s", delay = "1 ms" }, '
    longer = headline(
        ab.run(SHARED.replace("link = [", spare).replace('target = "b", protocol', 'target = "c", protocol'))
    )
    assert longer.bottleneck_utilisation == pytest.approx(1.0, rel=0.001)
    assert (longer.utilisation, longer.busiest_link) == (pytest.approx(1.0, rel=0.001), "line")


def test_a_link_without_a_limit_is_no_bottleneck():
    # 3 of 4 and 5 of 10 after the warm-up: (0.75 + 0.5) / 2. What has no limit, or nothing to carry, is left out.
    rows = pl.DataFrame(
        {
            "time_s": [1.0, 2.0, 2.0, 2.0, 2.0, 2.0],
            "carried_bps": [0.0, 3.0, 5.0, 7.0, math.inf, 0.0],
            "fair_bps": [4.0, 4.0, 10.0, math.inf, math.inf, 0.0],
            "error": [-1.0, -0.25, -0.5, -1.0, math.nan, -1.0],
        }
    )
    links = pl.DataFrame({"link": ["a"], "carried_bytes": [1], "utilisation": [0.6]})
    run = SimpleNamespace(links=links, series=Recorded(links=rows), meta={"warm_up_s": 1.0})
    assert _utilisation(run) == {"bottleneck_utilisation": 0.625, "utilisation": 0.6, "busiest_link": "a"}


class Recorded(dict[str, pl.DataFrame]):
    """Series as a run has them."""

    def has(self, kind: str, *columns: str) -> bool:
        return kind in self and set(columns) <= set(self[kind].columns)


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
