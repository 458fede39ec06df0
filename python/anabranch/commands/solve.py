"""``anabranch solve``: fair rates for every tunnel, what holds each demand back, and the proof."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.commands.allocation import Places, check_places, give_allocation
from anabranch.commands.cases import Failing, check_cases, give_cases, solve_cases
from anabranch.commands.figures import Font, Width, figure_choice
from anabranch.commands.grouped import grouped
from anabranch.commands.inputs import (
    Capacity,
    Delay,
    Format,
    Input,
    InputNodes,
    LinkChanges,
    Memory,
    NetworkId,
    PathCount,
    PathKind,
    PathMetric,
    Sets,
    load_problem,
)
from anabranch.commands.methods import check_methods, give_methods, solve_by_methods
from anabranch.commands.of_scenario import MOST_SEED
from anabranch.commands.places import Force, replaced
from anabranch.commands.progress import PathCounter, progress_bar
from anabranch.commands.solver_options import solver_options, with_solver_options
from anabranch.errors import ConvergenceWarning, SolveInterrupted
from anabranch.memory import allow_memory
from anabranch.model.paths import DEFAULT_PATHS, find_paths
from anabranch.solvers.methods import METHODS
from anabranch.solvers.options import OPTIONS
from anabranch.solvers.problem_files import load_demands
from anabranch.solvers.solve import solve as solve_network

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.allocation.allocation import Allocation
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network
    from anabranch.model.search import Kind, Metric
    from anabranch.solvers.task import Progress

HELP = """Divide a network's capacity fairly among demands over several paths each.

The command prints a row for each connection: rate, demand, met (rate divided by demand), level (rate divided by claim),
and bottleneck. Connections that a link limits come first, by rising level, then those whose demand is met.
The exit code is 1 if the solver did not converge, 2 if the input is wrong, and 130 if Ctrl-C stopped it; the rates of
the last pass of c-SLEN or IEWF are printed then.

With --fairness proportional or alpha the bottleneck is the link with the highest price on the path; --json and
--out have all prices.

With several --method the command compares the answers of all: what each carries, how fair it is beside exact max-min
rates, and its time.

With several --demands, or with --each-failure, the command solves many cases on all processors, and prints a row for
each: the traffic carried, the part of the demand that is met, in total and for the worst-off connection, and the number
of connections that get nothing. Failures are sorted by the traffic carried, the worst first. Where a failure hits
paths, others are found on the network that is left, as routers do; --no-reroute keeps the paths, and paths that the
input gives stay.

The input may give the paths; --paths, --path-kind or --metric find others in their place.
"""

DEFAULT_ROWS = 20

GROUPS = {
    "Demands and paths": ("demands", "seed", "paths", "path_kind", "metric", "allow_unreachable"),
    "Fairness and method": tuple(name for name, option in OPTIONS.items() if option.is_general),
    "Options of some methods": tuple(name for name, option in OPTIONS.items() if not option.is_general),
    "Changes": ("sets", "links"),
    "Many cases": ("each_failure", "reroute", "threads"),
    "Output": ("rows", "as_json", "out", "csv", "figure", "figure_width", "figure_font", "report", "force", "verbose"),
    "Reading the network": ("capacity", "delay", "format", "network_id", "nodes"),
}
"""The options by the section of the help that they are in."""


@with_solver_options
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
    paths: PathCount = None,
    path_kind: PathKind = None,
    metric: PathMetric = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="Seed of the demands that a rule makes; 1 if not given.")
    ] = None,
    sets: Sets = None,
    links: LinkChanges = None,
    allow_unreachable: Annotated[
        bool,
        typer.Option(
            "--allow-unreachable", help="Assign rate 0 to demands that have no path, instead of refusing them."
        ),
    ] = False,
    each_failure: Annotated[
        bool, typer.Option("--each-failure", help="Solve one case for each link: the link and its twin fail.")
    ] = False,
    reroute: Annotated[
        bool | None,
        typer.Option(
            "--reroute/--no-reroute",
            help="Find paths anew where a failure hits them, or keep them. Default: anew, if they were found.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of cases solved at a time; results do not depend on it. Default: the number of processors.",
        ),
    ] = None,
    memory: Memory = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print the method that was chosen and the reason, on the error stream."),
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Rows to print; 0 for all.")] = DEFAULT_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON instead.")] = False,
    out: Annotated[Path | None, typer.Option(help="New folder to write Parquet tables and meta.json to.")] = None,
    csv: Annotated[Path | None, typer.Option(help="New folder to write the tables to as CSV.")] = None,
    figure: Annotated[Path | None, typer.Option(help="File to draw the solved network to: .svg, .png, .pdf.")] = None,
    figure_width: Width = None,
    figure_font: Font = None,
    report: Annotated[Path | None, typer.Option(help="HTML file to write an interactive page to.")] = None,
    force: Force = False,
    **options: Any,
) -> None:
    """Solve, print and write what `HELP` says."""
    methods: list[str] = options["method"] or []
    choice = solver_options(options) | {"method": methods[0] if len(methods) == 1 else None}
    allow_memory(memory)
    check_places(out=out, csv=csv, figure=figure, report=report, force=force)
    paper = figure_choice(None, figure_width, figure_font, without="--figure FILE" if figure is None else None).paper
    rules = demands or []
    is_many = each_failure or len(rules) > 1
    check_cases(rules, each_failure=each_failure, reroute=reroute, threads=threads, figure=figure)
    check_methods(methods, choice, is_many=is_many, shown=figure or report)
    topology = {"capacity": capacity, "delay": delay, "format": format, "network_id": network_id, "nodes": nodes}
    changes = {"sets": sets or (), "links": links or ()}
    network, wanted = load_problem(input, rules[0] if rules else None, seed, topology, **changes)
    places = Places(out, csv, figure, paper, report, _origin(context))
    with progress_bar() as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ways = _ways(wanted, paths, path_kind, metric, tell) | {"allow_unreachable": allow_unreachable}
        give: Callable[[], None]
        if is_many:
            matrices = {rules[0] if rules else "": wanted}
            matrices |= {rule: load_demands(input, network, rule, seed, format) for rule in rules[1:]}
            failures = Failing(reroute) if each_failure else None
            cases = solve_cases(network, matrices, ways, choice, failures, threads=threads, tell=tell)
            taken, give = cases.methods, partial(give_cases, cases, places, rows=rows, as_json=as_json)
        elif len(methods) > 1:
            compared = solve_by_methods(network, wanted, methods, ways, choice, tell)
            taken, give = methods, partial(give_methods, compared, places, as_json=as_json)
        else:
            solved = _solved(network, wanted, ways, choice, tell)
            taken, give = [solved[0].method], partial(give_allocation, *solved, places, rows=rows, as_json=as_json)
    if verbose:
        _tell_why(taken, is_asked=bool(methods))
    with replaced(out, force=force), replaced(csv, force=force):
        give()


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


def _tell_why(methods: list[str], *, is_asked: bool) -> None:
    """Say which methods were taken, and why."""
    for found in methods:
        why = "it was asked for" if is_asked else f"{METHODS[found].reason}; --method takes another"
        typer.echo(f"anabranch: {found}, since {why}", err=True)


def _origin(context: typer.Context) -> dict[str, Any]:
    """Give every option with its value, so that the numbers can be made again."""
    options = {name: str(value) if isinstance(value, Path) else value for name, value in context.params.items()}
    if len(options["demands"] or ()) == 1:
        options["demands"] = options["demands"][0]
    return options


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command(name="solve", help=HELP, cls=grouped(GROUPS))(command)
