"""A page of many cases, such as failures of links: a table in one HTML file that needs no script and no server."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.folder import check_place, put_file

if TYPE_CHECKING:
    from pathlib import Path

HEADINGS = ("case", "carried", "met", "least met", "least level", "cut off", "certified")

LEAST_BPS = 1e-300
"""Less than any rate, so that bars have a length where nothing is carried."""

NOTE = (
    "Carried is the sum of all rates, and the bar its part of the most in any case. Met is that sum by the sum of all"
    " demands; least met is the part of its demand that the worst-off connection gets, and least level the least rate"
    " by weight. Cut off are connections with a demand that get nothing. Certified says that the rates are proved."
)


def holds_cases(folder: Path) -> bool:
    """Tell whether ``anabranch solve --out`` has written many cases into this folder."""
    return (folder / "cases.parquet").is_file() and (folder / "meta.json").is_file()


def write_cases_page(folder: Path, file: Path) -> None:
    """Write the page of the cases in a folder; an existing one is replaced.

    Raises
    ------
    ScenarioError
        The folder holds no whole table of cases, or the page cannot be written there.
    """
    try:
        table = pl.read_parquet(folder / "cases.parquet", glob=False)
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        put_cases_page(table, meta, file)
    except ScenarioError:
        raise
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
        raise ScenarioError(f"{folder}: it is no whole table of cases ({error}); solve them again") from error


def put_cases_page(table: pl.DataFrame, meta: dict[str, Any], file: Path) -> None:
    """Write the page of a table of cases, with what ``meta.json`` says of them."""
    check_place(file)
    page = cases_html(table, meta)
    file.parent.mkdir(parents=True, exist_ok=True)
    put_file(page, file)


def cases_html(table: pl.DataFrame, meta: dict[str, Any]) -> str:
    """Give the page of a table of cases."""
    are_failures = bool(meta["origin"].get("each_failure"))
    title = "What fails, and what is carried then" if are_failures else "Demands, and what is carried of them"
    style = (files("anabranch.page") / "cases.css").read_text(encoding="utf-8")
    most = max([*table["carried_bps"], LEAST_BPS])
    rows = "\n".join(_row(row, most) for row in table.iter_rows(named=True))
    heads = "".join(f'<th scope="col">{heading}</th>' for heading in _headings(are_failures))
    facts = "".join(f"<p>{escape(line)}</p>\n" for line in _facts(table, meta, are_failures))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{facts}"
        f'<div class="scroll"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>\n'
        f'<p class="note">{NOTE}</p>\n</body>\n</html>\n'
    )


def _headings(are_failures: bool) -> tuple[str, ...]:
    return ("fails" if are_failures else "demands", *HEADINGS[1:])


def _facts(table: pl.DataFrame, meta: dict[str, Any], are_failures: bool) -> list[str]:
    """Say what was solved, and the worst of it."""
    origin = meta["origin"]
    demands = origin.get("demands")
    asked = f", demands {demands}" if isinstance(demands, str) and are_failures else ""
    lines = [f"{origin.get('input', '')}{asked}: {len(table)} cases, {int(table['certified'].sum())} certified."]
    if not meta["finished"]:
        lines.append("The solver was stopped before all cases were solved.")
    if are_failures and len(table):
        intact = table.filter(pl.col("case") == "nothing")["carried_bps"]
        worst = table.row(int(table["carried_bps"].arg_min() or 0), named=True)
        whole = f"Carried if nothing fails: {_rate(intact.item())}. " if len(intact) == 1 else ""
        lines.append(f"{whole}The least is {_rate(worst['carried_bps'])}, without {worst['label']}.")
        cut = max(table["cut_off"])
        lines.append(f"At most {cut} connections are cut off." if cut else "No connection is cut off.")
    return lines


def _row(row: dict[str, Any], most: float) -> str:
    part = row["carried_bps"] / most
    bar = f'<span class="bar" style="width: {part:.1%}"></span>'
    cells = (
        escape(row["label"]),
        f"{bar}{_rate(row['carried_bps'])}",
        _share(row["met"]),
        _share(row["least_met"]),
        "" if row["least_level_bps"] is None else _rate(row["least_level_bps"]),
        _cut_off(row["cut_off_names"]),
        "yes" if row["certified"] else "no",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _cut_off(names: list[str]) -> str:
    """Give the number of connections that are cut off, which opens to their names."""
    if not names:
        return ""
    listed = ", ".join(escape(name) for name in names)
    return f"<details><summary>{len(names)}</summary>{listed}</details>"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _rate(bps: float) -> str:
    return _core.format_rate(float(f"{bps:.3g}"))
