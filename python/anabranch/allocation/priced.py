"""Rates of the greatest utility, with the prices of links and paths, and the proof."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.errors import CertificateError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem


class PricedAllocation(Allocation):
    """Proportionally or alpha fair rates, with prices; immutable.

    Attributes
    ----------
    alpha : float
        1 for proportional fairness.
    link_prices : ndarray of float64, shape (links,)
        The price of a unit of rate on each link, in (unit of rate) ** -alpha; infinite where the capacity is 0.
    path_prices : ndarray of float64, shape (paths,)
        The sum of the prices over the links of each path. Paths in use have the least price among their connection's
        paths; it is the marginal utility ``level ** -alpha`` where the demand is not met.
    gap : float
        Duality gap relative to the sum of rate times marginal utility.
    residual : float
        The relative distance of prices and rates from the conditions of the optimum; 0 is exact.
    """

    def __init__(
        self,
        problem: Problem,
        path_rates: NDArray[np.float64],
        link_prices: NDArray[np.float64],
        *,
        alpha: float,
        fairness: str,
        method: str,
        tolerance: float,
        passes: int,
        paths: Paths | None = None,
    ) -> None:
        super().__init__(
            problem,
            path_rates,
            fairness=fairness,
            method=method,
            tolerance=tolerance,
            passes=passes,
            paths=paths,
        )
        self.alpha = alpha
        self.link_prices: NDArray[np.float64] = link_prices
        self.link_prices.flags.writeable = False

    @cached_property
    def certificate(self) -> _core.PriceCertificate:
        """The result of an independent check, from the conditions of the optimum alone."""
        return _core.certify_prices(self.problem.core, self.alpha, self.path_rates, self.link_prices, self.tolerance)

    @property
    def path_prices(self) -> NDArray[np.float64]:
        """The sum of the prices of each path's links."""
        return self.certificate.path_prices

    @property
    def gap(self) -> float:
        """Duality gap relative to the sum of rate times marginal utility."""
        return self.certificate.gap

    def _refuse_unfair(self) -> None:
        found = self.certificate
        if found.bad_price is not None:
            price = self.link_prices[found.bad_price]
            raise CertificateError(f"link {self._link(found.bad_price)}: its price is {price}; it must be 0 or more")
        over = f"by {found.residual:.3g}, over the tolerance of {self.tolerance:g}"
        if found.worst is not None and not found.residual <= self.tolerance:
            kind, place = found.worst
            if kind == "idle":
                raise CertificateError(f"link {self._link(place)}: it has room, and a price that counts, {over}")
            what = "is too cheap to be left alone" if kind == "cheap" else "is in use and too dear"
            raise CertificateError(f"{self._path(place)}: it {what}, {over}")
        if not found.gap <= self.tolerance:
            raise CertificateError(
                f"the duality gap is {found.gap:.3g} of what all connections pay, over the tolerance of"
                f" {self.tolerance:g}"
            )

    @cached_property
    def subflows(self) -> pl.DataFrame:
        """The table of an `Allocation` with the ``price`` of each path; ``bottleneck`` is its dearest link."""
        return super().subflows.with_columns(pl.Series("price", self.path_prices))

    @cached_property
    def links(self) -> pl.DataFrame:
        """The table of an `Allocation` with the ``price`` of each link."""
        return super().links.with_columns(pl.Series("price", self.link_prices))

    def _facts(self) -> dict[str, Any]:
        """Give what the summary of an `Allocation` says, with ``alpha`` and the duality ``gap``."""
        return super()._facts() | {"alpha": self.alpha, "gap": self.gap}
