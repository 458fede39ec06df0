"""Which rates are fair: loops and protocols over time beside the solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import anabranch as ab
from anabranch import fluid

INF = math.inf


def aggregated(loops: fluid.Loops) -> fluid.Loops:
    """Give the same loops with the weights of theorem 8.3."""
    links = [np.flatnonzero(own).tolist() for own in loops.crosses]
    return fluid.Loops(links, loops.onward.tolist(), loops.capacity, fluid.aggregated_weights(loops))


def sources_at_rest(loops: fluid.Loops) -> np.ndarray:
    control = fluid.Control(loops, fluid.Logistic(0.5), fluid.Price(0.2))
    found = fluid.integrate(control, control.start(0.1, 0.1), np.linspace(0.0, 3000.0, 3))
    return found.rates[-1][~np.isin(np.arange(len(loops.onward)), loops.onward)]


@pytest.mark.parametrize(
    ("loops", "rates"),
    [
        (fluid.tree(2, 3, 4.0), [0.5] * 8),
        # One source beside an aggregate of three: weights 1 and 3, so 3 each of 12.
        (fluid.Loops([[0], [0], [1], [1], [1]], [-1, -1, 1, 1, 1], [12.0, INF]), [3.0] * 4),
        # Aggregates of one and of three, and in that an aggregate of two.
        (
            fluid.Loops([[0], [0], [1], [2], [2], [3], [3]], [-1, -1, 0, 1, 1, 3, 3], [8.0, INF, INF, INF]),
            [2.0, 2.0, 2.0, 2.0],
        ),
        # The aggregate of three crosses a link of 2 besides: 2/3 each, and 10 for the other.
        (fluid.Loops([[0], [0, 1], [2], [2], [2]], [-1, -1, 1, 1, 1], [12.0, 2.0, INF]), [10.0, 2 / 3, 2 / 3, 2 / 3]),
    ],
)
def test_loops_aggregated_by_number_are_max_min_fair(loops: fluid.Loops, rates: list[float]) -> None:
    own = aggregated(loops)
    best = ab.solve(fluid.problem_behind(own), fairness="max-min").connection_rates
    np.testing.assert_allclose(np.sort(best), np.sort(rates))
    np.testing.assert_allclose(sources_at_rest(own), best, rtol=1e-4)


def test_without_the_weights_an_aggregate_has_no_more_than_one_source() -> None:
    loops = fluid.Loops([[0], [0], [1], [1], [1]], [-1, -1, 1, 1, 1], [12.0, INF])
    np.testing.assert_allclose(sources_at_rest(loops), [6.0, 2.0, 2.0, 2.0], rtol=1e-4)


def test_a_bottleneck_before_the_last_link_may_leave_a_loop_with_less_than_is_fair() -> None:
    # Loops of weight 1 at a link of 4, one of which crosses a link of 1.5 besides. Max-min: 1.5 and 2.5. At rest the
    # marks of the last link count for it as well: x = 4 (1 - p) and 1.5 (1 - p), with 5.5 (1 - p) = 4: 2.909, 1.091.
    loops = fluid.Loops([[0], [0, 1]], [-1, -1], [4.0, 1.5])
    np.testing.assert_allclose(ab.solve(fluid.problem_behind(loops), fairness="max-min").connection_rates, [2.5, 1.5])
    np.testing.assert_allclose(sources_at_rest(loops), [16 / 5.5, 6 / 5.5], rtol=1e-4)


@st.composite
def trees(draw: st.DrawFn) -> fluid.Loops:
    onward, links, ends = [], [], {}
    for loop in range(draw(st.integers(1, 8))):
        into = draw(st.integers(-1, loop - 1)) if loop else -1
        onward.append(into)
        links.append([ends.setdefault(into, len(ends))])
    return fluid.Loops(links, onward, [draw(st.floats(0.1, 100.0)), *[INF] * (len(ends) - 1)])


@settings(max_examples=30)
@given(trees())
def test_in_any_tree_sources_come_to_the_max_min_rates(loops: fluid.Loops) -> None:
    own = aggregated(loops)
    best = ab.solve(fluid.problem_behind(own), fairness="max-min").connection_rates
    rest = fluid.equilibrium(fluid.Control(own, fluid.Deflated(0.5), fluid.Price(0.2))).rates
    sources = ~np.isin(np.arange(len(own.onward)), own.onward)
    np.testing.assert_allclose(rest[sources], best, rtol=1e-9)


def single(capacity: list[float], paths: list[list[int]], weight: list[float] | None = None) -> ab.Problem:
    offsets = np.cumsum([0, *map(len, paths)])
    return ab.Problem(capacity, offsets, [link for path in paths for link in path], range(len(paths)), weight=weight)


CHAINS = [
    single([1.0, 1.0], [[0, 1], [0], [1]]),
    single([1.0, 2.0, 4.0], [[0, 1, 2], [0], [1], [2], [1, 2]]),
    single([3.0, 5.0], [[0, 1], [0], [1], [1]], [1.0, 2.0, 0.5, 1.0]),
    single([2.0, 50.0], [[0, 1], [0, 1], [1]]),
]


def greatest_sum_of_logarithms(problem: ab.Problem) -> np.ndarray:
    """Give the rates with the greatest weighted sum of logarithms, by a solver that knows nothing of prices."""
    uses = np.zeros((len(problem.capacity), len(problem.weight)))
    uses[problem.path_links, np.repeat(np.arange(len(problem.weight)), np.diff(problem.path_offsets))] = 1.0
    found = minimize(
        lambda x: -(problem.weight * np.log(x)).sum(),
        np.full(len(problem.weight), problem.capacity.min() / 10.0),
        jac=lambda x: -problem.weight / x,
        bounds=[(1e-6, None)] * len(problem.weight),
        constraints=[{"type": "ineq", "fun": lambda x: problem.capacity - uses @ x, "jac": lambda _: -uses}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("problem", CHAINS)
def test_the_rule_of_theorem_8_4_has_the_greatest_sum_of_logarithms(problem: ab.Problem) -> None:
    found = fluid.proportional_chains(problem, np.linspace(0.0, 500.0, 3), marked=0.2)
    np.testing.assert_allclose(found.rates[-1], greatest_sum_of_logarithms(problem), rtol=1e-4)


def sources_of_weighted_chains(problem: ab.Problem, unit: float) -> np.ndarray:
    """Follow LGCC senders hop by hop, each with a scheduler whose weights are inverse to the cost so far.

    ``x' = x (log10(1 - p) - log10(x / k))`` with k the least of the weight ``unit / cost``, the link's capacity and the
    rate at the next hop; ``p' = unit / 10 (y - c) / c``.
    """
    hops = np.diff(problem.path_offsets)
    connection, link = np.repeat(np.arange(len(hops)), hops), problem.path_links
    first = np.append(True, connection[1:] != connection[:-1])
    last, capacity, step = np.roll(first, -1), problem.capacity, 0.2
    x, p = np.full(len(link), capacity.min() / 100.0), np.full(len(capacity), unit / capacity.max())
    for _ in range(8000):
        cost = -np.log1p(-p)[link]
        so_far = np.cumsum(cost)
        so_far -= (so_far - cost)[first][connection]
        granted = unit * problem.weight[connection] / np.maximum(so_far, 1e-12)
        onward = np.where(last, INF, np.roll(x, -1))
        carrying = np.minimum(np.minimum(granted, capacity[link]), onward)
        change = x * (np.log10(1.0 - p[link]) - np.log10(x / carrying))
        excess = np.bincount(link, x, len(capacity)) / capacity - 1.0
        x, p = x + step * change, np.clip(p + step * unit / 10.0 * excess, 0.0, 0.999)
    assert np.abs(change / x).max() < 1e-6
    return x[first]


@pytest.mark.parametrize("problem", CHAINS)
def test_senders_weighted_by_their_costs_come_to_proportional_rates_the_nearer_the_less_is_marked(
    problem: ab.Problem,
) -> None:
    best = greatest_sum_of_logarithms(problem)
    off = [
        np.abs(sources_of_weighted_chains(problem, problem.capacity.min() / parts) / best - 1.0).max()
        for parts in (10.0, 100.0, 1000.0)
    ]
    assert off[0] < 0.13
    assert off[1] < 0.013
    assert off[2] < 0.0013 + 1e-4


@pytest.mark.parametrize("problem", CHAINS)
def test_chains_weighted_by_their_costs_are_proportionally_fair(problem: ab.Problem) -> None:
    best = ab.solve(problem, fairness="proportional")
    unit = problem.capacity.min() / 10.0
    found = fluid.proportional_chains(problem, np.linspace(0.0, 500.0, 3), marked=0.2)
    np.testing.assert_allclose(found.rates[-1], best.path_rates, rtol=1e-5)
    # A link's cost is its price: that of the optimum, in the unit of the rates.
    costs = -np.log1p(-found.prices[-1])
    np.testing.assert_allclose(costs / unit, best.link_prices, atol=1e-4)


def test_a_chain_without_a_cost_gets_no_more_than_its_links_have() -> None:
    # Nothing is marked at first: 1 for the long one, which has a link of 1, and 2 for the other; that is too much.
    found = fluid.proportional_chains(single([1.0, 2.0], [[0, 1], [1]]), np.linspace(0.0, 300.0, 3), marked=0.0)
    np.testing.assert_allclose(found.rates[0], [1.0, 2.0])
    np.testing.assert_allclose(found.rates[-1], [1.0, 1.0], rtol=1e-5)


def test_at_the_last_link_with_a_cost_shares_are_as_the_weights_of_the_theorem() -> None:
    # Links A and B of 1: the long one has 1/3 and the others 2/3; costs a and b are equal. At B the long one has the
    # cost a + b and the short one b: weights 1 to 2. The queues before B alone give 1/a and 1/0.
    found = fluid.proportional_chains(single([1.0, 1.0], [[0, 1], [0], [1]]), np.linspace(0.0, 300.0, 2))
    a, b = -np.log1p(-found.prices[-1])
    long, _, short = found.rates[-1]
    assert long / short == pytest.approx((1.0 / (a + b)) / (1.0 / b), rel=1e-6)


NETWORKS = [
    # Two paths; and [cao2012, fig. 2(a)].
    ab.Problem([6.0, 9.0], [0, 1, 2, 3, 4], [0, 0, 1, 1], [0, 1, 1, 2]),
    ab.Problem([5.0, 10.0, 6.0], [0, 1, 2, 4, 5, 6], [0, 0, 1, 2, 1, 2], [0, 1, 1, 2, 3]),
    ab.Problem([10.0, 8.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1], [4.0, INF], [1.0, 2.0]),
]


@pytest.mark.parametrize("problem", NETWORKS)
def test_weighted_vegas_comes_to_the_proportional_rates(problem: ab.Problem) -> None:
    best = ab.solve(problem, fairness="proportional")
    found = fluid.wvegas(problem, np.linspace(0.0, 1000.0, 3))
    totals = np.bincount(problem.path_connection, found.rates[-1])
    np.testing.assert_allclose(totals, best.connection_rates, rtol=1e-4)
    links = len(problem.capacity)
    np.testing.assert_allclose(found.prices[-1][:links], best.link_prices, atol=1e-4)


@st.composite
def networks(draw: st.DrawFn) -> ab.Problem:
    """Up to four links, and up to four connections with one or two paths over one or two of them."""
    capacity = draw(st.lists(st.sampled_from([4.0, 6.0, 9.0, 12.0]), min_size=2, max_size=4))
    links = st.sets(st.integers(0, len(capacity) - 1), min_size=1, max_size=2).map(sorted)
    owned = draw(st.lists(st.lists(links, min_size=1, max_size=2), min_size=2, max_size=4))
    paths = [path for own in owned for path in own]
    connection = [number for number, own in enumerate(owned) for _ in own]
    return ab.Problem(capacity, np.cumsum([0, *map(len, paths)]), [link for path in paths for link in path], connection)


@pytest.mark.slow
@settings(max_examples=12)
@given(networks())
def test_on_small_networks_both_come_to_what_the_solvers_find(problem: ab.Problem) -> None:
    best = ab.solve(problem, fairness="proportional").connection_rates
    found = fluid.wvegas(problem, np.linspace(0.0, 2000.0, 2)).rates[-1]
    # A path that is just not worth using fades away like 1/t.
    np.testing.assert_allclose(np.bincount(problem.path_connection, found), best, rtol=5e-3)
    rates = fluid.vo_le_tran(problem, np.linspace(0.0, 40_000.0, 2)).rates[-1]
    certificate = problem.core.certify(rates, 1e-2)
    assert certificate.residual < 1e-2
    assert certificate.overload < 1e-6


@pytest.mark.parametrize("problem", NETWORKS)
def test_vo_le_tran_reconstruction_comes_to_upward_max_min_rates(problem: ab.Problem) -> None:
    found = fluid.vo_le_tran(problem, np.linspace(0.0, 40_000.0, 3))
    certificate = problem.core.certify(found.rates[-1], 1e-3)
    assert certificate.residual < 1e-3
    assert certificate.overload < 1e-6


def test_vo_le_tran_reconstruction_on_one_path_each_comes_to_the_max_min_rates() -> None:
    # Links 10 and 4: the long one 2, so the short ones 8 and 2.
    problem = single([10.0, 4.0], [[0, 1], [0], [1]])
    found = fluid.vo_le_tran(problem, np.linspace(0.0, 20_000.0, 3))
    np.testing.assert_allclose(found.rates[-1], [2.0, 8.0, 2.0], rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: fluid.wvegas(ab.Problem([1.0], [0], [], [], [1.0]), t), "the problem has no paths"),
        (lambda t: fluid.wvegas(single([0.0], [[0]]), t), "has capacity 0; leave out the paths over it"),
        (lambda t: fluid.vo_le_tran(single([1.0], [[0]]), t, gain=-0.002), "gain has -0.002; it must be over 0"),
        (lambda t: fluid.wvegas(single([1.0], [[0]]), t, rates=[1.0, 2.0]), r"rates has shape \(2,\)"),
        (lambda t: fluid.proportional_chains(NETWORKS[0], t), "a connection has several paths"),
        (lambda t: fluid.proportional_chains(single([1.0], [[0]]), t, marked=1.0), "from 0 to 0.999"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(np.linspace(0.0, 1.0, 2))
