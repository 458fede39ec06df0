"""Max-min fair rates over several paths, with the levels and prices that prove them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import _core
from anabranch.allocation import Allocation
from anabranch.errors import CertificateError

if TYPE_CHECKING:
    from anabranch.paths import Paths
    from anabranch.problem import Problem


class LevelledAllocation(Allocation):
    """Max-min fair rates over several paths, with their levels; immutable.

    Attributes
    ----------
    proof : LevelCertificate
        What an independent check of rates against levels finds.
    levels : DataFrame
        A row for each level, with those that it holds and the prices that prove it.
    """

    def __init__(
        self,
        problem: Problem,
        levelled: _core.Levelled,
        *,
        fairness: str,
        method: str,
        tolerance: float,
        paths: Paths | None = None,
    ) -> None:
        super().__init__(
            problem,
            levelled.path_rates,
            fairness=fairness,
            method=method,
            tolerance=tolerance,
            passes=levelled.exchanges,
            paths=paths,
        )
        self._levelled = levelled

    @cached_property
    def proof(self) -> _core.LevelCertificate:
        """What an independent check finds: is each connection held by prices that prove its level?"""
        return _core.certify_levels(self.problem.core, self.path_rates, self._levelled, self.tolerance)

    @property
    def _holds(self) -> bool:
        return super()._holds and self.proof.holds

    def _refuse_unfair(self) -> None:
        super()._refuse_unfair()
        worst = self.proof.worst_connection
        if worst is not None and not self.proof.residual <= self.tolerance:
            raise CertificateError(
                f"connection {self._connection(worst)}: no prices prove its rate: it might gain"
                f" {self.proof.residual:.3g}, over the tolerance of {self.tolerance:g}"
            )

    @cached_property
    def levels(self) -> pl.DataFrame:
        """A row for each level, from the lowest on.

        ``level`` (``level_bps``), the ``connections`` that it holds, and the ``links`` and ``prices`` that prove it:
        numbers, or names from a network. Who is in none has its demand, or no path that carries anything.
        """
        rows = self._levelled.levels
        unit = "" if self.paths is None else "_bps"
        frame = pl.DataFrame(
            {
                f"level{unit}": pl.Series([level for level, *_ in rows], dtype=pl.Float64),
                "connections": pl.Series([held.tolist() for _, held, *_ in rows], dtype=pl.List(pl.Int64)),
                "links": pl.Series([links.tolist() for *_, links, _ in rows], dtype=pl.List(pl.Int64)),
                "prices": pl.Series([prices.tolist() for *_, prices in rows], dtype=pl.List(pl.Float64)),
            }
        )
        if self.paths is None:
            return frame
        core = self.paths.demands.core
        connections, links = core.names, self.paths.demands.network.core.link_names
        return frame.with_columns(
            pl.Series("connections", [[connections[c] for c in held] for _, held, *_ in rows], dtype=pl.List(pl.String)),
            pl.Series("links", [[links[link] for link in own] for *_, own, _ in rows], dtype=pl.List(pl.String)),
        )

    def summary(self) -> dict[str, Any]:
        """As in `Allocation`, and the number of ``levels``."""
        return super().summary() | {"levels": len(self.levels), "certified": self._holds}
