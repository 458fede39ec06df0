"""A problem with everything that a method needs to solve it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.solvers.values import rate_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem

Progress = Callable[[str, int, int], None]
"""A function that is called with a stage, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Task:
    """A problem to solve by one method, with checked options.

    Attributes
    ----------
    problem : Problem
        The capacities, paths and demands.
    paths : Paths or None
        The paths of the problem in their network; None for a problem of arrays.
    fairness : str
        The kind of fairness.
    is_method_given : bool
        Whether the caller named the method; otherwise it is the usual one.
    options : mapping of str to object
        The options that the method takes, each with the value that was given or its default.
    progress : callable or None
        Called while the method is at work.
    """

    problem: Problem
    paths: Paths | None
    fairness: str
    is_method_given: bool
    options: Mapping[str, Any]
    progress: Progress | None = None

    def rate(self, name: str) -> float | None:
        """Return an option that is a rate, in the unit of the problem."""
        return rate_of(self.options[name], name, has_own_unit=self.paths is None)

    def facts(self, method: str, passes: int) -> dict[str, Any]:
        """Return what every kind of allocation is told of how it came about."""
        return {
            "fairness": self.fairness,
            "method": method,
            "tolerance": self.options["tolerance"],
            "passes": passes,
            "paths": self.paths,
        }
