"""Measures of sharing, on networks whose answers one can work out in the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce import reproduce

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
[run]
duration = "10 s"
record = ["subflows", "windows"]

[[link]]
name = "fast"
source = "p"
target = "s"
capacity = "6 Mbit/s"
delay = "5 ms"

[[link]]
name = "slow"
source = "p"
target = "t"
capacity = "2 Mbit/s"
delay = "5 ms"

[[connection]]
name = "multi"
source = "p"
target = "s"
paths = [["p", "s"]]
protocol = "reno"

[[connection]]
name = "one"
source = "p"
target = "t"
paths = [["p", "t"]]
protocol = "reno"
"""

EXPERIMENT = """
paper = "mine"
item = "table-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"
[[run]]
name = "a"
method = "simulate"
[[run]]
name = "b"
method = "simulate"
set = ["link.0.capacity=3 Mbit/s"]
"""

PAPERS = """
[mine]
title = "t"
authors = "a"
published = "p"
cite = "c"
shows = "s"
"""


def rows_of(folder: Path, *names: str):
    own = folder / "mine-table-1"
    own.mkdir()
    (folder / "papers.toml").write_text(PAPERS)
    (own / "scenario.toml").write_text(SCENARIO)
    (own / "experiment.toml").write_text(EXPERIMENT)
    quantities = "\n".join(
        f'[[quantity]]\nname = "{name}"\nwindow = ["2 s", "10 s"]\nagainst = 1.0\nexpect = "differs"\ncause = "open"'
        for name in names
    )
    (own / "expected.toml").write_text(quantities)
    return [float(row.ours) for row in reproduce("mine", "table-1", experiments=folder)]


def test_shares_and_scores_follow_from_the_capacities(tmp_path: Path) -> None:
    # Both fill their links: 6 and 2 Mbit/s in a, 3 and 2 in b. Scores of multi by one: 3 and 1.5, and one by itself 1.
    names = ("a share multi", "a score-spread multi one with b", "a runs-closer one multi one with b")
    share, spread, closer = rows_of(tmp_path, *names)
    assert share == pytest.approx(0.75, abs=0.02)
    assert spread == pytest.approx(0.75, abs=0.05)
    assert closer == 2.0


def test_the_shortfall_is_in_per_cent_of_the_other_run(tmp_path: Path) -> None:
    # 3 and 2 Mbit/s are 5 of the 8 that run a delivers.
    (found,) = rows_of(tmp_path, "b shortfall a")
    assert found == pytest.approx(37.5, abs=0.5)


def test_one_path_is_one_group_and_needs_no_friendliness(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "a path-groups multi", "a friendliness-factor multi") == [1.0, 1.0]


def test_a_comparison_of_one_side_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="it compares connections; name those of each side"):
        rows_of(tmp_path, "a less-lost multi with b")


def test_another_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there is no simulated run `c`"):
        rows_of(tmp_path, "a less-lost multi one with c")
