"""What is asked of a solver: fairness, method and their options, checked as far as it takes no problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from anabranch import _core
from anabranch.model.network import rate_bps
from anabranch.model.problem import Problem
from anabranch.solvers.approximate import Options, check_options
from anabranch.solvers.methods import METHODS, PRICED, STARTING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anabranch.solvers.methods import Fairness, Method

    Start = str | float | NDArray[np.float64]

DEFAULT_TOLERANCE = 1e-2
"""Within a hundredth of fair for the worst-off subflow of all: some 300 passes on a network of 200 nodes, all pairs."""

EXACT_TOLERANCE = 1e-6
"""For proportional and alpha fairness, whose method goes as far as numbers let it."""

MOST_PASSES = 10_000
"""After which a solver that goes in passes gives up, if nothing else is asked for."""


class Asked(Options, total=False):
    """What `solve` takes besides what is to be shared; what is missing takes its default."""

    fairness: Fairness
    method: Method | None
    start: str | float | ArrayLike | None
    alpha: float | None
    tolerance: float | None
    max_passes: int
    stop_change: float | str | None
    unit: float | str | None


@dataclass(frozen=True)
class Choice:
    """What is asked for, checked; `choose` makes one. `options` are those of an approximation that were given."""

    fairness: str
    method: str | None
    start: Start | None
    alpha: float
    tolerance: float
    max_passes: int
    stop_change: float | str | None
    unit: float | str | None
    options: dict[str, Any]


def choose(
    *,
    fairness: str = "upward-max-min",
    method: str | None = None,
    start: str | float | ArrayLike | None = None,
    alpha: float | None = None,
    tolerance: float | None = None,
    max_passes: int = MOST_PASSES,
    stop_change: float | str | None = None,
    unit: float | str | None = None,
    **options: Unpack[Options],
) -> Choice:
    """Refuse what cannot be for any problem, and give the rest; what it means is said at `solve`.

    Raises
    ------
    TypeError
        An option that is none, or of a wrong type.
    ValueError
        An option out of its range, or that does not go with fairness and method.
    """
    _check_method(fairness, method)
    taker = method or f"the usual method for {fairness}"
    if unit is not None and method != "iewf":
        raise ValueError(f"a unit was given, and {taker} takes none; leave it out, or take IEWF")
    if tolerance is None:
        tolerance = EXACT_TOLERANCE if fairness in PRICED else DEFAULT_TOLERANCE
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance is {tolerance}; it must be over 0 and under 1")
    if max_passes < 1:
        raise ValueError(f"max_passes is {max_passes}; it must be 1 or more")
    given = check_options(taker, dict(options))
    rates = {"stop_change": stop_change, "unit": unit, "first_level": given.get("first_level")}
    for name, rate in rates.items():
        rate_of(rate, name)
    return Choice(
        fairness=fairness,
        method=method,
        start=None if start is None else _checked_start(start, fairness, method, taker),
        alpha=_checked_alpha(alpha, fairness),
        tolerance=tolerance,
        max_passes=max_passes,
        stop_change=stop_change,
        unit=unit,
        options=given,
    )


def rate_of(given: float | str | None, what: str, *, problem: bool = False) -> float | None:
    """Give a rate in the unit of the problem; text has a unit only where the problem is a network's, in bit/s."""
    if given is None:
        return None
    if isinstance(given, str) and problem:
        raise ValueError(f'{what} is "{given}", and the problem has a unit of its own; give a number in that unit')
    rate = rate_bps(given, what)
    if not 0.0 < rate < float("inf"):
        raise ValueError(f"{what} is {given}; it must be positive and finite")
    return rate


def _check_method(fairness: str, method: str | None) -> None:
    if fairness not in METHODS:
        raise ValueError(f'fairness is "{fairness}"; it must be one of {", ".join(METHODS)}')
    if method is not None and method not in METHODS[fairness]:
        raise ValueError(f'method is "{method}"; for {fairness} it must be one of {", ".join(METHODS[fairness])}')


def _checked_alpha(alpha: float | None, fairness: str) -> float:
    """Give the alpha, 1 where none is to be chosen."""
    if fairness == "proportional":
        if alpha not in {None, 1}:
            raise ValueError(f'alpha is {alpha}; for proportional it is 1: leave it out, or take fairness "alpha"')
        return 1.0
    is_wanted = fairness in PRICED
    if is_wanted == (alpha is None):
        wanted = "give one, such as alpha=2" if is_wanted else f"{fairness} takes none; leave it out"
        raise ValueError(f"alpha is {alpha}; {wanted}")
    if alpha is None:
        return 1.0
    # Its range is known to the core alone, which says so even where there is nothing to share.
    _core.alpha_fair(Problem([], [0], [], []).core, float(alpha))
    return float(alpha)


def _checked_start(start: str | float | ArrayLike, fairness: str, method: str | None, taker: str) -> Start:
    """Give the starting portions: "equal", a ratio, or one for each path, as many as these may be."""
    # Without a method it is for c-SLEN; where the usual one is a single filling instead, a start does no harm.
    if not (method in STARTING if method is not None else fairness == "upward-max-min"):
        takers = ", ".join(other for other in METHODS[fairness] if other in STARTING)
        remedy = f"leave it out, or take {takers}" if takers else "leave it out"
        raise ValueError(f"a start was given, and {taker} takes none; {remedy}")
    if isinstance(start, str):
        if start != "equal":
            raise ValueError(f'start is "{start}"; it must be "equal", a ratio, or a portion for each path')
        return start
    given = np.ascontiguousarray(start, dtype=float)
    if np.ndim(start) > 1:
        raise ValueError(f"start has {given.ndim} axes; it must be a ratio, or one portion for each path")
    if np.ndim(start) == 0:
        ratio = float(given.item())
        if not 0.0 < ratio <= 1.0:
            raise ValueError(f"the ratio of the starting portions is {ratio:g}; it must be over 0 and at most 1")
        return ratio
    if len(bad := np.flatnonzero(~(np.isfinite(given) & (given > 0)))):
        value = given[bad[0]]
        raise ValueError(f"path {bad[0]}: its starting portion is {value:g}; it must be positive and finite")
    return given
