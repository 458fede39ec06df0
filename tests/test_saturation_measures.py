"""Measures of saturation, where one can tell what they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anabranch.reproduce.execute.execute import execute
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.measures.saturation import (
    close_rounds,
    empty_subflows,
    granted_overload,
    last_overload,
    raised,
    raised_by_shifting,
)
from anabranch.reproduce.measures.steadiness import (
    control_until_settled,
    mean_off_fair,
    most_connection_turns,
    most_connection_turns_between,
    most_turns_between,
    restless,
)
from anabranch.reproduce.outcomes.kinds import Simulated, Solved, simulated
from anabranch.reproduce.spec.run import Run

if TYPE_CHECKING:
    from pathlib import Path

EVER = (0.0, float("inf"))

JOIN = """
[run]
duration = "1 s"
sample = "10 ms"
data = false
record = ["connections", "grants", "fairness"]

[[link]]
name = "l"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "5 ms"

[[connection]]
name = "first"
source = "a"
target = "b"

[[connection]]
name = "second"
source = "a"
target = "b"
start = "0.503 s"
"""


def join(folder: Path, protocol: str = "d-slen") -> Simulated:
    file = folder / "scenario.toml"
    file.write_text(JOIN)
    return simulated(simulate(file, [f"defaults.connection.protocol={protocol}"], None), 1e6, 1e-3)


def given(folder: Path, *rates: float) -> Solved:
    """Rates of a and b over l1 of 2, and of c and d over l1 and l2 and over l2 of 4; c and d are one connection."""
    file = folder / "given.toml"
    links = [("l1", "s", "m", 2), ("l2", "m", "t", 4), ("l3", "s", "m2", 9), ("l4", "m2", "m", 9)]
    text = "".join(
        f'[[link]]\nname = "{name}"\nsource = "{source}"\ntarget = "{target}"\ncapacity = "{capacity} Mbit/s"\n'
        for name, source, target, capacity in links
    )
    text += '[[connection]]\nname = "a"\nsource = "s"\ntarget = "m"\npaths = [["s", "m"]]\n'
    text += '[[connection]]\nname = "c"\nsource = "s"\ntarget = "t"\npaths = [["s", "m", "t"], ["s", "m2", "m", "t"]]\n'
    file.write_text(text)
    run = Run("own", "given", file, None, None, 1e-3, 1, "", tuple(rates))
    (found,) = execute(run, 1e6, {})
    assert isinstance(found, Solved)
    return found


def test_rates_of_a_first_price_are_more_than_a_link_has(tmp_path: Path) -> None:
    # d-SLEN grants all and no more; a second join learns half before the first's next probe is back. A price of 0.05
    # gives 20 Mbit/s on 8 Mbit/s, so 1.5 over 1; and both are over 1.01 for some time.
    run = join(tmp_path, "d-slen")
    assert granted_overload(run, EVER) == pytest.approx(0.0)
    assert last_overload(run, EVER) == 0.0
    high = join(tmp_path, "vo-le-tran")
    assert granted_overload(high, (0.0, 0.5)) == pytest.approx(1.5)
    assert 0.0 < last_overload(high, (0.0, 0.5)) <= 0.5


def test_rates_are_close_to_fair_within_rounds(tmp_path: Path) -> None:
    # A round trip is 10 ms.
    assert 1.0 <= close_rounds(join(tmp_path)) <= 3.0


def test_what_a_connection_could_have_more_without_the_greater(tmp_path: Path) -> None:
    # l1 has 1 + 1 of 2, l2 has 1 + 3 of 4. Without c, a could have 1 less... nothing of c is removed for c itself.
    run = given(tmp_path, 1.0, 1.0, 3.0)
    # c (4) is greater than a (1): without it, a could have 1 more. c fills l2, and could have no more.
    assert raised(run) == pytest.approx(1.0)
    fair = given(tmp_path, 2.0, 0.0, 4.0)
    assert raised(fair) == pytest.approx(0.0)
    assert raised_by_shifting(fair) == pytest.approx(0.0)
    assert empty_subflows(fair) == 1.0


def test_shifting_raises_what_no_subflow_can(tmp_path: Path) -> None:
    # Scenario: one connection over x, y and over both; both are full, so no subflow can grow. Without its path over
    # both it has 2 instead of 1.5.
    file = tmp_path / "shift.toml"
    file.write_text(
        """
[[link]]
name = "x"
source = "s"
target = "m"
capacity = "1 Mbit/s"
[[link]]
name = "y"
source = "m"
target = "t"
capacity = "1 Mbit/s"
[[link]]
name = "around"
source = "m"
target = "t"
capacity = "9 Mbit/s"
[[link]]
name = "before"
source = "s"
target = "m"
capacity = "9 Mbit/s"
[[connection]]
name = "c"
source = "s"
target = "t"
links = [["x", "y"], ["x", "around"], ["before", "y"]]
"""
    )
    (run,) = execute(Run("own", "given", file, None, None, 1e-3, 1, "", (0.5, 0.5, 0.5)), 1e6, {})
    assert isinstance(run, Solved)
    assert raised(run) == pytest.approx(0.0)
    assert raised_by_shifting(run) == pytest.approx(2.0 / 1.5 - 1.0)


def test_steadiness_counts_all_connections(tmp_path: Path) -> None:
    # Both have a step or two and then stand still; a source sends a probe every 10 ms from its start on.
    run = join(tmp_path)
    assert most_connection_turns(run, EVER) == 0.0
    assert most_connection_turns_between(run) == most_turns_between(run) == 0.0
    assert restless(run) == 0.0
    assert mean_off_fair(run) <= 0.02
    assert 140.0 * 0.01 <= control_until_settled(run) <= 160.0 * 0.04
