"""Statements of the LGCC paper that are tried on many cases, measures of steadiness, and the figure of a frontier."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from anabranch import figures
from anabranch.errors import ScenarioError
from anabranch.reproduce.execute.fluid import follow_fluid
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.figures.frontier import Frontier
from anabranch.reproduce.figures.kind import Heading
from anabranch.reproduce.measures.registry import MEASURES
from anabranch.reproduce.outcomes.kinds import simulated
from anabranch.reproduce.spec.fluid import StatementPlan, read_fluid
from anabranch.reproduce.spec.table import Table

SCENARIOS = Path(__file__).parent.parent / "experiments"


@pytest.mark.parametrize(
    ("of", "farther"),
    [
        ("aggregation", "unweighted"),
        ("per-flow-chains", "from-max-min"),
        ("row-of-links", "from-proportional"),
        ("weighted-marks", "three"),
        ("utility", None),
        ("growth", None),
    ],
)
def test_a_statement_holds_in_all_cases_and_its_rival_does_not(of: str, farther: str | None) -> None:
    plan = read_fluid(Table("x", {"model": "statement", "of": of, "cases": 4}))
    assert isinstance(plan, StatementPlan)
    found = follow_fluid("x", plan)
    assert found.numbers["cases"] == found.numbers["holding"] == 4.0
    assert len(found.series["distance"]) == 4
    if farther:
        assert found.numbers[farther] > 0.1


def test_proportionally_fair_rates_fail_definition_1() -> None:
    # Rates are 1/3 and 2/3; the product of the short flows is 4/9. By equation 24 other rates gain.
    found = follow_fluid("x", StatementPlan("proportional-row", 1, 1))
    assert found.numbers["farthest"] == pytest.approx(0.25)
    assert found.numbers["gain"] > 0.1


def test_aggregates_without_weights_are_not_max_min_fair() -> None:
    found = follow_fluid("x", StatementPlan("equal-aggregation", 4, 1))
    assert found.numbers["holding"] < 4.0
    assert found.numbers["farthest"] > 0.1


def test_random_starts_of_the_primal_dual_algorithm_come_to_rest() -> None:
    found = follow_fluid("x", StatementPlan("global-stability", 3, 1))
    assert found.numbers["holding"] == 3.0
    assert found.numbers["first"] > 1.0


def test_an_unknown_number_of_a_model_is_refused() -> None:
    found = follow_fluid("x", StatementPlan("utility", 1, 1))
    row = MEASURES["found"]
    assert row.function(found, row.of.find(found, "cases")) == 1.0  # type: ignore[union-attr]
    with pytest.raises(ScenarioError, match="there is no number `no`; name one of"):
        row.of.find(found, "no")  # type: ignore[union-attr]


def test_a_rate_varies_more_while_the_capacity_changes() -> None:
    scenario = SCENARIOS / "lgcc-figure-2" / "scenario.toml"
    run = simulate(scenario, ["run.duration=2.5 s", "run.warm_up=0.5 s", "connection.0.protocol=lgc"], 1)
    own = simulated(run, 1e6, 1e-3)
    row = MEASURES["variation"]
    still, moving = (row.function(own, row.of.find(own, "flow"), window) for window in ((1.0, 1.9), (1.5, 2.5)))  # type: ignore[union-attr]
    assert still < 0.1 < moving
    load = MEASURES["load-variation"]
    assert load.function(own, load.of.find(own, "last"), (1.0, 1.9)) < 0.1  # type: ignore[union-attr]


def test_a_frontier_has_a_point_for_each_setting() -> None:
    points = pl.DataFrame(
        {"name": ["a", "a", "b"], "label": ["1", "2", "3"], "x": [1.0, 2.0, 3.0], "y": [0.9, 0.8, 0.7]}
    )
    axes = figures.draw_frontier(points, xlabel="x", ylabel="y", title="t").axes[0]
    assert [len(line.get_xdata()) for line in axes.lines] == [2, 1]


def test_a_frontier_takes_as_many_numbers_as_labels() -> None:
    table = Table("x", {"xlabel": "x", "ylabel": "y", "group": [{"name": "a", "x": ["r w"], "y": [], "labels": ["1"]}]})
    with pytest.raises(ScenarioError, match="there are 1 labels, 1 in `x` and 0 in `y`; give as many of each"):
        Frontier.read(table, Heading("f", "", ""), {})
