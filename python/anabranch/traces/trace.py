"""The two kinds of traces, and the rates in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPPORTUNITY_BYTES = 1500
"""Bytes that a link may send at an opportunity, by default."""

BITS = 8.0
"""Bits in a byte."""

LONGEST_S = 18_446_744.0
"""A trace is no longer than that, 213 days: scenarios have no later time."""


@dataclass(frozen=True)
class Opportunities:
    """Milliseconds at which a link may send, none before the last; at the last they begin again [netravali2015]."""

    times_ms: NDArray[np.uint32]

    @property
    def duration_s(self) -> float:
        """The time at which the trace begins again."""
        return float(self.times_ms[-1]) / 1e3


@dataclass(frozen=True)
class Capacities:
    """Capacities from some times on, each later than the last; the last time is the end, where it may begin again."""

    time_s: NDArray[np.float64]
    capacity_bps: NDArray[np.float64]

    @property
    def duration_s(self) -> float:
        """The last time of the trace."""
        return float(self.time_s[-1])

    def bits_by(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the bits that the link can carry from 0 until each time; before the first it has the last capacity."""
        starts = np.append(0.0, self.time_s)
        held, spans = np.append(self.capacity_bps[-1], self.capacity_bps[:-1]), np.diff(starts)
        # A capacity without limit that holds for no time carries nothing.
        carried = np.multiply(held, spans, out=np.zeros_like(spans), where=spans > 0.0)
        bits: NDArray[np.float64] = np.append(0.0, np.cumsum(carried))
        found: NDArray[np.float64] = np.interp(times_s, starts, bits)
        return found


Trace = Opportunities | Capacities


def held(rates_bps: NDArray[np.float64], step_s: float) -> Capacities:
    """Make a trace of rates that each hold for a step."""
    times: NDArray[np.float64] = np.arange(len(rates_bps) + 1, dtype=np.float64) * step_s
    return Capacities(times, np.append(rates_bps, rates_bps[-1]))


def rates_bps(trace: Trace, bin_s: float, *, opportunity_bytes: int = OPPORTUNITY_BYTES) -> NDArray[np.float64]:
    """Give the mean rate in each whole bin; in the one there is, if it is not whole.

    An opportunity at the border of two bins serves what came in the first, and counts there.
    """
    bins = max(int(trace.duration_s / bin_s + 1e-9), 1)
    edges: NDArray[np.float64] = np.minimum(np.arange(bins + 1) * bin_s, trace.duration_s)
    if isinstance(trace, Capacities):
        bits: NDArray[np.float64] = np.diff(trace.bits_by(edges))
    else:
        number = bins_of(trace.times_ms, bin_s * 1e3)
        count = np.bincount(number[number < bins], minlength=bins)
        bits = count.astype(np.float64) * (opportunity_bytes * BITS)
    rates: NDArray[np.float64] = bits / np.diff(edges)
    return rates


def bins_of(times_ms: NDArray[np.uint32], bin_ms: float) -> NDArray[np.int64]:
    """Give the numbers of the bins in which opportunities count."""
    return np.maximum(np.ceil(times_ms / bin_ms - 1e-9).astype(np.int64) - 1, 0)
