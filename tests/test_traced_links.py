"""How much of what its trace offered a link has carried, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.execute.simulated import Simulated, simulate
from anabranch.reproduce.measures.of_simulations import UnmeasuredError, mean_capacity_bps, mean_utilisation

SCENARIO = """
[run]
duration = "10 s"
sample = "1 s"
record = ["links"]

[defaults.connection]
protocol = "reno"
packet = "1500 B"

[[link]]
name = "down"
source = "tower"
target = "phone"
capacity = "8 Mbit/s"
delay = "1 ms"

[[connection]]
name = "c"
source = "tower"
target = "phone"
amount = "1.5 MB"
"""

CAPACITIES = "time_s,capacity_bps\n0,6e6\n4,12e6\n6,0\n6.5,3e6\n10,3e6\n"

EACH_MILLISECOND_FOR_50_OF_100 = [*range(1, 51), 100]


def run_of(tmp_path: Path, trace: str) -> Simulated:
    (tmp_path / "steps.csv").write_text(CAPACITIES)
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return simulate(file, [f"link.0.trace={trace}"], None)


def test_what_capacities_offered_is_counted_from_change_to_change(tmp_path: Path) -> None:
    run = run_of(tmp_path, "steps.csv")
    # 4 s of 6 Mbit/s, 2 s of 12, 0.5 s of nothing, 3.5 s of 3: 58.5 Mbit in 10 s. Of these 1,000 packets of 12 kbit.
    assert mean_capacity_bps(run, "down", (0.0, 10.0)) == pytest.approx(5.85e6)
    assert mean_utilisation(run, "down", (0.0, 10.0)) == pytest.approx(12.0 / 58.5)
    # From 5 to 7 s, with a change in the midst of a sample: 1 s of 12 Mbit/s and 0.5 s of 3.
    assert mean_capacity_bps(run, "down", (5.0, 7.0)) == pytest.approx(6.75e6)


def test_a_window_counts_the_samples_that_end_in_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, "steps.csv")
    # That which ends at 4 s, of 6 Mbit/s all along; and those that end at 4 and 5 s.
    assert mean_capacity_bps(run, "down", (3.5, 4.5)) == pytest.approx(6e6)
    assert mean_capacity_bps(run, "down", (3.5, 5.5)) == pytest.approx(9e6)
    with pytest.raises(UnmeasuredError, match="no samples in the window"):
        mean_capacity_bps(run, "down", (3.1, 3.9))


def test_what_opportunities_offered_is_their_bytes(tmp_path: Path) -> None:
    run = run_of(tmp_path, f"{{ opportunities_ms = {EACH_MILLISECOND_FOR_50_OF_100} }}")
    # 51 in 100 ms, of 12 kbit each: 6.12 Mbit/s, so 61.2 Mbit in 10 s.
    assert mean_capacity_bps(run, "down", (0.0, 10.0)) == pytest.approx(6.12e6)
    assert mean_utilisation(run, "down", (0.0, 10.0)) == pytest.approx(12.0 / 61.2)


def test_a_link_that_could_carry_nothing_has_no_utilisation(tmp_path: Path) -> None:
    run = run_of(tmp_path, "steps.csv")
    run.capacity_changes = [(0, 0.0, 0.0)]
    with pytest.raises(UnmeasuredError, match="could carry nothing"):
        mean_utilisation(run, "down", (0.0, 10.0))
