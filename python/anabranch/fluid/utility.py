"""The utility that LGCC senders maximise, and its derivative, the marginal utility.

```text
U(x)  = x (1 / ln phi1 - log_phi1(x / k))                              [teymoori2023, eq. 12]
U'(x) = -log_phi1(x / k)
x'    = gamma x (U'(x) + log_phi2(1 - p)),   which is `Deflated`       [teymoori2023, eq. 13, 14]
```

k is the carrying capacity. The cost is ``q = -log_phi2(1 - p)``, and at rest ``U'(x) = q``.

differs: the paper solves the cost for p and gets ``p = 1 - phi2^q``, which is below 0; it is ``1 - phi2^(-q)``. It
joins that to the linear form, ``1 - x / k - p = 0``, from which ``U' = -log_phi2(x / k)`` follows: the same for equal
bases only. Its ``log phi1`` is the natural logarithm: with another one the derivative has a term more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anabranch.fluid.arguments import base, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def utility(rate: ArrayLike, carrying: ArrayLike = 1.0, phi_1: float = 10.0) -> NDArray[np.float64]:
    """Give the utility of a rate [teymoori2023, eq. 12].

    Parameters
    ----------
    rate : array_like of float
        Over 0.
    carrying : array_like of float
        Carrying capacity, in the same unit; over 0.
    phi_1 : float
        Base over 1.

    Returns
    -------
    ndarray of float64
        In the unit of rates: greatest at the carrying capacity.
    """
    x, k = positive("rate", rate), positive("carrying", carrying)
    return np.asarray(x * (1.0 - np.log(x / k)) / math.log(base("phi_1", phi_1)))


def marginal_utility(rate: ArrayLike, carrying: ArrayLike = 1.0, phi_1: float = 10.0) -> NDArray[np.float64]:
    """Give the derivative of the utility by the rate; parameters as of `utility`."""
    x, k = positive("rate", rate), positive("carrying", carrying)
    return np.asarray(-np.log(x / k) / math.log(base("phi_1", phi_1)))
