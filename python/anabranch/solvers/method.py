"""A method of solving: the rates that it finds, its options, and when it is the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.model.problem import Problem
    from anabranch.solvers.fairness import FairnessName
    from anabranch.solvers.task import Task


def any_problem(_problem: Problem) -> bool:
    """Tell that a method suits every problem."""
    return True


def has_single_paths(problem: Problem) -> bool:
    """Tell whether no connection has more than one path."""
    return int(np.bincount(problem.path_connection).max(initial=0)) <= 1


def has_several_paths(problem: Problem) -> bool:
    """Tell whether some connection has more than one path."""
    return not has_single_paths(problem)


@dataclass(frozen=True)
class Method:
    """A method of solving; dispatch, checks, help and documentation are made of this.

    Attributes
    ----------
    name : str
        The name in `solve` and on the command line; with ``_`` for ``-`` that of the method's module.
    does : str
        What the method is, in a phrase.
    fairness : tuple of str
        The kinds of fairness that it finds.
    solve : callable
        Solves a task.
    options : mapping of str to object
        The options that not every method takes, each with the method's default; None where it follows from the problem.
    counts : str
        What the method counts as its ``passes``: a noun in the singular.
    usual_for : tuple of str
        The kinds of fairness for which the method may be taken if none is named.
    suits : callable
        Tells whether it is taken for a problem then.
    reason : str
        Why it is taken then.
    is_approximation : bool
        Whether the method promises no fairness to a tolerance, only rates that overload nothing.
    takes_reserved : bool
        Whether connections may have reserved parts.
    """

    name: str
    does: str
    fairness: tuple[FairnessName, ...]
    solve: Callable[[Task], Allocation]
    options: Mapping[str, Any] = field(default_factory=dict)
    counts: str = "pass"
    usual_for: tuple[FairnessName, ...] = ()
    suits: Callable[[Problem], bool] = any_problem
    reason: str = ""
    is_approximation: bool = False
    takes_reserved: bool = False
