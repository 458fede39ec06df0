"""Which methods there are for each kind of fairness, and which is taken where none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from anabranch.solvers.approximate import OPTIONS

if TYPE_CHECKING:
    from anabranch.model.problem import Problem

Fairness = Literal["max-min", "upward-max-min", "proportional", "alpha"]
Method = Literal[
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

METHODS: dict[str, tuple[str, ...]] = {
    "max-min": ("progressive-filling", "dual-simplex", "lp", *OPTIONS),
    "upward-max-min": ("c-slen", "iewf", "progressive-filling", "dual-simplex"),
    "proportional": ("interior-point",),
    "alpha": ("interior-point",),
}
"""The methods for each kind of fairness: the usual ones first, approximations last."""

PRICED = ("proportional", "alpha")
"""Kinds of fairness that come with prices."""

STARTING = ("c-slen", "iewf", "adaptive-water-filler", "equi-depth-binner")
"""Methods that begin with a portion for each path, and take one."""

START_RATIO = 0.3
"""Of the geometric portions from which c-SLEN and IEWF start if none are given: docs/how-fast-how-fair.md says why."""

REASONS: dict[str, str] = {
    "progressive-filling": "no connection has more than one path, and one filling of the links is exact",
    "dual-simplex": "connections have several paths, and it is exact, with prices that prove each level",
    "c-slen": "connections have several paths, and it stops when every subflow has a bottleneck to the tolerance",
    "interior-point": "it goes for the greatest utility, and its prices prove how near that is",
    "lp": "the dual simplex method lost digits to rounding, and a chain of linear programs may lose fewer",
}
"""Why a method is the usual one."""


def usual_start(method: str) -> str | float:
    """Give the starting portions of a method where none are given."""
    return START_RATIO if method in {"c-slen", "iewf"} else "equal"


def usual_method(problem: Problem, fairness: str) -> str:
    """Give the method for a problem where none is named."""
    if fairness in PRICED:
        return "interior-point"
    most = np.bincount(problem.path_connection).max(initial=0)
    if most <= 1:
        return "progressive-filling"
    return "dual-simplex" if fairness == "max-min" else "c-slen"
