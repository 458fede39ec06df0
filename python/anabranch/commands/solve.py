"""``anabranch solve``: fair rates for every tunnel, what holds each demand back, and the proof."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from anabranch.commands.allocation import check_places, print_allocation, write_allocation
from anabranch.commands.cases import check_cases, give_cases, solve_cases
from anabranch.commands.inputs import (
    Capacity,
    Delay,
    Format,
    Input,
    InputNodes,
    Memory,
    NetworkId,
    PathCount,
    PathKind,
    PathMetric,
    load_demands,
    load_problem,
)
from anabranch.commands.progress import PathCounter, progress_bar
from anabranch.errors import ConvergenceWarning, ScenarioError, SolveInterrupted
from anabranch.memory import allow_memory
from anabranch.model.paths import find_paths
from anabranch.solvers.methods import REASONS, START_RATIO, Method
from anabranch.solvers.options import DEFAULT_TOLERANCE, EXACT_TOLERANCE, MOST_PASSES
from anabranch.solvers.solve import DEFAULT_PATHS
from anabranch.solvers.solve import solve as solve_network

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network
    from anabranch.model.paths import Kind, Metric
    from anabranch.solvers.solve import Progress

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
    memory: Memory = None,
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
    allow_memory(memory)
    check_places(out=out, figure=figure, report=report)
    rules = demands or []
    is_many = each_failure or len(rules) > 1
    check_cases(rules, each_failure=each_failure, threads=threads, shown=figure or report)
    topology = {"capacity": capacity, "delay": delay, "format": format, "network_id": network_id, "nodes": nodes}
    network, wanted = load_problem(input, rules[0] if rules else None, seed, topology)
    matrices = {rules[0] if rules else "": wanted}
    matrices |= {rule: load_demands(input, network, rule, seed, format) for rule in rules[1:]}
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
        ways = _ways(wanted, paths, path_kind, metric, tell) | {"allow_unreachable": allow_unreachable}
        if is_many:
            cases = solve_cases(network, matrices, ways, choice, each_failure=each_failure, threads=threads, tell=tell)
        else:
            allocation, is_stopped = _solved(network, wanted, ways, choice, tell)
    if verbose:
        _tell_why(cases.methods if is_many else [allocation.method], method)
    if is_many:
        give_cases(cases, rows=rows, as_json=as_json, out=out, origin=_origin(context))
    else:
        write_allocation(allocation, out=out, figure=figure, report=report, origin=_origin(context))
        print_allocation(allocation, rows=rows, as_json=as_json, is_stopped=is_stopped)


def _ways(
    demands: Demands, paths: int | None, kind: Kind | None, metric: Metric | None, tell: Progress | None
) -> dict[str, Any]:
    """Give the paths to take, or how to find them: those of a kind are found here, others when they are needed."""
    if kind is None:
        return {"paths": paths, "metric": metric}
    done = PathCounter(tell, len(demands))
    found = find_paths(demands, paths or DEFAULT_PATHS, kind=kind, metric=metric or "hops", progress=done)
    return {"paths": found, "metric": None}


def _solved(
    network: Network, demands: Demands, ways: dict[str, Any], choice: dict[str, Any], tell: Progress | None
) -> tuple[Allocation, bool]:
    """Solve one case; after Ctrl-C, give what was there, and say so."""
    try:
        return solve_network(network, demands, **ways, **choice, progress=tell), False
    except SolveInterrupted as stopped:
        return stopped.allocation, True


def _tell_why(methods: list[str], asked: str | None) -> None:
    """Say which methods were taken, and why."""
    for found in methods:
        why = "it was asked for" if asked is not None else f"{REASONS[found]}; --method takes another"
        typer.echo(f"anabranch: {found}, since {why}", err=True)


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
