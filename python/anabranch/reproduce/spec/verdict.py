"""The verdicts on rows of a reproduction, and the rules by which numbers and claims get them.

A published number is judged by the published number alone. The margin is the paper's, or half a unit of the last digit
that it prints; our 95 % interval is added. An interval that is too wide to tell leaves a row open. A claim compares two
numbers by the interval of their difference, seed by seed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from anabranch.estimate import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.estimate import Estimate

WITHIN, NEAR, SLIP, OPEN, OFF = "within margin", "within 5 %", "slip", "open", "off"
BORNE_OUT, REFUTED = "borne out", "not borne out"
AGREES, DIFFERS = "agrees", "differs"
KEPT, CHANGED = "as recorded", "changed"
UNJUDGED = "not judged"

OF_NUMBERS = (WITHIN, NEAR, SLIP, OPEN, OFF)
"""The verdicts on published numbers, from the best to the worst. At a slip of the paper ours is the right number."""

OF_CLAIMS = (BORNE_OUT, OPEN, REFUTED)
"""The verdicts on claims in words, from the best to the worst."""

OF_COMPARISONS = (AGREES, DIFFERS)
"""The verdicts on numbers that are compared with a number that is not published, such as an optimum."""

OF_RECORDS = (KEPT, CHANGED)
"""The verdicts on numbers and statements of ours, where nothing is published."""

GOOD = (WITHIN, NEAR, SLIP, BORNE_OUT, AGREES, KEPT)
"""The verdicts that need no cause."""

Cause = Literal["paper", "unprinted", "reconstruction", "ours", "open"]
"""Why a number is off or a claim is not borne out.

The paper contradicts itself or is wrong; the result depends on a choice that it does not print; a rival is a
reconstruction, because its publication was not available; something is missing or wrong in ours; or it is not known.
"""

CAUSES: tuple[Cause, ...] = get_args(Cause)

SHARE = 0.05
"""The relative difference up to which a published number is roughly met; a wider margin needs a reason."""

EQUAL = 1e-9
"""The difference of numbers that rounding alone makes: in a check with ``=``, and relative at the end of a margin."""

Comparison = Literal["<=", ">=", "<", ">", "="]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)


def judge_number(found: Estimate, published: float, margin: float, *, may_be_wide: bool = False) -> str:
    """Judge a measured number by the published one.

    Parameters
    ----------
    found : Estimate
    published : float
    margin : float
        The paper's own margin.
    may_be_wide : bool
        Whether the margin may be over 5 % of the published number, because the row gives a reason.
    """
    if not math.isfinite(found.mean):
        return OFF
    difference, own = abs(found.mean - published) - EQUAL * abs(published), found.half_width or 0.0
    rough = SHARE * abs(published)
    if difference <= margin + own and (may_be_wide or own <= max(rough, margin)):
        return WITHIN
    if difference <= rough and own <= rough:
        return NEAR
    return OFF if difference - own > max(rough, margin) else OPEN


def judge_check(left: Sequence[float], comparison: Comparison, right: Sequence[float]) -> str:
    """Judge a claim that compares two numbers: by the interval of their difference over pairs of the same seed.

    A single pair, which has no interval, decides by itself. Infinite numbers decide if all pairs agree.
    """
    pairs = list(zip(left, right, strict=True))
    differences = [0.0 if a == b else a - b for a, b in pairs]
    if not all(math.isfinite(difference) for difference in differences):
        holds = {_holds(difference, comparison) for difference in differences}
        return OPEN if len(holds) > 1 else (BORNE_OUT if holds == {True} else REFUTED)
    found = estimate(differences)
    own = found.half_width or 0.0
    ends = {_holds(float(end), comparison) for end in np.add(found.mean, [-own, own])}
    if comparison == "=" and own > EQUAL and abs(found.mean) <= own:
        return OPEN
    return OPEN if len(ends) > 1 else (BORNE_OUT if ends == {True} else REFUTED)


def best(verdicts: Sequence[str], order: Sequence[str]) -> str:
    """Give the best of some verdicts."""
    return min(verdicts, key=order.index)


def worst(verdicts: Sequence[str], order: Sequence[str]) -> str:
    """Give the worst of some verdicts."""
    return max(verdicts, key=order.index)


def _holds(difference: float, comparison: Comparison) -> bool:
    match comparison:
        case "<=":
            return difference <= 0.0
        case ">=":
            return difference >= 0.0
        case "<":
            return difference < 0.0
        case ">":
            return difference > 0.0
        case "=":
            return abs(difference) <= EQUAL
