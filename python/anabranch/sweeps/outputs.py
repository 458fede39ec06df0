"""Outputs of a sweep: tables and figures over all its runs, and the files that hold them."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.folder import put_file
from anabranch.sweeps.expression import check_table
from anabranch.sweeps.figure_data import drawn_numbers, pooled
from anabranch.sweeps.intervals import estimates
from anabranch.sweeps.order import in_order
from anabranch.sweeps.points import column_of_seed
from anabranch.sweeps.quantity import SweepFigure, SweepTable
from anabranch.sweeps.reduce import all_numbers, numbers

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from anabranch.figures.paper import PaperChoice
    from anabranch.sweeps.file import Sweep
    from anabranch.sweeps.results import Swept

SUMMARY = "summary"
"""The folder of tables and figures, in that of the sweep."""

USUAL = ("svg", "png")
"""The formats of figures."""


def write_all(sweep: Sweep, swept: Swept, formats: Sequence[str] = USUAL, paper: PaperChoice | None = None) -> None:
    """Write tables and figures into the folder of the sweep, if any run is there."""
    if not swept.points["run"].count():
        return
    plans = [with_groups(plan, sweep, swept.varied) for plan in sweep.file.table]
    wanted = {plan.of for plan in (*plans, *sweep.file.figure)}
    frames: dict[str, Callable[[], pl.LazyFrame]] = {of: partial(swept.numbered, of) for of in wanted}
    place = swept.folder / SUMMARY
    write_summaries(frames, plans, sweep.file.figure, place, varied=swept.varied, formats=formats, paper=paper)


def check_columns(sweep: Sweep, swept: Swept) -> None:
    """Check, as soon as a run is done, that its tables have the columns of the sweep file.

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


def make_table(frame: pl.LazyFrame, plan: SweepTable) -> pl.DataFrame:
    """Give a row for each group of runs: their mean and its interval.

    Parameters
    ----------
    frame : LazyFrame
        The rows of all runs; see `anabranch.sweeps.reduce.numbers`.
    plan : SweepTable

    Returns
    -------
    DataFrame
        The groups, what `anabranch.sweeps.intervals.estimates` gives, and ``left_out``: how many values of the runs of
        a group were null, infinite or no number, also of runs of which none is left. Groups are in the order of their
        first column, then of the next: numbers from the least on, text as it first appears.

    Raises
    ------
    ScenarioError
        The quantity cannot be computed.
    """
    groups = list(plan.by)
    with _named(plan):
        found = in_order(all_numbers(frame, plan, groups), groups)
        table = estimates(found.drop_nulls("value"), groups, plan.interval)
    if not groups:
        return table.with_columns(pl.lit(found["left_out"].sum(), pl.Int64).alias("left_out"))
    left_out = found.group_by(groups).agg(pl.col("left_out").sum())
    return table.join(left_out, on=groups, how="left", nulls_equal=True, maintain_order="left")


def draw_figure(
    frame: pl.LazyFrame,
    plan: SweepFigure,
    file: str | os.PathLike[str] | None = None,
    *,
    varied: Sequence[str] = (),
) -> Figure:
    """Draw a figure over the runs of a sweep.

    Parameters
    ----------
    frame : LazyFrame
        The rows of all runs; see `anabranch.sweeps.reduce.numbers`.
    plan : SweepFigure
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.
    varied : sequence of str
        The columns of what was varied. Below lines stands over which of these the means are.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ScenarioError
        The quantity cannot be computed, or there is nothing to draw.
    """
    # Matplotlib takes long to load.
    from anabranch.sweeps.draw import draw_numbers

    check_table(plan, varied, frame.collect_schema())
    with _named(plan):
        return draw_numbers(drawn_numbers(frame, plan), plan, file, pooled=_pooled(frame, plan, varied))


@contextmanager
def _named(plan: SweepTable | SweepFigure) -> Iterator[None]:
    """Say of which table or figure an error is."""
    try:
        yield
    except ScenarioError as error:
        if str(error).startswith(plan.place):
            raise
        raise ScenarioError(f"{plan.place}: {error}") from error


def _pooled(frame: pl.LazyFrame, plan: SweepFigure, varied: Sequence[str]) -> list[str]:
    return pooled(frame, plan, varied) if plan.draw == "lines" else []


def write_summaries(
    tables: Mapping[str, Callable[[], pl.LazyFrame]],
    table_plans: Sequence[SweepTable],
    figure_plans: Sequence[SweepFigure],
    folder: str | os.PathLike[str],
    *,
    varied: Sequence[str] = (),
    formats: Sequence[str] = USUAL,
    paper: PaperChoice | None = None,
) -> list[Path]:
    """Write tables as CSV, and figures with their numbers as CSV; each aside first, then in place.

    One that cannot be made does not keep the others from it.

    Parameters
    ----------
    tables : mapping of str to function
        Of the name of each table that the runs have, what gives its rows.
    table_plans, figure_plans : sequence
    folder : path
        SweptRun if it is not there.
    varied : sequence of str
        The columns of what was varied; see `draw_figure`.
    formats : sequence of {"svg", "png", "pdf"}
        The formats of figures.
    paper : dict, optional
        What they are drawn for, as in `PaperChoice`.

    Returns
    -------
    list of Path
        The files, in the order of the plans.

    Raises
    ------
    ScenarioError
        A table that the runs do not have, two plans with one file, a quantity that cannot be computed, or a file that
        cannot be written.
    """
    plans: list[SweepTable | SweepFigure] = [*table_plans, *figure_plans]
    _check(tables, plans)
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScenarioError(f"{place}: it cannot be made ({error.strerror}); name a folder that can") from error
    written: list[Path] = []
    errors = []
    for plan in plans:
        try:
            frame = tables[plan.of]()
            check_table(plan, varied, frame.collect_schema())
            if isinstance(plan, SweepFigure):
                written += _write_figure(frame, plan, place, varied, formats, paper or {})
            else:
                written += _write_table(frame, plan, place)
        except ScenarioError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return written


def _check(tables: Mapping[str, object], plans: Sequence[SweepTable | SweepFigure]) -> None:
    seen: set[str] = set()
    for plan in plans:
        if plan.of not in tables:
            remedy = f"take one of {', '.join(tables)}, or let the scenario record it"
            raise ScenarioError(f"{plan.place}: the runs have no table `{plan.of}`; {remedy}")
        if plan.file.lower() in seen:
            raise ScenarioError(f"{plan.place}: another table or figure has this `file`; give each its own")
        seen.add(plan.file.lower())


def _write_table(frame: pl.LazyFrame, plan: SweepTable, folder: Path) -> list[Path]:
    file = folder / f"{plan.file}.csv"
    put_file(make_table(frame, plan).write_csv(), file)
    return [file]


def _write_figure(
    frame: pl.LazyFrame,
    plan: SweepFigure,
    folder: Path,
    varied: Sequence[str],
    formats: Sequence[str],
    paper: PaperChoice,
) -> list[Path]:
    # Matplotlib takes long to load.
    from anabranch.figures.paper import paper_of
    from anabranch.figures.save import save
    from anabranch.sweeps.draw import draw_numbers

    *pictures, table = [folder / f"{plan.file}.{suffix}" for suffix in (*formats, "csv")]
    with paper_of(paper):
        with _named(plan):
            numbers = drawn_numbers(frame, plan)
            figure = draw_numbers(numbers, plan, pooled=_pooled(frame, plan, varied))
        for file in pictures:
            save(figure, file)
    put_file(numbers.write_csv(), table)
    return [*pictures, table]
