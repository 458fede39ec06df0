"""``anabranch solve``: fair rates for every tunnel, what holds each demand back, and the proof."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import polars as pl
import polars.selectors as cs
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch import _core
from anabranch.choice import DEFAULT_TOLERANCE, EXACT_TOLERANCE, MOST_PASSES
from anabranch.commands.cases import check_cases, give_cases, refuse_other_pairs, solve_cases
from anabranch.commands.inputs import (
    Capacity,
    Delay,
    Format,
    Input,
    InputNodes,
    NetworkId,
    PathCount,
    PathKind,
    PathMetric,
    load_demands,
    load_problem,
)
from anabranch.commands.progress import PathCounter, progress_bar
from anabranch.commands.run import INTERRUPTED
from anabranch.commands.text import more_text, printable
from anabranch.errors import CertificateError, ConvergenceWarning, ScenarioError, SolveInterrupted
from anabranch.folder import check_place
from anabranch.methods import REASONS, START_RATIO, Method
from anabranch.page import allocation_content, write_report
from anabranch.paths import Paths, find_paths
from anabranch.solve import DEFAULT_PATHS
from anabranch.solve import solve as solve_network

if TYPE_CHECKING:
    from anabranch.allocation import Allocation

HELP = """Divide a network's capacity fairly among demands over several paths each.

Prints a row for each connection: those that a link holds back first, by rising level, then those that have all they
asked for. Rate, demand and how much of it is met, level (rate by weight), and the bottleneck. Exit code 1 if the
solver did not converge, 2 if the input is wrong, 130 if Ctrl-C stopped it: what c-SLEN or IEWF had by then is given as
far as it went.

With --fairness proportional or alpha the bottleneck is the dearest link on the way; --json and --out have all prices.

With several --demands, or --each-failure, it solves many cases on all processors, and prints a row for each: what is
carried, how much of the demand is met, in all and of the worst-off, and how many connections get nothing. Failures
come by what is carried, the worst first.

