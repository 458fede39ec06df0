"""The methods of solving, a module for each with its ``METHOD``, and the one that is taken where none is named."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from anabranch.model.problem import Problem
    from anabranch.solvers.method import Method

MethodName = Literal[
    "c-slen",
    "iewf",
    "progressive-filling",
    "dual-simplex",
    "lp",
    "interior-point",
    "swan",
    "geometric-binner",
    "equi-depth-binner",
    "adaptive-water-filler",
    "approximate-water-filler",
    "water-filling",
]
"""The names of all methods in the order of lists: approximations last. A new method is a module and a line here."""

METHODS: dict[str, Method] = {
    name: import_module(f"{__name__}.{name.replace('-', '_')}").METHOD for name in get_args(MethodName)
}
"""The methods by name."""

APPROXIMATIONS = tuple(name for name, method in METHODS.items() if method.is_approximation)
"""The names of the methods that promise no fairness to a tolerance."""


def methods_for(fairness: str) -> tuple[str, ...]:
    """Return the names of the methods that find a kind of fairness."""
    return tuple(name for name, method in METHODS.items() if fairness in method.fairness)


def takers_of(option: str) -> tuple[str, ...]:
    """Return the names of the methods that list an option among their own."""
    return tuple(name for name, method in METHODS.items() if option in method.options)


def usual_method(problem: Problem, fairness: str) -> Method:
    """Return the method that is taken for a problem where none is named."""
    if problem.has_reserved:
        takers = [method for method in METHODS.values() if method.takes_reserved]
        return next((method for method in takers if fairness in method.fairness), takers[0])
    return next(m for m in METHODS.values() if fairness in m.usual_for and m.suits(problem))
