"""Proportional and alpha fairness as Python users meet them: rates, prices, tables, proofs; weighted Vegas by steps."""

import json
import re
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch import _core
from test_cli import run
from test_solve import problems

CONTINENT = Path(__file__).parents[1] / "scenarios" / "continent.toml"

FIGURE_2A = ab.Problem([5, 10, 6], [0, 1, 2, 4, 5, 6], [0, 0, 1, 2, 1, 2], [0, 1, 1, 2, 3])
"""[cao2012, fig. 2(a)]: links of 5, 10 and 6; flow 2 has one path on the first and one over the others."""


def test_the_printed_optimum_of_figure_2a_comes_with_its_prices():
    allocation = ab.solve(FIGURE_2A, fairness="proportional")
    np.testing.assert_allclose(allocation.path_rates, [3.1028, 1.8972, 1.2056, 8.7944, 4.7944], atol=5e-5)
    np.testing.assert_allclose(allocation.link_prices, [0.32229, 0.11371, 0.20858], atol=5e-6)
    np.testing.assert_allclose(allocation.subflows["price"][1:3], 0.32229, atol=5e-6)
    assert allocation.links["price"].to_list() == allocation.link_prices.tolist()
    assert allocation.converged
    found = allocation.certify()
    assert found.residual <= 1e-9
    assert 0.0 <= allocation.gap <= 1e-9
    assert "certified at 1e-06" in repr(allocation)


SHARED = [(0.5, "1 Tbit/s"), (1.0, "1 Tbit/s"), (2.0, "1 Tbit/s"), (1.0, "9 Tbit/s")]


@pytest.mark.parametrize(("alpha", "total"), SHARED)
def test_demands_from_kilobits_to_gigabits_are_shared_in_few_steps(alpha, total):
    # By gravity the smallest demand is a seven-millionth of the largest, and as many times as much is worth to it.
    network = ab.read_scenario(CONTINENT).network
    demands = ab.gravity(network, total)
    sizes = demands.connections["demand_bps"]
    assert sizes.max() > 1e6 * sizes.min()
    allocation = ab.solve(network, demands, fairness="alpha", alpha=alpha, paths=4)
    assert allocation.converged
    assert allocation.certify().holds
    assert allocation.passes < 60


@pytest.mark.parametrize("total", ["1 Tbit/s", "3 Tbit/s", "9 Tbit/s"])
def test_large_alphas_are_found_where_small_demands_are_worth_fifty_powers_of_ten_more(total):
    network = ab.read_scenario(CONTINENT).network
    demands = ab.gravity(network, total)
    for alpha, most in ((4.0, 100), (8.0, 250)):
        allocation = ab.solve(network, demands, fairness="alpha", alpha=alpha, paths=4)
        assert allocation.converged
        assert allocation.certify().holds
        assert allocation.passes < most


def test_a_network_has_prices_by_name(tmp_path):
    # a - b of 6 Mbit/s for both; each pays 1 / 3 Mbit/s for a bit/s.
    graph = nx.Graph()
    graph.add_edge("a", "b", capacity="6 Mbit/s")
    network = ab.from_networkx(graph)
    allocation = ab.solve(network, ab.demands(network, ["a", "a"], ["b", "b"]), fairness="proportional")
    np.testing.assert_allclose(allocation.connection_rates, 3e6)
    prices = dict(zip(allocation.links["name"], allocation.links["price"], strict=True))
    assert prices == pytest.approx({"a-b": 1 / 3e6, "b-a": 0.0})
    assert allocation.connections["bottleneck"].to_list() == ["a-b", "a-b"]
    allocation.write(tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "meta.json").read_text())["summary"]
    assert summary["alpha"] == 1.0
    assert summary["certified"] is True


def test_large_alphas_approach_max_min():
    # Links 10 and 4: max-min gives the long connection 2 of the 4.
    line = ab.Problem([10, 4], [0, 2, 3, 4], [0, 1, 0, 1], [0, 1, 2])
    exact = ab.solve(line, fairness="max-min").connection_rates
    apart = [np.abs(ab.solve(line, fairness="alpha", alpha=a).connection_rates - exact).max() for a in (1, 2, 4, 8, 16)]
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 1e-8
    one = ab.solve(line, fairness="alpha", alpha=1).connection_rates
    np.testing.assert_array_equal(one, ab.solve(line, fairness="proportional").connection_rates)


def test_options_that_do_not_fit_are_told():
    for options, said in [
        ({"fairness": "alpha"}, "alpha is None; give one, such as alpha=2"),
        ({"fairness": "alpha", "alpha": 0}, "alpha is 0; it must be 0.1 to 100"),
        ({"fairness": "alpha", "alpha": float("nan")}, "alpha is NaN; it must be"),
        ({"fairness": "proportional", "alpha": 2}, "alpha is 2; for proportional it is 1"),
        ({"fairness": "max-min", "alpha": 2}, "alpha is 2; max-min takes none; leave it out"),
        ({"fairness": "proportional", "method": "lp"}, "take one of the methods for proportional: interior-point"),
    ]:
        with pytest.raises(ValueError, match=re.escape(said)):
            ab.solve(FIGURE_2A, **options)
    tall = ab.Problem([1e9], [0, 1], [0], [0])
    with pytest.raises(ValueError, match="take a smaller alpha, or count rates in another unit"):
        ab.solve(tall, fairness="alpha", alpha=64)


