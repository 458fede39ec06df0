"""Distributions of simulations: Jain's index, backlogs, distances from equal rates, waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.reproduce.measures.distributions import PARTS, distribution, some
from anabranch.reproduce.measures.lookup import (
    CONNECTIONS,
    CONNECTIONS_AND_LINK,
    LINK,
    ConnectionsAndLink,
    Named,
    subflow_of,
)
from anabranch.reproduce.measures.percentiles import Recording
from anabranch.reproduce.measures.registry import Subject, UnmeasuredError
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated
    from anabranch.reproduce.outcomes.simulation import Simulation

CLOSE_S = 1e-9
"""Times closer than this are equal."""

WAIT_PARTS = {
    "least_s": 0.0,
    **{f"p{percent}_s": percent / 100 for percent in (1, 5, 10, 25, 50, 75, 90, 95, 99)},
    "most_s": 1.0,
}
"""The columns of the table of waits, and the parts of the packets that waited no longer."""


@distribution("jain", of=CONNECTIONS, unit="", runs=SIMULATED)
def jain_indices(run: Simulated, connections: Sequence[Named], window_s: Window) -> NDArray[np.float64]:
    """Give Jain's index of what the connections delivered from one sample to the next [jain1984].

    It counts the connections that were there all that time. There is none where these are fewer than two, or where
    nothing was delivered.
    """
    since = pl.col("time_s") - float(run.simulation.result.meta["sample_s"])
    rows = _with_stays(run.simulation, [own.name for own in connections], window_s).filter(
        pl.col("from_s") <= since + CLOSE_S, pl.col("time_s") <= pl.col("until_s") + CLOSE_S
    )
    rate = pl.col("delivered_bps")
    sums = rows.group_by("time_s", maintain_order=True).agg(
        count=rate.count(), total=rate.sum(), squares=(rate * rate).sum()
    )
    shared = sums.filter(pl.col("count") > 1, pl.col("total") > 0.0)
    return some(shared.select(pl.col("total") ** 2 / (pl.col("count") * pl.col("squares"))).to_series().to_numpy())


@distribution("backlog", of=LINK, unit="kB", runs=SIMULATED)
def backlogs_kb(run: Simulated, link: Named, window_s: Window) -> NDArray[np.float64]:
    """Give the backlog of the link at a sample, the packet in transmission included, in kB."""
    rows = run.simulation.samples("link").filter(pl.col("name") == link.name, pl.col("time_s").is_between(*window_s))
    return some(rows["backlog_bytes"].to_numpy() / 1e3)


@distribution("rate-difference", of=CONNECTIONS_AND_LINK, unit="rate", runs=SIMULATED)
def rate_differences(run: Simulated, subject: ConnectionsAndLink, window_s: Window) -> NDArray[np.float64]:
    """Give how far the granted rate of each connection is from its part of the link's capacity at a sample.

    Above or below. The part is the capacity at that time by the number of these connections that are there.
    """
    # At the instant at which it stops it is there no more.
    rows = _with_stays(run.simulation, subject.connections, window_s).filter(
        pl.col("time_s").is_between("from_s", "until_s", closed="left")
    )
    capacity = run.simulation.capacity(subject.link)
    at = np.searchsorted(capacity.time_s, rows["time_s"].to_numpy(), side="right") - 1
    part = pl.Series("part", capacity.value[at]) / rows.select(pl.len().over("time_s")).to_series()
    return some((rows["granted_bps"] - part).abs().drop_nulls().to_numpy()) / run.unit_bps


def _with_stays(run: Simulation, connections: Sequence[str], window_s: Window) -> pl.DataFrame:
    """Give the samples of connections, with the times from which and until which each is there."""
    stays = [(name, run.connections[name]["start_s"], run.connections[name]["end_s"]) for name in connections]
    times = pl.DataFrame(stays, ["name", "from_s", "until_s"], orient="row")
    rows = run.samples("connection").filter(pl.col("time_s").is_between(*window_s))
    return rows.join(times, on="name", maintain_order="left")


def _waiting_of(run: Simulated, text: str) -> tuple[str, str]:
    """Give the kind and the name of what packets wait at or on: the link of this name, or else the subflow."""
    if text in run.paths.demands.network.core.link_names:
        return "link", text
    return "subflow", run.simulation.result.subflows["subflow"][subflow_of(run, text)]


@distribution(
    "wait",
    of=Subject("link or subflow", _waiting_of),
    unit="ms",
    runs=SIMULATED,
    windowed=False,
    parts=PARTS | {"most": 1.0},
)
def waits_ms(run: Simulated, waiting: tuple[str, str], _window_s: Window) -> Recording:
    """Give the time that packets waited after the warm-up, in milliseconds, if `waits` are recorded.

    At a link until it began to send them, or on the whole way of a subflow, relays and the loops before included.
    """
    waits = run.simulation.result.waits
    if waits is None:
        raise UnmeasuredError('"waits" was not recorded; add it to record under [run]')
    of, name = waiting
    row = waits.filter(of=of, name=name)
    if not len(row):
        raise UnmeasuredError("it carried no packet after the warm-up; take another, or a longer run")
    values = row.select(*WAIT_PARTS).to_numpy()[0]
    return Recording(int(row["packets"].item()), 1e3 * values, np.array(list(WAIT_PARTS.values())))
