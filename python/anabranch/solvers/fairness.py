"""The kinds of fairness: what each means, and what it asks of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FairnessName = Literal["max-min", "upward-max-min", "proportional", "alpha"]

BOTTLENECK_TOLERANCE = 1e-2
"""Within a hundredth of fair for the worst-off subflow of all: some 300 passes on a network of 200 nodes, all pairs."""

EXACT_TOLERANCE = 1e-6
"""The tolerance of methods that go as far as double precision allows."""


@dataclass(frozen=True)
class Fairness:
    """A kind of fairness.

    Attributes
    ----------
    means : str
        The definition, in one sentence.
    tolerance : float
        The relative tolerance of an answer if none is given.
    takes_alpha : bool
        Whether the kind has a parameter alpha, which must be given.
    alpha : float or None
        The alpha that the kind has by definition.
    """

    means: str
    tolerance: float = BOTTLENECK_TOLERANCE
    takes_alpha: bool = False
    alpha: float | None = None


FAIRNESS: dict[FairnessName, Fairness] = {
    "max-min": Fairness(
        "The least rate is as great as it can be, then the second least, and so on, over all ways to use the paths."
        " Such rates are upward max-min fair too.",
        EXACT_TOLERANCE,
    ),
    "upward-max-min": Fairness(
        "No connection can gain, even if all connections with greater rates are removed [danna2017]; the kind that"
        " distributed protocols find."
    ),
    "proportional": Fairness(
        "The sum of ``weight * log(rate)`` is as great as it can be [kelly1998].", EXACT_TOLERANCE, alpha=1.0
    ),
    "alpha": Fairness(
        "The sum of ``weight * level ** (1 - alpha) / (1 - alpha)`` is as great as it can be, where the level is the"
        " rate by weight [mo2000]; the greater `alpha`, the nearer to max-min.",
        EXACT_TOLERANCE,
        takes_alpha=True,
    ),
}
"""The kinds of fairness by name, the usual one first."""

USUAL: FairnessName = "max-min"
"""The kind of fairness if neither a kind nor a method is named."""
