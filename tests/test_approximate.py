"""Approximations of max-min fairness: what each does where one can work it out, and what all promise."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.solvers.approximate.entries import Entries
from anabranch.solvers.approximate.swan import lowest_level
from anabranch.solvers.methods import APPROXIMATIONS as METHODS
from anabranch.solvers.methods import takers_of

FORK = ab.Problem([4.0, 6.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1])
"""Connection 0 has link A (4) and link B (6), connection 1 has B: 5 each is fair."""

LINE = ab.Problem([10.0, 10.0], [0, 2, 3, 4], [0, 1, 0, 1], [0, 1, 2])
"""A long connection over both links of 10, and a short one on each: 5 each is fair."""


def approximate(problem, method, **options):
    return ab.solve(problem, fairness="max-min", method=method, **options)


def rates(problem, method, **options):
    return approximate(problem, method, **options).connection_rates


def random_problem(rng, *, coefficients=True):
    """Up to 8 links and 9 connections of up to 3 paths, with weights, demands and coefficients."""
    links, connections = int(rng.integers(2, 9)), int(rng.integers(2, 10))
    connection = np.repeat(np.arange(connections), rng.integers(1, 4, connections))
    paths = [rng.permutation(links)[: rng.integers(1, min(links, 3) + 1)] for _ in connection]
    entries = sum(map(len, paths))
    return ab.Problem(
        rng.uniform(1.0, 20.0, links),
        np.cumsum([0, *map(len, paths)]),
        np.concatenate(paths),
        connection,
        np.where(rng.random(connections) < 0.5, np.inf, rng.uniform(0.5, 9.0, connections)),
        rng.choice([1.0, 2.0, 4.0], connections),
        coefficient=rng.choice([0.5, 1.0, 2.0], entries) if coefficients else None,
    )


@pytest.mark.parametrize("method", ["water-filling", "approximate-water-filler"])
def test_subflows_taken_for_connections_share_each_link_evenly(method):
    # B gives 3 to each of its two subflows, A all of its 4 to one.
    np.testing.assert_allclose(approximate(FORK, method).path_rates, [4.0, 3.0, 3.0])


def test_one_pass_over_the_links_leaves_room_that_exact_filling_finds():
    # Link 1 (1) comes first: y has 1. Link 0 (9, three subflows: 3) is second: y keeps 1, x and w share 8. Link 2 (3.5)
    # cuts x from 4 to 3.5, and w does not hear of it.
    problem = ab.Problem([9.0, 1.0, 3.5], [0, 2, 4, 5], [0, 2, 0, 1, 0], [0, 1, 2])
    np.testing.assert_allclose(rates(problem, "approximate-water-filler"), [3.5, 1.0, 4.0])
    np.testing.assert_allclose(rates(problem, "water-filling"), [3.5, 1.0, 4.5])


def test_the_adaptive_water_filler_moves_towards_fair_pass_by_pass():
    # Portions 1/2: B fills at 6 / 1.5 = 4: subflows 2 and 4. A: 4. So 6 and 4. Portions 4/6 and 2/6: B fills at
    # 6 / (4/3) = 4.5: 1.5 and 4.5. Portions 4/5.5 and 1.5/5.5: B fills at 6 / 1.2727 = 4.7143.
    found = [rates(FORK, "adaptive-water-filler", iterations=n) for n in (1, 2, 3)]
    np.testing.assert_allclose(found, [[6.0, 4.0], [5.5, 4.5], [10 - 33 / 7, 33 / 7]])
    np.testing.assert_allclose(rates(FORK, "adaptive-water-filler", iterations=200), 5.0, rtol=1e-2)
    # A start that favours A is nearer: portions 10/11 and 1/11, so B fills at 6 / (12/11) = 5.5.
    np.testing.assert_allclose(rates(FORK, "adaptive-water-filler", iterations=1, start=0.1), [4.5, 5.5])


def test_the_adaptive_water_filler_stops_when_all_demands_are_met():
    met = ab.Problem([4.0, 6.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1], [3.0, 2.0])
    allocation = approximate(met, "adaptive-water-filler")
    assert allocation.passes == 1
    np.testing.assert_allclose(allocation.connection_rates, [3.0, 2.0])


def test_swan_finds_what_lies_on_its_levels_and_freezes_between():
    np.testing.assert_allclose(rates(FORK, "swan", first_level=2.5), 5.0, rtol=1e-6)
    # Two share a link of 3, one has 20. Levels 1, 2, 4, ... 32: the two freeze between 1 and 2, the third in the sixth.
    problem = ab.Problem([3.0, 20.0], [0, 1, 2, 3], [0, 0, 1], [0, 1, 2])
    allocation = approximate(problem, "swan", first_level=1.0)
    two, third = allocation.connection_rates[:2], allocation.connection_rates[2]
    assert two.sum() == pytest.approx(3.0)
    assert (two >= 1 - 1e-6).all()
    assert third == pytest.approx(20.0)
    assert allocation.passes == 6
    # Weights 1, 1, 2 on a link of 12: level 3 fills it.
    shared = ab.Problem([12.0], [0, 1, 2, 3], [0, 0, 0], [0, 1, 2], weight=[1.0, 1.0, 2.0])
    np.testing.assert_allclose(rates(shared, "swan", first_level=1.5), [3.0, 3.0, 6.0], rtol=1e-6)


def test_geometric_bins_are_filled_one_after_the_other_if_the_next_is_worth_little():
    # Bins to 5 and to 10. In the second, the short connections earn 2 e where the long one loses 1 in the first.
    np.testing.assert_allclose(rates(LINE, "geometric-binner", first_level=5.0, last_worth=0.4), 5.0)
    np.testing.assert_allclose(
        rates(LINE, "geometric-binner", first_level=5.0, last_worth=0.6), [0.0, 10.0, 10.0], atol=1e-9
    )


def test_equi_depth_bins_keep_their_order_and_one_bin_is_the_greatest_total():
    # Three bins of one: the long connection may not be over the short ones, and is worth more than both: 5 each.
    np.testing.assert_allclose(rates(LINE, "equi-depth-binner", bins=3), 5.0)
    np.testing.assert_allclose(rates(LINE, "equi-depth-binner", bins=1), [0.0, 10.0, 10.0], atol=1e-9)


def test_equi_depth_bins_follow_the_order_of_their_guide():
    rng = np.random.default_rng(8)
    for _ in range(40):
        problem = random_problem(rng)
        guide = rates(problem, "adaptive-water-filler") / problem.weight
        level = rates(problem, "equi-depth-binner", bins=3) / problem.weight
        parts = [part for part in np.array_split(np.argsort(guide, kind="stable"), 3) if len(part)]
        for lower, upper in pairwise(parts):
            assert level[lower].max() <= level[upper].min() * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_every_approximation_is_feasible_and_owns_up_to_what_it_is(method):
    rng = np.random.default_rng(3)
    for _ in range(60):
        problem = random_problem(rng)
        allocation = approximate(problem, method)
        assert allocation.certificate.is_feasible
        assert allocation.certificate.overload <= 1e-12
        assert allocation.certificate.over_demand <= 1e-12
        assert allocation.is_approximation
        assert allocation.converged
        assert allocation.summary["approximation"] is True
        assert 0.0 <= allocation.residual <= 1.0
        assert f"max-min, approximated by {method}" in repr(allocation)
        least = allocation.compare(ab.solve(problem, fairness="max-min")).worst
        assert least > 0.0 or method.endswith("binner")


def test_an_exact_allocation_is_no_approximation_and_certify_still_asks_for_fairness():
    exact = ab.solve(FORK, fairness="max-min")
    assert not exact.is_approximation
    assert exact.summary["approximation"] is False
    with pytest.raises(ab.CertificateError, match="no link holds it back"):
        approximate(FORK, "water-filling").certify()


@pytest.mark.parametrize("method", METHODS)
def test_demands_are_met_where_there_is_room_for_all(method):
    problem = ab.Problem([9.0, 9.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1], [4.0, 2.0])
    np.testing.assert_allclose(rates(problem, method), [4.0, 2.0], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_dead_links_demands_of_zero_infinite_links_and_connections_without_paths_are_no_trouble(method):
    # Link 0 is dead, link 2 without a limit: connections 0 and 3 get nothing, 1 nothing by its demand, 2 all of link
    # 1, and 4 its demand.
    capacity, demand = [0.0, 4.0, np.inf], [np.inf, 0.0, np.inf, 5.0, 7.0]
    problem = ab.Problem(capacity, [0, 1, 2, 4, 5], [0, 1, 1, 2, 2], [0, 1, 2, 4], demand)
    np.testing.assert_allclose(rates(problem, method), [0.0, 0.0, 4.0, 0.0, 7.0], rtol=1e-6)
    assert rates(ab.Problem([1.0], [0], [], [], [1.0]), method).tolist() == [0.0]


@pytest.mark.parametrize("method", METHODS)
def test_coefficients_are_what_a_rate_takes_of_a_link(method):
    # 2 x + y = 6 on the one link, both at one level: 2 each. With a demand of 1 for x, y has 4.
    arrays = [6.0], [0, 1, 2], [0, 0], [0, 1]
    fair = ab.Problem(*arrays, coefficient=[2.0, 1.0])
    options = {"first_level": 2.0} if method in takers_of("first_level") else {}
    options |= {"bins": 2} if method in takers_of("bins") else {}
    np.testing.assert_allclose(rates(fair, method, **options), 2.0, rtol=1e-6)
    held = ab.Problem(*arrays, [1.0, np.inf], coefficient=[2.0, 1.0])
    np.testing.assert_allclose(rates(held, method, **options), [1.0, 4.0], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_coefficient_for_all_of_a_link_is_a_narrower_link(method):
    rng = np.random.default_rng(6)
    for _ in range(10):
        plain = random_problem(rng, coefficients=False)
        factor = rng.choice([0.25, 1.0, 4.0], len(plain.capacity))
        used = ab.Problem(
            plain.capacity * factor,
            plain.path_offsets,
            plain.path_links,
            plain.path_connection,
            plain.demand,
            plain.weight,
            coefficient=factor[plain.path_links],
        )
        # Linear programs have several answers; these are alike in what is carried.
        if method in {"swan", "geometric-binner", "equi-depth-binner"}:
            assert rates(used, method).sum() == pytest.approx(rates(plain, method).sum(), rel=0.2)
        else:
            np.testing.assert_allclose(rates(used, method), rates(plain, method), rtol=1e-9)


def test_swan_stays_about_within_its_ratio_of_exact():
    # No strict bound: what freezes low leaves room to others.
    rng = np.random.default_rng(2)
    for ratio in (2.0, 1.3):
        for _ in range(60):
            problem = random_problem(rng)
            exact = ab.solve(problem, fairness="max-min", tolerance=1e-6).connection_rates
            apart = rates(problem, "swan", ratio=ratio) / exact
            assert 1 / (1.25 * ratio) <= apart.min() <= apart.max() <= 1.25 * ratio


def test_the_lowest_level_is_one_that_all_can_have_together():
    rng = np.random.default_rng(9)
    for _ in range(40):
        problem = random_problem(rng)
        level = lowest_level(Entries(problem))
        lowest = np.minimum(problem.demand, problem.weight * level)
        exact = ab.solve(problem, fairness="max-min", tolerance=1e-6).connection_rates
        assert (exact >= lowest * (1 - 1e-6)).all()


@pytest.mark.parametrize("method", METHODS)
def test_rates_do_not_hang_on_the_unit(method):
    rng = np.random.default_rng(4)
    for _ in range(10):
        problem = random_problem(rng)
        arrays = problem.path_offsets, problem.path_links, problem.path_connection
        scaled = ab.Problem(
            problem.capacity * 1e9, *arrays, problem.demand * 1e9, problem.weight, coefficient=problem.coefficient
        )
        total = rates(problem, method).sum() * 1e9
        assert rates(scaled, method).sum() == pytest.approx(total, rel=1e-3 if "water" in method else 0.1)


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 2**32 - 1))
@example(1_000_000_000)
@example(64_878)
@settings(max_examples=50)
def test_numbers_far_apart_overload_nothing(method, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    wide = ab.Problem(
        10.0 ** rng.uniform(-3, 9, len(problem.capacity)),
        problem.path_offsets,
        problem.path_links,
        problem.path_connection,
        10.0 ** rng.uniform(-3, 12, len(problem.demand)),
        10.0 ** rng.uniform(-6, 6, len(problem.weight)),
        coefficient=10.0 ** rng.uniform(-2, 2, len(problem.path_links)),
    )
    allocation = approximate(wide, method)
    assert np.isfinite(allocation.path_rates).all()
    assert allocation.certificate.is_feasible


def fill_alone(capacity, use, claim, rate):
    """Share a link among subflows by the definition: the level at which they take the capacity, by bisection."""

    def taken(level):
        return (use * np.minimum(rate, level * claim)).sum()

    if taken(np.inf) <= capacity:
        return rate
    low, high = 0.0, 1.0
    while taken(high) < capacity:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if taken(middle) <= capacity else (low, middle)
    return np.minimum(rate, low * claim)


def pass_by_definition(problem, claim):
    """Go once over links and demands, in the order of the levels at which each would fill up on its own."""
    entry_path = np.repeat(np.arange(len(claim)), np.diff(problem.path_offsets))
    use = np.ones(len(entry_path)) if problem.coefficient is None else problem.coefficient
    shared = []
    for c, demand in enumerate(problem.demand):
        own = np.flatnonzero(problem.path_connection == c)
        if np.isfinite(demand):
            shared.append((demand / claim[own].sum(), 0, c, demand, own, np.ones(len(own))))
    for link, capacity in enumerate(problem.capacity):
        on = problem.path_links == link
        if on.any():
            path = entry_path[on]
            shared.append((capacity / (use[on] * claim[path]).sum(), 1, link, capacity, path, use[on]))
    rates = np.full(len(claim), np.inf)
    for *_, amount, path, used in sorted(shared, key=lambda one: one[:3]):
        rates[path] = fill_alone(amount, used, claim[path], rates[path])
    return rates


def test_water_fillers_do_what_their_definition_says():
    rng = np.random.default_rng(11)
    for _ in range(60):
        problem = random_problem(rng)
        weight = problem.weight[problem.path_connection]
        count = np.bincount(problem.path_connection)[problem.path_connection]
        once = pass_by_definition(problem, weight)
        np.testing.assert_allclose(approximate(problem, "approximate-water-filler").path_rates, once, rtol=1e-9)
        portions = 1.0 / count
        for passes in (1, 2, 3):
            found = approximate(problem, "adaptive-water-filler", iterations=passes, start="equal")
            expected = pass_by_definition(problem, weight * portions)
            if found.passes < passes:
                break
            np.testing.assert_allclose(found.path_rates, expected, rtol=1e-9)
            portions = expected / np.bincount(problem.path_connection, expected)[problem.path_connection]


@pytest.mark.parametrize(("start", "portions"), [("equal", [5, 5]), (0.5, [20 / 3, 10 / 3]), ([1.0, 4.0], [2, 8])])
def test_starting_portions_are_equal_geometric_or_given(start, portions):
    # One connection over two links without any other, and with a demand of 10: a pass gives it the starting portions.
    problem = ab.Problem([99.0, 99.0], [0, 1, 2], [0, 1], [0, 0], [10.0])
    found = approximate(problem, "adaptive-water-filler", iterations=1, start=start)
    np.testing.assert_allclose(found.path_rates, portions)


def test_options_that_do_not_fit_are_told():
    for method, options, said in [
        (
            "lp",
            {"bins": 3},
            "bins was given, and lp takes none; leave it out, or name a method that takes it: equi-depth-binner",
        ),
        ("swan", {"iterations": 3}, "iterations was given, and swan takes none"),
        ("swan", {"ratio": 1.0}, "ratio is 1.0; it must be over 1 and finite"),
        ("swan", {"ratio": float("nan")}, "ratio is nan; it must be over 1"),
        ("swan", {"first_level": 0.0}, "first_level is 0.0; it must be positive"),
        ("swan", {"first_level": "1 Mbit/s"}, "the problem has a unit of its own"),
        ("swan", {"ratio": 1.0001, "first_level": 1e-9}, "levels, and 1000 are the most"),
        ("geometric-binner", {"last_worth": 0.0}, "last_worth is 0.0; it must be over 0 and at most 1"),
        ("equi-depth-binner", {"bins": 0}, "bins is 0; it must be 1 or more"),
        ("adaptive-water-filler", {"start": 0.0}, "the ratio of the starting portions is 0"),
        ("adaptive-water-filler", {"start": [1.0]}, "1 starting portions for 3 paths"),
        ("adaptive-water-filler", {"start": [1.0, 0.0, 1.0]}, "path 1: its starting portion is 0;"),
        ("adaptive-water-filler", {"start": "random"}, 'start is "random"'),
    ]:
        with pytest.raises(ValueError, match=re.escape(said)):
            approximate(FORK, method, **options)
    with pytest.raises(TypeError, match=r"iterations is 2\.5; it must be a whole number"):
        approximate(FORK, "adaptive-water-filler", iterations=2.5)
    with pytest.raises(TypeError, match="ratio is '2'; it must be a number"):
        approximate(FORK, "swan", ratio="2")
    with pytest.raises(TypeError, match="unexpected keyword argument 'iteration'"):
        approximate(FORK, "adaptive-water-filler", iteration=2)
    with pytest.raises(ValueError, match="for upward-max-min: c-slen, iewf, progressive-filling"):
        ab.solve(FORK, fairness="upward-max-min", method="swan")


def test_progress_is_told():
    told = []
    approximate(FORK, "adaptive-water-filler", iterations=3, progress=lambda *step: told.append(step))
    approximate(FORK, "swan", first_level=2.5, progress=lambda *step: told.append(step))
    assert told[:3] == [("passes", 1, 3), ("passes", 2, 3), ("passes", 3, 3)]
    assert told[-1] == ("programs", 2, 2)
