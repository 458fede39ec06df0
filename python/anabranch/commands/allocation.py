"""One allocation as ``anabranch solve`` gives it: a table, JSON, a folder, a picture, a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch import _core
from anabranch.commands import INTERRUPTED
from anabranch.commands.text import more_text, printable
from anabranch.errors import CertificateError, ScenarioError
from anabranch.folder import check_place
from anabranch.page import allocation_content, write_report
from anabranch.solvers.methods import METHODS

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.allocation.allocation import Allocation


def check_places(*, out: Path | None, figure: Path | None, report: Path | None) -> None:
    """Refuse places that nothing could be written to, before there is anything to write."""
    if out is not None:
        if out.exists():
            raise ScenarioError(f"{out}: it exists already; name a new folder, or remove it first")
        check_place(out)
    if figure is not None:
        # Only now: matplotlib takes longer to load than most networks take to solve.
        from anabranch.figures.save import check_suffix

        check_suffix(figure)
        check_place(figure)
    if report is not None:
        check_place(report)


def write_allocation(
    allocation: Allocation, *, out: Path | None, figure: Path | None, report: Path | None, origin: dict[str, Any]
) -> None:
    """Write what is asked for; places were looked at before, and each is filled aside and put in place whole."""
    if figure is not None:
        from anabranch.figures import draw_network

        assert allocation.paths is not None, "it is of a network"
        figure.parent.mkdir(parents=True, exist_ok=True)
        draw_network(allocation.paths.demands.network, allocation, file=figure)
    if report is not None:
        write_report([allocation_content(allocation)], report)
    if out is not None:
        allocation.write(out, origin=origin)


def print_allocation(allocation: Allocation, *, rows: int, as_json: bool, is_stopped: bool) -> None:
    """Print the allocation; exit with 1 if it has not converged, or with 130 if Ctrl-C stopped the solver."""
    if as_json:
        typer.echo(_json(allocation))
    else:
        _print(allocation, rows)
    if is_stopped or not allocation.converged:
        typer.echo(f"anabranch: {allocation.shortcoming}", err=True)
        raise typer.Exit(INTERRUPTED if is_stopped else 1)


def _json(allocation: Allocation) -> str:
    # What has no limit is null: JSON knows no infinity.
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    names = ("connections", "subflows", "links")
    tables = {name: getattr(allocation, name).with_columns(finite).to_dicts() for name in names}
    return json.dumps({"summary": allocation.summary(), **tables}, indent=1, allow_nan=False)


def _print(allocation: Allocation, rows: int) -> None:
    """Print a row for each connection, and what is to be said of all."""
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
    counted = METHODS[facts["method"]].counts
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
