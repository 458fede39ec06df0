"""A trial of a sweep: which combinations of values have a run; tables and figures by a run simulated for a moment."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import ScenarioError
from anabranch.runs.simulate import end_of
from anabranch.sweeps.outputs import check_columns
from anabranch.sweeps.points import column_of_seed
from anabranch.sweeps.results import alone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anabranch.sweeps.points import Point
    from anabranch.sweeps.runner import Checked

RUN = "trial"

TRIAL_S = 10.0
"""After so long no further combination is planned."""


class _EnoughError(Exception):
    """The run has lasted long enough to have tables."""


@dataclass(frozen=True)
class Tried:
    """The combinations of values that were planned, none of them run.

    Attributes
    ----------
    combinations : int
        How many there are, seeds aside.
    tried : int
        How many of these were planned.
    first : Point
        The first point that has a run.
    refused : list of ScenarioError
        The mistakes of those that have none.
    """

    combinations: int
    tried: int
    first: Point
    refused: list[ScenarioError]


def try_points(checked: Checked, *, within_s: float = TRIAL_S) -> Tried:
    """Plan every combination of values, those of the first and last values of all axes first.

    Parameters
    ----------
    checked : Checked
    within_s : float
        The seconds after which no further one is planned.
    """
    combinations = corners_first(_without_seeds(checked), checked)
    first, refused, tried = None, [], 0
    begin = time.perf_counter()
    for point in combinations:
        if tried and time.perf_counter() - begin >= within_s:
            break
        tried += 1
        try:
            checked.base.plan(point)
        except ScenarioError as error:
            refused.append(error)
        else:
            first = first or point
    return Tried(len(combinations), tried, first or checked.points[0], refused)


def _without_seeds(checked: Checked) -> list[Point]:
    """Give the first point of each combination of values, whatever its seed."""
    seed = column_of_seed(checked.sweep)
    found: dict[tuple[Any, ...], Point] = {}
    for point in checked.points:
        found.setdefault(tuple(value for name, value in point.values.items() if name != seed), point)
    return list(found.values())


def corners_first(points: Iterable[Point], checked: Checked) -> list[Point]:
    """Give points with the first or the last value of each axis, then the others."""
    ends = [(axis.at(0)[1], axis.at(len(axis) - 1)[1]) for axis in checked.axes]

    def is_inside(point: Point) -> bool:
        return not all(any(own.items() <= point.values.items() for own in both) for both in ends)

    return sorted(points, key=is_inside)


def try_columns(checked: Checked, point: Point) -> None:
    """Make sure that a run has the columns that the sweep file names, and that its expressions can be computed.

    Raises
    ------
    ScenarioError
        The first mistake.
    """
    ended = end_of(checked.base.plan(point), 1, _stop)
    if ended.raised is not None and not isinstance(ended.raised, _EnoughError):
        raise ended.raised
    with tempfile.TemporaryDirectory(prefix="anabranch.") as folder:
        ended.result().write(Path(folder) / "runs" / RUN)
        check_columns(checked.sweep, alone(Path(folder), point, RUN))


def _stop(_time_s: float, _events: int) -> None:
    raise _EnoughError
