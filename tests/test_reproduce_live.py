"""Live rows: the reader's key, the judging, and the column; a simulation stands for the laboratory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce import reproduce
from anabranch.reproduce.execute import live
from anabranch.reproduce.report.table import columns
from anabranch.runs.simulate import run_plan
from test_sharing_measures import PAPERS, SCENARIO

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.runs.result import Result
    from anabranch.runs.scenario import Plan

EXPERIMENT = """
paper = "mine"
item = "table-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"
[[run]]
name = "a"
method = "simulate"
live = { set = ["link.0.capacity=2 Mbit/s"], duration = "5 s" }
[[run]]
name = "b"
method = "simulate"
"""

EXPECTED = """
[[quantity]]
name = "share"
published = 0.5
[[quantity.readings]]
name = "first"
of = "a share multi"
expect = "off"
[[quantity.readings]]
name = "second"
of = "b share multi"
expect = "off"
[[quantity]]
name = "multi has more"
published = "it has more"
check = "b share multi > 0.5"
"""


@pytest.fixture
def experiments(tmp_path: Path) -> Path:
    own = tmp_path / "mine-table-1"
    own.mkdir()
    (tmp_path / "papers.toml").write_text(PAPERS)
    (own / "scenario.toml").write_text(SCENARIO)
    (own / "experiment.toml").write_text(EXPERIMENT)
    causes = 'published = 0.5\ncause = "open"'
    (own / "expected.toml").write_text(EXPECTED.replace("published = 0.5", causes))
    return tmp_path


def pretend(monkeypatch: pytest.MonkeyPatch, *, valid: bool) -> list[Plan]:
    """Let a simulation stand for the laboratory; give the plans that it is asked for."""
    plans: list[Plan] = []

    def lab(plan: Plan, *, progress: object = None) -> Result:
        plans.append(plan)
        result = run_plan(plan, progress=progress)  # type: ignore[arg-type]
        result.meta["valid"] = valid
        return result

    monkeypatch.setattr(live, "check_live", lambda plan: None)
    monkeypatch.setattr(live, "live_plan", lab)
    return plans


def test_a_reading_that_runs_live_is_judged_there_too(experiments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = pretend(monkeypatch, valid=False)
    number, claim = reproduce("mine", "table-1", experiments=experiments, live=True)
    assert [plan.core.duration_s for plan in plans] == [5.0]
    # The laboratory has two links of 2 Mbit/s, so that both connections have half; the paper's network has 6 and 2.
    (own,) = number.live
    assert own.name == "first"
    assert own.ours == pytest.approx(0.5, abs=0.02)
    assert own.verdict in {"within margin", "within 5 %"}
    assert "NOT VALID" in own.text
    assert number.verdict == "off"
    assert not number.is_changed
    assert claim.live == ()
    headings = [name for name, _ in columns([number, claim])]
    assert headings.index("live") == headings.index("ours") + 1


def test_rows_have_no_live_column_unless_it_is_asked_for(experiments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = pretend(monkeypatch, valid=True)
    rows = reproduce("mine", "table-1", experiments=experiments)
    assert not plans
    assert "live" not in [name for name, _ in columns(rows)]


def test_a_scenario_that_cannot_run_live_is_named(experiments: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_plan: Plan) -> None:
        raise ScenarioError("there is no such lab")

    monkeypatch.setattr(live, "check_live", refuse)
    rows = reproduce("mine", "table-1", experiments=experiments, live=True)
    assert rows.left_out == ["Table 1 has no live a: there is no such lab"]
    assert rows[0].live == ()


def test_only_simulations_run_live(experiments: Path) -> None:
    place = experiments / "mine-table-1" / "experiment.toml"
    place.write_text(place.read_text().replace('"simulate"\nlive', '"proportional"\nlive'))
    with pytest.raises(ScenarioError, match="`live`: the method is proportional"):
        reproduce("mine", "table-1", experiments=experiments)
