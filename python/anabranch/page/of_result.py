"""The data of a finished run for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.page.content import Content
from anabranch.page.of_network import network_header
from anabranch.page.palette import looks
from anabranch.page.settings import settings_of
from anabranch.runs.columns import kind_of
from anabranch.runs.headline import headline
from anabranch.runs.settling import spread_of

if TYPE_CHECKING:
    from anabranch.runs.result import Result
    from anabranch.runs.series import Series

SHOWN = {
    "connection": ("granted_bps", "delivered_bps", "fair_bps", "error"),
    "subflow": ("granted_bps", "delivered_bps", "window_bytes", "rtt_s", "pace_bps", "marked_share"),
    "link": ("granted_bps", "carried_bps", "capacity_bps", "backlog_bytes", "peak_packets", "error"),
    "run": ("residual", "overload", "present", "peak_packets"),
}
"""The columns of the series that the page shows, by kind of thing."""

LATE = (("link", "peak_packets"),)
"""The columns that the page shows on request only, as it does with those of subflows: they come last, and the page
opens without them."""

PERCENTILES = (10, 50, 90)
SPREAD = ("least", "p10", "p50", "p90", "most")
"""The columns of the spread of errors that the page shows."""

FACTS = ("title", "seed", "finished", "reached_s", "duration_s", "warm_up_s", "sample_s", "warnings")
"""The values of the run itself that the page shows."""


def result_content(result: Result, *, name: str = "") -> Content:
    """Give the data of a run for the page.

    Parameters
    ----------
    name : str
        What the run is called beside others; its title if not given.

    Raises
    ------
    ScenarioError
        The tables do not belong together.
    """
    content = Content(
        {
            "kind": "run",
            "name": name or result.meta["title"] or "run",
            **{fact: result.meta[fact] for fact in FACTS},
            # Folders of earlier versions have no description.
            "description": result.meta.get("description") or "",
            "settings": settings_of(result.scenario),
            "headline": headline(result).values(),
            **_lateness(result),
            "times_s": _times(result.series),
            **network_header(result.network),
            "connections": _connections(result),
            "subflows": _subflows(result),
            "protocols": looks(result.connections["protocol"].unique(maintain_order=True)),
        }
    )
    content.header["links"] |= {
        column: result.links[column].to_list() for column in ("utilisation", "dropped", "most_packets")
    }
    _add_series(content, result, late=False)
    _add_errors(content, result)
    content.header["first_bytes"] = content.size
    _add_series(content, result, late=True)
    return content


def _lateness(result: Result) -> dict[str, Any]:
    """Give how late the packets of a live run were, and what makes it not valid; nothing for a simulation."""
    if not result.meta.get("live"):
        return {}
    late = {name: result.meta[f"lateness_{name}_s"] for name in ("p50", "p99", "max")}
    return {"late_s": late, "faults": result.meta["faults"]}


def _times(series: Series) -> list[float]:
    """Give the instants of the samples, which all things share."""
    table = next(iter(series.values()), None)
    return [] if table is None else table["time_s"].unique().sort().to_list()


def _connections(result: Result) -> dict[str, list[Any]]:
    number = {name: i for i, name in enumerate(result.network.core.node_names)}
    frame = result.connections
    columns = ("protocol", "start_s", "stopped_s", "mean_rate_bps", "granted_bps", "fair_bps", "error")
    return {
        "name": frame["connection"].to_list(),
        # Of several sources the paths tell.
        "source": [number.get(source) for source in frame["source"]],
        "target": [number.get(target) for target in frame["target"]],
        **{column: frame[column].to_list() for column in (*columns, "completion_s")},
    }


def _subflows(result: Result) -> dict[str, list[Any]]:
    connection = {name: i for i, name in enumerate(result.connections["connection"])}
    link = {name: i for i, name in enumerate(result.network.core.link_names)}
    frame = result.subflows
    return {
        "name": frame["subflow"].to_list(),
        "connection": [connection[name] for name in frame["connection"]],
        "path": [_numbers(path, link) for path in frame["path"].to_list()],
        **{column: frame[column].to_list() for column in ("mean_rate_bps", "granted_bps", "mean_delay_s")},
    }


def _numbers(path: list[str], link: dict[str, int]) -> list[int]:
    """Give the numbers of the links of a path."""
    if unknown := [name for name in path if name not in link]:
        text = " > ".join(path)
        raise ScenarioError(f"path `{text}`: there is no link `{unknown[0]}` in the network; run the scenario again")
    return [link[name] for name in path]


def _add_series(content: Content, result: Result, *, late: bool) -> None:
    """Add what was sampled, as it was recorded: what the page opens with, or what comes late."""
    samples = len(content.header["times_s"])
    # Of the two loads of a link the measured one is shown, if data were sent.
    unshown = ("link", "granted_bps" if result.links["carried_bytes"].sum() else "carried_bps")
    for of, columns in SHOWN.items():
        own = result.series.get(kind_of(of))
        if own is None or own.is_empty():
            continue
        if len(own) % samples:
            raise ScenarioError(f"the series of the {of}s have no value for each sample; run the scenario again")
        for column in columns:
            is_late = of == "subflow" or (of, column) in LATE
            if (of, column) != unshown and is_late == late and result.series.has(kind_of(of), column):
                content.add(of, column, own[column].cast(pl.Float64).to_numpy().reshape(-1, samples))


def _add_errors(content: Content, result: Result) -> None:
    """Add how far connections, and bottlenecks, are from fair at each sample: extremes and percentiles."""
    times = np.array(content.header["times_s"])
    for of in ("connection", "link"):
        try:
            frame = _delivered_errors(result) if of == "connection" else None
            frame = result.errors(PERCENTILES, of=of) if frame is None else frame
        except ScenarioError:  # not recorded
            continue
        if frame.is_empty():
            continue
        at = np.searchsorted(times, frame["time_s"].to_numpy())
        table = np.full((len(SPREAD), len(times)), np.nan)
        table[:, at] = frame.select(SPREAD).cast(pl.Float64).to_numpy().T
        content.add("errors", of, table)


def _delivered_errors(result: Result) -> pl.DataFrame | None:
    """Give how far delivered rates are from fair; nothing where no windows were recorded, and granted rates count."""
    series = result.series
    if not series.has("subflows", "window_bytes") or not series.has("connections", "delivered_bps", "fair_bps"):
        return None
    rows = series["connections"].filter(pl.col("fair_bps") > 0.0)
    return spread_of(rows, pl.col("delivered_bps") / pl.col("fair_bps") - 1.0, PERCENTILES)
