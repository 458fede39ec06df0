"""Max-min fair rates over several paths as Python users meet them: rates, levels, proof."""

import networkx as nx
import numpy as np
import pytest

import anabranch as ab
from anabranch import _core
from test_exact import random_problem

SHARED = ab.Problem([4, 10], [0, 1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 1, 2])
"""Links of 4 and 10. Connection 0 may take either, connection 1 the first, connection 2 the second."""


def whole_problem(rng):
    """Whole capacities, some 0, and demands, some 0 or none: ties everywhere; up to 12 paths for each connection."""
    links, connections = int(rng.integers(1, 10)), int(rng.integers(1, 10))
    connection = np.repeat(np.arange(connections), rng.integers(0, 13, connections))
    paths = [rng.permutation(links)[: rng.integers(1, min(links, 4) + 1)] for _ in connection]
    return ab.Problem(
        rng.integers(0, 6, links).astype(float),
        np.cumsum([0, *map(len, paths)]),
        np.concatenate([np.zeros(0, dtype=int), *paths]),
        connection,
        np.where(rng.random(connections) < 0.3, rng.integers(0, 5, connections), np.inf),
        rng.choice([0.5, 1.0, 2.0], connections),
    )


def test_rates_come_with_their_levels_and_the_prices_that_prove_them():
    # Connection 1 holds link 0 alone, at 4, once 0 has moved over; 0 and 2 then have 5 each of link 1. The prices of
    # level 5 are 1 on both links: 0 and 2 pay 5 each, 1 pays 4, and the links are worth 14.
    allocation = ab.solve(SHARED, fairness="max-min")
    assert allocation.method == "dual-simplex"
    assert allocation.connection_rates.tolist() == [5.0, 4.0, 5.0]
    assert allocation.levels["level"].to_list() == [4.0, 5.0]
    assert allocation.levels["connections"].to_list() == [[1], [0, 2]]
    assert allocation.levels["prices"].to_list()[0] == [1.0]
    assert allocation.summary["levels"] == 2
    assert allocation.proof.holds
    assert allocation.converged
    allocation.certify()


def test_a_network_has_levels_by_name():
    graph = nx.Graph()
    graph.add_edge("a", "b", capacity="6 Mbit/s")
    network = ab.from_networkx(graph)
    demands = ab.demands(network, ["a", "a"], ["b", "b"], name=["one", "two"])
    allocation = ab.solve(network, demands, fairness="max-min", method="dual-simplex")
    assert allocation.levels["level_bps"].to_list() == [3e6]
    assert allocation.levels["connections"].to_list() == [["one", "two"]]
    assert allocation.levels["links"].to_list() == [["a-b"]]


@pytest.mark.parametrize("make", [whole_problem, random_problem])
def test_rates_are_those_of_the_chain_of_linear_programs(make):
    rng = np.random.default_rng(23)
    for _ in range(200):
        problem = make(rng)
        reference = ab.solve(problem, fairness="max-min", method="lp", tolerance=1e-5).connection_rates
        found = ab.solve(problem, fairness="max-min", method="dual-simplex", tolerance=1e-6)
        assert found.converged
        np.testing.assert_allclose(found.connection_rates, reference, rtol=1e-5)


def test_rates_that_are_not_max_min_fair_are_not_proved():
    # All of both links is given out, but connection 0 has 6, and connection 2, which pays with it, 4: outdone by 1/3.
    solver = _core.global_max_min(SHARED.core)
    assert solver.run(1_000)
    assert solver.lack == 0.0
    levels = solver.finish().levels
    proof = _core.certify_levels(SHARED.core, np.array([0.0, 6.0, 4.0, 4.0]), levels, 1e-6)
    assert not proof.holds
    assert proof.worst_connection == 2
    assert proof.residual == pytest.approx(1 / 3)
    with pytest.raises(RuntimeError, match="the solver is finished"):
        solver.run(1)
    with pytest.raises(ValueError, match="3 rates for 4 paths"):
        _core.certify_levels(SHARED.core, np.zeros(3), levels, 1e-6)


def test_progress_is_told_until_all_rates_fit():
    told = []
    ab.solve(SHARED, fairness="max-min", progress=lambda *stage: told.append(stage))
    assert told[-1] == ("digits", 12, 12)


def test_where_the_proof_fails_the_chain_of_programs_is_tried_unless_the_method_was_asked_for(monkeypatch):
    said = {"dual-simplex": "numbers lie too far apart", "lp": None}
    monkeypatch.setattr(ab.LevelledAllocation, "shortcoming", property(lambda found: said[found.method]))
    assert ab.solve(SHARED, fairness="max-min").method == "lp"
    with pytest.warns(ab.ConvergenceWarning, match="too far apart"):
        asked = ab.solve(SHARED, fairness="max-min", method="dual-simplex")
    assert not asked.converged


def test_linear_programs_prove_their_levels_with_their_own_prices():
    # Connection 3 asks for 8 and has all of its own link of 3, which alone proves that; the others are those of SHARED.
    demand = [np.inf, np.inf, np.inf, 8.0]
    problem = ab.Problem([4, 10, 3], [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 2], [0, 0, 1, 2, 3], demand)
    found = ab.solve(problem, fairness="max-min", method="lp")
    assert found.connection_rates == pytest.approx([5.0, 4.0, 5.0, 3.0])
    assert found.proof.holds
    assert found.proof.residual <= 1e-9
    # Without a level that holds it nothing proves a rate.
    bare = ab.LevelledAllocation(
        problem, found.path_rates, [], fairness="max-min", method="lp", tolerance=1e-2, passes=1
    )
    with pytest.raises(ab.CertificateError, match="no prices prove its rate"):
        bare.certify()


def test_numbers_up_to_18_powers_of_ten_apart_are_proved():
    rng = np.random.default_rng(3)
    for _ in range(60):
        problem = random_problem(rng, most_power=18.0, weight_power=6.0)
        found = ab.solve(problem, fairness="max-min", method="dual-simplex", tolerance=1e-6)
        assert found.converged
        assert found.certify().overload <= 1e-12
