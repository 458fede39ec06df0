"""The page of a paper: verdicts first, then each table and figure beside ours, with what differs and why."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from anabranch.reproduce.report.html import cell, framed, from_markdown, table
from anabranch.reproduce.report.table import RIGHT, cell_text, columns, seeds_note
from anabranch.reproduce.rows import item_name
from anabranch.reproduce.spec.verdict import (
    AGREES,
    BORNE_OUT,
    CHANGED,
    DIFFERS,
    KEPT,
    NEAR,
    OFF,
    OPEN,
    REFUTED,
    SLIP,
    UNJUDGED,
    WITHIN,
)
from anabranch.reproduce.summary import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.figures.kind import GatheredFigure
    from anabranch.reproduce.rows import Row, Rows, SimulationCost

STATES = {
    WITHIN: "good",
    NEAR: "good",
    SLIP: "good",
    BORNE_OUT: "good",
    OFF: "bad",
    REFUTED: "bad",
    DIFFERS: "bad",
    CHANGED: "bad",
    OPEN: "open",
    AGREES: "other",
    KEPT: "other",
    UNJUDGED: "other",
}
"""The mark of a row, by its verdict; of comparisons and records, which reproduce nothing, only bad ones stand out."""

OVERVIEW = ("item", "shows", "numbers and claims", "figures")

CODE = re.compile(r"`([^`]+)`")
"""Code in notes, between the signs that Markdown uses."""

FILTERS = {
    "all": "all rows",
    "bad": "off or not borne out",
    "open": "open",
    "published": "published numbers and claims",
    "changed": "other than on record",
}


def paper_page(rows: Rows) -> str:
    """Give the page of a reproduced paper, as a whole HTML file beside its figures."""
    items = list(dict.fromkeys(row.item for row in rows))
    title = rows.paper.title if rows.paper else "Published and ours"
    parts = [_head(rows, title), _overview(rows, items), _filters(rows)]
    parts += [_section(rows, item) for item in items]
    return framed(f"{title}: published and ours", "\n".join([*parts, _simulations(rows.made)]))


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """Count the rows of each verdict."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in STATES}


def counts_html(found: dict[str, int]) -> str:
    """Give the counts that are not 0, each with its mark."""
    marks = [f'<span class="mark {STATES[own]}">{number} {own}</span>' for own, number in found.items() if number]
    return " ".join(marks)


def _head(rows: Rows, title: str) -> str:
    paper = rows.paper
    words = [f"<h1>{escape(title)}</h1>"]
    if paper and paper.published:
        words.append(f"<p class='source'>{escape('. '.join(w for w in (paper.authors, paper.published) if w))}</p>")
    words += [f"<p class='verdict'>{escape(line)}.</p>" for line in summary(rows).splitlines()]
    words.append(
        "<p>Each published number or claim, ours, and how far ours is off. A number is judged by the published one, "
        "with the paper's own margin and our interval. A claim is tested as the paper states it; where it hangs on "
        "something that the paper does not print, the row names the reading. Comparisons with an optimum and records "
        "of ours reproduce nothing. The rows are also there as <a href='report.md'>Markdown</a> and as "
        "<a href='rows.json'>data</a>.</p>"
    )
    return "<header>" + "\n".join(words) + "</header>"


def _overview(rows: Rows, items: Sequence[str]) -> str:
    titles = {experiment.item: experiment.title for experiment in rows.experiments}
    lines = []
    for item in items:
        own = [row for row in rows if row.item == item]
        figures = sum(figure.item == item for figure in rows.figures)
        name = f'<a href="#{item}">{escape(item_name(item))}</a>'
        cells = (name, escape(titles.get(item, "")), counts_html(counts(own)), str(figures or ""))
        lines.append("<tr>" + "".join(map(cell, cells, OVERVIEW)) + "</tr>")
    return f"<nav>{table(OVERVIEW, lines)}</nav>"


