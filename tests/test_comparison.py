"""Rates beside those of a reference: fairness index, total, worst."""

import numpy as np
import pytest

import anabranch as ab
from anabranch.allocation.comparison import compare_rates

PAIR = ab.Problem([4.0, 6.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1])


def test_rates_are_compared_in_three_numbers():
    # 2 by 1, 1 by 4 and 3 by 3: the smaller by the greater is 1/2, 1/4 and 1, whose product is 1/8.
    found = compare_rates([2.0, 1.0, 3.0], [1.0, 4.0, 3.0], 1e-3)
    assert found.q == pytest.approx(0.5)
    assert found.total == pytest.approx(6 / 8)
    assert found.worst == pytest.approx(1 / 4)
    assert found.theta == 1e-3


def test_what_is_under_theta_counts_as_theta():
    # 0 by 0.01 are both 0.1, and 0 by 0.4 is 0.1 by 0.4: the root of 1/4.
    assert compare_rates([0.0, 0.0], [0.01, 0.4], 0.1).q == pytest.approx(0.5)
    assert compare_rates([0.0, 0.0], [0.01, 0.4], 0.1).worst == 0.0


def test_an_allocation_is_compared_with_another():
    # Subflows by themselves: 7 and 3; fair is 5 and 5: 5/7 and 3/5.
    exact = ab.solve(PAIR, fairness="max-min")
    found = ab.solve(PAIR, fairness="max-min", method="water-filling").compare(exact)
    assert found.q == pytest.approx(np.sqrt(5 / 7 * 3 / 5))
    assert found.total == pytest.approx(1.0)
    assert found.worst == pytest.approx(0.6)
    assert found.theta == pytest.approx(5e-4)
    assert exact.compare(exact).q == 1.0
    assert exact.compare(exact, theta=2.0).theta == 2.0


def test_nothing_beside_nothing_is_alike():
    nothing = compare_rates([0.0], [0.0], 1.0)
    assert nothing.q == 1.0
    assert np.isnan(nothing.total)
    assert compare_rates([], [], 1.0).q == 1.0


def test_other_connections_and_a_bad_theta_are_refused():
    one = ab.solve(ab.Problem([1.0], [0, 1], [0], [0]), fairness="max-min")
    with pytest.raises(ValueError, match="rates of 2 connections and of 1; they must be of the same"):
        ab.solve(PAIR, fairness="max-min").compare(one)
    for theta in (0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="it must be positive and finite"):
            one.compare(one, theta=theta)
