"""Global max-min rates where capacities, demands and weights lie many powers of ten apart."""

import numpy as np
import pytest

import anabranch as ab
from anabranch.errors import SolverError
from anabranch.solvers.lp_chain import _failure


def max_min(problem):
    return ab.solve(problem, fairness="max-min", method="lp", tolerance=1e-6)


def random_problem(rng, *, most_power=12.0, weight_power=0.0):
    """Up to 8 links and 7 connections of up to 3 paths; capacities and demands are powers of ten."""
    links, connections = int(rng.integers(2, 9)), int(rng.integers(1, 8))
    connection = np.repeat(np.arange(connections), rng.integers(1, 4, connections))
    paths = [rng.permutation(links)[: rng.integers(1, min(links, 3) + 1)] for _ in connection]
    demand = np.where(rng.random(connections) < 0.5, np.inf, 10.0 ** rng.uniform(3, most_power, connections))
    return ab.Problem(
        10.0 ** rng.uniform(6, most_power, links),
        np.cumsum([0, *map(len, paths)]),
        np.concatenate(paths),
        connection,
        demand,
        10.0 ** rng.uniform(-weight_power, weight_power, connections),
    )


@pytest.mark.parametrize("weight_power", [0.0, 3.0])
def test_rates_over_a_wide_range_are_certified_and_feasible_to_rounding(weight_power):
    rng = np.random.default_rng(11)
    for _ in range(100):
        found = max_min(random_problem(rng, weight_power=weight_power)).certify()
        assert found.overload <= 1e-12
        assert found.over_demand <= 1e-12


def test_rates_scale_with_the_unit():
    rng = np.random.default_rng(5)
    for _ in range(30):
        problem = random_problem(rng)
        arrays = problem.path_offsets, problem.path_links, problem.path_connection
        scaled = ab.Problem(problem.capacity * 1e-9, *arrays, problem.demand * 1e-9, problem.weight)
        expected = max_min(problem).connection_rates * 1e-9
        np.testing.assert_allclose(max_min(scaled).connection_rates, expected, rtol=1e-6)


def test_narrow_links_beside_a_wide_one_keep_their_rates():
    # Links 0 to 2 hold connections 0 to 2 to 1e3, of which the last path of connection 4 leaves them all; connections
    # 3 and 4 share the wide link.
    problem = ab.Problem([1e3, 1e3, 1e3, 1e12], range(7), [0, 1, 2, 3, 3, 0], [0, 1, 2, 3, 4, 4])
    allocation = max_min(problem)
    np.testing.assert_allclose(allocation.connection_rates, [1e3, 1e3, 1e3, 5e11, 5e11], rtol=1e-9)
    allocation.certify()


def test_a_tiny_link_does_not_take_the_share_of_a_wide_one():
    # Connection 0 has both links, connection 1 the wide one: half of everything each; the tiny link is full.
    allocation = max_min(ab.Problem([1e-6, 2e9], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1]))
    np.testing.assert_allclose(allocation.path_rates, [1e-6, 1e9, 1e9], rtol=1e-9)
    allocation.certify()


def test_a_tiny_demand_beside_a_great_one_is_met_exactly():
    # Both use the one link; the tiny demand is met, the other takes the rest.
    allocation = max_min(ab.Problem([1e12], [0, 1, 2], [0, 0], [0, 1], [1e-3, 2e12]))
    np.testing.assert_allclose(allocation.connection_rates, [1e-3, 1e12], rtol=1e-9)
    allocation.certify()


def test_dead_links_demands_of_zero_and_connections_without_paths_get_nothing():
    problem = ab.Problem([0.0, 4.0], [0, 1, 2, 3], [0, 1, 1], [0, 1, 2], [np.inf, 0.0, np.inf, 5.0])
    assert max_min(problem).connection_rates.tolist() == [0.0, 0.0, 4.0, 0.0]


def test_what_double_precision_cannot_tell_is_refused_or_right():
    rng = np.random.default_rng(3)
    answered = 0
    for _ in range(60):
        try:
            allocation = max_min(random_problem(rng, most_power=24.0))
        except ab.ScenarioError:
            continue
        allocation.certify()
        answered += 1
    assert answered > 30


def test_a_failure_blames_the_range_only_if_it_is_wide():
    wide = ab.Problem([1.0, 1e15], [0, 1, 2], [0, 1], [0, 1])
    narrow = ab.Problem([1.0, 2.0], [0, 1, 2], [0, 1], [0, 1])
    assert isinstance(_failure(wide), ab.ScenarioError)
    assert "span a factor of 1e+15" in str(_failure(wide))
    assert 'fairness="upward-max-min"' in str(_failure(wide))
    assert isinstance(_failure(narrow), SolverError)
