"""Percentiles of several recordings together, of each of which only some percentiles are known.

Of recording i the part F_i(x) of all that is no greater than x is known where a percentile was recorded, 0 below the
least and 1 from the greatest on; between these it is taken to be straight. Together::

    F(x) = sum of n_i F_i(x) / sum of n_i       n_i: how many were recorded in i

and the percentile p is where F comes to p / 100. So it is exact for one recording, at the percentiles that were
recorded, and between the two recorded values that surround it for several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Recording:
    """How many were recorded, and what parts of these are no greater than some values."""

    count: int
    values: NDArray[np.float64]
    """In order, from the least of all to the greatest."""
    parts: NDArray[np.float64]
    """In order, from 0 to 1."""

    def parts_at(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the parts that are less than each of some values, and those that are no greater."""
        first, last = (np.searchsorted(self.values, values, side=side) for side in ("left", "right"))
        between = np.interp(values, self.values, self.parts)
        is_known = first < last
        # Where several parts have one value, there is a step from the first to the last.
        less = np.where(is_known, self.parts[np.minimum(first, len(self.parts) - 1)], between)
        return less, np.where(is_known, self.parts[last - 1], between)


def pooled(recordings: Sequence[Recording], parts: Sequence[float]) -> list[float]:
    """Give the values that some parts of all recordings together do not exceed."""
    values = np.unique(np.concatenate([own.values for own in recordings]))
    weights = np.array([own.count for own in recordings]) / sum(own.count for own in recordings)
    both = [np.array(own.parts_at(values)) for own in recordings]
    less, no_greater = np.tensordot(weights, both, axes=1)
    steps = np.column_stack([less, no_greater]).ravel()
    found: list[float] = np.interp(parts, np.maximum.accumulate(steps), np.repeat(values, 2)).tolist()
    return found
