"""Numbers of the runs of a sweep: what is asked for, and what one run comes to."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anabranch.errors import ScenarioError
from anabranch.sweeps.quantity import SweepFigure, SweepQuantity, SweepTable
from anabranch.sweeps.reduce import numbers

FRAME = pl.LazyFrame(
    {
        "run": ["r1", "r1", "r1", "r2", "r2", "r3"],
        "protocol": ["lia", "lia", "lia", "olia", "olia", "lia"],
        "link.0.delay_s": [0.01, 0.01, 0.01, 0.02, 0.02, 0.02],
        "rate": [1.0, 3.0, None, 4.0, math.nan, math.inf],
        "name": ["a", "b", "c", "a", "b", "a"],
        "is_done": [True, True, False, False, True, True],
    }
)


def quantity(**keys: object) -> SweepQuantity:
    return SweepQuantity.model_validate({"of": "connections", "value": "rate"} | keys)


def values(**keys: object) -> list[float]:
    return numbers(FRAME, quantity(**keys), ["protocol"])["value"].to_list()


# What one run comes to. r1 has 1 and 3, r2 has 4, and r3 nothing that is finite.


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("mean", [2.0, 4.0]),
        ("sum", [4.0, 4.0]),
        ("least", [1.0, 4.0]),
        ("most", [3.0, 4.0]),
        ("median", [2.0, 4.0]),
        # Of 1 and 3 a quarter of the way from 1.
        ("p25", [1.5, 4.0]),
        # (1 + 3)^2 / (2 (1 + 9)) = 0.8; of one alone 1.
        ("jain", [0.8, 1.0]),
        ("first", [1.0, 4.0]),
        ("last", [3.0, 4.0]),
        ("each", [1.0, 3.0, 4.0]),
        # A run of which nothing is left has none of them, and that is a number.
        ("count", [2.0, 1.0, 0.0]),
    ],
)
def test_values_of_a_run_become_one_number(join: str, expected: list[float]) -> None:
    assert values(join=join) == pytest.approx(expected)


def test_what_is_left_out_is_counted() -> None:
    found = numbers(FRAME, quantity(), ["protocol"])
    assert found.columns == ["protocol", "run", "value", "left_out"]
    assert found.rows() == [("lia", "r1", 2.0, 1), ("olia", "r2", 4.0, 1)]
    assert numbers(FRAME, quantity(join="count", where="name = 'b'"), [])["left_out"].to_list() == [0, 1, 0]


def test_a_condition_chooses_rows_and_runs_without_any_have_a_count_of_0() -> None:
    assert values(where="name = 'b'") == [3.0]
    assert values(where="rate > 2 and rate < 9", join="count") == [1.0, 1.0, 0.0]


def test_a_value_is_an_expression_over_columns_and_what_was_varied() -> None:
    assert values(value='rate * "link.0.delay_s" * 1000') == pytest.approx([20.0, 80.0])
    # True is 1: of the three connections of r1 two are done.
    assert values(value="is_done") == pytest.approx([2 / 3, 0.5, 1.0])
    assert values(value="1", join="sum") == [3.0, 2.0, 1.0]
    assert values(value="rate / 0") == []


def test_groups_and_runs_stand_in_the_order_in_which_they_appear() -> None:
    found = numbers(FRAME.reverse(), quantity(value="1"), ["name", "protocol"])
    assert found["run"].to_list() == ["r3", "r2", "r2", "r1", "r1", "r1"]
    assert numbers(FRAME, quantity(), ["run"]).columns == ["run", "value", "left_out"]


def test_null_is_a_group_of_its_own() -> None:
    frame = FRAME.with_columns(pl.when(pl.col("protocol") == "lia").then("protocol"))
    for join in ("mean", "median"):
        assert numbers(frame, quantity(join=join), ["protocol"])["protocol"].to_list() == ["lia", None]


def test_an_index_of_nothing_shared_is_none() -> None:
    assert values(value="rate - rate", join="jain") == []


# Points 0 and 2 are one run with the rates 1 and 3, and differ in a delay that does not matter to it; point 1 is
# another run with the rate 5.
POINTS = pl.LazyFrame(
    {
        "run": ["r1", "r1", "r2", "r1", "r1"],
        "point": [0, 0, 1, 2, 2],
        "delay_s": [0.01, 0.01, 0.01, 0.02, 0.02],
        "rate": [1.0, 3.0, 5.0, 1.0, 3.0],
    },
    schema_overrides={"point": pl.UInt32},
)


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("sum", [4.0, 5.0]),
        ("count", [2.0, 1.0]),
        ("each", [1.0, 3.0, 5.0]),
        ("mean", [2.0, 5.0]),
        ("median", [2.0, 5.0]),
    ],
)
def test_rows_of_a_run_count_once_in_a_group_however_many_points_it_is(join: str, expected: list[float]) -> None:
    assert numbers(POINTS, quantity(join=join), [])["value"].to_list() == expected
    # Where the delay keeps groups apart, the run is in both.
    sums = numbers(POINTS, quantity(join="sum"), ["delay_s"])
    assert sums.rows() == [(0.01, "r1", 4.0, 0), (0.01, "r2", 5.0, 0), (0.02, "r1", 4.0, 0)]


def test_a_condition_may_choose_another_point_of_a_run_than_the_first() -> None:
    asked = quantity(join="count", where="delay_s > 0.01 and rate > 2")
    assert numbers(POINTS, asked, []).rows() == [("r1", 1.0, 0), ("r2", 0.0, 0)]
    assert numbers(POINTS, quantity(where="delay_s > 0.01"), []).rows() == [("r1", 2.0, 0)]
    assert numbers(POINTS, quantity(join="sum"), ["point"])["value"].to_list() == [4.0, 5.0, 4.0]


@pytest.mark.slow
def test_numbers_of_millions_of_rows_are_the_same_bit_for_bit() -> None:
    # Of both signs, so that sums are far smaller than what is added, and over a wide range.
    drawn = np.random.default_rng(5).normal(size=2_000_000)
    runs = np.arange(drawn.size) % 50
    frame = pl.LazyFrame({"run": runs, "rate": drawn * np.exp(20.0 * np.roll(drawn, 1))})
    for join in ("mean", "sum", "jain", "first", "last", "median"):
        found = [numbers(frame, quantity(join=join), []) for _ in range(3)]
        assert found[0].equals(found[1])
        assert found[0].equals(found[2])
    turned = numbers(frame.reverse(), quantity(join="sum"), []).sort("run")
    assert turned.equals(numbers(frame, quantity(join="sum"), []).sort("run"))


@given(st.lists(st.floats(-1e250, 1e250) | st.floats(-9.0, 9.0), min_size=1, max_size=20))
def test_sums_are_exact_in_every_layer(values: list[float]) -> None:
    found = numbers(pl.LazyFrame({"run": [1] * len(values), "rate": values}), quantity(join="sum"), [])["value"].item()
    # Adding the few layers rounds; of values below 1e-289 digits are lost.
    most = max(map(abs, values))
    assert found == pytest.approx(math.fsum(values), rel=0.0, abs=len(values) * 1e-15 * most + 1e-300)


amounts = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0, -1.0, 1e100, 1e-100]))
joins = st.sampled_from(["mean", "sum", "least", "most", "median", "p1", "p99", "jain", "count", "each"])


@given(st.lists(st.tuples(st.sampled_from("abc"), amounts), min_size=1, max_size=20), joins, st.randoms())
def test_numbers_are_finite_and_the_order_of_rows_does_not_matter(rows, join: str, random) -> None:
    asked = SweepQuantity(of="links", value="amount", join=join)
    schema = {"run": pl.String, "amount": pl.Float64}
    found = numbers(pl.LazyFrame(rows, schema=schema, orient="row"), asked, ["run"]).sort("run", "value")
    assert found["value"].is_finite().all()
    assert found["value"].null_count() == 0
    random.shuffle(rows)
    other = numbers(pl.LazyFrame(rows, schema=schema, orient="row"), asked, ["run"]).sort("run", "value")
    assert other["run"].to_list() == found["run"].to_list()
    # What cancels leaves a rest that depends on the order of adding.
    rest = 1e-12 * max((abs(own) for _, own in rows if own is not None and math.isfinite(own)), default=0.0)
    assert other["value"].to_list() == pytest.approx(found["value"].to_list(), rel=1e-9, abs=rest)


# Mistakes that the runs show.


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"value": "rates"}, "quantity of `connections`: `value`: there is no column `rates`; did you mean `rate`?"),
        ({"where": "start > 1"}, "`where`: there is no column `start`; there are `run`, `protocol`, `link.0.delay_s`"),
        ({"value": "name"}, "`name` is of type String; `value` must be a number in every row"),
        ({"value": "name * 2"}, "`value`: `name * 2` cannot be computed"),
        ({"value": "cast(name as double)"}, "its numbers cannot be computed (conversion from `str` to `f64` failed"),
        ({"where": "rate"}, "`rate` is of type Float64; `where` must be true or false"),
        ({"value": "rate / sum(rate)"}, "`rate / sum(rate)` joins rows, and so would mix runs"),
        ({"value": "avg(rate) over (partition by name)"}, "joins rows"),
        ({"where": "rate > avg(rate)"}, "`where`: `rate > avg(rate)` joins rows"),
        ({"value": "count(*)"}, "joins rows"),
    ],
)
def test_a_quantity_that_cannot_be_computed_is_told(keys: dict[str, str], message: str) -> None:
    with pytest.raises(ScenarioError) as told:
        values(**keys)
    assert message in str(told.value)


def test_a_column_that_cannot_part_groups_is_told() -> None:
    plan = SweepTable(of="connections", value="rate", file="rates")
    frame = FRAME.with_columns(mean=pl.lit(1), paths=pl.lit([1]))
    for column, message in (
        ("protocl", "table `rates`: `by`: there is no column `protocl`; did you mean `protocol`?"),
        ("paths", "`by`: `paths` holds several values in a row"),
        ("mean", "`by`: the numbers have a column `mean` of their own"),
    ):
        with pytest.raises(ScenarioError) as told:
            numbers(frame, plan, [column])
        assert message in str(told.value)


# Mistakes that the plan shows.

LINES = {"of": "connections", "value": "rate", "file": "f", "draw": "lines", "x": "delay_s"}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"join": "p0"}, "there is no `p0`; percentiles are p1 to p99, and beyond these is `least`"),
        ({"join": "p100"}, "and beyond these is `most`"),
        ({"join": "p5.5"}, "only whole percentiles; write p5 or p6"),
        ({"join": "p99.9"}, "write p98 or p99"),
        ({"join": "p05"}, "there is no `p05`, only whole percentiles; write p5 ["),
        ({"join": "meen"}, "did you mean `mean`?"),
        ({"join": "variance"}, "write one of mean, median, sum"),
        ({"join": "each"}, "these are not independent, so a mean over them has no interval; join them"),
        ({"value": "rate +"}, "`rate +` is no SQL expression"),
        ({"where": "link.0.delay_s > 1"}, 'names with dots in quotes: "link.0.delay_s" * 1000'),
        ({"file": "../rates"}, "letters, digits, - and _ only"),
        ({"file": "rates.svg"}, "without folder and ending"),
        ({"file": "a" * 101}, "write 100 at most"),
        ({"x": None}, 'draw = "lines" needs `x`'),
        ({"by": ["seed"]}, "`seed` cannot be kept apart; make it `lines` or `panels`"),
        ({"by": ["delay_s", "delay_s"]}, "`delay_s` is there twice"),
        ({"lines": "delay_s"}, "`lines` and `x` are both `delay_s`"),
        ({"draw": "cdf"}, "leave `x` out"),
        ({"draw": "boxes", "x": None}, 'draw = "boxes" needs `x`'),
        ({"draw": "boxes", "log": ["x"]}, 'write log = ["y"]'),
        ({"draw": "boxes", "panels": "seed"}, "make a figure for each value"),
        ({"draw": "boxes", "interval": "student"}, "shows no interval"),
        ({"draw": "pie"}, "'lines', 'boxes' or 'cdf'"),
        ({"log": ["z"]}, "'x' or 'y'"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_a_mistake_in_a_plan_is_told(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as told:
        SweepFigure.model_validate(LINES | keys)
    assert message in str(told.value)


def test_a_table_joins_the_values_of_a_run() -> None:
    with pytest.raises(ValidationError, match="has no interval"):
        SweepTable(of="connections", value="rate", file="rates", join="each")


def test_a_figure_keeps_apart_what_it_draws() -> None:
    plan = SweepFigure.model_validate(LINES | {"lines": "protocol", "panels": "queue", "by": ["delay_s"]})
    assert plan.groups == ["queue", "protocol", "delay_s"]
    # Functions that ask for the types of their columns are no mistake before these are known.
    assert SweepQuantity(of="links", value="round(capacity_bps / 3, 2)").words == "round(capacity_bps / 3, 2)"
