"""A page that lays a simulation and a live run of one scenario over each other."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.figures import draw_overlaid
from anabranch.reproduce.report.html import cell, framed, table
from anabranch.runs.compare import compared

if TYPE_CHECKING:
    from anabranch.runs.result import Result

HEADINGS = ("connection", "simulated", "live", "difference", "simulated RTT", "live RTT", "RTT difference")

MOST_DRAWN = 20
"""So many connections are drawn."""


def simulated_and_live_page(simulated: Result, live: Result) -> str:
    """Give a whole page: a table of what both measured, and for each connection a figure of both over time."""
    meta = live.meta
    title = f"{meta['title'] or 'A scenario'}: simulated and live"
    names = live.connections["connection"].to_list()
    results = {"simulated": simulated, "live": live}
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(_words(live))}</p>"]
    parts += [f"<p><strong>NOT VALID:</strong> {escape(fault)}</p>" for fault in meta["faults"]]
    parts.append(_table(simulated, live))
    parts += [_picture(results, name) for name in names[:MOST_DRAWN]]
    if len(names) > MOST_DRAWN:
        parts.append(f"<p>The first {MOST_DRAWN} of {len(names)} connections are drawn.</p>")
    return framed(title, "\n".join(parts))


def _words(live: Result) -> str:
    meta = live.meta
    late = ", ".join(f"{meta[f'lateness_{name}_s'] * 1e3:.3g} ms ({name})" for name in ("p50", "p99", "max"))
    return (
        f"{meta['reached_s']:g} s, seed {meta['seed']}; means after {meta['warm_up_s']:g} s. Rates are of whole "
        f"packets, headers included. Packets of the live run were late by {late}, on Linux {meta['kernel']}."
    )


def _table(simulated: Result, live: Result) -> str:
    right = HEADINGS[1:]
    rows = []
    for row in compared(simulated, live).iter_rows(named=True):
        texts = [
            escape(row["connection"]),
            *("" if row[name] is None else _core.format_rate(row[name]) for name in ("simulated_bps", "live_bps")),
            _percent(row["rate_difference"]),
            *("" if row[name] is None else f"{row[name] * 1e3:.1f} ms" for name in ("simulated_rtt_s", "live_rtt_s")),
            _percent(row["rtt_difference"]),
        ]
        cells = (cell(text, heading, right) for text, heading in zip(texts, HEADINGS, strict=True))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return table(HEADINGS, rows, right)


def _percent(difference: float | None) -> str:
    return "" if difference is None else f"{difference:+.1%}"


def _picture(results: dict[str, Result], connection: str) -> str:
    """Give a figure as SVG within the page."""
    stream = io.StringIO()
    draw_overlaid(results, connection).savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    drawing = stream.getvalue()
    return f"<figure>{drawing[drawing.index('<svg') :]}</figure>"
