"""``anabranch run``: a scenario, simulated packet by packet."""

from __future__ import annotations

import json
import sys
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from anabranch.commands.exit_codes import INTERRUPTED
from anabranch.commands.figures import Font, Formats, Width, figure_choice
from anabranch.commands.inputs import Memory
from anabranch.commands.of_scenario import Scenario, Seed, Sets
from anabranch.commands.places import Force, check_output, replaced
from anabranch.commands.progress import run_bar
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_heading, print_table, print_text
from anabranch.commands.text import count_text, more_text, printable, time_text
from anabranch.errors import RunInterrupted, ScenarioError
from anabranch.interrupts import held_interrupts
from anabranch.memory import allow_memory
from anabranch.model.link_labels import link_label
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan

if TYPE_CHECKING:
    from anabranch.runs.result import Result
    from anabranch.runs.scenario import Plan

HELP = """Simulate a scenario, packet by packet.

Prints a row for each connection: its protocol, its mean rate (throughput), its mean fair rate given its demand, the
distance of the one from the other, relative to that, and the time until its amount was delivered. A second table shows
the links that dropped packets or have the greatest load.

Ctrl-C ends the run early, with exit code 130. The result so far is written to --out and marked as unfinished; --figures
draws it. A second Ctrl-C has no effect until the tables are written; then it stops the drawing.
"""

DEFAULT_ROWS = 20
MOST_LINKS = 5
"""The number of links that are shown."""


def command(
    scenario: Scenario,
    seed: Seed = None,
    sets: Sets = None,
    out: Annotated[Path | None, typer.Option(help="New folder for the result: tables, scenario, meta.json.")] = None,
    force: Force = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw figures, SVG and PNG, into the folder of --out.")
    ] = False,
    formats: Formats = None,
    figure_width: Width = None,
    figure_font: Font = None,
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
    choice = figure_choice(formats, figure_width, figure_font, without=None if figures else "--figures")
    check_output(out, force=force)
    plan = read_plan(scenario, seed=seed, sets=sets or ())
    result, stopped = _run(plan, out, threads, force=force)
    if out is not None and figures:
        # Only now: matplotlib takes longer to load than many scenarios take to run.
        from anabranch.figures import draw_result

        draw_result(result, out, formats=choice.formats, **choice.paper)
    if stopped is not None:
        raise typer.Exit(INTERRUPTED)
    if as_json:
        kept = ("connections", "subflows", "links", *(("waits",) if result.waits is not None else ()))
        tables = {name: getattr(result, name).to_dicts() for name in kept}
        typer.echo(json.dumps({"meta": result.meta, "residual": result.residual, **tables}, indent=1, allow_nan=False))
    else:
        _print(result, rows)


def _run(plan: Plan, out: Path | None, threads: int | None, *, force: bool) -> tuple[Result, RunInterrupted | None]:
    """Run, write what there is, and say so if Ctrl-C came; give both."""
    stopped = None
    with held_interrupts() as interrupts:
        try:
            with run_bar() as tell:
                result = run_plan(plan, threads=threads, progress=tell)
        except RunInterrupted as error:
            stopped, result = error, error.result
        if out is not None:
            with replaced(out, force=force):
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
    meta = result.meta
    if sys.stdout.isatty():
        _print_story(meta)
    print_connections(result, rows)
    print_links(result.links)
    typer.echo()
    if result.residual is not None:
        fair = f"some subflow is {result.residual:.2g} short of a bottleneck; 0 is exactly fair"
        print_text(f"granted rates at the last sample: {fair}")
    for warning in meta["warnings"]:
        print_text(f"note: {printable(warning)}")
    strays = f", {count_text(meta['strays'])} of them astray" if meta["strays"] else ""
    events = f"{count_text(meta['events'])} events, {count_text(meta['packet_hops'])} packets over a link{strays}"
    print_text(f"{time_text(meta['reached_s'])} simulated, seed {meta['seed']}: {events}")
    print_text(f"it took {time_text(meta['wall_s'])}, {count_text(meta['events_per_s'])} events/s")


def _print_story(meta: dict[str, Any]) -> None:
    """Print the title of a scenario that describes itself, and the first paragraph of its description."""
    paragraph = meta["description"].strip().partition("\n\n")[0]
    if not paragraph:
        return
    if meta["title"]:
        print_heading(printable(meta["title"]))
    for line in paragraph.splitlines():
        print_text(printable(line))
    typer.echo()


def print_connections(result: Result, rows: int) -> None:
    """Print a row for each connection, at most `rows`; all if `rows` is 0."""
    frame = result.connections
    shown = frame.head(rows) if rows else frame
    means = result.mean_rates().head(len(shown))
    print_table(
        [
            column.names("connection", shown["connection"]),
            column.labels("protocol", shown["protocol"], leaves=1),
            column.rates("mean rate", means["rate_bps"]),
            column.rates("fair", means["fair_bps"]),
            column.shares("from fair", means["distance"], sign=True),
            column.times("completion", shown["completion_s"], leaves=2),
        ]
    )
    if len(frame) > len(shown):
        typer.echo(more_text(len(frame) - len(shown)))


def print_links(links: pl.DataFrame) -> None:
    """Print the links that dropped packets, then those of the greatest load."""
    busy = links.filter(pl.col("carried_bytes") + pl.col("dropped") > 0)
    busy = busy.sort("dropped", pl.col("utilisation").fill_null(0.0), descending=True, maintain_order=True)
    if not len(busy):
        return
    busy = busy.head(MOST_LINKS)
    ends = zip(busy["link"], busy["source"], busy["target"], strict=True)
    typer.echo()
    print_table(
        [
            column.names("link", starmap(link_label, ends)),
            column.rates("capacity", busy["capacity_bps"], leaves=2),
            column.shares("utilisation", busy["utilisation"]),
            column.counts("longest queue", busy["most_packets"], unit="packets", leaves=1),
            column.counts("dropped", busy["dropped"], unit="packets"),
        ]
    )
