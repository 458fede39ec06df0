"""``anabranch run``: a scenario, simulated packet by packet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch import _core
from anabranch.commands import INTERRUPTED
from anabranch.commands.inputs import MOST_SEED, Memory
from anabranch.commands.progress import run_bar
from anabranch.commands.text import count_text, more_text, printable, time_text
from anabranch.errors import RunInterrupted, ScenarioError
from anabranch.folder import check_new, check_place
from anabranch.interrupts import held_interrupts
from anabranch.memory import allow_memory
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan

if TYPE_CHECKING:
    from anabranch.runs.result import Result
    from anabranch.runs.scenario import Plan

HELP = """Simulate a scenario, packet by packet.

Prints a row for each connection: its protocol, its mean rate (throughput), its granted rate and its fair rate at its
last sample, the relative error between the two, and the time until its amount was delivered. A second table shows the
links that dropped packets or have the greatest load.

Ctrl-C ends the run early, with exit code 130. The result so far is written to --out and marked as unfinished; --figures
draws it. A second Ctrl-C has no effect until the tables are written; then it stops the drawing.
"""

DEFAULT_ROWS = 20
MOST_LINKS = 5
"""The number of links that are shown."""

Scenario = Annotated[Path, typer.Argument(help="Scenario file (TOML).")]
Seed = Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Seed of the run. Default: the scenario's seed.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a value of the scenario: connection.0.weight=2. Repeatable."),
]


def command(
    scenario: Scenario,
    seed: Seed = None,
    sets: Sets = None,
    out: Annotated[Path | None, typer.Option(help="New folder for the result: tables, scenario, meta.json.")] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw figures, SVG and PNG, into the folder of --out.")
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of threads; results do not depend on it. Default: one, or all idle processors, whichever is"
            " faster.",
        ),
    ] = None,
    memory: Memory = None,
    rows: Annotated[int, typer.Option(min=0, help="Rows to print; 0 for all.")] = DEFAULT_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead: all results but the series.")] = False,
) -> None:
    """Run `HELP`."""
    allow_memory(memory)
    if figures and out is None:
        raise ScenarioError("--figures needs a folder to put them; name one with --out")
    if out is not None:
        check_new(out)
        check_place(out)
    plan = read_plan(scenario, seed=seed, sets=sets or ())
    result, stopped = _run(plan, out, threads)
    if out is not None and figures:
        # Only now: matplotlib takes longer to load than many scenarios take to run.
        from anabranch.figures import draw_result

        draw_result(result, out)
    if stopped is not None:
        raise typer.Exit(INTERRUPTED)
    if as_json:
        names = ("connections", "subflows", "links", *(("waits",) if result.waits is not None else ()))
        tables = {name: getattr(result, name).to_dicts() for name in names}
        typer.echo(json.dumps({"meta": result.meta, "residual": result.residual, **tables}, indent=1, allow_nan=False))
    else:
        _print(result, rows)


def _run(plan: Plan, out: Path | None, threads: int | None) -> tuple[Result, RunInterrupted | None]:
    """Run, write what there is, and say so if Ctrl-C came; give both."""
    stopped = None
    with held_interrupts() as interrupts:
        try:
            with run_bar() as tell:
                result = run_plan(plan, threads=threads, progress=tell)
        except RunInterrupted as error:
            stopped, result = error, error.result
        if out is not None:
            result.write(out)
        if interrupts.came and stopped is None:
            stopped = RunInterrupted(result)
        if stopped is not None:
            tell_stopped(stopped, out)
    return result, stopped


def tell_stopped(stopped: RunInterrupted, out: Path | None) -> None:
    """Say that a run was stopped, and where its tables are."""
    kept = "with --out, what there is until then would be kept" if out is None else f"the tables are in {out}"
    typer.echo(f"anabranch: {stopped}; {kept}", err=True)


def _print(result: Result, rows: int) -> None:
    console = Console()
    console.width = console.width if console.is_terminal else 200
    print_connections(console, result.connections, rows)
    print_links(console, result.links)
    meta = result.meta
    console.print()
    if result.residual is not None:
        fair = f"some subflow is {result.residual:.2g} short of a bottleneck; 0 is exactly fair"
        console.print(f"granted rates at the last sample: {fair}", highlight=False)
    for warning in meta["warnings"]:
        console.print(f"note: {printable(warning)}", highlight=False, markup=False)
    strays = f", {count_text(meta['strays'])} of them astray" if meta["strays"] else ""
    events = f"{count_text(meta['events'])} events, {count_text(meta['packet_hops'])} packets over a link{strays}"
    wall = f"{time_text(meta['wall_s'])}, {count_text(meta['events_per_s'])} events/s"
    console.print(f"{time_text(meta['reached_s'])} simulated, seed {meta['seed']}: {events}", highlight=False)
    console.print(f"it took {wall}", highlight=False)


def print_connections(console: Console, frame: pl.DataFrame, rows: int) -> None:
    """Print a row for each connection, at most `rows`; all if `rows` is 0."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("connection", "protocol", "mean rate", "granted", "fair", "error", "completion"):
        table.add_column(heading, justify="left" if heading in {"connection", "protocol"} else "right")
    shown = frame.head(rows) if rows else frame
    columns = ("connection", "protocol", "mean_rate_bps", "granted_bps", "fair_bps", "error", "completion_s")
    for name, protocol, mean, granted, fair, error, completion in shown.select(columns).iter_rows():
        table.add_row(
            Text(printable(name)),
            protocol,
            *("" if rate is None else _core.format_rate(rate) for rate in (mean, granted, fair)),
            "" if error is None else f"{error:.2%}",
            "" if completion is None else time_text(completion),
        )
    console.print(table)
    if len(frame) > len(shown):
        console.print(more_text(len(frame) - len(shown)), highlight=False)


def print_links(console: Console, links: pl.DataFrame) -> None:
    """Print the links that dropped packets, then those of the greatest load."""
    busy = links.filter(pl.col("carried_bytes") + pl.col("dropped") > 0)
    busy = busy.sort("dropped", pl.col("utilisation").fill_null(0.0), descending=True, maintain_order=True)
    if not len(busy):
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("link", "capacity", "utilisation", "longest queue", "dropped"):
        table.add_column(heading, justify="left" if heading == "link" else "right")
    columns = ("link", "capacity_bps", "utilisation", "most_packets", "dropped")
    for name, capacity, utilisation, most, dropped in busy.head(MOST_LINKS).select(columns).iter_rows():
        table.add_row(
            Text(printable(name)),
            "" if capacity is None else _core.format_rate(capacity),
            "" if utilisation is None else f"{utilisation:.1%}",
            f"{most} packet{'' if most == 1 else 's'}",
            str(dropped),
        )
    console.print()
    console.print(table)
