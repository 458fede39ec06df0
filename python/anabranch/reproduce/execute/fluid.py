"""A fluid model of a published experiment, followed over its steps or over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anabranch import fluid
from anabranch.errors import ScenarioError
from anabranch.fluid.phases import with_factor
from anabranch.reproduce.execute.statement import try_statement
from anabranch.reproduce.outcomes.kinds import Followed
from anabranch.reproduce.spec.fluid import ChainPlan, StatementPlan, SweepPlan, TreePlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.reproduce.spec.fluid import FluidPlan

POINTS = 2001
"""The number of times for which a model over time keeps its state."""

SWEPT = 81
"""The number of step sizes that a sweep of a tree tries."""


def follow_fluid(name: str, plan: FluidPlan) -> Followed:
    """Follow the model of a run of this name.

    Raises
    ------
    ScenarioError
        The model refuses its numbers.
    """
    try:
        if isinstance(plan, ChainPlan):
            return _chain(plan)
        if isinstance(plan, TreePlan):
            return _tree(plan)
        if isinstance(plan, SweepPlan):
            return _sweep(plan)
        if isinstance(plan, StatementPlan):
            return try_statement(plan)
        rows = fluid.windows(plan.starts, plan.steps)
    except ValueError as error:
        raise ScenarioError(f"run `{name}`: {error}") from error
    return Followed(np.arange(len(rows), dtype=np.float64), {f"w{n + 1}": own for n, own in enumerate(rows.T)})


def _chain(plan: ChainPlan) -> Followed:
    gamma, beta = plan.gammas[0], plan.betas[0]
    loops = fluid.chain(plan.loops, plan.sharing, plan.capacity)
    first, price = _first(plan, loops)
    if len(plan.gammas) > 1 or len(plan.betas) > 1:
        if plan.joins or plan.leaves:
            raise ValueError(
                "step sizes are searched for loops that are there all the time; leave joins and leaves out"
            )
        gamma, beta = fluid.tuned(
            lambda g, b: _control(plan, loops, g, b),
            (first, price),
            plan.gammas,
            plan.betas,
            plan.phases,
            plan.within,
        )
    control = _control(plan, loops, np.array(gamma), np.array(beta))
    states = _states(plan, control, first, price)
    rates, prices = np.array([s.rates for s in states]), np.array([s.prices for s in states])
    shown = plan.sharing if plan.loops == 1 else plan.loops
    series = {f"x{n + 1}": rates[:, n] for n in range(shown)} | {f"p{n + 1}": own for n, own in enumerate(prices.T)}
    settling = {}
    if not (plan.joins or plan.leaves):
        took = fluid.settling_steps(control, rates, plan.phases, plan.within)
        begins = np.cumsum([0, *(steps for steps, _ in plan.phases)]).tolist()
        settling = dict(zip(begins, took.tolist(), strict=False))
    return Followed(
        np.arange(len(states), dtype=np.float64), series, numbers={"gamma": gamma, "beta": beta}, settling=settling
    )


def _control(
    plan: ChainPlan, loops: fluid.Loops, gamma: NDArray[np.float64], beta: NDArray[np.float64]
) -> fluid.Control:
    """Give the control for step sizes, of one setting or of several below each other."""
    adds = plan.sender in ("log-utility", "log-jump")
    most = math.inf if adds else 1.0
    if plan.scaled:
        rest = fluid.equilibrium(fluid.Control(loops, _sender(plan, np.ones(1)), fluid.Price(1.0, most=most)))
        gamma, beta = gamma * rest.rates**2, beta * rest.prices
    price = fluid.Price(beta, relative=plan.relative, most=most)
    return fluid.Control(loops, _sender(plan, gamma), price, least=plan.least)


def _sender(plan: ChainPlan, gamma: NDArray[np.float64]) -> fluid.Sender:
    if plan.sender == "logistic":
        return fluid.Logistic(gamma)
    if plan.sender == "deflated":
        return fluid.Deflated(gamma, *plan.phi)
    if plan.sender == "jump":
        return fluid.Jump(*plan.phi)
    return fluid.LogUtility(gamma) if plan.sender == "log-utility" else fluid.LogJump(plan.capacity)


def _first(plan: ChainPlan, loops: fluid.Loops) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give rates and prices at first."""
    if plan.from_rest:
        rest = fluid.equilibrium(_control(plan, loops, np.ones(1), np.ones(1)))
        return rest.rates, rest.prices
    rates = np.array(plan.starts if len(plan.starts) > 1 else plan.starts * len(loops.onward))
    return rates, np.full(len(loops.capacity), plan.price)


