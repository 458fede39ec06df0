"""Step sizes of prices beside theorem 8.2: where rates begin to swing, and where steps cease to come to rest."""

from __future__ import annotations

import numpy as np
import pytest

from anabranch import fluid
from anabranch.fluid.control import State


def by_differences(control: fluid.Control, at_once: bool, width: float = 1e-6) -> np.ndarray:
    """Give how the state after a step changes with that before."""
    rest = fluid.equilibrium(control)
    loops, both = len(rest.rates), np.concatenate([rest.rates, rest.prices])
    columns = []
    for place in range(len(both)):
        ends = []
        for side in (width, -width):
            moved = both.copy()
            moved[place] += side
            state = control.step(State(moved[:loops], moved[loops:]), at_once=at_once)
            ends.append(np.concatenate([state.rates, state.prices]))
        columns.append((ends[0] - ends[1]) / (2.0 * width))
    return np.array(columns).T


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("sender", [fluid.Logistic(0.7), fluid.Deflated(0.9)])
def test_multipliers_are_eigenvalues_of_a_step_by_differences(sender: fluid.Logistic, at_once: bool) -> None:
    # Loops that go on, and step sizes that differ from level to level, so that no two eigenvalues are equal.
    links, onward = [[0], [0], [1], [1], [1], [2], [2]], [-1, -1, 0, 0, 0, 1, 1]
    loops = fluid.Loops(links, onward, [2.0, np.inf, np.inf], [1, 2, 1, 2, 3, 1, 4])
    control = fluid.Control(loops, sender, fluid.Price(np.array([0.2, 0.33, 0.41])))
    expected = np.linalg.eigvals(by_differences(control, at_once))
    found = fluid.multipliers(control, at_once=at_once)
    assert len(found) == len(expected)
    for own in found:
        assert np.abs(expected - own).min() < 1e-6


def test_all_at_once_they_are_one_and_the_eigenvalues() -> None:
    control = fluid.Control(fluid.one_link(3), fluid.Logistic(0.6), fluid.Price(0.2))
    found = np.sort_complex(fluid.multipliers(control, at_once=True))
    np.testing.assert_allclose(found, np.sort_complex(1.0 + fluid.eigenvalues(control)), atol=1e-9)


@pytest.mark.parametrize(("breadth", "gamma"), [(2, 1.0), (3, 1.0), (5, 1.0), (3, 0.5), (2, 0.25)])
def test_steps_all_at_once_come_to_rest_up_to_one_over_zeta_k(breadth: int, gamma: float) -> None:
    # The bound is gamma / (4 zeta^2 K'), so 1 / (zeta K') is 4 zeta / gamma times it: 8, 12, 20; 24; 32.
    edge = 4.0 * breadth / gamma
    tree = fluid.Tree(breadth, 2, gamma)
    assert tree.at_once_bound == pytest.approx(edge)
    assert (
        tree.rests([0.5, 1.0, 0.98 * edge, 1.02 * edge, 2.0 * edge], at_once=True).tolist() == [True] * 3 + [False] * 2
    )
    assert tree.modulus(0.99 * edge, at_once=True) < 1.0 < tree.modulus(1.01 * edge, at_once=True)


@pytest.mark.parametrize(
    ("breadth", "gamma", "edge"), [(2, 1.0, 48.0), (3, 1.0, 120.0), (5, 1.0, 360.0), (3, 0.5, 528.0)]
)
def test_steps_in_turn_come_to_rest_much_farther(breadth: int, gamma: float, edge: float) -> None:
    # gamma beta K' = 2 (2 - gamma / zeta), which is 8 zeta^2 (2 - gamma / zeta) / gamma^2 times the bound:
    # 32 * 1.5, 72 * 5/3, 200 * 1.8, 288 * 11/6.
    tree = fluid.Tree(breadth, 2, gamma)
    assert tree.rests([1.0, 0.99 * edge, 1.01 * edge], at_once=False).tolist() == [True, True, False]
    assert tree.modulus(0.99 * edge, at_once=False) < 1.0 < tree.modulus(1.01 * edge, at_once=False)


@pytest.mark.parametrize("breadth", [2, 3, 5])
def test_rates_swing_from_the_bound_on_with_the_root_of_one_over_two_zeta(breadth: int) -> None:
    tree = fluid.Tree(breadth, 2, 0.6)
    assert not tree.swinging(0.99).size
    assert tree.rings_from() == pytest.approx(1.0, abs=2e-3)
    half = 0.6 / (2 * breadth)
    np.testing.assert_allclose(tree.swinging(5.0).real, -half, rtol=1e-6)
    np.testing.assert_allclose(np.abs(tree.swinging(5.0).imag), 2.0 * half, rtol=1e-6)
    # As printed it has gamma / 4 in place of gamma / (2 zeta): the same for two loops only.
    assert tree.printed_pair(5.0) == pytest.approx(0.15 * complex(-1.0, 2.0))
    assert (np.abs(tree.at(5.0) - tree.printed_pair(5.0)).min() < 1e-6) == (breadth == 2)
