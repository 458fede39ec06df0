"""Theorems and formulas of [teymoori2023], each tried on many random cases.

Each case gives one number, and the numbers of all cases are the series of the run. What the numbers are:

```text
global-stability   distance from the equilibrium at the end, from a random start                    theorem 8.1
aggregation        distance from the max-min fair rates, in a random aggregation tree               theorem 8.3
equal-aggregation  distance from these without the weights of the theorem                           theorem 8.3
per-flow-chains    distance from the proportionally fair rates, over random links                   theorem 8.4
row-of-links       distance of the long flow's rate from the product of the others                  definition 1
proportional-row   distance of the long flow's proportionally fair rate from that product           definition 1
weighted-marks     distance of two loops' rates from their weights, at one link; `three`: of three  eq. 11
growth             distance of the growth equation, followed, from its closed form                  eq. 1-3
utility            distance of the utility's slope from the rate's growth by itself                 eq. 12-14
```

A distance is the greatest relative difference of the rates in the case.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from anabranch import fluid
from anabranch.model.problem import Problem
from anabranch.reproduce.outcomes.kinds import Followed
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator
    from numpy.typing import NDArray

    from anabranch.reproduce.spec.fluid import StatementName, StatementPlan

    Case = Callable[[int, Generator], Mapping[str, float]]

NEAR = 1e-3
"""The distance up to which a case counts as holding."""

LONG = 3000.0
"""The time for which equations are followed, in the unit that step sizes are by."""

TOPOLOGIES: tuple[Callable[[], fluid.Loops], ...] = (
    lambda: fluid.chain(5, 2),
    lambda: fluid.tree(2, 3),
    lambda: fluid.one_link(5),
)
BASES = ((10.0, 5.0), (10.0, 3.0), (math.e, math.e))
STEPS = ((0.3, 0.3), (0.05, 1.0))
"""Step sizes of rates and of prices."""


def try_statement(plan: StatementPlan) -> Followed:
    """Try a statement on random cases.

    The numbers of the run are ``cases``, ``holding`` (the cases whose distance is at most a thousandth), ``farthest``
    (the greatest distance), and what else the statement gives, at its greatest.
    """
    random = np.random.default_rng(plan.seed)
    found = [CASES[plan.of](number, random) for number in range(plan.cases)]
    series = {name: np.array([own[name] for own in found]) for name in found[0]}
    far = series["distance"]
    numbers = {name: float(values.max()) for name, values in series.items() if name != "distance"}
    numbers |= {"cases": float(len(far)), "holding": float((far <= NEAR).sum()), "farthest": float(far.max())}
    return Followed(np.arange(len(far), dtype=np.float64), series, numbers=numbers)


def _global_stability(number: int, random: Generator) -> Mapping[str, float]:
    """Follow the primal-dual algorithm from a random start; cases go through topologies, bases and step sizes."""
    loops = TOPOLOGIES[number % len(TOPOLOGIES)]()
    phi = BASES[number // len(TOPOLOGIES) % len(BASES)]
    gamma, beta = STEPS[number // (len(TOPOLOGIES) * len(BASES)) % len(STEPS)]
    control = fluid.Control(loops, fluid.Deflated(gamma, *phi), fluid.Price(beta))
    rates = 10.0 ** random.uniform(-3.0, 0.5, len(loops.onward))
    start = control.start(rates, random.uniform(0.0, 0.95, len(loops.capacity)))
    end = fluid.integrate(control, start, np.array([0.0, LONG]), tolerance=1e-5)
    rest = fluid.equilibrium(control)
    return {"distance": _distance(end.rates[-1], rest.rates), "first": _distance(start.rates, rest.rates)}


def _aggregation(_number: int, random: Generator) -> Mapping[str, float]:
    """Compare sources of a random tree, with the theorem's weights and with equal ones, with max-min fair rates."""
    weighted, equal = _random_tree(random)
    best = _fair_rates(fluid.problem_behind(weighted), "max-min")
    return {"distance": _distance(_source_rates(weighted), best), "unweighted": _distance(_source_rates(equal), best)}


def _equal_aggregation(_number: int, random: Generator) -> Mapping[str, float]:
    """Compare sources of a random tree with equal weights, the rival of theorem 8.3, with max-min fair rates."""
    weighted, equal = _random_tree(random)
    return {"distance": _distance(_source_rates(equal), _fair_rates(fluid.problem_behind(weighted), "max-min"))}


def _random_tree(random: Generator) -> tuple[fluid.Loops, fluid.Loops]:
    """Draw a tree of 4 to 11 loops, with the weights of theorem 8.3 and with equal weights."""
    onward, links, ends = [-1], [[0]], {-1: 0}
    for loop in range(1, int(random.integers(4, 12))):
        into = int(random.integers(-1, loop))
        onward.append(into)
        links.append([ends.setdefault(into, len(ends))])
    capacity = [float(random.uniform(1.0, 100.0)), *[math.inf] * (len(ends) - 1)]
    equal = fluid.Loops(links, onward, capacity)
    return fluid.Loops(links, onward, capacity, fluid.aggregated_weights(equal)), equal


def _source_rates(loops: fluid.Loops) -> NDArray[np.float64]:
    """Solve for the rates at rest of the loops that begin at a source."""
    sources = ~np.isin(np.arange(len(loops.onward)), loops.onward)
    control = fluid.Control(loops, fluid.Deflated(0.3), fluid.Price(0.3))
    return fluid.equilibrium(control).rates[sources]


