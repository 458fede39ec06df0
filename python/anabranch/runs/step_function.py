"""A value that changes at instants and stays until the next: a granted rate over time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class StepFunction:
    """A value over time; 0 before the first change."""

    time_s: NDArray[np.float64]
    """The times of changes, increasing."""
    value: NDArray[np.float64]
    """The value from each time on."""

    def before(self, time_s: float) -> float:
        """Give the value just before a time."""
        return self._value(int(np.searchsorted(self.time_s, time_s)))

    def at(self, time_s: float) -> float:
        """Give the value from a time on."""
        return self._value(int(np.searchsorted(self.time_s, time_s, side="right")))

    def within(self, start_s: float, end_s: float) -> StepFunction:
        """Give the function from one time until before another; it begins with the value at the first."""
        inside = (self.time_s > start_s) & (self.time_s < end_s)
        time, value = self.time_s[inside], self.value[inside]
        return StepFunction(np.concatenate([[start_s], time]), np.concatenate([[self.at(start_s)], value]))

    def until(self, end_s: float) -> StepFunction:
        """Give the function from its first change until before a time."""
        inside = self.time_s < end_s
        return StepFunction(self.time_s[inside], self.value[inside])

    def mean(self, start_s: float, end_s: float) -> float:
        """Give the mean from one time until a later one."""
        inside = self.within(start_s, end_s)
        spans = np.diff(inside.time_s, append=end_s)
        return float((inside.value * spans).sum() / (end_s - start_s))

    def turns(self, threshold: float) -> list[float]:
        """Give the times of its turns: highs and lows with a way of more than the threshold before and after."""
        turns: list[float] = []
        # A value that creeps on by rounding, or comes back, does not make the turn later.
        least = 1e-3 * threshold
        direction, extreme, since = 0, 0.0, 0.0
        low = high = self.value[0] if len(self.value) else 0.0
        for time, value in zip(self.time_s.tolist(), self.value.tolist(), strict=True):
            if direction == 0:
                low, high = min(low, value), max(high, value)
                if high - low > threshold:
                    direction, extreme, since = (1 if value == high else -1), value, time
            elif (value - extreme) * direction > least:
                extreme, since = value, time
            elif (extreme - value) * direction > threshold:
                turns.append(since)
                direction, extreme, since = -direction, value, time
        return turns

    def _value(self, changes: int) -> float:
        return float(self.value[changes - 1]) if changes else 0.0


def longest_still(functions: Sequence[StepFunction], start_s: float, end_s: float, threshold: float) -> float:
    """Give the longest time for which none of some functions moves by more than a threshold."""
    times = np.unique(np.concatenate([f.within(start_s, end_s).time_s for f in functions]))
    ends = [*times[1:].tolist(), end_s]
    values = np.array([[f.at(t) for f in functions] for t in times])
    longest, first = 0.0, 0
    # For each function the numbers of the rows that may yet be its least and its greatest, in order.
    lows, highs = ([deque[int]() for _ in functions] for _ in range(2))
    for row, end in enumerate(ends):
        for column, (low, high) in enumerate(zip(lows, highs, strict=True)):
            own = values[:, column]
            while low and own[low[-1]] >= own[row]:
                low.pop()
            while high and own[high[-1]] <= own[row]:
                high.pop()
            low.append(row)
            high.append(row)
            while own[high[0]] - own[low[0]] > threshold:
                first = max(first, min(low[0], high[0]) + 1)
                for queue in (low, high):
                    while queue[0] < first:
                        queue.popleft()
        longest = max(longest, end - float(times[first]))
    return longest
