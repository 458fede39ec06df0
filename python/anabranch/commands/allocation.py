"""One allocation as ``anabranch solve`` gives it: a table, JSON, a folder, a picture, a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import typer

from anabranch.allocation.csv_tables import write_csv_tables
from anabranch.commands.exit_codes import FAILED, INTERRUPTED
from anabranch.commands.places import check_output
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table, print_text
from anabranch.commands.text import more_text, rate_text
from anabranch.errors import CertificateError, ScenarioError
from anabranch.folder import new_folder, put_parquet
from anabranch.model.link_labels import link_labels
from anabranch.page import allocation_content, write_report
from anabranch.solvers.methods import METHODS

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.allocation.allocation import Allocation
    from anabranch.figures.paper import PaperChoice
    from anabranch.model.network import Network

MOST_LINKS = 5
"""The number of links that are shown."""


@dataclass(frozen=True)
class Places:
    """Where to write what was solved, as far as it is asked for; and what it was made from.

    Attributes
    ----------
    out, csv : Path or None
        New folders for tables, in Parquet and in CSV.
    figure, report : Path or None
        Files for a picture and a page.
    paper : PaperChoice
        The paper that the picture is for.
    origin : dict
        Every option with its value, so that the numbers can be made again.
    """

    out: Path | None
    csv: Path | None
    figure: Path | None
    paper: PaperChoice
    report: Path | None
    origin: dict[str, Any]

    def write_tables(self, tables: dict[str, pl.DataFrame], facts: dict[str, Any]) -> None:
        """Write tables of several solutions, with facts about them as ``meta.json`` beside those in Parquet."""
        if self.out is not None:
            with new_folder(self.out) as aside:
                for name, table in tables.items():
                    put_parquet(table, aside / f"{name}.parquet")
                meta = {"anabranch": version("anabranch"), **facts, "origin": self.origin}
                (aside / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
        if self.csv is not None:
            write_csv_tables(tables, self.csv)


def check_places(*, out: Path | None, csv: Path | None, figure: Path | None, report: Path | None, force: bool) -> None:
    """Refuse places that nothing could be written to, before there is anything to write."""
    for folder in (out, csv):
        check_output(folder, force=force)
    if out is not None and csv is not None and out.resolve() == csv.resolve():
        raise ScenarioError(f"{out}: --out and --csv name one folder; give each its own")
    if figure is not None:
        # Only now: matplotlib takes longer to load than most networks take to solve.
        from anabranch.figures.save import check_suffix

        check_suffix(figure)
    check_output(figure, force=force)
    check_output(report, force=force)


def give_allocation(allocation: Allocation, is_stopped: bool, places: Places, *, rows: int, as_json: bool) -> None:
    """Write and print the allocation; exit with 1 if it has not converged, or with 130 if Ctrl-C stopped the solver."""
    _write(allocation, places)
    if as_json:
        typer.echo(_json(allocation))
    else:
        _print(allocation, rows)
    if is_stopped or not allocation.converged:
        typer.echo(f"anabranch: {allocation.shortcoming}", err=True)
        raise typer.Exit(INTERRUPTED if is_stopped else FAILED)


def _write(allocation: Allocation, places: Places) -> None:
    """Write what is asked for; places were looked at before, and each is filled aside and put in place whole."""
    if places.figure is not None:
        from anabranch.figures import draw_network

        places.figure.parent.mkdir(parents=True, exist_ok=True)
        draw_network(_network(allocation), allocation, file=places.figure, **places.paper)
    if places.report is not None:
        write_report([allocation_content(allocation)], places.report)
    if places.out is not None:
        allocation.write(places.out, origin=places.origin)
    if places.csv is not None:
        allocation.write_csv(places.csv)


def _json(allocation: Allocation) -> str:
    # What has no limit is null: JSON knows no infinity.
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    names = ("connections", "subflows", "links")
    tables = {name: getattr(allocation, name).with_columns(finite).to_dicts() for name in names}
    return json.dumps({"summary": allocation.summary, **tables}, indent=1, allow_nan=False)


def _print(allocation: Allocation, rows: int) -> None:
    """Print a row for each connection, the links that limit the most, and what is to be said of all."""
    has_all = pl.col("held_by") == "demand"
    # Levels that are equal but for rounding keep the order of the input.
    level = pl.col("level_bps").round_sig_figs(6)
    frame = allocation.connections.sort(has_all, level, maintain_order=True)
    shown = frame.head(rows) if rows else frame
    label = link_labels(_network(allocation))
    held = zip(shown["bottleneck"], shown["held_by"], strict=True)
    print_table(
        [
            column.names("connection", shown["name"]),
            column.rates("rate", shown["rate_bps"]),
            column.rates("demand", shown["demand_bps"], leaves=1),
            column.shares("met", shown["met"]),
            *([column.rates("reserved", shown["reserved_bps"], leaves=2)] if allocation.problem.has_reserved else []),
            column.rates("level", shown["level_bps"], leaves=2),
            column.names("bottleneck", (label[link] if link is not None else by for link, by in held)),
        ]
    )
    if left := len(frame) - len(shown):
        typer.echo(more_text(left))
    _print_links(allocation, label)
    _print_summary(allocation, frame)


def _network(allocation: Allocation) -> Network:
    assert allocation.paths is not None, "it is of a network"
    return allocation.paths.demands.network


def _print_links(allocation: Allocation, label: dict[str, str]) -> None:
    """Print the links with the highest utilisation; of saturated ones those that limit most connections."""
    limits = allocation.connections["bottleneck"].drop_nulls().value_counts()
    columns = {"bottleneck": "name", "count": "limited"}
    busy = allocation.links.join(limits.rename(columns), on="name", how="left", maintain_order="left")
    busy = busy.filter(pl.col("load_bps") > 0).with_columns(pl.col("limited").fill_null(0))
    utilisation = pl.col("utilisation").fill_null(0.0)
    is_full = utilisation >= 1.0 - allocation.tolerance
    order = (is_full, pl.when(is_full).then("limited"), pl.when(is_full).then(1.0).otherwise(utilisation))
    busy = busy.sort(*order, descending=True, maintain_order=True).head(MOST_LINKS)
    if not len(busy):
        return
    typer.echo()
    print_table(
        [
            column.names("link", (label[name] for name in busy["name"])),
            column.rates("capacity", busy["capacity_bps"]),
            column.shares("utilisation", busy["utilisation"]),
            column.counts("subflows", busy["subflows"], leaves=2),
            column.counts("bottleneck of", busy["limited"], unit="connections", leaves=1),
        ]
    )


def _met_words(allocation: Allocation) -> str:
    """Say what is proved where no level holds anyone: all demands are met, but for those that no path serves."""
    is_met = (allocation.connections["held_by"] != "nothing").all()
    return "every demand is met" if is_met else "every demand is met that has a path with capacity"


def _doubt(allocation: Allocation) -> str:
    """Say why the allocation is not certified."""
    try:
        allocation.certify()
    except CertificateError as error:
        return str(error)
    return "nothing is wrong"


def _print_summary(allocation: Allocation, frame: pl.DataFrame) -> None:
    facts = allocation.summary
    carried = rate_text(facts["total_rate_bps"])
    asked = None if frame["demand_bps"].null_count() else float(frame["demand_bps"].sum())
    of = "" if asked is None else f" of {rate_text(asked)} asked for"
    short = f"to {facts['tolerance']:g} (worst {facts['residual']:.2g})"
    held = f"every subflow has a bottleneck {short}"
    if "gap" in facts:
        held = f"rates and prices are the optimum {short}, duality gap {facts['gap']:.1g}"
    if "levels" in facts:
        levels = "1 level" if facts["levels"] == 1 else f"{facts['levels']} levels"
        held = f"prices prove {levels}, and every subflow has a bottleneck {short}"
        if not facts["levels"]:
            held = _met_words(allocation)
    if facts["certified"]:
        proof = f"certified: {held}"
    elif allocation.is_approximation and allocation.converged:
        proof = f"not fair to {facts['tolerance']:g}: some subflow is {facts['residual']:.2g} short of a bottleneck"
    else:
        proof = f"NOT certified to {facts['tolerance']:g}: {_doubt(allocation)}"
    counted = METHODS[facts["method"]].counts
    more = "passes" if counted == "pass" else f"{counted}s"
    passes = f"{facts['passes']} {counted if facts['passes'] == 1 else more}"
    lines = (
        f"{allocation.how}: {facts['connections']} connections, {facts['subflows']} subflows,"
        f" {facts['links']} links ({facts['saturated_links']} saturated)",
        f"carried {carried}{of}; {passes}",
        f"{proof}, links are overloaded by at most {facts['overload']:.1g}" if not proof.startswith("NOT") else proof,
    )
    typer.echo()
    for line in lines:
        print_text(line)
