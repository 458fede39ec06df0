"""``anabranch live``: a scenario run with real packets, and its simulation beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.commands.exit_codes import DOES_NOT_HOLD, INTERRUPTED
from anabranch.commands.of_scenario import Scenario, Seed, Sets
from anabranch.commands.places import Force, check_output, replaced
from anabranch.commands.progress import run_bar
from anabranch.commands.run import DEFAULT_ROWS, print_connections, print_links, tell_stopped
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table, print_text
from anabranch.commands.text import count_text, more_text, printable, time_text
from anabranch.errors import RunInterrupted
from anabranch.folder import new_folder
from anabranch.interrupts import held_interrupts
from anabranch.runs.compare import compared
from anabranch.runs.live import check_live, live_plan
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan

if TYPE_CHECKING:
    import polars as pl

    from anabranch.runs.result import Result
    from anabranch.runs.scenario import Plan

HELP = """Run a scenario with real packets, in real time, and print what `anabranch run` prints.

Each connection is a multipath QUIC connection between two hosts of the emulator, under the protocol of the scenario.
The links behave as in the simulator. With --beside the scenario is also simulated, before the live run, and the table
compares both; with --out there is also a report of both, as one HTML file.

A run whose packets were late is NOT VALID: exit code 3, and its folder says so. Needs Linux, root, and the program ip
(iproute2).
"""

RECORDED = 'run.record=["connections", "subflows", "windows", "links"]'
"""The setting that records all quantities that are compared."""


def command(
    scenario: Scenario,
    seed: Seed = None,
    sets: Sets = None,
    out: Annotated[
        Path | None, typer.Option(help="New folder for the result, with the files of `anabranch run`.")
    ] = None,
    force: Force = False,
    beside: Annotated[
        bool, typer.Option("--beside", help="Simulate the scenario too; --out then holds both results and report.html.")
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Rows to print; 0 for all.")] = DEFAULT_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead: all results but the series.")] = False,
) -> None:
    """Run `HELP`."""
    check_output(out, force=force)
    if out is not None and beside:
        # Without the page nothing could be written when the run is over.
        from anabranch.page import page_template

        page_template()
    plan = read_plan(scenario, seed=seed, sets=[*(sets or ()), *([RECORDED] if beside else ())])
    check_live(plan)
    simulated = _simulate(plan) if beside else None
    result, stopped = _run(plan, simulated, out, force=force)
    if stopped is not None:
        raise typer.Exit(INTERRUPTED)
    if as_json:
        typer.echo(json.dumps(_json(result, simulated), indent=1, allow_nan=False))
    elif simulated is None:
        _print(result, rows)
    else:
        _print_compared(compared(simulated, result), result, rows)
    if not result.meta["valid"]:
        raise typer.Exit(DOES_NOT_HOLD)


def _simulate(plan: Plan) -> Result:
    with run_bar() as tell:
        return run_plan(plan, progress=tell)


def _run(
    plan: Plan, simulated: Result | None, out: Path | None, *, force: bool
) -> tuple[Result, RunInterrupted | None]:
    """Run, write what there is, and say so if Ctrl-C came; give both."""
    stopped = None
    with held_interrupts() as interrupts:
        try:
            with run_bar() as tell:
                result = live_plan(plan, progress=tell)
        except RunInterrupted as error:
            stopped, result = error, error.result
        if out is not None:
            with replaced(out, force=force):
                _write(result, simulated, out)
        if interrupts.came and stopped is None:
            stopped = RunInterrupted(result)
        if stopped is not None:
            tell_stopped(stopped, out)
    return result, stopped


def _write(result: Result, simulated: Result | None, out: Path) -> None:
    if simulated is None:
        result.write(out)
        return
    # Only now: the colours of the page come with matplotlib, which takes long to load.
    from anabranch.page import beside_contents, report_html

    with new_folder(out) as aside:
        simulated.write(aside / "simulated")
        result.write(aside / "live")
        (aside / "report.html").write_text(report_html(beside_contents(simulated, result)), encoding="utf-8")


def _json(result: Result, simulated: Result | None) -> dict[str, Any]:
    def plain(one: Result) -> dict[str, Any]:
        tables = {name: getattr(one, name).to_dicts() for name in ("connections", "subflows", "links")}
        return {"meta": one.meta, **tables}

    if simulated is None:
        return plain(result)
    rows = compared(simulated, result).to_dicts()
    return {"compared": rows, "simulated": plain(simulated), "live": plain(result)}


def _print(result: Result, rows: int) -> None:
    print_connections(result, rows)
    print_links(result.links)
    _print_end(result)


def _print_compared(frame: pl.DataFrame, result: Result, rows: int) -> None:
    shown = frame.head(rows) if rows else frame
    print_table(
        [
            column.names("connection", shown["connection"]),
            column.rates("simulated", shown["simulated_bps"]),
            column.rates("live", shown["live_bps"]),
            column.shares("difference", shown["rate_difference"], sign=True),
            column.times("simulated RTT", shown["simulated_rtt_s"], leaves=1),
            column.times("live RTT", shown["live_rtt_s"], leaves=2),
            column.shares("difference", shown["rtt_difference"], sign=True, leaves=3),
        ]
    )
    if len(frame) > len(shown):
        typer.echo(more_text(len(frame) - len(shown)))
    _print_end(result)


def _print_end(result: Result) -> None:
    meta = result.meta
    typer.echo()
    for warning in meta["warnings"]:
        print_text(f"note: {printable(warning)}")
    p50, p99, most = (time_text(meta[f"lateness_{name}_s"]) for name in ("p50", "p99", "max"))
    packets = f"{count_text(meta['packet_hops'])} packets over a link"
    late = f"late by {p50} (median), {p99} (99th percentile), {most} (maximum)"
    print_text(f"{time_text(meta['reached_s'])} live, seed {meta['seed']}: {packets}; {late}")
    for fault in meta["faults"]:
        print_text(f"NOT VALID: {fault}")