Paths are those that the input gives, if any; --paths, --path-kind or --metric find others in their place.
"""

DEFAULT_ROWS = 20

PROGRAM = "linear program"

COUNTED = {
    "lp": PROGRAM,
    "dual-simplex": "exchange",
    "swan": PROGRAM,
    "geometric-binner": PROGRAM,
    "equi-depth-binner": PROGRAM,
    "interior-point": "step",
}
"""What methods count; the others count passes."""


def command(
    context: typer.Context,
    input: Input,
    demands: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|RULE",
            help="CSV, SNDlib, or a rule: gravity:RATE, uniform:RATE, hot-spots:RATE. Several are solved as cases.",
        ),
    ] = None,
    capacity: Capacity = None,
    delay: Delay = None,
    format: Format = None,
    network_id: NetworkId = None,
    nodes: InputNodes = None,
    fairness: Annotated[
        Literal["upward-max-min", "max-min", "proportional", "alpha"], typer.Option(help="What fair means.")
    ] = "upward-max-min",
    alpha: Annotated[
        float | None, typer.Option(help="For alpha fairness: 0.1 to 100; 1 is proportional, large is near to max-min.")
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(help="How to find it; the usual way if not given. From swan on: approximations of max-min."),
    ] = None,
    paths: PathCount = None,
    path_kind: PathKind = None,
    metric: PathMetric = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="Starting portions: equal, or the ratio of geometric ones;"
            f" {START_RATIO} if not given, equal for approximations."
        ),
    ] = None,
    unit: Annotated[str | None, typer.Option(metavar="RATE", help="What IEWF adds in a step.")] = None,
    ratio: Annotated[float | None, typer.Option(help="Of SWAN's levels or geometric bins; 2 if not given.")] = None,
    first_level: Annotated[
        str | None, typer.Option(metavar="RATE", help="The least of these; one that all can have, if not given.")
    ] = None,
    bins: Annotated[int | None, typer.Option(min=1, help="Of the equi-depth binner; 8 if not given.")] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Passes of the adaptive water-filler; 10 if not given.")
    ] = None,
    last_worth: Annotated[
        float | None,
        typer.Option(help="Of a rate in the last bin, where it is 1 in the first; the less, the fairer."),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Relative; every path has a bottleneck to this tolerance, or prices are those of the optimum."
            f" {DEFAULT_TOLERANCE:g} if not given; for proportional and alpha {EXACT_TOLERANCE:g}.",
            show_default=False,
        ),
    ] = None,
    max_passes: Annotated[int, typer.Option(min=1, max=2**62, help="A solver not done by then fails.")] = MOST_PASSES,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of demands made by a rule.")] = 1,
    allow_unreachable: Annotated[
        bool, typer.Option("--allow-unreachable", help="Give demands without any path the rate 0.")
    ] = False,
    each_failure: Annotated[
        bool, typer.Option("--each-failure", help="Let each link fail with its way back, one after the other: cases.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Cases at a time; the numbers are the same. Default: the processors.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say which method was taken and why, on the error stream.")
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Rows to print; 0 for all.")] = DEFAULT_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON instead.")] = False,
    out: Annotated[Path | None, typer.Option(help="New folder for Parquet tables and meta.json.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Picture of the solved network, .svg or .png.")] = None,
    report: Annotated[Path | None, typer.Option(help="Page to look at it, one HTML file.")] = None,
) -> None:
    """Run `HELP`."""
    if out is not None:
        if out.exists():
            raise ScenarioError(f"{out}: it exists already; name a new folder, or remove it first")
        check_place(out)
    if figure is not None:
        # Only now: matplotlib takes longer to load than most networks take to solve.
        from anabranch.figures import draw_network
        from anabranch.figures.save import check_suffix

        check_suffix(figure)
        check_place(figure)
    if report is not None:
        check_place(report)
    is_many = each_failure or len(demands or ()) > 1
    check_cases(demands or [], each_failure=each_failure, threads=threads, shown=figure or report)
    topology = {"capacity": capacity, "delay": delay, "format": format, "network_id": network_id, "nodes": nodes}
    network, wanted = load_problem(input, demands[0] if demands else None, seed, topology)
    more = {rule: load_demands(input, network, rule, seed, format) for rule in (demands or ())[1:]}
    choice: dict[str, Any] = {
        "fairness": fairness,
        "alpha": alpha,
        "method": method,
        "start": _start(start),
        "tolerance": tolerance,
        "max_passes": max_passes,
        "unit": unit,
        "ratio": ratio,
        "first_level": first_level,
        "bins": bins,
        "iterations": iterations,
        "last_worth": last_worth,
    }
    with progress_bar() as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chosen: int | Paths | None = paths
        if path_kind is not None:
            done = PathCounter(tell, len(wanted))
            chosen = find_paths(wanted, paths or DEFAULT_PATHS, kind=path_kind, metric=metric or "hops", progress=done)
        ways: dict[str, Any] = {
            "paths": chosen,
            "metric": None if isinstance(chosen, Paths) else metric,
            "allow_unreachable": allow_unreachable,
        }
        if is_many:
            matrices = {(demands or [""])[0]: wanted, **more}
            if isinstance(chosen, Paths):
                refuse_other_pairs(chosen, matrices)
            cases = solve_cases(network, matrices, ways, choice, each_failure=each_failure, threads=threads, tell=tell)
        else:
            try:
                allocation, stopped = solve_network(network, wanted, **ways, **choice, progress=tell), None
            except SolveInterrupted as error:
                allocation, stopped = error.allocation, error
    if is_many:
        if verbose:
            for found in cases.methods:
                typer.echo(f"anabranch: {_why(found, method)}", err=True)
        give_cases(cases, rows=rows, as_json=as_json, out=out, origin=_origin(context))
        return
    if verbose:
        typer.echo(f"anabranch: {_why(allocation.method, method)}", err=True)
    # The places were looked at before, and each is filled aside and put in place whole.
    if figure is not None:
        figure.parent.mkdir(parents=True, exist_ok=True)
        draw_network(network, allocation, file=figure)
    if report is not None:
        write_report([allocation_content(allocation)], report)
    if out is not None:
        allocation.write(out, origin=_origin(context))
    if as_json:
        typer.echo(_json(allocation))
    else:
        _print(allocation, rows)
    if stopped is not None:
        typer.echo(f"anabranch: {allocation.shortcoming}", err=True)
        raise typer.Exit(INTERRUPTED)
    if not allocation.converged:
        typer.echo(f"anabranch: {allocation.shortcoming}", err=True)
        raise typer.Exit(1)


def _why(found: str, asked: str | None) -> str:
    """Say which method was taken, and why."""
    if asked is not None:
        return f"{found}, since it was asked for"
    return f"{found}, since {REASONS[found]}; --method takes another"


def _origin(context: typer.Context) -> dict[str, Any]:
    """Give every option with its value, so that the numbers can be made again."""
    options = {name: str(value) if isinstance(value, Path) else value for name, value in context.params.items()}
    if len(options["demands"] or ()) == 1:
        options["demands"] = options["demands"][0]
    return options


def _start(start: str | None) -> str | float | None:
    if start is None or start == "equal":
        return start
    try:
        return float(start)
    except ValueError:
        raise ScenarioError(f"--start {start}: it must be equal, or a ratio over 0 and at most 1") from None


def _json(allocation: Allocation) -> str:
    # What has no limit is null: JSON knows no infinity.
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    names = ("connections", "subflows", "links")
    tables = {name: getattr(allocation, name).with_columns(finite).to_dicts() for name in names}
    return json.dumps({"summary": allocation.summary(), **tables}, indent=1, allow_nan=False)


def _print(allocation: Allocation, rows: int) -> None:
    console = Console()
    console.width = console.width if console.is_terminal else 200
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("connection", "rate", "demand", "met", "level", "bottleneck"):
        table.add_column(heading, justify="left" if heading in {"connection", "bottleneck"} else "right")
    has_all = pl.col("held_by") == "demand"
    # Levels that are equal but for rounding keep the order of the input.
    level = pl.col("level_bps").round_sig_figs(6)
    frame = allocation.connections.sort(has_all, level, maintain_order=True)
    shown = frame.head(rows) if rows else frame
    columns = ("name", "rate_bps", "demand_bps", "met", "level_bps", "bottleneck", "held_by")
    for name, rate, demand, met, level, bottleneck, held_by in shown.select(columns).iter_rows():
        table.add_row(
            Text(printable(name)),
            _core.format_rate(rate),
            "" if demand is None else _core.format_rate(demand),
            "" if met is None else f"{met:.1%}",
            _core.format_rate(level),
            Text(printable(bottleneck) if bottleneck else held_by),
        )
    console.print(table)
    left = len(frame) - len(shown)
    if left:
        console.print(more_text(left), highlight=False)
    _print_summary(console, allocation, frame)


def _doubt(allocation: Allocation) -> str:
    """Say why the allocation is not certified."""
    try:
        allocation.certify()
    except CertificateError as error:
        return str(error)
    return "nothing is wrong"


def _print_summary(console: Console, allocation: Allocation, frame: pl.DataFrame) -> None:
    facts = allocation.summary()
    carried = _core.format_rate(facts["total_rate_bps"])
    asked = None if frame["demand_bps"].null_count() else float(frame["demand_bps"].sum())
    of = "" if asked is None else f" of {_core.format_rate(asked)} asked for"
    short = f"to {facts['tolerance']:g} (worst {facts['residual']:.2g})"
    held = f"every subflow has a bottleneck {short}"
    if "gap" in facts:
        held = f"rates and prices are the optimum {short}, duality gap {facts['gap']:.1g}"
    if "levels" in facts:
        levels = "1 level" if facts["levels"] == 1 else f"{facts['levels']} levels"
        held = f"prices prove {levels}, and every subflow has a bottleneck {short}"
    if facts["certified"]:
        proof = f"certified: {held}"
    elif allocation.is_approximation and allocation.converged:
        proof = f"not fair to {facts['tolerance']:g}: some subflow is {facts['residual']:.2g} short of a bottleneck"
    else:
        proof = f"NOT certified to {facts['tolerance']:g}: {_doubt(allocation)}"
    counted = COUNTED.get(facts["method"], "pass")
    more = "passes" if counted == "pass" else f"{counted}s"
    passes = f"{facts['passes']} {counted if facts['passes'] == 1 else more}"
    lines = (
        f"{allocation.how}: {facts['connections']} connections, {facts['subflows']} subflows,"
        f" {facts['links']} links ({facts['saturated_links']} saturated)",
        f"carried {carried}{of}; {passes}",
        f"{proof}, links are overloaded by at most {facts['overload']:.1g}" if not proof.startswith("NOT") else proof,
    )
    console.print()
    for line in lines:
        console.print(line, highlight=False, markup=False)
