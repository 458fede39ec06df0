"""Conversion between the two kinds of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.formats.source import MOST_BYTES
from anabranch.traces.trace import BITS, OPPORTUNITY_BYTES, Capacities, Opportunities, bins_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_OPPORTUNITIES = MOST_BYTES // 4
"""More do not fit into a file that is read, with three digits and the end of the line for each, or more."""

MOST_MS = 7 * 24 * 3600 * 1000
"""A trace that is longer, a week, is not looked at millisecond by millisecond."""

MS_AT_ONCE = 1 << 20
"""The number of milliseconds that are in memory together."""

ROUNDING_BITS = 1e-3
"""By so much a sum of bits may fall short of an opportunity that it is to fill."""


def to_opportunities(trace: Capacities, *, opportunity_bytes: int = OPPORTUNITY_BYTES) -> Opportunities:
    """Give an opportunity at the end of each millisecond by which the link could have sent one more.

    Bits are summed up from the beginning, and what is left of them in a millisecond counts in the next. The last
    opportunity stands at the end of the trace, also if it is not full by then: there the trace begins again.

    Raises
    ------
    ScenarioError
        The trace has no end, is without limit, or has too many opportunities.
    """
    end_ms = round(trace.duration_s * 1e3)
    if not 0 < end_ms <= MOST_MS:
        raise ScenarioError(
            f"it ends at {trace.duration_s:g} s; opportunities need an end at 1 ms to {MOST_MS / 1e3:g} s"
        )
    bits = float(trace.bits_by(np.array([end_ms / 1e3]))[0])
    if not bits / BITS / opportunity_bytes < MOST_OPPORTUNITIES:
        reason = f"it carries {bits:g} bits, which are over {MOST_OPPORTUNITIES} opportunities"
        raise ScenarioError(f"{reason}; give a shorter trace or larger opportunities")
    parts = [
        _opportunities(trace, first, min(first + MS_AT_ONCE, end_ms), opportunity_bytes)
        for first in range(0, end_ms, MS_AT_ONCE)
    ]
    if len(parts[-1]) == 0 or parts[-1][-1] != end_ms:
        parts.append(np.array([end_ms], dtype=np.uint32))
    return Opportunities(np.concatenate(parts))


def _opportunities(trace: Capacities, first_ms: int, last_ms: int, size: int) -> NDArray[np.uint32]:
    """Give the opportunities at the ends of milliseconds after the first until the last."""
    times = np.arange(first_ms, last_ms + 1)
    filled = np.floor((trace.bits_by(times / 1e3) + ROUNDING_BITS) / (BITS * size)).astype(np.int64)
    return np.repeat(times[1:].astype(np.uint32), np.diff(filled))


def to_capacities(
    trace: Opportunities, *, bin_s: float = 0.02, opportunity_bytes: int = OPPORTUNITY_BYTES
) -> Capacities:
    """Give the rate of the opportunities in each bin; bins of the rate before are left out.

    Raises
    ------
    ScenarioError
        A bin is no whole number of milliseconds.
    """
    bin_ms = round(bin_s * 1e3)
    if bin_ms < 1 or abs(bin_ms - bin_s * 1e3) > 1e-6:
        raise ScenarioError(f"a bin of {bin_s * 1e3:g} ms cannot be; give a whole number of milliseconds")
    end_ms = int(trace.times_ms[-1])
    starts = np.arange(0, end_ms, bin_ms)
    count = np.bincount(bins_of(trace.times_ms, bin_ms), minlength=len(starts))
    width_s = np.diff(np.append(starts, end_ms)) / 1e3
    rates = count * opportunity_bytes * BITS / width_s
    is_new = np.append(True, rates[1:] != rates[:-1])
    return Capacities(np.append(starts[is_new], end_ms) / 1e3, np.append(rates[is_new], rates[-1]))
