"""The comparison of the rates of one allocation with those of another, in three numbers.

    q        geometric mean over connections of min(a, 1 / a),   a = max(rate, theta) / max(reference, theta)
    total    sum of rates by the sum of the reference's
    worst    least rate by its reference

q is the fairness index of [namyar2024]: 1 where all rates are alike. What is under theta counts as theta, so that rates
of next to nothing do not decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, repr=False)
class Comparison:
    """The comparison of rates with those of a reference.

    Attributes
    ----------
    q : float
        The fairness index: the geometric mean over all connections of the smaller by the greater rate; 1 if all are
        equal.
    total : float
        The sum of all rates by the sum of the reference's; not a number if the reference carries nothing.
    worst : float
        The least rate by its reference; infinite if no connection has a rate in the reference.
    theta : float
        The rate under which rates count as this in q, in the unit of the rates.
    """

    q: float
    total: float
    worst: float
    theta: float

    def __repr__(self) -> str:
        numbers = f"q {self.q:.4g}, total {self.total:.4g}, worst {self.worst:.4g}"
        return f"<Comparison {numbers}, theta {self.theta:.4g}>"

    def __str__(self) -> str:
        return (
            f"q {self.q:.3f} (1: all rates alike); carried {self.total:.1%} of the reference; the worst-off connection"
            f" has {self.worst:.1%} of its rate there"
        )


def compare_rates(rates: ArrayLike, reference: ArrayLike, theta: float) -> Comparison:
    """Compare the rates of connections with a reference, one by one.

    Raises
    ------
    ValueError
        The numbers of connections differ, or theta is not positive.
    """
    own, other = np.asarray(rates, dtype=float), np.asarray(reference, dtype=float)
    if own.ndim != 1 or own.shape != other.shape:
        raise ValueError(f"rates of {own.size} connections and of {other.size}; they must be of the same connections")
    if not 0.0 < theta < np.inf:
        raise ValueError(f"theta is {theta}; it must be positive and finite")
    apart = np.abs(np.log(np.maximum(own, theta)) - np.log(np.maximum(other, theta)))
    given = other > 0
    carried = float(other.sum())
    return Comparison(
        q=float(np.exp(-apart.mean())) if len(apart) else 1.0,
        total=float(own.sum()) / carried if carried > 0 else float("nan"),
        worst=float((own[given] / other[given]).min(initial=np.inf)),
        theta=float(theta),
    )
