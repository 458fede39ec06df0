"""A trial of the tables and figures of a sweep: the first run, simulated for a moment."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.runs.simulate import end_of
from anabranch.sweeps.outputs import check_columns
from anabranch.sweeps.results import alone

if TYPE_CHECKING:
    from anabranch.sweeps.runner import Checked

RUN = "trial"


class _EnoughError(Exception):
    """The run has lasted long enough to have tables."""


def try_columns(checked: Checked) -> None:
    """Make sure that a run has the columns that the sweep file names, and that its expressions can be computed.

    Raises
    ------
    ScenarioError
        The first mistake.
    """
    point = checked.points[0]
    ended = end_of(checked.base.plan(point), 1, _stop)
    if ended.raised is not None and not isinstance(ended.raised, _EnoughError):
        raise ended.raised
    with tempfile.TemporaryDirectory(prefix="anabranch.") as folder:
        ended.result().write(Path(folder) / "runs" / RUN)
        check_columns(checked.sweep, alone(Path(folder), point, RUN))


def _stop(_time_s: float, _events: int) -> None:
    raise _EnoughError