def test_a_wrong_price_is_found_by_the_certificate():
    allocation = ab.solve(FIGURE_2A, fairness="proportional")
    prices = allocation.link_prices.copy()
    prices[1] *= 1.01
    found = _core.certify_prices(FIGURE_2A.core, 1.0, allocation.path_rates, prices, 1e-6)
    assert not found.holds
    assert found.worst is not None
    assert 1e-4 < found.residual < 0.02
    with pytest.raises(ValueError, match="2 prices for 3 links"):
        _core.certify_prices(FIGURE_2A.core, 1.0, allocation.path_rates, prices[:2].copy(), 1e-6)


@given(problems(), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=200)
def test_every_answer_is_feasible_and_owns_up_to_what_it_lacks(made, alpha):
    capacity, paths, demand = made
    flat = [(c, path) for c, own in enumerate(paths) for path in own]
    offsets = np.cumsum([0, *(len(path) for _, path in flat)])
    problem = ab.Problem(
        capacity, offsets, [link for _, path in flat for link in path], [c for c, _ in flat], demand=demand
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.ConvergenceWarning)
        allocation = ab.solve(problem, fairness="alpha", alpha=alpha)
    assert np.isfinite(allocation.path_rates).all()
    assert np.isfinite(allocation.link_prices).all()
    assert allocation.certificate.is_feasible
    assert allocation.converged == allocation.certificate.holds


def test_renumbering_changes_no_connection():
    rng = np.random.default_rng(4)
    for _ in range(40):
        links, connections = int(rng.integers(2, 9)), int(rng.integers(1, 9))
        paths = [rng.permutation(links)[: int(rng.integers(1, 4))] for _ in range(2 * connections)]
        owner, capacity = np.repeat(np.arange(connections), 2), rng.uniform(1.0, 9.0, links)
        link_order, path_order = rng.permutation(links), rng.permutation(2 * connections)

        def rates(capacity, paths, owner):
            problem = ab.Problem(capacity, np.cumsum([0, *map(len, paths)]), np.concatenate(paths), owner)
            return ab.solve(problem, fairness="proportional").connection_rates

        renumbered = [np.argsort(link_order)[paths[p]] for p in path_order]
        np.testing.assert_allclose(
            rates(capacity[link_order], renumbered, owner[path_order]), rates(capacity, paths, owner), rtol=1e-6
        )


def test_the_algorithms_of_weighted_vegas_can_be_followed():
    optimum = ab.solve(FIGURE_2A, fairness="proportional").path_rates
    allocation = _core.weight_allocation(FIGURE_2A.core, np.array([1.0, 0.05, 0.95, 1.0, 1.0]))
    shares = []
    for _ in range(20):
        allocation.advance()
        shares.append(allocation.weights[1])
    # Weight moves to the path that costs less, step by step.
    assert shares == sorted(shares)
    np.testing.assert_allclose(allocation.rates, optimum, rtol=0.01)
    assert allocation.run(1e-9, 500)
    np.testing.assert_allclose(allocation.rates, optimum, rtol=1e-6)
    adjustment = _core.weight_adjustment(FIGURE_2A.core, np.ones(5), gamma=0.01)
    for _ in range(600):
        adjustment.advance()
    assert adjustment.steps == 600
    np.testing.assert_allclose(adjustment.rates, optimum, rtol=0.01)
    np.testing.assert_allclose(adjustment.path_prices[1:3], 0.32229, rtol=0.01)
    with pytest.raises(ValueError, match="gamma is 0"):
        _core.weight_adjustment(FIGURE_2A.core, np.ones(5), gamma=0.0)


@pytest.mark.slow
def test_the_command_prints_the_proof_and_gives_the_prices(tmp_path):
    file = tmp_path / "ab.gml"
    file.write_text(
        'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 LinkSpeedRaw 1000000 ] ]',
        encoding="utf-8",
    )
    done = run("solve", file, "--demands", "uniform:4Mbit/s", "--fairness", "proportional")
    assert done.returncode == 0, done.stderr
    assert re.search(r"certified: rates and prices are the optimum to 1e-06 \(worst .*\), duality gap", done.stdout)
    assert re.search(r"\d+ steps", done.stdout)
    done = run("solve", file, "--demands", "uniform:4Mbit/s", "--fairness", "alpha", "--alpha", "2", "--json")
    answer = json.loads(done.stdout)
    # 1 Mbit/s for the one connection each way: (1e6)^-2.
    assert [row["price"] for row in answer["links"]] == pytest.approx([1e-12, 1e-12])
    assert [row["price"] for row in answer["subflows"]] == pytest.approx([1e-12, 1e-12])
    assert answer["summary"]["alpha"] == 2.0
    done = run("solve", file, "--demands", "uniform:4Mbit/s", "--fairness", "alpha")
    assert done.returncode == 2
    assert "give one, such as alpha=2" in done.stderr
