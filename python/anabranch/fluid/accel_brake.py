"""Accel-Brake Control over round trips: how slowly windows at a full link become equal.

[goyal2020], as [teymoori2023, sec. III] works it out:

```text
w' = 2 f w + 1,   f = (BDP - n) / (2 BDP)      in each round trip, with n connections of the same round trip
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import count, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def accelerates(packets: float, connections: int) -> float:
    """Give the share of acknowledgements that accelerate when the link is just full, f* in the paper.

    Parameters
    ----------
    packets : float
        Bandwidth-delay product; over the number of connections.
    connections : int
    """
    most, own = float(positive("packets", packets)), count("connections", connections)
    if most <= own:
        raise ValueError(f"packets is {most:g} for {own} connections; it must be more than one for each")
    return 0.5 * (most - own) / most


def windows(first: ArrayLike, round_trips: int) -> NDArray[np.float64]:
    """Give the windows over round trips.

    Parameters
    ----------
    first : array_like of float, shape (connections,)
        In packets, over 0; their sum is the bandwidth-delay product.
    round_trips : int

    Returns
    -------
    ndarray of float64, shape (round_trips + 1, connections)
    """
    start = np.atleast_1d(positive("first", first))
    share = accelerates(float(start.sum()), len(start))
    rows = [start]
    for _ in range(count("round_trips", round_trips, least=0)):
        rows.append(2.0 * share * rows[-1] + 1.0)
    return np.array(rows)