def _filters(rows: Sequence[Row]) -> str:
    found = {word for row in rows for word in _classes(row).split()}
    choices = [
        f'<label><input type="radio" name="rows" value="{name}"{" checked" if name == "all" else ""}> {words}</label>'
        for name, words in FILTERS.items()
        if name == "all" or name in found
    ]
    return f"<fieldset aria-label='rows to show'>{''.join(choices)}</fieldset>" if len(choices) > 1 else ""


def _section(rows: Rows, item: str) -> str:
    own = [row for row in rows if row.item == item]
    experiment = next((e for e in rows.experiments if e.item == item), None)
    heading, words = _readme(experiment, item, rows.experiments)
    parts = [f"<h2>{escape(heading)} {counts_html(counts(own))}</h2>"]
    parts += [_picture(figure) for figure in rows.figures if figure.item == item]
    parts.append(_rows_table(own))
    if note := seeds_note(own):
        parts.append(f"<p class='note'>{escape(note)}</p>")
    if words:
        parts.append(f"<div class='words'>{words}</div>")
    return f'<section id="{item}">' + "\n".join(parts) + "</section>"


def _readme(experiment: Experiment | None, item: str, experiments: Sequence[Experiment]) -> tuple[str, str]:
    """Give the heading of an experiment's README, and the rest of it."""
    file = None if experiment is None else experiment.folder / "README.md"
    if file is None or not file.is_file():
        return item_name(item), ""
    return from_markdown(file.read_text(encoding="utf-8"), {f"{e.paper}-{e.item}": e.item for e in experiments})


def _rows_table(rows: Sequence[Row]) -> str:
    named = columns(rows)
    headings = [name for name, _ in named]
    lines = []
    for row, values in zip(rows, zip(*(column for _, column in named), strict=True), strict=True):
        cells = [_cell(name, value, row) for name, value in zip(headings, values, strict=True)]
        lines.append(f'<tr class="{_classes(row)}">' + "".join(cells) + "</tr>")
    return table(headings, lines, RIGHT)


def _classes(row: Row) -> str:
    """Give what the filters and the style know of a row."""
    words = [STATES[row.verdict]]
    words += ["published"] if row.kind in ("number", "claim") else []
    return " ".join([*words, "changed"] if row.is_changed else words)


def _cell(heading: str, value: object, row: Row) -> str:
    text = CODE.sub(r"<code>\1</code>", escape(cell_text(value)))
    if heading == "verdict":
        text = f'<span class="mark {STATES[row.verdict]}">{text}</span>'
    # Claims are sentences: they are not numbers to be lined up.
    is_claim = isinstance(value, str) and row.kind == "claim"
    return cell(text, heading, () if is_claim else RIGHT)


def _picture(figure: GatheredFigure) -> str:
    file = escape(figure.file, quote=True)
    caption = f"{escape(figure.caption)} " if figure.caption else ""
    return (
        f'<figure><a href="{file}.svg"><img src="{file}.svg" alt="{escape(figure.title, quote=True)}" loading="lazy">'
        f'</a><figcaption>{caption}<a href="{file}.csv">numbers</a> <a href="{file}.png">PNG</a> '
        f'<a href="{file}.pdf">PDF</a></figcaption></figure>'
    )


def _simulations(made: Sequence[SimulationCost]) -> str:
    if not made:
        return ""
    headings = ("item", "run", "simulated", "took", "threads", "packet-hops", "a second")
    lines = []
    for m in made:
        numbers = (f"{m.simulated_s:g} s", f"{m.wall_s:.3g} s", str(m.threads), f"{m.packet_hops:,}")
        cells = (escape(item_name(m.item)), escape(m.run), *numbers, f"{m.packet_hops / m.wall_s:.3g}")
        named = zip(cells, headings, strict=True)
        lines.append("<tr>" + "".join(cell(text, heading, headings[2:]) for text, heading in named) + "</tr>")
    body = table(headings, lines, headings[2:])
    return f"<details><summary>What the simulations took</summary>{body}</details>"