def _per_flow_chains(_number: int, random: Generator) -> Mapping[str, float]:
    """Compare the theorem's rule over random links in a row with proportionally fair rates, and with max-min ones."""
    links = int(random.integers(2, 5))
    spans = [(0, links), *((link, link + 1) for link in range(links))]
    spans += [tuple(sorted(random.choice(links + 1, 2, replace=False).tolist())) for _ in range(2)]
    paths = [list(range(*span)) for span in spans]
    offsets = np.cumsum([0, *map(len, paths)])
    capacity = random.uniform(1.0, 10.0, links)
    problem = Problem(capacity, offsets, [link for path in paths for link in path], list(range(len(paths))))
    found = fluid.proportional_chains(problem, np.array([0.0, LONG]), marked=0.2).rates[-1]
    best, other = _fair_rates(problem, "proportional"), _fair_rates(problem, "max-min")
    return {"distance": _distance(found, best), "from-max-min": _distance(found, other)}


def _row_of_links(number: int, random: Generator) -> Mapping[str, float]:
    """Compare the long flow with the product of the short ones, and try equation 24 on a thousand feasible rates."""
    links = 2 + number % 4
    control = fluid.Control(fluid.row_of_links(links), fluid.Logistic(0.3), fluid.Price(0.3))
    end = fluid.integrate(control, control.start(random.uniform(0.05, 1.0, links + 1), 0.1), np.array([0.0, LONG]))
    return _in_a_row(end.rates[-1], random) | {"from-proportional": abs(end.rates[-1][0] * (links + 1) - 1.0)}


def _proportional_row(number: int, random: Generator) -> Mapping[str, float]:
    """Give the numbers of `_row_of_links` for the rates that are proportionally fair, the rival of definition 1."""
    links = 2 + number % 4
    return _in_a_row(np.append(1.0, np.full(links, float(links))) / (links + 1), random)


def _in_a_row(rates: NDArray[np.float64], random: Generator) -> dict[str, float]:
    """Compare the first rate with the product of the others, and try equation 24 on a thousand feasible rates."""
    links = len(rates) - 1
    gains = []
    for own in random.uniform(0.0, 1.0, 1000):
        others = random.uniform(0.0, 1.0, links) * (1.0 - own)
        gains.append(fluid.logarithmic_gain(rates, np.append(own, others)))
    return {"distance": abs(float(rates[0] / np.prod(rates[1:])) - 1.0), "gain": max(gains)}


def _weighted_marks(_number: int, random: Generator) -> Mapping[str, float]:
    """Compare rates at rest under equation 11 with normalized weights, for two loops at a link and for three."""
    far = []
    for loops in (2, 3):
        # With weights farther apart the lightest of three loops would have rate 0.
        weight = random.uniform(1.0, 1.5, loops)
        weight /= weight.sum()
        control = fluid.Control(
            fluid.one_link(loops, weight=weight), fluid.Logistic(0.3), fluid.Price(0.3), weighting="marks"
        )
        rates = fluid.equilibrium(control).rates
        far += [_distance(rates, weight), _distance(rates, np.full(loops, 1.0 / loops))]
    return {"distance": far[0], "from-equal": far[1], "three": far[2]}


def _growth(_number: int, random: Generator) -> Mapping[str, float]:
    """Follow equation 1 by the method of Runge and Kutta, and compare it with the closed form of equation 3."""
    capacity, gamma = float(random.uniform(0.5, 500.0)), float(random.uniform(0.05, 3.0))
    first = capacity * float(10.0 ** random.uniform(-3.0, 0.5))
    end = 20.0 / gamma
    times, step = np.linspace(0.0, end, 4001, retstep=True)
    values = [first]
    for _ in times[1:]:
        values.append(_runge_kutta(lambda n: fluid.growth(n, gamma, capacity), values[-1], float(step)))
    exact = fluid.population_at(times, first, gamma, capacity)
    return {"distance": _distance(np.array(values), exact), "from-capacity": abs(values[-1] / capacity - 1.0)}


def _runge_kutta(slope: Callable[[float], NDArray[np.float64]], now: float, step: float) -> float:
    a = float(slope(now))
    b = float(slope(now + 0.5 * step * a))
    c = float(slope(now + 0.5 * step * b))
    d = float(slope(now + step * c))
    return now + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)


def _utility(_number: int, random: Generator) -> Mapping[str, float]:
    """Compare the slope of equation 12, by differences, with the growth by itself of equation 14, and see it fall."""
    carrying, phi = float(random.uniform(0.5, 500.0)), float(random.uniform(1.5, 20.0))
    rates = carrying * random.uniform(0.01, 0.99, 20)
    by = 1e-5 * carrying
    above, at, below = (fluid.utility(rates + d, carrying, phi) for d in (by, 0.0, -by))
    slope, bend = (above - below) / (2.0 * by), (above - 2.0 * at + below) / by**2
    growing = -np.log(rates / carrying) / math.log(phi)
    return {"distance": _distance(slope, growing), "bend": float(bend.max())}


def _fair_rates(problem: Problem, fairness: Literal["max-min", "proportional"]) -> NDArray[np.float64]:
    return np.asarray(solve(problem, fairness=fairness).connection_rates)


def _distance(found: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    return float(np.abs(found / exact - 1.0).max())


CASES: dict[StatementName, Case] = {
    "global-stability": _global_stability,
    "aggregation": _aggregation,
    "equal-aggregation": _equal_aggregation,
    "per-flow-chains": _per_flow_chains,
    "row-of-links": _row_of_links,
    "proportional-row": _proportional_row,
    "weighted-marks": _weighted_marks,
    "growth": _growth,
    "utility": _utility,
}
"""How one case of each statement is tried: by the number of the case and random numbers."""
