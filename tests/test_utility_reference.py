"""Alpha fairness beside a general solver for cones: Clarabel is given the same problem in its own terms."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, hstack, vstack

import anabranch as ab
from anabranch.allocation.comparison import compare_rates
from anabranch.solvers.approximate.entries import Entries
from test_approximate import random_problem

pytestmark = pytest.mark.slow

clarabel = pytest.importorskip("clarabel", reason="Clarabel, the reference for alpha fairness, is not installed")

ALPHAS = (0.5, 1.0, 2.0)


def utility(problem, rates, alpha):
    level = rates / problem.weight
    worth = np.log(level) if alpha == 1 else level ** (1 - alpha) / (1 - alpha)
    return float(problem.weight @ worth)


def by_cones(problem, alpha):
    """Path rates by Clarabel that fit, in the unit of the problem, and its word for how it ended.

    In variables x of paths and t of connections, with y the rate of a connection by s, about what it will be:
    proportional fairness has t <= log y in an exponential cone and earns w t; alpha 1/2 has t <= sqrt(y) and earns
    2 sqrt(w s) t; alpha 2 has 1 <= sqrt(t y) and pays w^2 / s t. Both roots are power cones.
    """
    scale = ab.solve(problem, fairness="max-min", method="adaptive-water-filler").connection_rates
    paths, connections = len(problem.path_connection), len(problem.weight)
    unit = float(np.median(problem.capacity))
    use = np.ones(len(problem.path_links)) if problem.coefficient is None else problem.coefficient
    path = np.repeat(np.arange(paths), np.diff(problem.path_offsets))
    load = coo_array((use, (problem.path_links, path)), shape=(len(problem.capacity), paths))
    total = coo_array((np.ones(paths), (problem.path_connection, np.arange(paths))), shape=(connections, paths)).tocsr()
    limited = np.flatnonzero(np.isfinite(problem.demand))
    linear = vstack([load, total[limited], -np.eye(paths)])
    right = np.concatenate([problem.capacity / unit, problem.demand[limited] / unit, np.zeros(paths)])
    rows, offset, kind, worth = cone_of(alpha, problem.weight, scale)
    # Three rows for each connection, of t, y and 1 in the cone's order.
    spots, own = np.arange(connections) * 3, np.arange(connections)
    shape = 3 * connections, connections
    earned, rate = (coo_array((-np.ones(connections), (spots + row, own)), shape=shape) for row in rows)
    scaled = total * (unit / scale)[:, None]
    matrix = vstack([hstack([linear, csc_array((linear.shape[0], connections))]), hstack([rate @ scaled, earned])])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    solver = clarabel.DefaultSolver(
        csc_array((paths + connections, paths + connections)),
        np.concatenate([np.zeros(paths), -worth / np.abs(worth).max()]),
        matrix.tocsc(),
        np.concatenate([right, np.tile(offset, connections)]),
        [clarabel.NonnegativeConeT(len(right)), *[kind() for _ in range(connections)]],
        settings,
    )
    solution = solver.solve()
    return Entries(problem).fit(np.maximum(np.array(solution.x)[:paths], 0.0) * unit), str(solution.status)


def cone_of(alpha, weight, scale):
    """Give the rows of t and y in a cone, its constants, the cone, and what t earns."""
    if alpha == 1:  # y1 exp(x / y1) <= z with (t, 1, y)
        return (0, 2), [0.0, 1.0, 0.0], clarabel.ExponentialConeT, weight
    if alpha == 0.5:  # sqrt(y 1) >= t with (y, 1, t)
        return (2, 0), [0.0, 1.0, 0.0], lambda: clarabel.PowerConeT(0.5), 2 * np.sqrt(weight * scale)
    return (0, 1), [0.0, 0.0, 1.0], lambda: clarabel.PowerConeT(0.5), -(weight**2) / scale  # sqrt(t y) >= 1


def rates_by_both(problem, alpha):
    """Give rates of connections: ours, proved, and those of the reference, which are worth no more."""
    allocation = ab.solve(problem, fairness="alpha", alpha=alpha)
    allocation.certify()
    assert 0.0 <= allocation.gap <= 1e-8
    path_rates, status = by_cones(problem, alpha)
    reference = np.bincount(problem.path_connection, path_rates, minlength=len(problem.weight))
    ours, other = (utility(problem, rates, alpha) for rates in (allocation.connection_rates, reference))
    assert ours >= other - 1e-9 * max(1.0, abs(other))
    return allocation.connection_rates, reference, status


@pytest.mark.parametrize("alpha", ALPHAS)
def test_random_problems_with_weights_demands_and_coefficients_have_the_same_optimum(alpha):
    rng = np.random.default_rng(12)
    for _ in range(40):
        ours, reference, status = rates_by_both(random_problem(rng), alpha)
        assert status == "Solved"
        np.testing.assert_allclose(ours, reference, rtol=1e-3)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("demand", ["gravity", "uniform"])
@pytest.mark.parametrize("name", ["b4_k8", "uninett_k16_s640"])
def test_real_networks_have_the_same_optimum(instance, name, demand, alpha):
    # On some of these Clarabel runs out of digits before it is done.
    ours, reference, _ = rates_by_both(instance(name, demand), alpha)
    found = compare_rates(ours, reference, 0.1)
    assert found.q >= 0.99
    assert found.total == pytest.approx(1.0, abs=2e-3)
