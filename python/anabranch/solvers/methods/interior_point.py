"""The interior-point method: proportionally and alpha fair rates, with the prices of links and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.allocation.priced import PricedAllocation
from anabranch.solvers.method import Method

if TYPE_CHECKING:
    from anabranch.solvers.task import Task


def solve(task: Task) -> PricedAllocation:
    """Maximise the utility."""
    alpha = task.options["alpha"]
    answer = _core.alpha_fair(task.problem.core, alpha)
    facts = task.facts(METHOD.name, answer.steps)
    return PricedAllocation(task.problem, answer.path_rates, answer.link_prices, alpha=alpha, **facts)


METHOD = Method(
    name="interior-point",
    does="an interior-point method, exact, with the prices of links and paths",
    fairness=("proportional", "alpha"),
    solve=solve,
    counts="step",
    usual_for=("proportional", "alpha"),
    reason="it goes for the greatest utility, and its prices prove how near that is",
)
