"""What rates are worth to LGCC senders, and that they maximise it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anabranch import fluid


def test_utility_and_its_derivative_are_those_worked_by_hand() -> None:
    # x = 10, k = 100, base 10: 10 (1 / 2.302585 + 1) = 14.34294; U' = -log10(0.1) = 1. At x = k: 100 / ln 10, and 0.
    np.testing.assert_allclose(fluid.utility([10.0, 100.0], 100.0), [14.342945, 43.429448], rtol=1e-7)
    np.testing.assert_allclose(fluid.marginal_utility([10.0, 100.0], 100.0), [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("phi_1", [2.0, math.e, 10.0])
@pytest.mark.parametrize("k", [0.3, 1.0, 500.0])
def test_the_derivative_is_minus_the_logarithm_of_the_share_used(k: float, phi_1: float) -> None:
    x = k * np.linspace(0.05, 1.2, 24)
    width = 1e-5 * k
    by_differences = (fluid.utility(x + width, k, phi_1) - fluid.utility(x - width, k, phi_1)) / (2.0 * width)
    np.testing.assert_allclose(by_differences, -np.log(x / k) / np.log(phi_1), atol=1e-7)
    np.testing.assert_allclose(fluid.marginal_utility(x, k, phi_1), by_differences, atol=1e-7)
    # Strictly concave: the derivative falls.
    assert (np.diff(fluid.marginal_utility(x, k, phi_1)) < 0.0).all()


def test_with_the_common_logarithm_in_its_first_term_the_derivative_would_be_another() -> None:
    # x (1 / log10 5 - log5 x) has the derivative 1 / log10 5 - 1 / ln 5 - log5 x, at 1 is .809 and not 0.
    x, width = 1.0, 1e-6
    printed = [own * (1.0 / math.log10(5.0) - math.log(own, 5.0)) for own in (x - width, x + width)]
    assert (printed[1] - printed[0]) / (2.0 * width) == pytest.approx(0.8093, abs=1e-4)
    assert fluid.marginal_utility(1.0, 1.0, 5.0) == 0.0


def test_deflated_senders_follow_the_derivative_less_the_cost() -> None:
    # Equation 13 is equation 14.
    x, k, p = np.array([0.1, 0.4, 0.9]), np.array([0.5, 1.0, 1.0]), np.array([0.0, 0.3, 0.6])
    by_utility = 0.7 * x * (fluid.marginal_utility(x, k, 10.0) + np.log(1.0 - p) / np.log(3.0))
    np.testing.assert_allclose(fluid.Deflated(0.7, 10.0, 3.0).change(x, k, p), by_utility, rtol=1e-12)


def test_at_rest_a_rate_is_worth_its_cost_at_the_margin() -> None:
    control = fluid.Control(fluid.one_link(4, 8.0), fluid.Deflated(0.5, 10.0, 5.0), fluid.Price(0.2))
    rest = fluid.equilibrium(control)
    worth = fluid.marginal_utility(rest.rates, 8.0)
    # 2 of 8 each: log10 4 = .60206. The paper's sign would make a probability of it that is below 0.
    np.testing.assert_allclose(worth, 0.6020600, rtol=1e-6)
    np.testing.assert_allclose(1.0 - 5.0 ** -worth[0], rest.prices[0], rtol=1e-9)
    assert 1.0 - 5.0 ** worth[0] < 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fluid.utility(0.0), "rate has 0; it must be over 0"),
        (lambda: fluid.marginal_utility(1.0, -1.0), "carrying has -1; it must be over 0"),
        (lambda: fluid.utility(1.0, 1.0, 1.0), "phi_1 has 1; it must be over 1"),
    ],
)
def test_what_cannot_be_is_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
