"""Loops under control: growth, rest, the paper's numbers, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import fluid
from anabranch.errors import SolverError
from anabranch.fluid.trajectory import follow

MBIT = 1e6


def close(found: object, expected: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


def test_growth_is_fastest_at_half_of_the_capacity_and_ends_there() -> None:
    # gamma N (K - N) / K with gamma 2, K 10: 2 * 5 * 5 / 10 = 5 at N = 5, 2 * 1 * 9 / 10 = 1.8 at N = 1.
    close(fluid.growth([0.0, 1.0, 5.0, 10.0], 2.0, 10.0), [0.0, 1.8, 5.0, 0.0])


def test_the_closed_solution_obeys_the_equation_and_is_half_where_it_must() -> None:
    # x = 1 / (1 + 9 e^(-t)) from 0.1: half at t = ln 9.
    close(fluid.population_at([0.0, math.log(9.0)], 0.1, 1.0), [0.1, 0.5])
    time = np.linspace(0.0, 10.0, 2001)
    x = fluid.population_at(time, 0.3, 0.7, 4.0)
    close(np.gradient(x, time)[1:-1], fluid.growth(x, 0.7, 4.0)[1:-1], 1e-4)


def test_a_loop_alone_grows_as_the_closed_solution_says() -> None:
    control = fluid.Control(fluid.one_link(1), fluid.Logistic(0.5), fluid.Price(0.1))
    time = np.linspace(0.0, 20.0, 41)
    found = fluid.integrate(control, control.start(0.05), time)
    close(found.rates[:, 0], fluid.population_at(time, 0.05, 0.5), 1e-6)
    assert not found.prices.any()


@pytest.mark.parametrize(("phi_2", "stepped", "rest"), [(3.0, 102.0412, 116.961), (5.0, 108.0488, 185.478)])
def test_a_step_and_a_jump_are_those_worked_by_hand(phi_2: float, stepped: float, rest: float) -> None:
    # x = 100, k = 500, p = .5, gamma = .3, bases (10, 3): log_3 .5 = -.63093, log_10 .2 = -.69897, so
    # x' = 100 + 100 * .3 * (-.63093 + .69897) = 102.0412; k * .5^(ln 10 / ln 3) = 500 * .5^2.09590 = 116.961.
    x, k, p = np.array([100.0 * MBIT]), np.array([500.0 * MBIT]), np.array([0.5])
    sender = fluid.Deflated(0.3, 10.0, phi_2)
    close((x + sender.change(x, k, p)) / MBIT, [stepped], 1e-6)
    close(sender.settled(k, p) / MBIT, [rest], 1e-5)
    close(fluid.Jump(10.0, phi_2).settled(k, p) / MBIT, [rest], 1e-5)


@pytest.mark.parametrize(("phi_2", "marked"), [(2.0, 0.3840), (3.0, 0.5360), (5.0, 0.6753), (10.0, 0.8000)])
def test_five_loops_are_marked_as_the_formula_says(phi_2: float, marked: float) -> None:
    # 1 - 5^(-ln phi_2 / ln 10); with phi_2 = 10 it is 1 - 1/5.
    assert fluid.marking(5, 10.0, phi_2) == pytest.approx(marked, abs=5e-5)
    control = fluid.Control(fluid.one_link(5, 500.0 * MBIT), fluid.Deflated(0.3, 10.0, phi_2), fluid.Price(0.1))
    rest = fluid.equilibrium(control)
    close(rest.rates / MBIT, np.full(5, 100.0))
    assert rest.prices[0] == pytest.approx(marked, abs=5e-5)


def test_the_printed_marking_mixes_two_bases_and_does_not_use_the_link_up() -> None:
    # The inner logarithm to the base 10: 1 - e^(log10 2 * log10(1/5) / log10 10) = 1 - e^(-.30103 * .69897) = .1897.
    mixed = 1.0 - math.exp(math.log10(2.0) * math.log10(0.2) / math.log10(10.0))
    assert mixed == pytest.approx(0.1897, abs=5e-5)
    # At that marking five senders would send 5 * .8103^(ln 10 / ln 2) = 2.49 times the capacity.
    sent = 5.0 * fluid.Deflated(1.0, 10.0, 2.0).settled(np.ones(1), np.array([mixed]))
    assert sent[0] == pytest.approx(2.486, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("sender", [fluid.Logistic(0.4), fluid.Deflated(0.4), fluid.Jump(10.0, 5.0)])
def test_two_loops_for_each_of_five_halve_from_loop_to_loop(sender: fluid.Logistic) -> None:
    control = fluid.Control(fluid.chain(5, 2), sender, fluid.Price(0.3))
    rest = fluid.equilibrium(control)
    close(rest.rates[:5], [0.03125, 0.0625, 0.125, 0.25, 0.5])
    close(rest.prices, np.full(5, 0.5 if isinstance(sender, fluid.Logistic) else fluid.marking(2)))
    end = fluid.integrate(control, control.start(0.01, 0.1), np.linspace(0.0, 600.0, 3))
    close(end.rates[-1], rest.rates, 1e-5)


@pytest.mark.parametrize("at_once", [False, True])
def test_steps_and_time_come_to_the_same_rest(at_once: bool) -> None:
    control = fluid.Control(fluid.tree(2, 3, 4.0), fluid.Logistic(0.3), fluid.Price(0.05))
    rest = fluid.equilibrium(control)
    close(rest.rates, [2.0] * 2 + [1.0] * 4 + [0.5] * 8)
    last = fluid.iterate(control, control.start(0.1), 1500, at_once=at_once)[-1]
    close(last.rates, rest.rates, 1e-7)
    close(last.prices, rest.prices, 1e-7)


def test_a_loop_that_goes_on_carries_no_more_than_its_own_link_does() -> None:
    # Equation 10: loop 0 crosses a link of 2 and goes on into loop 1 at a link of 4, so k = min(x1, 2).
    loops = fluid.Loops([[0], [1]], [1, -1], [2.0, 4.0])
    control = fluid.Control(loops, fluid.Logistic(0.5), fluid.Price(0.2))
    close(control.carrying(np.array([1.0, 3.0])), [2.0, 4.0])
    close(control.carrying(np.array([1.0, 1.5])), [1.5, 4.0])
    close(fluid.equilibrium(control).rates, [2.0, 4.0])
    close(fluid.iterate(control, control.start(0.1), 400)[-1].rates, [2.0, 4.0], 1e-6)


def test_a_logarithmic_sender_jumps_no_farther_than_it_may() -> None:
    # 1 / p: infinite, 10 and 2 without an end.
    close(fluid.LogJump(3.0).settled(np.ones(3), np.array([0.0, 0.1, 0.5])), [3.0, 3.0, 2.0])
    control = fluid.Control(fluid.one_link(2, 8.0), fluid.LogJump(3.0), fluid.Price(0.1, most=math.inf))
    close(control.start(1.0, 0.0).rates, [3.0, 3.0])


def test_red_marks_by_what_waits_and_rests_at_the_same_marking() -> None:
    # Backlog by threshold: 0.8 for five loops. 400 of 500 wait.
    control = fluid.Control(fluid.one_link(5, 100.0), fluid.Logistic(0.2), fluid.red(500.0))
    found = fluid.integrate(control, control.start(1.0), np.linspace(0.0, 4000.0, 5))
    close(found.rates[-1], np.full(5, 20.0), 1e-5)
    close(found.prices[-1], [0.8], 1e-5)


def test_a_logarithmic_controller_rests_at_equal_rates_with_prices_that_add_up() -> None:
    # Three loops at a link of 6: 2 each, price 1/2. A loop over two links of 1 with one beside it at each: 1/3 and
    # 2/3, the proportionally fair rates, prices 1.5 each.
    control = fluid.Control(fluid.one_link(3, 6.0), fluid.LogUtility(0.5), fluid.Price(0.2, most=math.inf))
    rest = fluid.equilibrium(control)
    close(rest.rates, [2.0, 2.0, 2.0])
    close(rest.prices, [0.5])
    row = fluid.Control(fluid.row_of_links(2), fluid.LogUtility(0.1), fluid.Price(0.2, most=math.inf))
    end = fluid.integrate(row, row.start(0.3, 1.0), np.linspace(0.0, 400.0, 3))
    close(end.rates[-1], [1 / 3, 2 / 3, 2 / 3], 1e-6)
    close(end.prices[-1], [1.5, 1.5], 1e-6)


def test_weights_divide_marks_rightly_for_two_loops_and_not_for_three() -> None:
    # 1 - p / w: for w = (1, 3) p = 1 / (1 + 1/3) = 3/4, so 1/4 and 3/4. For w = (1, 1, 2) p = 2 / 2.5 = .8, so
    # .2, .2 and .6 where .25, .25, .5 were due; a scheduler gives these.
    def rest(weights: list[float], weighting: str) -> np.ndarray:
        loops = fluid.one_link(len(weights), 1.0, weights)
        control = fluid.Control(loops, fluid.Logistic(0.3), fluid.Price(0.2), weighting=weighting)
        found = fluid.equilibrium(control)
        assert fluid.residual(control, found) < 1e-12
        return found.rates

    close(rest([1.0, 3.0], "marks"), [0.25, 0.75])
    close(rest([1.0, 1.0, 2.0], "marks"), [0.2, 0.2, 0.6])
    close(rest([1.0, 1.0, 2.0], "scheduler"), [0.25, 0.25, 0.5])


def test_the_longest_of_a_row_has_the_product_of_the_others() -> None:
    # One link in common each: x1 = x2^n and x1 + x2 = 1. For n = 2 the golden section, .381966 and .618034.
    for links, longest in ((1, 0.5), (2, 0.381966), (3, 0.317672)):
        control = fluid.Control(fluid.row_of_links(links), fluid.Deflated(0.5, 3.0, 3.0), fluid.Price(0.3))
        end = fluid.integrate(control, control.start(0.1, 0.3), np.linspace(0.0, 600.0, 3)).rates[-1]
        assert end[0] == pytest.approx(longest, abs=1e-6)
        assert end[0] == pytest.approx(np.prod(end[1:]), abs=1e-6)
        # And no feasible change is worth it: fully to the long one, fully to the short ones, or less for all.
        for other in ([1.0, *[0.0] * links], [0.0, *[1.0] * links], 0.9 * end, [0.6, *[0.4] * links]):
            assert fluid.logarithmic_gain(end, other) <= 1e-6


@st.composite
def forests(draw: st.DrawFn) -> fluid.Loops:
    """Loops that join at random, each crossing one link."""
    onward, links, ends = [], [], {}
    for loop in range(draw(st.integers(1, 9))):
        into = draw(st.integers(-1, loop - 1))
        onward.append(into)
        links.append([ends.setdefault(into, len(ends))])
    capacity = [math.inf] * len(ends)
    if -1 in ends:
        capacity[ends[-1]] = draw(st.floats(0.1, 1e3))
    return fluid.Loops(links, onward, capacity)


SENDERS = [fluid.Logistic(0.5), fluid.Deflated(0.8), fluid.Deflated(0.5, 7.0, 7.0)]


@pytest.mark.slow
@settings(max_examples=8)
@given(forests(), st.sampled_from(SENDERS))
def test_at_rest_nothing_changes_and_time_ends_there(loops: fluid.Loops, sender: fluid.Logistic) -> None:
    control = fluid.Control(loops, sender, fluid.Price(0.3))
    rest = fluid.equilibrium(control)
    assert fluid.residual(control, rest) < 1e-9
    size = loops.capacity[np.isfinite(loops.capacity)].min()
    found = fluid.integrate(control, control.start(0.05 * size, 0.2), np.linspace(0.0, 2000.0, 3))
    assert np.isfinite(found.rates).all()
    assert ((found.prices >= 0.0) & (found.prices <= 1.0)).all()
    # Loops alone at a link settle like 1/t only where several follow each other.
    np.testing.assert_allclose(found.rates[-1], rest.rates, rtol=1e-3)


@settings(max_examples=25)
@given(
    st.sampled_from([fluid.Logistic, fluid.LogUtility]),
    st.floats(-2.0, 1.0),
    st.floats(-3.0, 4.0),
    st.sampled_from([1e-3, 1.0, 500.0 * MBIT]),
)
def test_any_step_sizes_give_finite_rates(kind: type, gamma: float, beta: float, capacity: float) -> None:
    # Steps of 10,000 swing, time after time against the ends of the prices.
    is_log = kind is fluid.LogUtility
    sender = kind(10.0**gamma * (capacity**2 if is_log else 1.0))
    price = fluid.Price(10.0**beta / (capacity if is_log else 1.0), most=math.inf if is_log else 1.0)
    control = fluid.Control(fluid.one_link(3, capacity), sender, price)
    start = control.start(0.1 * capacity, 1.0 / capacity if is_log else 0.2)
    found = fluid.integrate(control, start, np.linspace(0.0, 3.0, 3))
    assert np.isfinite(found.rates).all()
    assert (found.rates > 0.0).all()
    last = fluid.iterate(control, start, 100)[-1]
    assert np.isfinite(last.rates).all()
    assert np.isfinite(last.prices).all()


def test_capacities_may_change_between_phases_and_settings_are_searched() -> None:
    loops, phases = fluid.chain(3, 2), [(150, 1.0), (150, 0.5)]

    def build(gamma: np.ndarray, beta: np.ndarray) -> fluid.Control:
        return fluid.Control(loops, fluid.Logistic(gamma), fluid.Price(beta))

    gamma, beta = fluid.tuned(build, (0.01, 0.0), [0.01, 0.5, 1.0], [0.001, 0.1, 0.3], phases, 0.02)
    taken = {}
    for pair in [(g, b) for g in (0.01, 0.5, 1.0) for b in (0.001, 0.1, 0.3)]:
        control = build(*map(np.float64, pair))
        found = fluid.through_phases(control, control.start(0.01), phases)
        took = fluid.settling_steps(control, found.rates, phases, 0.02)
        taken[pair] = np.minimum(took, 150.0).max()
        if pair == (gamma, beta):
            close(found.rates[-1][:3], [0.0625, 0.125, 0.25], 1e-3)
    assert taken[gamma, beta] == min(taken.values())


# Five loops in a row, alone or two at each link, with equation 16 as printed. Steps until all rates are within 2 % of
# rest after 0, 200 and 400, as a program of its own counts them; jumping senders begin at 0.01 there, a step later.
PRINTED = [
    (1, fluid.Deflated(1.0), 0.3, (24, 23, 16)),
    (1, fluid.Logistic(1.0), 0.3, (13, 38, 4)),
    (1, fluid.Jump(10.0, 5.0), 0.3, (0, 15, 0)),
    (1, fluid.Jump(10.0, 10.0), 1.0, (0, 8, 0)),
    (2, fluid.Deflated(0.8), 0.5, (34, 24, 28)),
    (2, fluid.Logistic(0.5), 0.5, (55, 54, 38)),
    (2, fluid.Jump(10.0, 5.0), 0.2, (9 - 1, 45, 16)),
    (2, fluid.Jump(10.0, 10.0), 0.3, (59 - 1, 41, 12)),
]


@pytest.mark.parametrize(("sharing", "sender", "beta", "steps"), PRINTED)
def test_chains_with_the_excess_as_printed_settle_after_known_steps(
    sharing: int, sender: fluid.Logistic, beta: float, steps: tuple[int, int, int]
) -> None:
    control = fluid.Control(fluid.chain(5, sharing), sender, fluid.Price(beta, relative=False))
    phases = [(200, 1.0), (200, 0.5), (200, 1.0)]
    found = fluid.through_phases(control, control.start(0.01), phases)
    assert fluid.settling_steps(control, found.rates, phases, 0.02).tolist() == list(steps)
    # As printed it depends on the unit: with a capacity of 100 and the same beta it is another difference equation.
    other = fluid.Control(fluid.chain(5, sharing, 100.0), sender, fluid.Price(beta, relative=False))
    then = fluid.through_phases(other, other.start(1.0), phases)
    assert fluid.settling_steps(other, then.rates, phases, 0.02).tolist() != list(steps)


def test_accelerating_and_braking_is_slow() -> None:
    # BDP 200, n = 2: f = 198 / 400 = .495; w <- .99 w + 1: 198 -> 197.02, 2 -> 2.98; 100 +- 98 * .99^50 = 59.29.
    assert fluid.accelerates(200.0, 2) == pytest.approx(0.495)
    found = fluid.windows([198.0, 2.0], 400)
    close(found[1], [197.02, 2.98])
    close(found[50], [159.2906, 40.7094], 1e-6)
    close(found[400], [101.759, 98.241], 1e-5)


CONTROL = fluid.Control(fluid.one_link(2), fluid.Logistic(1.0), fluid.Price(1.0))
OK = fluid.one_link(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fluid.one_link(2, -1.0), r"capacity has -1; it must be over 0"),
        (lambda: fluid.one_link(0), r"loops is 0; it must be a whole number, 1 or more"),
        (lambda: fluid.one_link(3, 1.0, [1.0, 2.0]), r"weight has shape \(2,\); .* one for each of 3 loops"),
        (lambda: fluid.one_link(1, 1.0, 0.0), r"weight has 0; it must be over 0 and finite"),
        (lambda: fluid.Loops([], [], [1.0]), r"there are no loops"),
        (lambda: fluid.Loops([[0]], [-1], [math.nan]), r"capacity has nan"),
        (lambda: fluid.Loops([[0]], [-1], [[1.0]]), r"capacity has 2 axes"),
        (lambda: fluid.Loops([[0]], [-1], ["much"]), r"capacity is not made of numbers"),
        (lambda: fluid.Loops([[1]], [-1], [1.0]), r"loop 0 crosses link 1; it must cross one or more of 0 to 0"),
        (lambda: fluid.Loops([[]], [-1], [1.0]), r"loop 0 crosses no link"),
        (lambda: fluid.Loops([[0]], [3], [1.0]), r"loop 0 goes on into 3"),
        (lambda: fluid.Loops([[0]], [-1, 0], [1.0]), r"onward has shape \(2,\)"),
        (lambda: fluid.Loops([[0], [0]], [1, 0], [1.0]), r"loop 0 never ends"),
        (lambda: fluid.Loops([[0]], [-1], [1.0, 2.0]), r"link 1 is crossed by no loop; leave it out"),
        (lambda: fluid.Loops([[0]], [-1], [math.inf]), r"link 0 has no capacity"),
        (lambda: fluid.Logistic(-1.0), r"gamma has -1; it must be over 0"),
        (lambda: fluid.Deflated(1.0, 1.0, 5.0), r"phi_1 has 1; it must be over 1"),
        (lambda: fluid.Jump(10.0, 0.5), r"phi_2 has 0.5; it must be over 1"),
        (lambda: fluid.LogJump(0.0), r"most has 0"),
        (lambda: fluid.Price(0.0), r"beta has 0"),
        (lambda: fluid.red(-75.0), r"max_threshold has -75"),
        (lambda: fluid.marking(5, 1.0, 2.0), r"phi_1 has 1"),
        (lambda: CONTROL.start(-0.1), r"rate has -0.1"),
        (lambda: CONTROL.start([0.1, 0.2, 0.3]), r"rate has shape \(3,\)"),
        (lambda: CONTROL.start(0.1, 1.5), r"price has 1.5; it must be from 0 to 1"),
        (lambda: fluid.Control(OK, fluid.Logistic(1.0), fluid.Price(1.0), weighting="both"), r"it must be 'scheduler'"),
        (lambda: fluid.integrate(CONTROL, CONTROL.start([0.1, 0.0]), [0.0, 1.0]), r"start has a rate of 0"),
        (lambda: fluid.integrate(CONTROL, CONTROL.start(0.1), [1.0, 0.0]), r"times must be two or more"),
        (lambda: fluid.Control(OK, fluid.Jump(), fluid.Price(1.0)).change(CONTROL.start(0.1)), r"rate.* jump"),
        (lambda: fluid.growth(-1.0, 1.0), r"population has -1"),
        (lambda: fluid.population_at(1.0, 0.0, 1.0), r"start has 0"),
        (lambda: fluid.accelerates(2.0, 2), r"packets is 2 for 2 connections"),
        (lambda: fluid.windows([5.0], -1), r"round_trips is -1"),
        (lambda: fluid.logarithmic_gain([0.5], [0.5, 0.5]), r"other has shape \(2,\)"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_marking_nearly_everything_is_refused() -> None:
    # 1 - S^(-ln 5 / ln 10) is over .999 for S over 1000^(ln 10 / ln 5) = 19,600.
    control = fluid.Control(fluid.one_link(20_000), fluid.Deflated(1.0), fluid.Price(1.0))
    with pytest.raises(ValueError, match=r"take a greater phi_1, or fewer loops"):
        fluid.equilibrium(control)


def test_an_integrator_that_does_not_come_to_the_end_says_so() -> None:
    # x' = x^2 from 1 is infinite at time 1.
    with pytest.raises(SolverError, match="the integrator stopped at"), np.errstate(all="ignore"):
        follow(lambda _, x: x**2, np.ones(1), np.array([0.0, 0.5, 2.0]))
