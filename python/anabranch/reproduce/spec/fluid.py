"""The fluid model of a run of a published experiment: ``fluid = { ... }`` beside ``method = "fluid"``.

::

    fluid = { model = "chain", ... }        loops in a row, followed step by step
        loops = 5                           in a row, 1 if left out
        sharing = 2                         loops at each link, 1 if left out
        capacity = 1.0                      of the last link
        sender = "deflated"                 or logistic, jump, log-utility, log-jump of `anabranch.fluid.senders`
        phi = [10.0, 5.0]                   the bases of deflated and jump
        gammas = [0.1, 0.2]                 step sizes of rates and of prices; if there are several of one or both, the
        betas = [0.3]                       pair with which rates settle soonest is searched for among all
        scaled = true                       step sizes by loop: gamma times the square of its rate at rest, and beta
                                            times its price at rest
        starts = [0.01]                     rates at first, one for all loops or one for each
        price = 0.0                         of all links at first
        relative = false                    the excess as printed, beta (y - C); by the capacity if left out
        from_rest = true                    instead of both: what is at rest
        least = 0.01                        no rate falls below this, 1e-6 if left out
        steps = [200, 200, 200]             of phases
        factors = [1.0, 0.5, 1.0]           on the capacity during these; 1 if left out
        joins = [0, 20, 40]                 from which step on each loop is there; all from the first if left out
        leaves = [150, 170]                 at which step the first loop leaves, the second, ...
        within = 0.02                       the distance from rest at which rates are settled

    fluid = { model = "tree", ... }         an aggregation tree over time, with step sizes of prices by theorem 8.2
        breadth = 2, depth = 3, gamma = 1.0
        bound_times = 4.0                   the step size, as a multiple of the greatest that the theorem allows
        until = 100.0

    fluid = { model = "tree-sweep", ... }   such a tree over step sizes: eigenvalues, and whether steps come to rest
        breadth = 2, depth = 2, gamma = 1.0
        times = [0.1, 1000.0]               the range of step sizes, as multiples of the bound

    fluid = { model = "accel-brake", ... }  windows over round trips
        starts = [198.0, 2.0]
        steps = [400]

    fluid = { model = "statement", ... }    a theorem or formula, tried on many cases as
                                            `anabranch.reproduce.execute.statement` says
        of = "global-stability"             or aggregation, equal-aggregation, per-flow-chains, row-of-links,
                                            proportional-row, weighted-marks, growth, utility
        cases = 12                          the number of random cases, 10 if left out
        seed = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from anabranch.reproduce.spec.table import Table

SenderName = Literal["logistic", "deflated", "jump", "log-utility", "log-jump"]
Model = Literal["chain", "tree", "tree-sweep", "accel-brake", "statement"]
StatementName = Literal[
    "global-stability",
    "aggregation",
    "equal-aggregation",
    "per-flow-chains",
    "row-of-links",
    "proportional-row",
    "weighted-marks",
    "growth",
    "utility",
]


@dataclass(frozen=True)
class ChainPlan:
    """A chain of loops in a row."""

    loops: int
    sharing: int
    capacity: float
    sender: SenderName
    phi: tuple[float, float]
    gammas: tuple[float, ...]
    betas: tuple[float, ...]
    scaled: bool
    starts: tuple[float, ...]
    price: float
    relative: bool
    from_rest: bool
    least: float
    phases: tuple[tuple[int, float], ...]
    joins: tuple[int, ...]
    leaves: tuple[int, ...]
    within: float


@dataclass(frozen=True)
class TreePlan:
    """An aggregation tree over time."""

    breadth: int
    depth: int
    gamma: float
    bound_times: float
    until: float


@dataclass(frozen=True)
class SweepPlan:
    """A sweep of an aggregation tree over step sizes of prices."""

    breadth: int
    depth: int
    gamma: float
    times: tuple[float, float]


@dataclass(frozen=True)
class AccelBrakePlan:
    """Windows that accelerates and brakes of marks move."""

    starts: tuple[float, ...]
    steps: int


@dataclass(frozen=True)
class StatementPlan:
    """A theorem or formula that is tried on many random cases."""

    of: StatementName
    cases: int
    seed: int


FluidPlan: TypeAlias = ChainPlan | TreePlan | SweepPlan | AccelBrakePlan | StatementPlan


def read_fluid(table: Table) -> FluidPlan:
    """Read the table of a fluid model.

    Raises
    ------
    ScenarioError
        A wrong key or value.
    """
    model = table.choice("model", get_args(Model))
    if model == "chain":
        plan: FluidPlan = _chain(table)
    elif model in ("tree", "tree-sweep"):
        gamma = table.positive("gamma", 1.0)
        breadth, depth = table.whole("breadth", 2, least=1), table.whole("depth", 1, least=1)
        if model == "tree":
            times = table.positive("bound_times", 1.0)
            plan = TreePlan(breadth, depth, gamma, times, table.positive("until", 100.0))
        else:
            plan = SweepPlan(breadth, depth, gamma, _ends(table))
    elif model == "statement":
        of: StatementName = table.choice("of", get_args(StatementName))
        plan = StatementPlan(of, table.whole("cases", 10, least=1), table.whole("seed", 1))
    else:
        plan = AccelBrakePlan(tuple(table.numbers("starts")), sum(_whole(table, "steps")))
    table.finish()
    return plan


def _chain(table: Table) -> ChainPlan:
    steps, factors = _whole(table, "steps"), table.numbers("factors")
    if not steps or (factors and len(factors) != len(steps)):
        raise table.error("steps", f"there are {len(steps)}, and {len(factors)} factors", "give one of each a phase")
    phi = table.numbers("phi") or [10.0, 5.0]
    if len(phi) != 2:
        raise table.error("phi", f"it has {len(phi)} numbers", "give two bases, such as [10.0, 5.0]")
    sender: SenderName = table.choice("sender", get_args(SenderName))
    plan = ChainPlan(
        loops=table.whole("loops", 1, least=1),
        sharing=table.whole("sharing", 1, least=1),
        capacity=table.positive("capacity", 1.0),
        sender=sender,
        phi=(phi[0], phi[1]),
        gammas=tuple(table.numbers("gammas")) or (1.0,),
        betas=tuple(table.numbers("betas")) or (1.0,),
        scaled=table.flag("scaled", default=False),
        starts=tuple(table.numbers("starts")) or (0.01,),
        price=table.optional_number("price") or 0.0,
        relative=table.flag("relative", default=True),
        least=table.positive("least", 1e-6),
        from_rest=table.flag("from_rest", default=False),
        phases=tuple(zip(steps, factors or [1.0] * len(steps), strict=True)),
        joins=tuple(_whole(table, "joins")),
        leaves=tuple(_whole(table, "leaves")),
        within=table.positive("within", 0.02),
    )
    if min(*plan.gammas, *plan.betas) <= 0.0:
        raise table.error("gammas", "a step size is 0 or less", "give numbers over 0 in gammas and betas")
    return plan


def _ends(table: Table) -> tuple[float, float]:
    ends = table.numbers("times")
    if len(ends) != 2 or not 0.0 < ends[0] < ends[1]:
        raise table.error("times", f"it is {ends}", "give two numbers over 0, such as [0.1, 100.0]")
    return ends[0], ends[1]


def _whole(table: Table, key: str) -> list[int]:
    numbers = table.numbers(key)
    if any(number < 0.0 or number != int(number) for number in numbers):
        raise table.error(key, f"it is {numbers}", "it must be a list of whole numbers, 0 or more")
    return [int(number) for number in numbers]
