"""More seeds for the points whose intervals are too wide.

The margin of error of a mean is the half-width of its 95 % interval, relative to the mean. A point is run with the
least number of seeds, then with some more at a time, until the margin of each of its numbers is small enough or it has
had the most. Seeds are 1, 2, 3 ...; so the answer is the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.sweeps.intervals import estimates
from anabranch.sweeps.points import frame_of
from anabranch.sweeps.reduce import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.sweeps.file import Repeat, Sweep
    from anabranch.sweeps.points import Point
    from anabranch.sweeps.quantity import SweepQuantity
    from anabranch.sweeps.results import Swept


def first_seeds(points: Sequence[Point], repeat: Repeat) -> list[Point]:
    """Give points with the seeds that each begins with."""
    return [point.with_seed(seed) for point in points for seed in range(1, repeat.least + 1)]


def unsure(sweep: Sweep, points: Sequence[Point], swept: Swept) -> list[Point]:
    """Give the points whose intervals are still too wide, with the next seeds of each."""
    repeat = sweep.file.repeat
    assert repeat is not None, "it is asked for"
    own = frame_of(points).with_row_index("point")
    varied = [name for name in own.columns if name != "point"]
    had = swept.points if varied else swept.points.with_columns(pl.lit(0, pl.UInt32).alias("point"))
    counts = had.join(own, on=varied, nulls_equal=True) if varied else had
    seeds = dict(counts.group_by("point").agg(pl.col("seed").max()).iter_rows())
    wide = {point for quantity in repeat.of or sweep.file.table for point in _wide(swept, quantity, own, repeat.margin)}
    more = []
    for point in sorted(wide):
        next_seed = seeds[point] + 1
        more += [points[point].with_seed(s) for s in range(next_seed, min(next_seed + repeat.step, repeat.most + 1))]
    return more


def _wide(swept: Swept, quantity: SweepQuantity, points: pl.DataFrame, margin: float) -> set[int]:
    """Give the points at which a mean of a quantity has too wide an interval."""
    varied = [name for name in points.columns if name != "point"]
    groups = list(dict.fromkeys((*varied, *quantity.by)))
    found = estimates(numbers(swept.numbered(quantity.of), quantity, groups), groups, "student")
    # Of one number there is no interval: it is not sure.
    is_wide = pl.col("half_width").is_null() | (pl.col("half_width") > margin * pl.col("mean").abs())
    wide = found.filter(is_wide)
    if not varied:
        return {0} if len(wide) else set()
    return set(wide.join(points, on=varied, nulls_equal=True)["point"])
