"""The approximations that solve linear programs: from a problem to path rates that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.solvers.approximate.binners import LAST_EQUI_DEPTH, LAST_GEOMETRIC, equi_depth_binner, geometric_binner
from anabranch.solvers.approximate.entries import Entries
from anabranch.solvers.approximate.swan import level_count, lowest_level, swan

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.model.problem import Problem
    from anabranch.solvers.approximate.entries import Floats

    Progress = Callable[[str, int, int], None]

RATIO = 2.0
"""From one level or geometric bin to the next."""

BINS = 8
"""Of the equi-depth binner."""

MOST_LEVELS = 1000
"""More levels or geometric bins than this are refused: each takes a program, or a column for each connection."""


def solve_programs(
    problem: Problem, method: str, options: dict[str, Any], guide: Floats | None, progress: Progress | None
) -> tuple[Floats, int]:
    """Give path rates that overload nothing, and how many programs they took.

    The equi-depth binner needs a guide: path rates that have the order of the connections.

    Raises
    ------
    ValueError
        The options make too many levels.
    SolverError
        A linear program failed.
    """
    entries = Entries(problem)
    if not entries.most.any():
        return np.zeros(len(entries.connection)), 0
    rates, programs = _found(entries, method, options, guide, progress)
    return entries.fit(rates), programs


def _found(
    entries: Entries, method: str, options: dict[str, Any], guide: Floats | None, progress: Progress | None
) -> tuple[Floats, int]:
    if guide is not None:
        last = options.get("last_worth", LAST_EQUI_DEPTH)
        return equi_depth_binner(entries, guide, options.get("bins", BINS), last), 1
    ratio = float(options.get("ratio", RATIO))
    first_level = float(options.get("first_level", 0.0)) or lowest_level(entries)
    levels = level_count(entries, ratio, first_level)
    if levels > MOST_LEVELS:
        raise ValueError(
            f"a ratio of {ratio:g} from a first level of {first_level:g} makes {levels} levels, and {MOST_LEVELS} are"
            " the most; raise one of them"
        )
    if method == "swan":
        return swan(entries, ratio, first_level, progress)
    return geometric_binner(entries, ratio, first_level, options.get("last_worth", LAST_GEOMETRIC)), 1
