"""The tables and figures that a sweep file asks for, made of all runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anabranch.sweeps.expression import check_table
from anabranch.sweeps.numbers import numbers
from anabranch.sweeps.points import column_of_seed
from anabranch.sweeps.quantity import SweepFigure, SweepTable
from anabranch.sweeps.summary import write_summaries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from anabranch.sweeps.file import Sweep
    from anabranch.sweeps.swept import Swept

SUMMARY = "summary"
"""The folder of tables and figures, in that of the sweep."""


def write_all(sweep: Sweep, swept: Swept) -> None:
    """Write tables and figures into the folder of the sweep, if any run is there."""
    if not swept.points["run"].count():
        return
    plans = [with_groups(plan, sweep, swept.varied) for plan in sweep.file.table]
    wanted = {plan.of for plan in (*plans, *sweep.file.figure)}
    frames: dict[str, Callable[[], pl.LazyFrame]] = {of: partial(swept.numbered, of) for of in wanted}
    write_summaries(frames, plans, sweep.file.figure, swept.folder / SUMMARY, varied=swept.varied)


def check_columns(sweep: Sweep, swept: Swept) -> None:
    """Make sure, as soon as a run is there, that its tables have what is asked for.

    Raises
    ------
    ScenarioError
        A column that is not there, or a value that is no number.
    """
    for plan in (*sweep.file.table, *sweep.file.figure, *(sweep.file.repeat.of if sweep.file.repeat else ())):
        if isinstance(plan, SweepTable):
            groups: Sequence[str] = with_groups(plan, sweep, swept.varied).by
        else:
            groups = plan.groups if isinstance(plan, SweepFigure) else plan.by
        frame = swept.numbered(plan.of)
        check_table(plan, swept.varied, frame.collect_schema())
        numbers(frame, plan, groups)


def with_groups(plan: SweepTable, sweep: Sweep, varied: Sequence[str]) -> SweepTable:
    """Give a plan with its groups: without any, all that was varied but the seed."""
    if plan.by:
        return plan
    seed = column_of_seed(sweep)
    return plan.model_copy(update={"by": tuple(name for name in varied if name != seed)})
