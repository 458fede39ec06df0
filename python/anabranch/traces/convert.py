"""One kind of trace made of the other."""

from __future__ import annotations

import numpy as np

from anabranch.errors import ScenarioError
from anabranch.traces.trace import BITS, OPPORTUNITY_BYTES, Capacities, Opportunities, bins_of

MOST_OPPORTUNITIES = 100_000_000
"""More do not fit into the memory of those who read them."""

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
    if not 0 < end_ms < 1 << 32:
        raise ScenarioError(f"it ends at {trace.duration_s:g} s; opportunities need an end at 1 ms to 49 days")
    bits = trace.bits_by(np.arange(end_ms + 1) / 1e3)
    if not bits[-1] / BITS / opportunity_bytes < MOST_OPPORTUNITIES:
        reason = f"it carries {bits[-1]:g} bits, which are over {MOST_OPPORTUNITIES} opportunities"
        raise ScenarioError(f"{reason}; give a shorter trace or larger opportunities")
    filled = np.floor((bits + ROUNDING_BITS) / (BITS * opportunity_bytes)).astype(np.int64)
    times = np.repeat(np.arange(1, end_ms + 1), np.diff(filled))
    if len(times) == 0 or times[-1] != end_ms:
        times = np.append(times, end_ms)
    return Opportunities(times.astype(np.uint32))


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
