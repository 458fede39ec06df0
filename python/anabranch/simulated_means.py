"""Means of simulated runs over a time: of rates, loads, queues; and what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.simulated import Simulated

    Window = tuple[float, float]

OF_TIME = (
    *("mean-rate", "mean-granted", "average-rate", "mean-rtt"),
    *("mean-load", "utilisation", "mean-wait"),
    *("deviation", "subflow-deviation"),
)
"""Measures that are means over a time."""


OF_STAY = ("transfer-rate", "lost")
"""Measures of all the time that connections are there."""


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
    row = run.result.links.row(by_predicate=pl.col("link") == link, named=True)
    # From a sample on it is what the sample says, and the first sample is at the end of the first period.
    at = run.samples("link").filter(pl.col("name") == link, pl.col("time_s").is_between(*window_s, closed="left"))
    changing = at["capacity_bps"].drop_nulls().to_numpy()
    capacity = float(changing.mean()) if len(changing) else float(row["capacity_bps"])
    return mean_sample(run, "link", [link], "carried_bps", window_s) / capacity


def mean_wait_ms(run: Simulated, link: str, window_s: Window) -> float:
    """Give how long bytes waited at a link and were in transmission: what waited by what left a second."""
    carried = mean_sample(run, "link", [link], "carried_bps", window_s)
    if carried <= 0.0:
        raise UnmeasuredError(f"link `{link}` carried nothing in the window, so nothing has waited; take another time")
    return 8e3 * mean_sample(run, "link", [link], "backlog_bytes", window_s) / carried


def transfer_rate_bps(run: Simulated, connections: list[int]) -> float:
    """Give the sum of what some connections delivered a second, each from its start until all had arrived."""
    return float(run.result.connections["mean_rate_bps"].gather(connections).sum())


def lost_share(run: Simulated, connections: list[int]) -> float:
    """Give how much of the bytes that some connections sent was taken for lost."""
    own = run.result.connections[connections]
    return float(own["lost_bytes"].sum()) / float(own["sent_bytes"].sum())


def dropped(run: Simulated) -> float:
    """Count the packets that links dropped or lost, in all."""
    return float(run.result.links["dropped"].sum())
