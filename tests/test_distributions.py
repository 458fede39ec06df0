"""Percentiles over samples and packets, of one run and of several together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.measures.lookup import connections_of, link_of
from anabranch.reproduce.measures.percentiles import Recording, pooled
from anabranch.reproduce.measures.registry import UnmeasuredError
from anabranch.reproduce.measures.sampled import CONNECTIONS_AND_LINK, backlogs_kb, jain_indices, rate_differences
from anabranch.reproduce.outcomes.kinds import Simulated, simulated
from anabranch.runs.series import Series

EVER = (0.0, 4.0)

# Several recordings together.


def uniform(count: int, least: float, most: float) -> Recording:
    return Recording(count, np.array([least, (least + most) / 2.0, most]), np.array([0.0, 0.5, 1.0]))


def test_recordings_are_put_together_by_how_many_were_recorded() -> None:
    # 100 from 0 to 2 ms and 300 from 2 to 4 ms. A quarter is below 2 ms; the half is 1/4 + 3/4 (x - 2) / 2, so x = 8/3;
    # an eighth is the half of the first.
    both = [uniform(100, 0.0, 2.0), uniform(300, 2.0, 4.0)]
    assert pooled(both, [0.125, 0.25, 0.5, 1.0]) == pytest.approx([1.0, 2.0, 8.0 / 3.0, 4.0])


def test_recordings_that_overlap_rise_together() -> None:
    # From 0 to 2 and from 1 to 3, as many: at 1.5 it is (3/4 + 1/4) / 2.
    assert pooled([uniform(5, 0.0, 2.0), uniform(5, 1.0, 3.0)], [0.5]) == pytest.approx([1.5])


def test_what_many_packets_have_in_common_is_a_step() -> None:
    # Nine tenths wait 1 ms, and so do all of the other recording: each percentile up to 95 is 1 ms.
    steep = Recording(10, np.array([1.0, 1.0, 1.0, 5.0]), np.array([0.0, 0.5, 0.9, 1.0]))
    flat = Recording(10, np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.9, 1.0]))
    assert pooled([steep, flat], [0.05, 0.5, 0.9, 0.95]) == pytest.approx([1.0] * 4)
    # Of both a twentieth is above 1 ms, and straight from there to 5 ms.
    assert pooled([steep, flat], [0.975]) == pytest.approx([3.0])


@given(st.lists(st.floats(0.0, 1e3), min_size=4, max_size=4))
def test_one_recording_alone_or_twice_is_as_recorded(values: list[float]) -> None:
    own = Recording(7, np.sort(values), np.array([0.0, 0.25, 0.75, 1.0]))
    for recordings in ([own], [own, own]):
        assert pooled(recordings, [0.25, 0.75]) == pytest.approx(own.values[1:3].tolist(), rel=1e-9, abs=1e-9)


# Samples of one run.

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


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Give a run with samples made by hand."""
    file = tmp_path_factory.mktemp("scenario") / "scenario.toml"
    file.write_text(SCENARIO)
    run = simulated(simulate(file, [], None), 1.0, 1e-3)
    times = [1.0, 2.0, 3.0, 4.0]
    connections = {
        "time_s": times * 2,
        "connection": ["c1"] * 4 + ["c2"] * 4,
        "granted_bps": [8e6, 3e6, 2e6, 2e6, 0.0, 1e6, 2e6, 2e6],
        "delivered_bps": [8e6, 6e6, 2e6, 3e6, 0.0, 2e6, 2e6, 1e6],
    }
    links = {"time_s": times, "link": ["l"] * 4, "backlog_bytes": [0, 1500, 3000, 4500]}
    series = Series({"connections": pl.DataFrame(connections), "links": pl.DataFrame(links)})
    run.simulation.result = replace(run.simulation.result, series=series)
    return run


def test_jains_index_is_of_those_that_are_there_from_sample_to_sample(run: Simulated) -> None:
    # c1 alone in the first second; 6 and 2 Mbit/s: 8^2 / (2 (36 + 4)); 2 and 2; 3 and 1: 4^2 / (2 (9 + 1)).
    assert jain_indices(run, connections_of(run, "c*"), EVER).tolist() == pytest.approx([0.8, 1.0, 0.8])
    with pytest.raises(UnmeasuredError, match="no such samples"):
        jain_indices(run, connections_of(run, "c1"), EVER)


def test_backlogs_are_those_of_the_samples_in_the_window(run: Simulated) -> None:
    assert backlogs_kb(run, link_of(run, "l"), EVER).tolist() == [0.0, 1.5, 3.0, 4.5]
    assert backlogs_kb(run, link_of(run, "l"), (2.0, 3.0)).tolist() == [1.5, 3.0]


def test_rates_differ_from_equal_parts_of_what_the_link_can_carry_then(run: Simulated) -> None:
    # 8 Mbit/s for two at 1 s: 8 and 0 are 4 off. From 2 s on 2 for each: 3 and 1 are 1 off, then none. Then they stop.
    found = rate_differences(run, CONNECTIONS_AND_LINK.find(run, "c* l"), EVER)
    assert sorted(found.tolist()) == [0.0, 0.0, 1e6, 1e6, 4e6, 4e6]
    # One flow is to have all of it: 8 of 8, 3 of 4, 2 of 4.
    assert rate_differences(run, CONNECTIONS_AND_LINK.find(run, "c1 l"), EVER).tolist() == [0.0, 1e6, 2e6]
