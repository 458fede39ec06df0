"""Numbers measured on simulated runs, where one can tell what they must be."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.measures.address import Address
from anabranch.reproduce.measures.evaluate import measured
from anabranch.reproduce.measures.means import jain_index
from anabranch.reproduce.measures.registry import MEASURES, UnmeasuredError
from anabranch.reproduce.measures.simulator import agreeing
from anabranch.reproduce.outcomes.groups import SIMULATED
from anabranch.reproduce.outcomes.kinds import Simulated, simulated

SCENARIO_1, SCENARIO_2 = (
    Path(__file__).resolve().parents[1] / "experiments" / f"upward-max-min-scenario-{number}" / "scenario.toml"
    for number in (1, 2)
)

SCENARIO = """
[defaults.connection]
protocol = "d-slen"

[run]
duration = "3 s"
sample = "10 ms"
record = ["connections", "links", "grants", "fairness"]

[[link]]
name = "l"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "1 ms"

[[connection]]
name = "short"
source = "a"
target = "b"
amount = "0.5 MB"

[[connection]]
name = "long"
source = "a"
target = "b"
amount = "1 MB"
"""


def simulation(file: Path, sets: list[str]) -> Simulated:
    return simulated(simulate(file, sets, None), 1.0, 1e-3)


def number(run: Simulated, name: str, subject: str = "", window_s: tuple[float, float] | None = None) -> float:
    """Measure a number of a run by its name in experiments."""
    return measured({"own": run}, Address("own", name, subject, window_s), Path("expected.toml"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scenario") / "scenario.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture(scope="module")
def run(file: Path) -> Simulated:
    return simulation(file, [])


def test_two_connections_share_a_link_until_one_leaves(run: Simulated) -> None:
    # 4 Mbit/s each until the short one has sent 0.5 MB, after 1 s; then 8 Mbit/s for the rest of the long one, 0.5 s.
    assert run.simulation.protocol == "d-SLEN"
    assert run.simulation.first_leave_s == pytest.approx(1.0, abs=0.02)
    assert run.path_rates == pytest.approx([4e6, 4e6], rel=1e-3)
    assert number(run, "sent", "long") == pytest.approx(1.5, abs=0.03)
    assert number(run, "completion", "short") > number(run, "sent", "short")
    assert number(run, "turns", "short") == number(run, "turns", "long.1") == 0
    assert number(run, "turning") == number(run, "most-turns") == 0


def test_what_is_measured_of_a_run(run: Simulated) -> None:
    names = [row.name for row in MEASURES.values() if row.runs is SIMULATED and row.of is None]
    ours = {name: number(run, name) for name in names}
    counts = {
        "subflows-per-link": 2.0,
        "leaves": 1.0,
        "settled-leaves": 1.0,
        "unsettled-leaves": 0.0,
        "short-leaves": 0.0,
        "slow-leaves": 0.0,
        "unsettled-span": 0.0,
        "unsettled": 0.0,
        "last-turn": 0.0,
    }
    assert {name: ours[name] for name in counts} == counts
    # Round trips take 2 ms.
    assert 0.0 < ours["join-settling"] < 0.02
    assert ours["fair-join-settling"] == ours["join-settling"]
    assert 0.0 < ours["leave-settling"] == ours["leave-settling-median"] < 0.02
    assert 1.0 <= ours["queue-alone"] <= ours["largest-queue"] <= 3.0
    assert ours["queue-per-subflow"] == ours["largest-queue"] / 2.0
    assert ours["peak-overload"] < 0.01


def test_a_rate_stands_still_between_joins_and_leaves(run: Simulated) -> None:
    assert number(run, "steady", "short") == pytest.approx(1.0, abs=0.03)
    assert number(run, "turning-time", "long") == 0.0
    assert number(run, "late-turns", "long") == 0.0
    assert number(run, "off-fair", "long") <= 0.03


def test_rates_that_do_not_settle_before_the_next_leave_have_no_time() -> None:
    # Under Vo-Le-Tran rates in Scenario 1 drift until c2 leaves after 3.1 s, c1 1.9 s later, and c3 4.7 s later.
    slow = simulation(SCENARIO_1, ["defaults.connection.protocol=vo-le-tran"])
    names = [row.name for row in MEASURES.values() if row.runs is SIMULATED]
    ours = {name: number(slow, name) for name in names if "settling" in name or "leaves" in name}
    assert ours == {
        "join-settling": math.inf,
        "fair-join-settling": math.inf,
        "leave-settling": math.inf,
        "leave-settling-median": math.inf,
        "leaves": 2.0,
        "settled-leaves": 0.0,
        "unsettled-leaves": 2.0,
        "slow-leaves": 2.0,
        "short-leaves": 0.0,
    }
    assert number(slow, "join-span") == pytest.approx(slow.simulation.first_leave_s)
    assert number(slow, "unsettled-span") == pytest.approx(4.68, abs=0.05)


def test_turns_are_counted_in_a_window() -> None:
    # Under Vo-Le-Tran c3 of Scenario 2 turns for 5.2 s.
    sets = ["defaults.connection.protocol=vo-le-tran", "run.duration=2 s"]
    run = simulation(SCENARIO_2, sets)
    whole, first = number(run, "turns", "c3", (0.0, 2.0)), number(run, "turns", "c3", (0.0, 0.5))
    assert 0 < first < whole == number(run, "turns", "c3")
    assert number(run, "turns", "c3", (0.5, 2.0)) < whole
    assert number(run, "turning", "", (0.0, 0.001)) == number(run, "most-turns", "", (0.0, 0.001)) == 0.0


def test_runs_are_compared_connection_by_connection(run: Simulated, file: Path) -> None:
    assert agreeing(run, run) == 2
    slower = simulation(file, ["link.0.capacity=7 Mbit/s"])
    assert agreeing(run, slower) == 0
    renamed = simulation(file, ["connection.0.name=other"])
    with pytest.raises(ScenarioError, match="do not have the same connections"):
        agreeing(run, renamed)


def test_what_was_not_recorded_is_told(file: Path) -> None:
    bare = simulation(file, ['run.record=["grants"]', "title=Bare"])
    with pytest.raises(ScenarioError, match='Bare: "fairness" was not recorded; add it to record'):
        number(bare, "peak-overload")
    with pytest.raises(ScenarioError, match='Bare: "subflows" was not recorded; add it to record'):
        bare.simulation.samples("subflow")


MARKING = """
[run]
duration = "3 s"
warm_up = "1 s"
sample = "1 ms"
record = ["connections", "subflows", "links", "waits"]

