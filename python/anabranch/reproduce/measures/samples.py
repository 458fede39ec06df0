"""Means over the samples of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.measures.registry import UnmeasuredError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.outcomes.simulation import Simulation


def mean_sample(run: Simulation, of: str, names: Sequence[str], column: str, window_s: Window) -> float:
    """Give the mean of a column of the samples of some things; 0 while one was not there.

    A sample counts the time since the one before. So a sample at the start of the window is left out, and one at its
    end is in. For values that hold at an instant the samples are the same.

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
