"""Several methods of ``anabranch solve`` on one problem: a row for each, beside exact max-min rates."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import typer

from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table, print_text
from anabranch.commands.text import rate_text
from anabranch.errors import ScenarioError
from anabranch.model.problem import problem_of
from anabranch.solvers.check import check_options
from anabranch.solvers.compare import comparison_table, exact_among, requests_for, solve_each
from anabranch.solvers.solve import paths_of, refuse_unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.commands.allocation import Places
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network
    from anabranch.solvers.many import Solved
    from anabranch.solvers.task import Progress


@dataclass(frozen=True)
class Compared:
    """The answers of several methods, with their table."""

    solved: list[Solved]
    table: pl.DataFrame
    exact_bps: float

    @property
    def connections(self) -> pl.DataFrame:
        """The rate of every connection by every method."""
        columns = ("name", "rate_bps", "met", "level_bps", "bottleneck", "held_by")
        return pl.concat(
            one.allocation.connections.select(pl.lit(one.name).alias("method"), *columns) for one in self.solved
        )


def check_methods(methods: Sequence[str], choice: dict[str, Any], *, is_many: bool, shown: Path | None) -> None:
    """Refuse methods that do not exist, and options that do not go with them, before anything is read."""
    if len(methods) < 2:
        check_options(**choice)
        return
    requests_for(methods, choice)
    if is_many:
        raise ScenarioError("several --method compare one case; leave the failures or the other --demands out")
    if shown is not None:
        raise ScenarioError(f"{shown}: there are several methods, and a picture or page shows one; solve by that alone")


def solve_by_methods(
    network: Network,
    demands: Demands,
    methods: Sequence[str],
    ways: dict[str, Any],
    choice: dict[str, Any],
    tell: Progress | None,
) -> Compared:
    """Solve one case by several methods."""
    requests = requests_for(methods, choice)
    paths = paths_of(network, demands, ways["paths"], ways["metric"], tell)
    if not ways["allow_unreachable"]:
        refuse_unreachable(paths)
    problem = problem_of(paths)
    solved = solve_each(problem, paths, requests, tell)
    exact = exact_among(solved, problem, paths, tell)
    return Compared(solved, comparison_table(solved, exact), float(exact.connection_rates.sum()))


def give_methods(found: Compared, places: Places, *, as_json: bool) -> None:
    """Write and print the comparison; exit with 1 if a method has not converged."""
    places.write_tables({"methods": found.table, "connections": found.connections}, {})
    if as_json:
        finite = pl.when(cs.float().is_finite()).then(cs.float())
        typer.echo(json.dumps({"methods": found.table.with_columns(finite).to_dicts()}, indent=1, allow_nan=False))
    else:
        _print(found)
    if short := [one for one in found.solved if one.allocation.shortcoming is not None]:
        typer.echo(f"anabranch: method {short[0].name}: {short[0].allocation.shortcoming}", err=True)
        raise typer.Exit(1)


def _print(found: Compared) -> None:
    table = found.table
    print_table(
        [
            column.labels("method", table["method"]),
            column.labels("fairness", table["fairness"], leaves=3),
            column.rates("carried", table["carried_bps"]),
            column.shares("met", table["met"], leaves=4),
            column.shares("least met", table["least_met"], leaves=2),
            column.numbers("q", table["q"]),
            column.shares("total", _finite(table["total"])),
            column.shares("worst-off", _finite(table["worst"])),
            column.labels("certified", ("yes" if one else "no" for one in table["certified"]), leaves=5),
            column.times("time", table["cpu_s"]),
        ]
    )
    typer.echo()
    print_text(f"exact max-min rates carry {rate_text(found.exact_bps)}; beside these:")
    print_text(
        "q is the fairness index (1 if all are alike), total the traffic, worst-off the least rate by its exact one"
    )


def _finite(values: pl.Series) -> list[float | None]:
    """Give the values, None where the exact rates carry nothing."""
    return [value if math.isfinite(value) else None for value in values]
