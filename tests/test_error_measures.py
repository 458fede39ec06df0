"""Measures of errors, where one can tell what they must be."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.measures.address import Address
from anabranch.reproduce.measures.evaluate import measured
from anabranch.reproduce.outcomes.kinds import Simulated, simulated

SCENARIO = """
[run]
duration = "1 s"
sample = "20 ms"
record = ["errors"]

[[link]]
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "15 ms"

[[connection]]
source = "a"
target = "b"

[[connection]]
source = "a"
target = "b"
start = "495 ms"
"""


def simulation(folder: Path, protocol: str) -> Simulated:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    return simulated(simulate(file, [f"defaults.connection.protocol={protocol}"], None), 1.0, 1e-3)


def number(run: Simulated, measure: str, window_s: tuple[float, float]) -> float:
    """Measure a number of sources in a window."""
    return measured({"own": run}, Address("own", measure, "sources", window_s), Path("expected.toml"))


def test_rates_are_accurate_from_the_first_sample_after_the_last_that_is_far(tmp_path: Path) -> None:
    # The second joins at 0.495 s, and has no rate yet at 0.52 s. A reply halves the rate of the first at 0.51 s.
    run = simulation(tmp_path, "slbn")
    assert number(run, "accurate-after", (0.2, 1.0)) == pytest.approx(0.32)
    assert number(run, "accurate-after", (0.5, 1.0)) == pytest.approx(0.02)
    assert number(run, "accurate-after", (0.6, 1.0)) == 0.0
    assert number(run, "mean-magnitude", (0.6, 1.0)) == pytest.approx(0.0, abs=1e-6)
    assert math.isinf(number(run, "accurate-after", (0.2, 0.501)))


def test_the_highest_error_is_that_of_one_source_at_one_time(tmp_path: Path) -> None:
    # When the second joins, the first has 10 Mbit/s until a reply comes, and 5 are fair.
    run = simulation(tmp_path, "slbn")
    assert number(run, "highest-error", (0.2, 1.0)) == pytest.approx(1.0, rel=1e-3)
    assert number(run, "highest-error", (0.6, 1.0)) == pytest.approx(0.0, abs=1e-6)


def test_there_is_no_accuracy_without_samples(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="make it longer"):
        number(simulation(tmp_path, "slbn"), "accurate-after", (0.201, 0.202))
