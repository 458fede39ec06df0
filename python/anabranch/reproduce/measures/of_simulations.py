"""Means of simulated runs over a time: of rates, loads, queues; what was lost, what was marked, how long it waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.percentiles import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.execute.simulated import Simulated

    Window = tuple[float, float]

OF_TIME = (
    *("mean-rate", "mean-granted", "average-rate", "least-rate", "most-rate", "jain", "mean-rtt"),
    *("mean-pace", "mean-window", "marked-share"),
    *("mean-load", "mean-capacity", "utilisation", "mean-wait", "mean-backlog"),
    *("deviation", "subflow-deviation"),
)
"""Measures that are means over a time."""


OF_STAY = ("transfer-rate", "lost", "marked")
"""Measures of all the time that connections are there."""

OF_WAITS = {
    "p5-wait": "p5_s",
    "p25-wait": "p25_s",
    "median-wait": "p50_s",
    "p75-wait": "p75_s",
    "p95-wait": "p95_s",
    "most-wait": "most_s",
}
"""Measures of how long packets waited after the warm-up, and the columns that they are in."""

WAIT_PARTS = {
    "least_s": 0.0,
    **{f"p{percent}_s": percent / 100 for percent in (1, 5, 10, 25, 50, 75, 90, 95, 99)},
    "most_s": 1.0,
}
"""All columns of waits, and the parts of the packets that waited no longer."""


class UnmeasuredError(ScenarioError):
    """What is asked for was not to be measured at that time."""


def mean_sample(run: Simulated, of: str, names: Sequence[str], column: str, window_s: Window) -> float:
    """Give the mean of what was sampled of some things; 0 while one was not there.

    Samples count the time since the one before, so that of a window the first is left out; one at the end of the run is
    in. Of what holds at an instant the same samples are taken.

    Raises
    ------
    UnmeasuredError
        There is no sample in the window.
    """
    rows = run.samples(of).filter(
        pl.col("name").is_in(names), pl.col("time_s") > window_s[0], pl.col("time_s") <= window_s[1]
    )
    if not rows[column].count():
        raise UnmeasuredError("there are no samples in the window; make it longer")
    return float(rows[column].mean())  # type: ignore[arg-type]


def mean_utilisation(run: Simulated, link: str, window_s: Window) -> float:
    """Give what a link carried by what it could have carried."""
    capacity = mean_capacity_bps(run, link, window_s)
    if capacity <= 0.0:
        raise UnmeasuredError(f"link `{link}` could carry nothing in the window; take another time")
    return mean_sample(run, "link", [link], "carried_bps", window_s) / capacity


def mean_capacity_bps(run: Simulated, link: str, window_s: Window) -> float:
    """Give what a link could have carried a second in the time that the samples of a window count.

    Exact for capacities that change at any time; of opportunities to send to a bin of theirs at both ends.
    """
    times = run.samples("link").filter(pl.col("name") == link)["time_s"].to_numpy()
    before, last = np.searchsorted(times, window_s, side="right")
    if before == last:
        raise UnmeasuredError("there are no samples in the window; make it longer")
    return run.capacity(link).mean(float(times[before - 1]) if before else 0.0, float(times[last - 1]))


def mean_wait_ms(run: Simulated, link: str, window_s: Window) -> float:
    """Give how long bytes waited at a link and were in transmission: what waited by what left a second."""
    carried = mean_sample(run, "link", [link], "carried_bps", window_s)
    if carried <= 0.0:
        raise UnmeasuredError(f"link `{link}` carried nothing in the window, so nothing has waited; take another time")
    return 8e3 * mean_sample(run, "link", [link], "backlog_bytes", window_s) / carried


def mean_backlog_kb(run: Simulated, link: str, window_s: Window) -> float:
    """Give what waited at a link, in kB."""
    return mean_sample(run, "link", [link], "backlog_bytes", window_s) / 1e3


def waits_ms(run: Simulated, of: str, name: str) -> Recording:
    """Give how long packets waited after the warm-up: at a link, or of a subflow on its whole way.

    Raises
    ------
    UnmeasuredError
        It was not recorded, or no packet waited there.
    """
    if run.result.waits is None:
        raise UnmeasuredError('"waits" was not recorded; add it to record under [run]')
    row = run.result.waits.filter(of=of, name=name)
    if not len(row):
        raise UnmeasuredError("it carried no packet after the warm-up; take another, or a longer run")
    values = row.select(*WAIT_PARTS).to_numpy()[0]
    return Recording(int(row["packets"].item()), 1e3 * values, np.array(list(WAIT_PARTS.values())))


def waited_ms(run: Simulated, of: str, name: str, column: str) -> float:
    """Give a percentile of these, by its column in the table of waits."""
    return float(waits_ms(run, of, name).values[list(WAIT_PARTS).index(column)])


def jain_index(rates: Sequence[float]) -> float:
    """Give Jain's index of some rates: 1 if all are the same, 1 by their number if one has all [jain1984]."""
    total = sum(rates)
    if total <= 0.0:
        raise UnmeasuredError("nothing was delivered in the window, so there is nothing to share; take another time")
    return total**2 / (len(rates) * sum(rate**2 for rate in rates))


def transfer_rate_bps(run: Simulated, connections: list[int]) -> float:
    """Give the sum of what some connections delivered a second, each from its start until all had arrived."""
    return float(run.result.connections["mean_rate_bps"].gather(connections).sum())


def lost_share(run: Simulated, connections: list[int]) -> float:
    """Give how much of the bytes that some connections sent was taken for lost."""
    own = run.result.connections[connections]
    return float(own["lost_bytes"].sum()) / float(own["sent_bytes"].sum())


def marked_share(run: Simulated, connections: list[int]) -> float:
    """Give how many of the packets that some connections delivered came with a mark."""
    own = run.result.connections[connections]
    packets = float((own["delivered_bytes"].to_numpy() / run.packet_bytes[connections]).sum())
    if packets <= 0.0:
        raise UnmeasuredError("nothing was delivered, so nothing was marked; take a longer run")
    subflows = run.result.subflows.filter(pl.col("connection").is_in(own["connection"].to_list()))
    return float(subflows["marked"].sum()) / packets


def dropped(run: Simulated) -> float:
    """Count the packets that links dropped or lost, in all."""
    return float(run.result.links["dropped"].sum())
