"""Many cases of ``anabranch solve``: a row for each, what fails or what is asked for, and what is carried."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import typer

from anabranch.commands.exit_codes import FAILED, INTERRUPTED
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table, print_text
from anabranch.commands.text import more_text, rate_text, time_text
from anabranch.errors import ScenarioError
from anabranch.model.link_labels import link_labels
from anabranch.model.paths import Paths
from anabranch.page import put_cases_page
from anabranch.solvers.case_table import summarise
from anabranch.solvers.cases import single_failures
from anabranch.solvers.many import Solved, solve_many
from anabranch.solvers.solve import paths_of, refuse_unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from anabranch.commands.allocation import Places
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network
    from anabranch.solvers.cases import Failures

MOST_NAMED = 3
"""The most connections that are named as cut off, for each case."""


@dataclass
class Cases:
    """The outcome of many cases, with the rates of all connections in each."""

    is_failures: bool
    total: int
    rows: list[pl.DataFrame] = field(default_factory=list)
    connections: list[pl.DataFrame] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    fairness: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    shortcomings: list[str] = field(default_factory=list)

    def take(self, solved: Solved) -> None:
        """Note what is to be kept of a case."""
        allocation = solved.allocation
        self.rows.append(summarise([solved]))
        columns = ("name", "rate_bps", "met", "level_bps", "bottleneck", "held_by")
        self.connections.append(allocation.connections.select(pl.lit(solved.name).alias("case"), *columns))
        self.fairness = allocation.fairness
        if allocation.method not in self.methods:
            self.methods.append(allocation.method)
        if allocation.shortcoming is not None:
            self.shortcomings.append(f"case `{solved.name}`: {allocation.shortcoming}")

    @property
    def how(self) -> str:
        """The kind of fairness, and the methods that found the rates."""
        return f"{self.fairness} by {', '.join(self.methods)}"

    @property
    def table(self) -> pl.DataFrame:
        """A row for each case, with its ``label`` for people; of failures the worst first."""
        table = pl.concat(self.rows, how="vertical_relaxed")
        labels = [self.labels.get(name, name) for name in table["case"]]
        table = table.insert_column(1, pl.Series("label", labels, dtype=pl.String))
        return table.sort("carried_bps", "least_level_bps", maintain_order=True) if self.is_failures else table


@dataclass(frozen=True)
class Failing:
    """What a failure does to paths: whether they are found anew; None for what suits them."""

    reroute: bool | None


def check_cases(
    demands: list[str], *, each_failure: bool, reroute: bool | None, threads: int | None, figure: Path | None
) -> None:
    """Refuse options that do not go together."""
    is_many = each_failure or len(demands) > 1
    if each_failure and len(demands) > 1:
        raise ScenarioError("--each-failure goes with one --demands; leave the others out, and run it for each")
    if twice := sorted({one for one in demands if demands.count(one) > 1}):
        raise ScenarioError(f"--demands {twice[0]}: it is given twice; name each case once")
    if is_many and figure is not None:
        raise ScenarioError(f"{figure}: there are many cases, and a picture shows one; solve that one alone")
    if reroute is not None and not each_failure:
        raise ScenarioError("--reroute and --no-reroute say what a failure does to paths; give --each-failure too")
    if threads is not None and not is_many:
        raise ScenarioError("--threads is for many cases; give --each-failure or several --demands too")


def solve_cases(
    network: Network,
    matrices: dict[str, Demands],
    ways: dict[str, Any],
    choice: dict[str, Any],
    failing: Failing | None,
    *,
    threads: int | None,
    tell: Callable[[str, int, int], None] | None,
) -> Cases:
    """Solve the cases; after Ctrl-C, give those that were done."""
    solved: Iterable[Solved]
    if isinstance(ways["paths"], Paths):
        _refuse_other_pairs(ways["paths"], matrices)
    if failing is not None:
        (demands,) = matrices.values()
        paths = paths_of(network, demands, ways["paths"], ways["metric"], tell)
        if not ways["allow_unreachable"]:
            refuse_unreachable(paths)
        if failing.reroute and paths.search is None:
            raise ScenarioError("--reroute: the input gives the paths; --paths 4 finds paths that may be found anew")
        cases = single_failures(paths, reroute=failing.reroute, intact=True)
        found = Cases(True, len(cases), labels=_labels(cases, network))
        solved = solve_many(cases, **choice, threads=threads, progress=tell)
    else:
        found = Cases(False, len(matrices))
        solved = solve_many(network, matrices, **ways, **choice, threads=threads, progress=tell)
    try:
        for one in solved:
            found.take(one)
    except KeyboardInterrupt:
        if not found.rows:
            raise
    return found


def _labels(cases: Failures, network: Network) -> dict[str, str]:
    """Name what fails with the ends of its first link, where the name does not tell: ``L35 Berlin-Leipzig, L35~``."""
    names, label = network.core.link_names, link_labels(network)
    return {
        name: ", ".join([label[names[links[0]]], *(names[link] for link in links[1:])])
        for name, links in zip(cases.names, cases.links, strict=True)
        if links
    }


def _refuse_other_pairs(paths: Paths, matrices: dict[str, Demands]) -> None:
    """Refuse demands that are not between the same nodes as those the paths were found for."""
    for name, demands in matrices.items():
        if not paths.serves(demands):
            raise ScenarioError(
                f"--demands {name}: it has other pairs of nodes than the first, for which --path-kind found the paths;"
                " solve it alone, or leave --path-kind out"
            )


def give_cases(cases: Cases, places: Places, *, rows: int, as_json: bool) -> None:
    """Write and print what came of the cases, and leave with the exit code that says how it went."""
    table = cases.table
    connections = pl.concat(cases.connections, how="vertical_relaxed")
    facts = {"finished": len(table) == cases.total}
    places.write_tables({"cases": table, "connections": connections}, facts)
    if places.report is not None:
        put_cases_page(table, {**facts, "origin": places.origin}, places.report)
    if as_json:
        finite = pl.when(cs.float().is_finite()).then(cs.float())
        shown = {"finished": len(table) == cases.total, "cases": table.with_columns(finite).to_dicts()}
        typer.echo(json.dumps(shown, indent=1, allow_nan=False))
    else:
        _print(cases, table, rows)
    if len(table) < cases.total:
        typer.echo(f"anabranch: stopped after {len(table)} of {cases.total} cases", err=True)
        raise typer.Exit(INTERRUPTED)
    if cases.shortcomings:
        count = f"{len(cases.shortcomings)} of {cases.total} cases did not converge; the first"
        typer.echo(f"anabranch: {count}: {cases.shortcomings[0]}", err=True)
        raise typer.Exit(FAILED)


def _print(cases: Cases, table: pl.DataFrame, rows: int) -> None:
    shown = table.head(rows) if rows else table
    print_table(
        [
            column.names("fails" if cases.is_failures else "demands", shown["label"]),
            column.rates("carried", shown["carried_bps"]),
            column.shares("met", shown["met"], leaves=3),
            column.shares("least met", shown["least_met"]),
            column.rates("least level", shown["least_level_bps"], leaves=2),
            column.counts("cut off", (count or None for count in shown["cut_off"])),
            *(
                [column.words("such as", map(_some, shown["cut_off_names"]), leaves=4)]
                if shown["cut_off"].sum()
                else []
            ),
            column.labels(
                "certified", ("yes" if is_certified else "no" for is_certified in shown["certified"]), leaves=1
            ),
        ]
    )
    if left := len(table) - len(shown):
        typer.echo(more_text(left))
    typer.echo()
    for line in _summary(cases, table):
        print_text(line)


def _some(names: pl.Series) -> str:
    """Name a few of the connections that are cut off."""
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")


def _summary(cases: Cases, table: pl.DataFrame) -> list[str]:
    lines = [f"{cases.how}: {len(table)} cases, {int(table['certified'].sum())} certified"]
    if cases.is_failures:
        whole = cases.rows[0]["carried_bps"][0]
        worst = table["carried_bps"][0]
        share = f" ({worst / whole:.1%})" if whole > 0 else ""
        lines.append(f"carried {rate_text(whole)} if nothing fails, at worst {rate_text(worst)}{share}")
    lines.append(f"{time_text(float(table['cpu_s'].sum()))} of processor time")
    return lines