[[link]]
name = "l"
source = "a"
target = "b"
capacity = "500 Mbit/s"
delay = "1 ms"
discipline = { ecn-ramp = { threshold = "75 kB" } }

[[traffic]]
name = "c"
count = 2
paths = 1
protocol = "lgcc"
packet = "1500 B"
"""


def test_marks_and_waits_are_those_of_the_backlog(tmp_path: Path) -> None:
    file = tmp_path / "marking.toml"
    file.write_text(MARKING)
    run = simulation(file, ['traffic.0.from=["a"]', 'traffic.0.to=["b"]'])
    backlog = number(run, "mean-backlog", "l", (1.0, 3.0))
    # Of what waits, the packet in transmission does not count for marks: a share of 75 kB. 1 kB takes 16 us, and
    # that in transmission has half of its 1.5 kB left.
    assert number(run, "marked", "c*") == pytest.approx((backlog - 1.5) / 75.0, abs=0.02)
    assert number(run, "median-wait", "l") == pytest.approx(0.016 * (backlog - 0.75), rel=0.1)
    assert number(run, "median-wait", "l") <= number(run, "most-wait", "c1.1")
    with pytest.raises(ScenarioError, match="no packet after the warm-up"):
        number(run, "median-wait", "l~")


def test_jains_index_is_as_by_hand() -> None:
    # (3 + 1)^2 / (2 (9 + 1))
    assert jain_index([3.0, 1.0]) == pytest.approx(0.8)
    assert jain_index([2.0, 2.0, 2.0]) == pytest.approx(1.0)
    with pytest.raises(UnmeasuredError, match="nothing to share"):
        jain_index([0.0, 0.0])


def test_waits_that_were_not_recorded_are_told(run: Simulated) -> None:
    with pytest.raises(ScenarioError, match='"waits" was not recorded'):
        number(run, "median-wait", "l")