def _states(
    plan: ChainPlan, control: fluid.Control, first: NDArray[np.float64], price: NDArray[np.float64]
) -> list[fluid.State]:
    """Give the state at first and after each step, with loops that join and leave before the step of that number."""
    joins = np.array(plan.joins or [0] * len(first))
    if len(joins) != len(first) or len(plan.leaves) > len(first):
        raise ValueError(
            f"joins has {len(joins)} steps, leaves {len(plan.leaves)}; give one for each of {len(first)} loops"
        )
    states = [control.start(np.where(joins == 0, first, 0.0), price)]
    for steps, factor in plan.phases:
        own = with_factor(control, factor)
        for _ in range(steps):
            step, rates = len(states) - 1, states[-1].rates.copy()
            rates[(joins == step) & (joins > 0)] = first[(joins == step) & (joins > 0)]
            rates[[loop for loop, left in enumerate(plan.leaves) if left == step]] = 0.0
            states.append(own.step(fluid.State(rates, states[-1].prices)))
    return states


def _tree(plan: TreePlan) -> Followed:
    control = fluid.tree_at_bound(plan.breadth, plan.depth, plan.gamma, plan.bound_times)
    rest, found = fluid.equilibrium(control), fluid.eigenvalues(control)
    begin = fluid.State(0.5 * rest.rates, 0.5 * rest.prices)
    time = np.linspace(0.0, plan.until, POINTS)
    followed = fluid.integrate(control, begin, time)
    # Of each level one loop and its link, from the sources to the last link.
    chosen = [(int(loops[0]), int(links[0])) for loops, links in reversed(control.loops.order)]
    series, at_rest = {}, {}
    for n, (loop, _) in enumerate(chosen):
        series[f"x{n + 1}"], at_rest[f"x{n + 1}"] = followed.rates[:, loop], float(rest.rates[loop])
    for n, (_, link) in enumerate(chosen):
        series[f"p{n + 1}"], at_rest[f"p{n + 1}"] = followed.prices[:, link], float(rest.prices[link])
    numbers = {"real-part": float(found.real.max()), "imaginary-part": float(found.imag.max())}
    return Followed(time, series, at_rest, numbers)


def _sweep(plan: SweepPlan) -> Followed:
    tree = fluid.Tree(plan.breadth, plan.depth, plan.gamma)
    times = np.geomspace(*plan.times, SWEPT)
    found = np.array([tree.at(own) for own in times])
    printed = np.array([tree.printed_pair(own) for own in times])
    series = {
        "real": found.real.max(axis=1),
        "least-real": found.real.min(axis=1),
        "imaginary": found.imag.max(axis=1),
        "printed-real": printed.real,
        "printed-imaginary": printed.imag,
    }
    for name, at_once in (("at-once", True), ("in-turn", False)):
        series[name] = np.array([tree.modulus(own, at_once=at_once) for own in times])
        series[f"{name}-rests"] = tree.rests(times, at_once=at_once).astype(np.float64)
    series["at-once-bound"] = np.full(SWEPT, tree.at_once_bound)
    # Levels have equal eigenvalues, which come out with the root of the precision: of those that swing, the mean.
    swinging = tree.swinging(float(times[-1]))
    numbers = {
        "real-part": float(found.real.max()),
        "imaginary-part": float(found.imag.max()),
        "swinging-real-part": float(swinging.real.mean()) if swinging.size else math.nan,
        "rings-from": tree.rings_from(),
        "at-once-from": tree.unstable_from(at_once=True),
        "in-turn-from": tree.unstable_from(at_once=False),
    }
    return Followed(times, series, numbers=numbers)
