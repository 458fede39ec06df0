"""A mean over independent repetitions, with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
"""The probability that an interval contains the true mean."""

HALVINGS = 60
"""The number of halvings by which an angle is found."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its confidence interval: the true mean is within `half_width` 95 times in a hundred."""

    mean: float
    half_width: float | None
    """None for a single value."""
    count: int

    def __mul__(self, factor: float) -> Estimate:
        """Give as much of everything."""
        half_width = None if self.half_width is None else self.half_width * abs(factor)
        return Estimate(self.mean * factor, half_width, self.count)

    def __str__(self) -> str:
        if self.half_width is None or not math.isfinite(self.mean):
            return "never" if self.mean == math.inf else f"{self.mean:.5g}"
        if self.half_width <= 0.0:
            return f"{self.mean:.5g} ± 0"
        # Two digits of the half-width: those after them mean nothing.
        decimals = min(max(0, 1 - math.floor(math.log10(self.half_width))), 9)
        return f"{self.mean:.{decimals}f} ± {self.half_width:.{decimals}f}"


def estimate(values: Sequence[float]) -> Estimate:
    """Give the mean of some values, one or more, and its interval by Student's t."""
    count = len(values)
    mean = float(np.mean(values))
    if count == 1:
        return Estimate(mean, None, 1)
    if not math.isfinite(mean):
        return Estimate(mean, math.inf, count)
    deviation = float(np.std(values, ddof=1))
    return Estimate(mean, student_t(count - 1) * deviation / math.sqrt(count), count)


def student_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Give t, such that a Student's t with these degrees of freedom is within -t and t with this probability.

    By halving the angle ``atan(t / sqrt(degrees))``, of which the probability is a finite sum [abramowitz1964, eq.
    26.7.3, 26.7.4].
    """
    low, high = 0.0, math.pi / 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if _within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.tan((low + high) / 2.0) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """Give the probability that a Student's t is within that of the angle and its negative."""
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = degrees % 2 == 1
    term, total = cosine if is_odd else 1.0, 0.0
    # Odd: cos + 2/3 cos^3 + 2/3 4/5 cos^5 ... cos^(degrees - 2); even: 1 + 1/2 cos^2 + 1/2 3/4 cos^4 ...
    for power in range(1 if is_odd else 0, degrees - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2.0 / math.pi * (angle + sine * total) if is_odd else sine * total
