"""Consumption coefficients, under every method that is exact: a rate that takes more or less than itself of a link."""

import numpy as np
import pytest

import anabranch as ab
from test_approximate import random_problem

SHARED = ab.Problem([6.0], [0, 1, 2], [0, 0], [0, 1], coefficient=[2.0, 1.0])
"""Two connections on a link of 6; the first takes twice its rate of it: 2 x + y <= 6."""

MAX_MIN = [
    {"fairness": "max-min", "method": "lp"},
    {"fairness": "max-min", "method": "progressive-filling"},
    {"fairness": "upward-max-min", "method": "c-slen", "tolerance": 1e-6},
    {"fairness": "upward-max-min", "method": "progressive-filling"},
]

UTILITY = [{"fairness": "proportional"}, {"fairness": "alpha", "alpha": 0.5}, {"fairness": "alpha", "alpha": 2}]


@pytest.mark.parametrize("options", MAX_MIN)
def test_equal_levels_use_a_link_by_their_coefficients(options):
    # 2 z + z = 6: both have 2.
    allocation = ab.solve(SHARED, **options)
    np.testing.assert_allclose(allocation.connection_rates, 2.0, rtol=1e-6)
    assert allocation.links["load"][0] == pytest.approx(6.0)
    allocation.certify()


def test_iewf_comes_near_by_steps():
    # It adds 0.01 to each until the link is full: 2 x 2 + 2 = 6, to a step of both.
    allocation = ab.solve(SHARED, method="iewf", unit=0.01)
    np.testing.assert_allclose(allocation.connection_rates, 2.0, atol=0.02)


@pytest.mark.parametrize(
    ("options", "rates"),
    [
        # Each pays half of all: 2 x = y = 3.
        (UTILITY[0], [1.5, 3.0]),
        # x^-1/2 is twice y^-1/2, so y = 4 x: x = 1, y = 4.
        (UTILITY[1], [1.0, 4.0]),
        # x^-2 is twice y^-2, so y = sqrt(2) x: x = 6 / (2 + sqrt(2)).
        (UTILITY[2], [6 / (2 + np.sqrt(2)), 6 / (1 + np.sqrt(2))]),
    ],
)
def test_who_takes_more_pays_more(options, rates):
    allocation = ab.solve(SHARED, **options)
    np.testing.assert_allclose(allocation.connection_rates, rates, rtol=1e-6)
    np.testing.assert_allclose(allocation.path_prices, allocation.link_prices[0] * np.array([2.0, 1.0]))
    allocation.certify()


def test_a_path_that_takes_less_carries_more():
    # Connection 0 has paths on links of 4 and 6, and takes half of the second for a unit of rate; connection 1 is on
    # the second alone. Both at z: 4 + (6 - z) / 0.5 = z gives z = 16 / 3.
    problem = ab.Problem([4.0, 6.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1], coefficient=[1.0, 0.5, 1.0])
    for options in (MAX_MIN[0], MAX_MIN[2]):
        np.testing.assert_allclose(ab.solve(problem, **options).connection_rates, 16 / 3, rtol=1e-5)


@pytest.mark.parametrize("options", [MAX_MIN[0], MAX_MIN[2], *UTILITY])
def test_a_coefficient_for_all_of_a_link_is_a_narrower_link(options):
    rng = np.random.default_rng(5)
    for _ in range(20):
        plain = random_problem(rng, coefficients=False)
        factor = rng.choice([0.25, 1.0, 3.0], len(plain.capacity))
        arrays = plain.path_offsets, plain.path_links, plain.path_connection, plain.demand, plain.weight
        used = ab.Problem(plain.capacity * factor, *arrays, coefficient=factor[plain.path_links])
        one, other = (ab.solve(problem, **options) for problem in (plain, used))
        np.testing.assert_allclose(one.connection_rates, other.connection_rates, rtol=1e-3)
        other.certify()


@pytest.mark.parametrize("options", [MAX_MIN[0], MAX_MIN[2], UTILITY[0]])
def test_a_coefficient_for_all_of_a_connection_is_a_larger_unit_of_its_rate(options):
    # Who takes f times the rate of every link counts rate and demand in units of f. Levels stay as they were if the
    # weight is counted so too; to log rate the unit is only something added.
    rng = np.random.default_rng(7)
    for _ in range(20):
        plain = random_problem(rng, coefficients=False)
        factor = rng.choice([0.5, 1.0, 2.0], len(plain.weight))
        connection = plain.path_connection
        use = np.repeat(factor[connection], np.diff(plain.path_offsets))
        weight = plain.weight if options["fairness"] == "proportional" else plain.weight / factor
        arrays = plain.path_offsets, plain.path_links, connection, plain.demand / factor, weight
        used = ab.Problem(plain.capacity, *arrays, coefficient=use)
        expected = ab.solve(plain, **options).connection_rates / factor
        np.testing.assert_allclose(ab.solve(used, **options).connection_rates, expected, rtol=1e-3)


def test_the_certificate_counts_coefficients():
    allocation = ab.solve(SHARED, fairness="max-min")
    over = SHARED.core.certify(allocation.path_rates + np.array([0.5, 0.0]), 1e-2)
    assert over.overload == pytest.approx(1 / 6)
    assert not over.is_feasible
