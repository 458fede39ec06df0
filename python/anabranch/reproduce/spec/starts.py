"""The iterations of [cao2012] from random starts, as an experiment gives them.

In a ``[[run]]`` with ``method = "random-starts"``::

    starts = { algorithm = "gradient", count = 200, theta = 1.0, gamma = 0.01 }

``gradient`` is equations 11 and 12, ``weight-adjustment`` algorithm 1 with prices by equation 12, which takes no theta,
and ``weight-allocation`` algorithm 2, which takes neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from anabranch.reproduce.spec.table import Table

Algorithm = Literal["gradient", "weight-adjustment", "weight-allocation"]


@dataclass(frozen=True)
class Starts:
    """An iteration and its random starts.

    Attributes
    ----------
    algorithm : str
    count : int
        The number of starts.
    theta, gamma : float
        The step sizes of rates and of prices.
    """

    algorithm: Algorithm
    count: int
    theta: float
    gamma: float


def read_starts(table: Table) -> Starts:
    """Read the starts of a run.

    Raises
    ------
    ScenarioError
        A wrong key or value, or one that the algorithm does not take.
    """
    algorithm = table.choice("algorithm", get_args(Algorithm))
    for key, takers in (("theta", ("gradient",)), ("gamma", ("gradient", "weight-adjustment"))):
        if key in table.data and algorithm not in takers:
            raise table.error(key, f"the algorithm is {algorithm}", "leave it out")
    found = Starts(
        algorithm, table.whole("count", 100, least=1), table.positive("theta", 1.0), table.positive("gamma", 0.01)
    )
    table.finish()
    return found
