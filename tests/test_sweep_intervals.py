"""Means over runs and their intervals: worked by hand, in every order, and how often they hold the true mean."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anabranch.errors import ScenarioError
from anabranch.estimate import estimate
from anabranch.sweeps.intervals import estimates
from anabranch.sweeps.quantity import ESTIMATED, Interval


def of(values: list[float], interval: Interval = "student") -> dict[str, float | None]:
    return estimates(pl.DataFrame({"value": values}, schema={"value": pl.Float64}), [], interval).row(0, named=True)


def test_a_mean_has_the_interval_of_student() -> None:
    # Mean 5; deviations -4, -1, 5: squares 16 + 1 + 25 = 42, so the variance is 21. With two degrees of freedom t is
    # 4.3027, and so the half-width 4.3027 sqrt(21 / 3) = 11.384.
    found = of([1.0, 4.0, 10.0])
    assert list(found) == list(ESTIMATED)
    assert (found["count"], found["mean"], found["median"], found["least"], found["most"]) == (3, 5.0, 4.0, 1.0, 10.0)
    assert (found["low"], found["high"], found["half_width"]) == pytest.approx((-6.384, 16.384, 11.384), abs=1e-3)
    # Half of the way from 1 to 4, and from 4 to 10.
    assert (found["p25"], found["p75"]) == (2.5, 7.0)
    # m2 = 14; m3 = (-64 - 1 + 125) / 3 = 20; g1 = 20 / 14^1.5 = 0.3818; G1 = sqrt(6) / 1 of that.
    assert found["skewness"] == pytest.approx(math.sqrt(6.0) * 20.0 / 14.0**1.5)
    assert found["interval"] == "student"


def test_it_is_the_interval_that_reproductions_have() -> None:
    values = np.random.default_rng(1).normal(size=17).tolist()
    known, found = estimate(values), of(values)
    assert (found["mean"], found["half_width"]) == pytest.approx((known.mean, known.half_width))


@pytest.mark.parametrize("interval", ["student", "bootstrap", "auto"])
def test_few_runs_and_equal_ones_have_the_interval_that_they_can(interval: Interval) -> None:
    alone = of([7.0], interval)
    assert (alone["mean"], alone["low"], alone["high"], alone["half_width"]) == (7.0, None, None, None)
    assert (alone["interval"], alone["skewness"]) == (None, None)
    # 0.1 + 0.1 + 0.1 is not 0.3, and yet these are equal.
    equal = of([0.1] * 3, interval)
    assert (equal["low"], equal["mean"], equal["high"], equal["half_width"]) == (0.1, 0.1, 0.1, 0.0)
    # The least number over 0 is so near it that they are equal.
    tiny = of([0.0, 5e-324, 0.0], interval)
    assert (tiny["low"], tiny["high"], tiny["half_width"], tiny["skewness"]) == (0.0, 0.0, 0.0, None)
    # Two: t is 12.706, the deviation sqrt(2), so the half-width 12.706.
    two = of([1.0, 3.0], interval)
    assert (two["half_width"], two["skewness"]) == (pytest.approx(12.706, abs=1e-3), None)
    assert two["interval"] == "student"
    assert len(estimates(pl.DataFrame(schema={"g": pl.String, "value": pl.Float64}), ["g"], interval)) == 0


def test_the_bootstrap_stays_within_the_values_and_leans_to_the_long_tail() -> None:
    found = of([0.0] * 11 + [12.0], "auto")
    # G1 of one among twelve is sqrt(12), over 1. No mean of zeros and twelves is below 0.
    assert (found["interval"], found["skewness"]) == ("bootstrap", pytest.approx(math.sqrt(12.0)))
    assert (found["mean"], found["low"]) == (1.0, 0.0)
    assert found["high"] - 1.0 > 1.0 - found["low"]
    assert found["half_width"] == (found["high"] - found["low"]) / 2.0


def test_the_bootstrap_is_taken_of_many_skewed_runs_alone() -> None:
    assert of([0.0] * 8 + [1.0], "auto")["interval"] == "student"  # Nine.
    assert of([0.0] * 9 + [1.0], "auto")["interval"] == "bootstrap"
    assert of([*range(12)], "auto")["interval"] == "student"  # Even to both sides.
    assert of([*range(12)], "bootstrap")["interval"] == "bootstrap"


def test_groups_do_not_touch_each_other_and_keep_their_order() -> None:
    skewed = np.random.default_rng(2).lognormal(size=12).tolist()
    rows = [("b", value) for value in skewed] + [("a", 1.0), ("a", 2.0)] + [(None, 5.0)]
    frame = pl.DataFrame(rows, schema=["group", "value"], orient="row")
    found = estimates(frame, ["group"], "auto")
    assert found["group"].to_list() == ["b", "a", None]
    turned = estimates(frame.reverse(), ["group"], "auto")
    assert turned.sort("group").rows() == found.sort("group").rows()
    assert found.filter(group="b").drop("group").row(0, named=True) == of(skewed, "auto")


def test_columns_of_groups_may_have_any_names() -> None:
    frame = pl.DataFrame({"row": ["x", "x"], "deviation": [1, 2], "values": [None, None], "value": [3.0, 4.0]})
    found = estimates(frame, ["row", "deviation", "values"], "auto")
    assert found.select("row", "deviation", "values", "mean").rows() == [("x", 1, None, 3.0), ("x", 2, None, 4.0)]


def test_numbers_whose_sums_would_be_infinite_are_refused() -> None:
    with pytest.raises(ScenarioError, match="too large for a mean; scale the `value`"):
        of([1e301, 1e301])


samples = st.lists(
    st.floats(-1e100, 1e100) | st.sampled_from([0.0, 1.0, 1e-100, 5e-324, 3e-308]), min_size=1, max_size=12
)
intervals = st.sampled_from(["student", "bootstrap", "auto"])


@given(samples, intervals, st.randoms())
def test_estimates_are_finite_and_the_order_of_runs_does_not_matter(values, interval: Interval, random) -> None:
    found = of(values, interval)
    numbers = [number for number in found.values() if isinstance(number, float)]
    assert all(map(math.isfinite, numbers))
    assert (found["low"] is None) == (len(values) == 1)
    assert found["least"] <= found["mean"] <= found["most"]
    if found["interval"] == "student":
        assert found["low"] <= found["mean"] <= found["high"]
    elif found["interval"] == "bootstrap":
        assert found["least"] <= found["low"] <= found["high"] <= found["most"]
    random.shuffle(values)
    assert of(values, interval) == found


whole = st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=15)


@given(whole, intervals, st.integers(-30, 30))
def test_scaling_the_numbers_scales_the_estimates(values: list[float], interval: Interval, power: int) -> None:
    found, scaled = of(values, interval), of([value * 2.0**power for value in values], interval)
    for name in ("mean", "low", "high", "half_width", "median", "least", "most", "p25", "p75"):
        assert scaled[name] == found[name] * 2.0**power
    assert (scaled["skewness"], scaled["interval"]) == (found["skewness"], found["interval"])


# How often the true mean is below the interval, within it, and above. Numbers are drawn with a fixed seed; with 800
# samples the share of one is uncertain by about 0.02.


def shares(draw: Callable[..., NDArray[np.float64]], mean: float, runs: int, interval: Interval) -> list[float]:
    drawn = draw(np.random.default_rng(11), (800, runs))
    frame = pl.DataFrame({"sample": np.repeat(np.arange(800), runs), "value": drawn.ravel()})
    found = estimates(frame, ["sample"], interval)
    low, high = found["low"], found["high"]
    return [float((low > mean).mean()), float(((low <= mean) & (mean <= high)).mean()), float((high < mean).mean())]


def normal(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    return rng.normal(size=size)


def exponential(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    return rng.exponential(size=size)


def test_of_normal_numbers_intervals_hold_the_mean_95_times_in_a_hundred() -> None:
    for runs in (2, 5, 30):
        assert shares(normal, 0.0, runs, "student")[1] == pytest.approx(0.95, abs=0.02)
    assert shares(normal, 0.0, 10, "auto")[1] == pytest.approx(0.94, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "least"), [(10, 0.86), (30, 0.90)])
def test_of_exponential_numbers_the_bootstrap_misses_the_mean_on_both_sides(runs: int, least: float) -> None:
    below, held, above = shares(exponential, 1.0, runs, "student")
    # Student's interval hardly ever lies above the true mean, and often below.
    assert held > least
    assert above > 6.0 * below
    below, held, above = shares(exponential, 1.0, runs, "bootstrap")
    assert held > least
    assert 0.015 < below < above < 6.0 * below
    # What is taken of itself holds the mean as often as Student's, within a hundredth or so.
    below, held, above = shares(exponential, 1.0, runs, "auto")
    assert held > least + 0.01
    assert above < 6.0 * below


def test_tens_of_thousands_of_groups_are_estimated_together() -> None:
    values = np.random.default_rng(3).normal(size=20_000 * 5)
    found = estimates(pl.DataFrame({"group": np.repeat(np.arange(20_000), 5), "value": values}), ["group"], "student")
    known = estimate(values[-5:])
    assert found["half_width"][-1] == pytest.approx(known.half_width)
