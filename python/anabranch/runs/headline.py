"""The numbers that say at a glance how a run went: fairness, convergence, queues, utilisation, losses."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.runs.protocols import window_protocols
from anabranch.runs.scenario import read_scenario
from anabranch.runs.settling import HOLD_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.runs.result import Result

TOLERANCE = 0.01
"""Rates have settled once they stay within this share of where they end, until connections come or go again."""


@dataclass(frozen=True)
class Settling:
    """The convergence of rates after connections joined, or after connections left.

    Attributes
    ----------
    changes : int
        How many instants of change there were that left connections there, and time enough to tell.
    settled : int
        After how many of these rates settled before the next change.
    median_s, worst_s : float or None
        The median and the longest time of those after which rates settled; None if they never did.
    """

    changes: int
    settled: int
    median_s: float | None
    worst_s: float | None


@dataclass(frozen=True)
class Headline:
    """Numbers that say how a run went; each is None where it has no meaning or was not recorded.

    Attributes
    ----------
    jain : float or None
        Jain's index over the mean rates of connections by their claims, from 0 to 1: 1 where all are equal. None with
        fewer than two connections.
    fair_jain : float or None
        The index that the fair rates have: in a network with several bottlenecks fair rates differ from each other.
    fair_distance : float or None
        How far connections' mean rates are from their mean fair rates, relative to these: the mean of the magnitudes.
    worst_share : float or None
        The mean rate of the connection that is worst off, by its mean fair rate.
    worst_off : str or None
        The name of that connection.
    joins, leaves : Settling or None
        How soon granted rates settle after connections join, and after others leave. None if some protocol keeps
        windows, whose rates never rest, or if rates were not recorded.
    queue_packets : int or None
        The most packets that waited at a link, the one in transmission included.
    queue_s : float or None
        The longest time that this link needed to send all that waited there.
    queue_link : str or None
        The name of the link.
    utilisation : float or None
        The mean utilisation of the busiest link after the warm-up.
    busiest_link : str or None
        The name of that link.
    bottleneck_utilisation : float or None
        The mean over samples of the load of the links that are bottlenecks under the fair rates, by their capacity.
    dropped_packets : int or None
        The packets that links dropped or lost.
    lost_share : float or None
        The share of the sent bytes that was lost.
    """

    jain: float | None = None
    fair_jain: float | None = None
    fair_distance: float | None = None
    worst_share: float | None = None
    worst_off: str | None = None
    joins: Settling | None = None
    leaves: Settling | None = None
    queue_packets: int | None = None
    queue_s: float | None = None
    queue_link: str | None = None
    utilisation: float | None = None
    busiest_link: str | None = None
    bottleneck_utilisation: float | None = None
    dropped_packets: int | None = None
    lost_share: float | None = None

    def values(self) -> dict[str, Any]:
        """Give all as plain values by name, fit for JSON."""
        return asdict(self)


def headline(result: Result) -> Headline:
    """Give the numbers that say how a run went.

    Rates, and how far they are from fair, are those of `Result.mean_rates`.

    Parameters
    ----------
    result : Result
        A run, whatever it recorded: what was not recorded is None.
    """
    joins, leaves = _convergence(result)
    numbers = {**_fairness(result), **_queue(result), **_utilisation(result), **_losses(result)}
    return Headline(joins=joins, leaves=leaves, **numbers)


def _fairness(result: Result) -> dict[str, Any]:
    means = result.mean_rates()
    rates, fair = (means[name].fill_null(np.nan).to_numpy() for name in ("rate_bps", "fair_bps"))
    claims = _claims(result)
    found: dict[str, Any] = {"jain": _jain(rates / claims), "fair_jain": _jain(fair / claims)}
    known = means.drop_nulls("distance")
    if known.is_empty():
        return found
    distances = known["distance"].to_numpy()
    worst = int(distances.argmin())
    return found | {
        "fair_distance": float(np.abs(distances).mean()),
        "worst_share": float(1.0 + distances[worst]),
        "worst_off": known["connection"][worst],
    }


def _jain(values: NDArray[np.float64]) -> float | None:
    """Give the square of the sum by the number times the sum of squares; None for fewer than two values."""
    own = values[np.isfinite(values)]
    largest = own.max(initial=0.0)
    if len(own) < 2 or not largest > 0.0:
        return None
    own = own / largest
    # Rounding may lift it above its bound.
    return min(float(own.sum() ** 2 / (len(own) * (own**2).sum())), 1.0)


OTHER_CLAIM = re.compile(r"\b(?:weight|qos)\b(?! = 1\.0$)", re.MULTILINE)
"""What a resolved scenario has where some connection may have a claim other than 1."""


def _claims(result: Result) -> NDArray[np.float64]:
    """Give weight times QoS factor of each connection."""
    if not OTHER_CLAIM.search(result.scenario):
        return np.ones(len(result.connections))
    frame = read_scenario(result.scenario).demands.connections
    own = dict(zip(frame["name"], frame["weight"] * frame["qos"], strict=True))
    return np.array([own.get(name, 1.0) for name in result.connections["connection"]])


def _convergence(result: Result) -> tuple[Settling | None, Settling | None]:
    if not window_protocols().isdisjoint(result.connections["protocol"]):
        return None, None
    try:
        times = result.settling(TOLERANCE, of="final")
    except ScenarioError:  # not recorded
        return None, None
    told = times.filter((pl.col("present") > 0) & (pl.col("until_s") - pl.col("time_s") >= HOLD_S))
    leaves = told.filter((pl.col("left") > 0) & (pl.col("joined") == 0))
    return _settling(told.filter(pl.col("joined") > 0)), _settling(leaves)


def _settling(changes: pl.DataFrame) -> Settling | None:
    if changes.is_empty():
        return None
    times = changes["settling_s"].drop_nulls().to_numpy()
    median, worst = (float(np.median(times)), float(times.max())) if len(times) else (None, None)
    return Settling(len(changes), len(times), median, worst)


def _queue(result: Result) -> dict[str, Any]:
    links = result.links.drop_nulls("most_packets")
    if links.is_empty() or not links["most_packets"].max():
        return {}
    row = links.row(int(links["most_packets"].arg_max() or 0), named=True)
    wait = row.get("most_wait_s")  # version 0.1 did not write it
    seconds = float(wait) if wait is not None and np.isfinite(wait) else None
    return {"queue_packets": int(row["most_packets"]), "queue_s": seconds, "queue_link": row["link"]}


def _utilisation(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"bottleneck_utilisation": _bottleneck_utilisation(result)}
    links = result.links.filter(pl.col("utilisation").is_finite())
    if links.is_empty():
        return found
    row = links.row(int(links["utilisation"].arg_max() or 0), named=True)
    return found | {"utilisation": float(row["utilisation"]), "busiest_link": row["link"]}


def _bottleneck_utilisation(result: Result) -> float | None:
    load = "carried_bps" if result.links["carried_bytes"].sum() else "granted_bps"
    if not result.series.has("links", load, "error"):
        return None
    rows = result.series["links"].filter(pl.col("time_s") > result.meta["warm_up_s"], pl.col("error").is_not_null())
    # Under the fair rates a bottleneck is as loaded as its capacity. A link without a limit is never full.
    full = rows.filter(pl.col("fair_bps").is_finite(), pl.col("fair_bps") > 0.0)
    shares = full.select(pl.col(load) / pl.col("fair_bps")).to_series().drop_nans().drop_nulls()
    return float(shares.to_numpy().mean()) if len(shares) else None


def _losses(result: Result) -> dict[str, Any]:
    sent, lost = (int(result.connections[name].sum() or 0) for name in ("sent_bytes", "lost_bytes"))
    if not sent:
        return {}
    is_known = result.links["dropped"].count() > 0
    return {"dropped_packets": int(result.links["dropped"].sum()) if is_known else None, "lost_share": lost / sent}
