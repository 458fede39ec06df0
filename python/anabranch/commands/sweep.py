"""``anabranch sweep``: a scenario run with many values, and tables and figures over all runs."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import polars as pl
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from anabranch.commands.exit_codes import FAILED
from anabranch.commands.figures import Font, Formats, Width, figure_choice
from anabranch.commands.inputs import Memory
from anabranch.commands.progress import LINE_EVERY_S
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table
from anabranch.commands.text import more_text, printable, time_text
from anabranch.errors import ScenarioError
from anabranch.memory import allow_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anabranch.sweeps import Progress as How
    from anabranch.sweeps import Swept

HELP = """Run a scenario with many values, and make tables and figures of all runs.

The file says what is varied, how often each run is repeated, and what tables and figures are made. Each run has a
folder in --out. Existing runs are kept, so the same command continues an interrupted sweep. If a run fails, its error
is kept, and the other runs go on.

By default, this machine runs one run per processor at a time; --on ray uses a Ray cluster instead (pip install
"anabranch[ray]"). The exit code is 1 if runs failed, and 130 if Ctrl-C stopped the sweep.
"""

MOST_ERRORS = 5
"""The most failed runs that are named."""

DEFAULT_ROWS = 40

LEFT_TO_THE_FILE = ("half_width", "p25", "p75", "skewness", "interval", "left_out")
"""Columns of tables that are not printed."""

MEASURED = ("mean", "low", "high", "median", "least", "most")
"""Columns of what was measured; numbers before them are values that were set."""

LEAVING = {"median": 1, "count": 2, "least": 3, "most": 4}
"""Columns that are left out where the terminal is too narrow, the last first."""

RUNS = Path("runs")


def command(
    file: Annotated[Path, typer.Argument(help="Sweep file (TOML).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the sweep. Default: a folder in runs/ with the file's name.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of runs at a time. Default: the number of processors.")
    ] = None,
    on: Annotated[
        Literal["here", "ray"], typer.Option(help="Where to run: on this machine, or on a Ray cluster.")
    ] = "here",
    address: Annotated[
        str | None,
        typer.Option(help="Address of the Ray cluster, or auto. Default: a new cluster of this machine alone."),
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="All nodes of the cluster can write to the folder of --out.")
    ] = False,
    memory: Memory = None,
    formats: Formats = None,
    figure_width: Width = None,
    figure_font: Font = None,
    rows: Annotated[int, typer.Option(min=0, help="Rows of each table to print; 0 for all.")] = DEFAULT_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each run instead.")] = False,
) -> None:
    """Run `HELP`."""
    allow_memory(memory)
    if on == "here" and (address is not None or shared):
        raise ScenarioError("--address and --shared are of a Ray cluster; add --on ray, or leave them out")
    figures = figure_choice(formats, figure_width, figure_font, without=None)
    # Only now: figures and polars take longer to load than other commands to run.
    from anabranch.sweeps import SUMMARY, other_versions, read_file, sweep

    place = out or RUNS / file.stem
    try:
        with _told(as_json=as_json) as tell:
            swept = sweep(
                file,
                place,
                threads=threads,
                on=on,
                address=address,
                shared=shared,
                progress=tell,
                formats=figures.formats,
                paper=figures.paper,
            )
    except KeyboardInterrupt:
        kept = f"its runs are kept in {place}, and" if place.is_dir() else "nothing was begun;"
        typer.echo(f"anabranch: the sweep was stopped; {kept} the same command goes on", err=True)
        raise
    if as_json:
        _line({"event": "end", "folder": str(place), "total": len(swept.points), "failed": len(swept.failed)})
    else:
        own = read_file(file).file
        _print_tables([place / SUMMARY / f"{plan.file}.csv" for plan in own.table], rows)
        _print_places(
            swept, [place / SUMMARY / f"{plan.file}.{figures.formats[0]}" for plan in own.figure], other_versions(place)
        )
    if len(swept.failed):
        _print_failures(swept)
        raise typer.Exit(FAILED)


@contextmanager
def _told(*, as_json: bool) -> Iterator[Callable[[How], None]]:
    """Give what is told how far it is: lines of JSON, a bar on a terminal, elsewhere now and then a line."""
    console = Console(stderr=True)
    if as_json:
        yield _lines()
    elif not console.is_terminal:
        yield _now_and_then(console)
    else:
        columns = (BarColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda how: bar.update(
                task, completed=how.done + how.failed, total=how.total, description=_words(how)
            )


def _words(how: How) -> str:
    left = "" if how.left_s is None else f", {time_text(float(f'{how.left_s:.2g}'))} left"
    failed = f", {how.failed} failed" if how.failed else ""
    return f"{how.done} of {how.total} done{failed}, {how.running} running{left}"


def _now_and_then(console: Console) -> Callable[[How], None]:
    last = time.perf_counter()

    def tell(how: How) -> None:
        nonlocal last
        if time.perf_counter() - last >= LINE_EVERY_S:
            last = time.perf_counter()
            console.print(_words(how), highlight=False, markup=False, soft_wrap=True)

    return tell


def _lines() -> Callable[[How], None]:
    known = -1

    def tell(how: How) -> None:
        nonlocal known
        counts = {"total": how.total, "done": how.done, "failed": how.failed, "running": how.running}
        if known != how.total:
            known = how.total
            _line({"event": "begin", **counts})
        if how.outcome is None:
            return
        outcome = how.outcome
        error = getattr(outcome, "error", None)
        what = {"run": getattr(outcome, "run", None)} if error is None else {"error": error}
        event = "done" if error is None else "failed"
        _line({"event": event, **what, "values": outcome.point.values, **counts, "left_s": how.left_s})

    return tell


def _line(event: dict[str, Any]) -> None:
    typer.echo(json.dumps(event, ensure_ascii=False, allow_nan=False))
    sys.stdout.flush()


def _print_tables(files: list[Path], rows: int) -> None:
    for file in files:
        if file.is_file():
            frame = pl.read_csv(file, infer_schema_length=None)
            print_table(_columns(frame.head(rows or len(frame))), title=file.stem)
            if rows and len(frame) > rows:
                typer.echo(more_text(len(frame) - rows))
            typer.echo()


def _print_places(swept: Swept, figures: list[Path], others: int) -> None:
    there = len(swept.points) - swept.points["run"].null_count()
    typer.echo(f"{there} of {len(swept.points)} runs are in {printable(str(swept.folder))}")
    for figure in figures:
        if figure.is_file():
            typer.echo(printable(str(figure)))
    if others:
        typer.echo(f"note: {others} runs there are of other versions, and left aside")


def _columns(frame: pl.DataFrame) -> list[column.Column]:
    """Give the columns of a table of the sweep: values that were set, then what was measured."""
    columns = []
    for name, kind in frame.drop(LEFT_TO_THE_FILE, strict=False).schema.items():
        leaves = LEAVING.get(name, 0)
        if name in MEASURED:
            columns.append(column.numbers(name, frame[name], digits=4, leaves=leaves))
        elif kind.is_numeric():
            columns.append(column.told_apart(printable(name), frame[name], leaves=leaves))
        else:
            texts = ("" if value is None else str(value) for value in frame[name])
            columns.append(column.names(printable(name), texts))
    return columns


def _print_failures(swept: Swept) -> None:
    for row in swept.failed.head(MOST_ERRORS).rows(named=True):
        typer.echo(f"anabranch: {row['error']}", err=True)
    more = len(swept.failed) - MOST_ERRORS
    also = f"; {more} more are not shown" if more > 0 else ""
    typer.echo(f"anabranch: {len(swept.failed)} of {len(swept.points)} runs failed{also}", err=True)
