"""The contents of the cards of networks, demands, paths, allocations and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.errors import CertificateError, ScenarioError
from anabranch.notebook.chart import COLOURS, chart
from anabranch.notebook.map import network_map
from anabranch.notebook.markup import ROWS, card, count, legend, rate, table

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network
    from anabranch.model.paths import Paths
    from anabranch.runs.result import Result

WARM = 0.01
"""A link that was loaded to within this share of its capacity, in the mean, counts as full."""


def network_html(network: Network) -> str:
    """Show a network: its size and a map."""
    capacity = network.core.capacity_bps
    facts = [f"{count(len(network), 'node')}, {count(len(capacity), 'directed link')}"]
    if len(capacity):
        low, high = (rate(end) if np.isfinite(end) else "unlimited" for end in (capacity.min(), capacity.max()))
        delay = network.core.delay_s
        facts.append(f"capacity {low}" + (f" to {high}" if low != high else "") + f", {_delays(delay)}")
    parts = int(network.parts.max()) + 1 if len(network) else 0
    if parts != 1:
        facts.append(f"{count(parts, 'part')} that no link joins")
    return card(network.name or "Network", facts, network_map(network))


def _delays(delay_s: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    low, high = f"{delay_s.min() * 1e3:.3g}", f"{delay_s.max() * 1e3:.3g}"
    return f"delay {low} ms" if low == high else f"delay {low} to {high} ms"


def demands_html(demands: Demands) -> str:
    """Show demands: their number, their sum, and the largest."""
    frame = demands.connections
    limited = frame.drop_nulls("demand_bps")
    facts = [f"{count(len(demands), 'connection')} on {demands.network.name or 'a network'}"]
    if len(limited):
        facts.append(f"{rate(float(limited['demand_bps'].sum()))} asked for")
    if len(limited) < len(frame):
        facts.append(f"{count(len(frame) - len(limited), 'connection')} without a limit")
    first = frame.sort("demand_bps", descending=True, nulls_last=False, maintain_order=True).head(ROWS)
    rows = [
        (name, source, target, rate(asked), f"{weight * qos:g}")
        for name, source, target, asked, weight, qos in first.select(
            "name", "source", "target", "demand_bps", "weight", "qos"
        ).iter_rows()
    ]
    return card("Demands", facts, table(["connection", "from", "to", "demand", "claim"], rows, len(frame)))


def paths_html(paths: Paths) -> str:
    """Show paths: their number, their lengths, and the first paths."""
    connections = len(paths.connection_offsets) - 1
    facts = [f"{count(len(paths), 'path')} of {count(connections, 'connection')}"]
    hops = np.diff(paths.path_offsets)
    if len(hops):
        facts.append(f"{hops.min()} to {hops.max()} links each, {hops.mean():.3g} in the mean")
    if len(paths.without):
        facts.append(f"{count(len(paths.without), 'connection')} without a path")
    owner = paths.connection[:ROWS].tolist()
    names = paths.demands.core.names
    nodes = paths.nodes().head(ROWS).to_list()
    rows = [(names[c], f"{n}", text) for c, n, text in zip(owner, hops[:ROWS].tolist(), nodes, strict=True)]
    return card("Paths", facts, table(["connection", "links", "nodes"], rows, len(paths)))


def allocation_html(allocation: Allocation) -> str:
    """Show an allocation: the certificate in words, links by utilisation, and the connections with the least level."""
    facts = allocation.summary
    title = allocation.how
    lines = [
        f"{count(facts['connections'], 'connection')}, {count(facts['subflows'], 'subflow')},"
        f" {count(facts['links'], 'link')}, of which {facts['saturated_links']:,} saturated",
        _carried(allocation),
        _proof(allocation),
    ]
    if allocation.paths is None:
        return card(title, lines, _least(allocation))
    utilisation = allocation.links["utilisation"].fill_null(0.0).to_numpy()
    drawn = network_map(allocation.paths.demands.network, utilisation, allocation.tolerance)
    return card(title, lines, drawn, _least(allocation))


def _carried(allocation: Allocation) -> str:
    total, asked = float(allocation.connection_rates.sum()), float(allocation.problem.demand.sum())
    write = rate if allocation.paths is not None else "{:.5g}".format
    return f"{write(total)} carried" + (f" of {write(asked)} asked for" if np.isfinite(asked) else "")


def _proof(allocation: Allocation) -> str:
    """Say what the certificate says."""
    found, tolerance = allocation.certificate, allocation.tolerance
    if not found.holds:
        if allocation.is_approximation and allocation.converged:
            return f"not fair to {tolerance:g}: some subflow is {found.residual:.2g} short of a bottleneck"
        try:
            allocation.certify()
        except CertificateError as error:
            return f"NOT certified at {tolerance:g}: {error}"
        return f"NOT certified at {tolerance:g}"
    overload = f"no link is overloaded by more than {max(found.overload, 0.0):.1g}"
    if isinstance(found, _core.PriceCertificate):
        return f"certified at {tolerance:g}: rates and prices are the optimum, duality gap {found.gap:.1g}; {overload}"
    return f"certified at {tolerance:g}: every subflow has a bottleneck, the worst to {found.residual:.2g}; {overload}"


def _least(allocation: Allocation) -> str:
    """Show the connections of the lowest level that a link holds back."""
    frame = allocation.connections
    unit = "" if allocation.paths is None else "_bps"
    names = pl.col("connection" if allocation.paths is None else "name").cast(pl.String)
    order = [pl.col("held_by") != "link", pl.col(f"level{unit}")]
    first = frame.sort(order, maintain_order=True).head(ROWS)
    write = rate if unit else (lambda value: "" if value is None else f"{value:.5g}")
    rows = [
        (name, write(got), write(asked), "" if met is None else f"{met:.0%}", write(level), bottleneck or held_by)
        for name, got, asked, met, level, bottleneck, held_by in first.select(
            names, f"rate{unit}", f"demand{unit}", "met", f"level{unit}", "bottleneck", "held_by"
        ).iter_rows()
    ]
    return table(["connection", "rate", "demand", "met", "level", "held back by"], rows, len(frame))


def result_html(result: Result) -> str:
    """Show a result: rates and errors over time, links by mean load, and the first connections."""
    meta = result.meta
    state = "" if meta["finished"] else f", stopped before {meta['duration_s']:g} s"
    protocols = ", ".join(result.connections["protocol"].unique().sort())
    facts = [
        f"{meta['reached_s']:g} s simulated{state}, seed {meta['seed']}; {meta['packet_hops']:,} packet-hops",
        f"{count(len(result.connections), 'connection')} under {protocols}; {count(len(result.subflows), 'subflow')},"
        f" {count(len(result.links), 'link')}"
        if protocols
        else f"no connections; {count(len(result.links), 'link')}",
        *meta["warnings"],
    ]
    utilisation = result.links["utilisation"].fill_null(0.0).to_numpy()
    return card(
        meta["title"] or "Result",
        facts,
        _rates(result),
        _errors(result),
        network_map(result.network, utilisation, WARM),
        _connections(result),
    )


def _rates(result: Result) -> str:
    """Draw the rates of the first connections over time: granted ones, or delivered where none are granted."""
    of_connections = result.series.get("connections", pl.DataFrame())
    names = result.connections["connection"].head(len(COLOURS)).to_list()
    for column, what in (("granted_bps", "granted"), ("delivered_bps", "delivered")):
        if column not in of_connections.columns:
            continue
        lines = {}
        for name in names:
            own = of_connections.filter(pl.col("connection") == name).select("time_s", column)
            lines[name] = (own["time_s"].to_numpy(), own[column].cast(pl.Float64).to_numpy())
        if drawn := chart(lines, f"{what} rates over time"):
            top = max(float(np.nanmax(values)) for _, values in lines.values() if np.isfinite(values).any())
            head = f"<div>{what} rates, up to {rate(top)}</div>"
            return head + drawn + legend(zip(COLOURS, names, strict=False))
    return ""


def _errors(result: Result) -> str:
    """Draw how far granted rates are from fair, if that was recorded."""
    try:
        errors = result.errors()
    except ScenarioError:
        return ""
    if not len(errors):
        return ""
    time = errors["time_s"].to_numpy()
    farthest = errors.select(pl.max_horizontal(pl.col("p10").abs(), pl.col("p90").abs())).to_series().to_numpy()
    mean = errors["mean"].abs().to_numpy()
    drawn = chart({"mean": (time, mean), "farthest": (time, farthest)}, "errors over time")
    if not drawn:
        return ""
    named = [(COLOURS[0], "mean, without sign"), (COLOURS[1], "the farther of the 10th and 90th percentile")]
    top = float(np.nanmax(np.maximum(mean, farthest)))
    return f"<div>errors of granted rates, up to {top:.2%}; at the end {mean[-1]:.2%}</div>{drawn}{legend(named)}"


def _connections(result: Result) -> str:
    means = result.mean_rates().select("rate_bps", "fair_bps", "distance").head(ROWS).iter_rows()
    own = result.connections.select("connection", "protocol", "completion_s").head(ROWS).iter_rows()
    rows = [
        (
            name,
            protocol,
            rate(mean),
            rate(fair),
            "" if distance is None else f"{distance:+z.1%}",
            "" if completion is None else f"{completion:.4g} s",
        )
        for (name, protocol, completion), (mean, fair, distance) in zip(own, means, strict=True)
    ]
    headings = ["connection", "protocol", "mean rate", "fair", "from fair", "completion"]
    return table(headings, rows, len(result.connections))
