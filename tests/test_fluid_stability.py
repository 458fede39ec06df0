"""How loops come to rest: the Jacobian beside differences, and what theorem 8.2 bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anabranch import fluid
from anabranch.fluid.control import State

TREES = [(2, 1, 1.0), (2, 3, 0.5), (3, 2, 10.0), (5, 2, 1.0)]


def by_differences(control: fluid.Control, state: State, width: float = 1e-6) -> np.ndarray:
    loops, both = len(state.rates), np.concatenate([state.rates, state.prices])
    columns = []
    for place in range(len(both)):
        ends = []
        for side in (1.0, -1.0):
            moved = both.copy()
            moved[place] += side * width
            own = State(moved[:loops], moved[loops:])
            change = control.price.change(control.load(own.rates), control.drain(own.rates))
            ends.append(np.concatenate([control.change(own).rates, change]))
        columns.append((ends[0] - ends[1]) / (2.0 * width))
    return np.array(columns).T


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("sender", [fluid.Logistic(0.4), fluid.Deflated(0.7), fluid.LogUtility(0.2)])
@pytest.mark.parametrize(
    "loops",
    [
        fluid.tree(3, 2, 2.0),
        fluid.chain(4, 2),
        fluid.row_of_links(3),
        fluid.Loops([[0], [0], [1], [1], [2]], [-1, -1, 0, 0, 1], [2.0, math.inf, math.inf], [2, 1, 1, 1.5, 1]),
    ],
)
def test_the_jacobian_is_that_of_differences(loops: fluid.Loops, sender: fluid.Logistic, relative: bool) -> None:
    is_log = isinstance(sender, fluid.LogUtility)
    price = fluid.Price(0.3, relative=relative, most=math.inf if is_log else 1.0)
    for weighting in ("scheduler", "marks"):
        control = fluid.Control(loops, sender, price, weighting=weighting)
        own = 0.3 + 0.05 * np.arange(len(loops.onward)) / len(loops.onward)
        state = control.start(own, 0.2 + 0.1 * np.arange(len(loops.capacity)))
        np.testing.assert_allclose(fluid.jacobian(control, state), by_differences(control, state), atol=1e-7)


@pytest.mark.parametrize(("breadth", "depth", "capacity"), TREES)
def test_eigenvalues_are_those_of_the_closed_form(breadth: int, depth: int, capacity: float) -> None:
    # At each link: -gamma / zeta (zeta - 1 times), and the roots of s^2 + (gamma / zeta) s + gamma beta K' = 0. With
    # beta = times gamma zeta^(delta - d - 2) / (4 K) and K' = K zeta^(d - delta) the last term is
    # times (gamma / 2 zeta)^2.
    gamma = 0.6
    for times in (0.25, 4.0, 1e4):
        found = fluid.eigenvalues(fluid.tree_at_bound(breadth, depth, gamma, times, capacity))
        half = gamma / (2.0 * breadth)
        roots = [-half + sign * half * np.emath.sqrt(1.0 - times) for sign in (1.0, -1.0)]
        links = sum(breadth**n for n in range(depth))
        expected = np.sort_complex([*roots * links, *[-2.0 * half] * (links * (breadth - 1))])
        for sought in np.unique(np.round(expected, 12)):
            # Equal ones of blocks below each other come out with the root of the precision.
            assert np.abs(found - sought).min() < 1e-3 * abs(sought)
        assert len(found) == len(expected)
        assert found.sum() == pytest.approx(expected.sum())


@pytest.mark.parametrize(("breadth", "depth", "capacity"), TREES)
@pytest.mark.parametrize("times", [0.25, 0.99, 1.01, 4.0, 1e4])
def test_beyond_the_bound_loops_swing_and_are_as_stable(
    breadth: int, depth: int, capacity: float, times: float
) -> None:
    found = fluid.eigenvalues(fluid.tree_at_bound(breadth, depth, 0.3, times, capacity))
    assert (found.real < 0.0).all()
    # The roots are gamma / (2 zeta) times -1 +- sqrt(1 - times).
    assert (np.abs(found.imag).max() > 0.05 * 0.3 / (2.0 * breadth)) == (times > 1.0)


def test_beyond_the_bound_rates_cross_where_they_rest_again_and_again() -> None:
    # One link: at 1/4 the roots are real, and x crosses 1/2 once at the most; at 25 times they swing, and come to rest.
    crossings = {}
    for times in (0.25, 25.0):
        control = fluid.tree_at_bound(2, 1, 1.0, times)
        found = fluid.integrate(control, control.start([0.3, 0.4], 0.3), np.linspace(0.0, 400.0, 8001))
        above = found.rates[:, 0] - 0.5
        crossings[times] = (np.diff(np.sign(above[np.abs(above) > 1e-5])) != 0).sum()
        np.testing.assert_allclose(found.rates[-1], [0.5, 0.5], atol=1e-6)
    assert crossings[0.25] <= 1
    assert crossings[25.0] >= 5


@pytest.mark.parametrize("loops", [2, 3, 5, 10])
def test_all_at_once_steps_are_unstable_from_one_over_the_loops_on(loops: int) -> None:
    # |1 + s| < 1 for the roots of s^2 + (gamma / S) s + gamma beta: their product 1 - gamma / S + gamma beta < 1.
    for gamma in (0.2, 1.0):
        for times, is_stable in ((0.99, True), (1.01, False)):
            control = fluid.Control(fluid.one_link(loops), fluid.Logistic(gamma), fluid.Price(times / loops))
            greatest = np.abs(1.0 + fluid.eigenvalues(control)).max()
            assert (greatest < 1.0) == is_stable


@pytest.mark.parametrize(("times", "is_stable"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize("loops", [2, 3, 5, 10])
def test_all_at_once_steps_go_where_their_eigenvalues_say(loops: int, times: float, is_stable: bool) -> None:
    # The modulus differs from 1 by 0.01 / (2 S), 5e-4 or more: in 6,000 steps a distance changes 20 times or more.
    control = fluid.Control(fluid.one_link(loops), fluid.Logistic(1.0), fluid.Price(times / loops))
    rest = fluid.equilibrium(control)
    states = fluid.iterate(control, State(1.0001 * rest.rates, rest.prices), 6000, at_once=True)
    end = max(np.abs(state.rates / rest.rates - 1.0).max() for state in states[5900:])
    assert end < 2e-5 if is_stable else end > 1e-3


def test_the_price_of_a_link_with_room_has_no_eigenvalue() -> None:
    control = fluid.Control(fluid.chain(2, 1), fluid.Logistic(0.5), fluid.Price(0.2))
    # The first loop is at half of what the second one has, so its link has room.
    state = State(np.array([0.5, 1.0]), np.zeros(2))
    assert not fluid.jacobian(control, state)[2].any()
    assert len(fluid.eigenvalues(control, state)) == 3


def test_levels_beyond_the_depth_and_jumping_senders_are_refused() -> None:
    with pytest.raises(ValueError, match="level is 4; it must be 1 to 3, the depth"):
        fluid.swing_bound(1.0, 2, 3, 4)
    control = fluid.Control(fluid.one_link(2), fluid.Jump(), fluid.Price(0.2))
    with pytest.raises(ValueError, match="take one that moves them"):
        fluid.eigenvalues(control)
