"""The approximations that solve linear programs: from a problem to path rates that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.solvers.approximate.binners import equi_depth_binner, geometric_binner
from anabranch.solvers.approximate.entries import Entries
from anabranch.solvers.approximate.swan import level_count, lowest_level, swan

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.model.problem import Problem
    from anabranch.solvers.approximate.entries import Floats
    from anabranch.solvers.task import Progress

MOST_LEVELS = 1000
"""More levels or geometric bins than this are refused: each takes a program, or a column for each connection."""


def solve_swan(
    problem: Problem, ratio: float, first_level: float | None, progress: Progress | None
) -> tuple[Floats, int]:
    """Return path rates and the number of programs.

    Raises
    ------
    ValueError
        The options make too many levels.
    SolverError
        A linear program failed.
    """
    return _fitting(problem, lambda entries: swan(entries, ratio, _first(entries, ratio, first_level), progress))


def solve_geometric_binner(
    problem: Problem, ratio: float, first_level: float | None, last_worth: float
) -> tuple[Floats, int]:
    """Return path rates and the number of programs.

    Raises
    ------
    ValueError
        The options make too many bins.
    SolverError
        The linear program failed.
    """

    def find(entries: Entries) -> tuple[Floats, int]:
        return geometric_binner(entries, ratio, _first(entries, ratio, first_level), last_worth), 1

    return _fitting(problem, find)


def solve_equi_depth_binner(problem: Problem, guide: Floats, bins: int, last_worth: float) -> tuple[Floats, int]:
    """Return path rates and the number of programs; `guide` holds path rates that give the order of connections.

    Raises
    ------
    SolverError
        The linear program failed.
    """
    return _fitting(problem, lambda entries: (equi_depth_binner(entries, guide, bins, last_worth), 1))


def _fitting(problem: Problem, find: Callable[[Entries], tuple[Floats, int]]) -> tuple[Floats, int]:
    """Find rates unless no connection can have any, and make them fit."""
    entries = Entries(problem)
    if not entries.most.any():
        return np.zeros(len(entries.connection)), 0
    rates, programs = find(entries)
    return entries.fit(rates), programs


def _first(entries: Entries, ratio: float, given: float | None) -> float:
    """Return the first level, unless it would make too many."""
    first_level = lowest_level(entries) if given is None else given
    levels = level_count(entries, ratio, first_level)
    if levels > MOST_LEVELS:
        raise ValueError(
            f"a ratio of {ratio:g} from a first level of {first_level:g} makes {levels} levels, and {MOST_LEVELS} are"
            " the most; raise one of them"
        )
    return first_level
