"""Measures of overload from grants: how far the rates that are granted at an instant exceed a capacity.

Grants are recorded at each change, so that nothing between samples is missed. A load on a link of capacity 0 is an
excess of 1, as in samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.measures.registry import measure
from anabranch.reproduce.outcomes.groups import SIMULATED

if TYPE_CHECKING:
    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.kinds import Simulated


@measure("peak-granted-overload", unit="of the capacity", runs=SIMULATED, windowed=True)
def peak_granted_overload(run: Simulated, window_s: Window) -> float:
    """Give the greatest granted load over capacity at any link and instant, less 1, from grants; 0 if none is over."""
    start, end = window_s
    holds = run.simulation.granted_excess.filter(pl.col("time_s") <= end, pl.col("until_s") > start)
    return max(float(holds["excess"].to_numpy().max(initial=0.0)), 0.0)
