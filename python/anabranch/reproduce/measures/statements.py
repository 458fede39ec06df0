"""Measures of statements that are tried on many cases, and of the steadiness of rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.lookup import CONNECTIONS, LINK
from anabranch.reproduce.measures.registry import Subject, UnmeasuredError, measure
from anabranch.reproduce.outcomes.groups import FLUID, SIMULATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Followed, Simulated


def _number_of(run: Followed, text: str) -> float:
    # A rival in the place of the run may be of another kind.
    numbers = getattr(run, "numbers", {})
    if text not in numbers:
        raise ScenarioError(f"there is no number `{text}`; name one of {', '.join(numbers) or 'none'}")
    return float(numbers[text])


@measure("found", of=Subject("number of the model", _number_of), unit="", runs=FLUID)
def found(_run: Followed, value: float) -> float:
    """Give a number of the model by its name, such as `holding`, the cases in which a statement holds."""
    return value


@measure("variation", of=CONNECTIONS, unit="of the mean", runs=SIMULATED, windowed=True)
def variation(run: Simulated, connections: Sequence[Named], window_s: Window) -> float:
    """Give how much delivered rates vary between samples.

    It is the standard deviation by the mean of each connection's rate over the samples of the window, as a mean over
    the connections.
    """
    rows = _samples(run, "connection", [own.name for own in connections], window_s)
    rate = pl.col("delivered_bps")
    each = rows.group_by("name", maintain_order=True).agg(share=rate.std() / rate.mean())
    return _some(each["share"].mean())


@measure("load-variation", of=LINK, unit="of the mean", runs=SIMULATED, windowed=True)
def load_variation(run: Simulated, link: Named, window_s: Window) -> float:
    """Give the standard deviation by the mean of what the link carried, over the samples of the window."""
    carried = _samples(run, "link", [link.name], window_s)["carried_bps"]
    mean = _some(carried.mean())
    return _some(carried.std()) / mean if mean else math.inf


def _samples(run: Simulated, of: str, names: Sequence[str], window_s: Window) -> pl.DataFrame:
    """Give the samples of some things after the beginning of a window and up to its end."""
    return run.simulation.samples(of).filter(
        pl.col("name").is_in(names), pl.col("time_s") > window_s[0], pl.col("time_s") <= window_s[1]
    )


def _some(value: object) -> float:
    if value is None:
        raise UnmeasuredError("there are fewer than two samples in the window; make it longer")
    return float(cast("float", value))
