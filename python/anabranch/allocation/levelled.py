"""Max-min fair rates over several paths, with the levels and prices that prove them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.errors import CertificateError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem


PROVED = 1e-6
"""Levels are exact: prices must prove each rate at least to this, however coarse the tolerance for bottlenecks is."""


class LevelledAllocation(Allocation):
    """Max-min fair rates over several paths, with their levels; immutable.

    Attributes
    ----------
    proof : LevelCertificate
        The result of an independent check of rates against levels.
    levels : DataFrame
        A row for each level, with the connections that it holds and the prices that prove it.
    """

    def __init__(
        self,
        problem: Problem,
        path_rates: NDArray[np.float64],
        levels: list[_core.Level],
        *,
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
        self._levels = levels

    @cached_property
    def proof(self) -> _core.LevelCertificate:
        """The result of an independent check of rates and prices, to a millionth or a finer tolerance."""
        return _core.certify_levels(self.problem.core, self.path_rates, self._levels, min(self.tolerance, PROVED))

    @property
    def _holds(self) -> bool:
        return super()._holds and self.proof.holds

    def _refuse_unfair(self) -> None:
        super()._refuse_unfair()
        worst = self.proof.worst_connection
        if worst is not None and not self.proof.residual <= self.proof.tolerance:
            raise CertificateError(
                f"connection {self._connection(worst)}: no prices prove its rate: it might gain"
                f" {self.proof.residual:.3g}, over the tolerance of {self.proof.tolerance:g}"
            )

    @cached_property
    def levels(self) -> pl.DataFrame:
        """A table with a row for each level, from the lowest to the highest.

        The columns are ``level`` (``level_bps``), the ``connections`` that it holds, and the ``links`` and ``prices``
        that prove it. Connections and links are numbers, on a network names. A connection that is in no level has its
        demand, or no path that carries anything.
        """
        if self.paths is None:
            return self._numbered
        connections, links = self.paths.demands.core.names, self.paths.demands.network.core.link_names

        def named(column: str, names: list[str]) -> pl.Series:
            rows = [[names[number] for number in numbers] for numbers in self._numbered[column]]
            return pl.Series(column, rows, dtype=pl.List(pl.String))

        frame = self._numbered.with_columns(named("connections", connections), named("links", links))
        return frame.rename({"level": "level_bps"})

    @property
    def _numbered(self) -> pl.DataFrame:
        """The levels with connections and links by number."""
        rows = self._levels
        return pl.DataFrame(
            {
                "level": pl.Series([level for level, *_ in rows], dtype=pl.Float64),
                "connections": pl.Series([held.tolist() for _, held, *_ in rows], dtype=pl.List(pl.UInt32)),
                "links": pl.Series([links.tolist() for *_, links, _ in rows], dtype=pl.List(pl.UInt32)),
                "prices": pl.Series([prices.tolist() for *_, prices in rows], dtype=pl.List(pl.Float64)),
            }
        )

    def _tables(self) -> dict[str, pl.DataFrame]:
        return super()._tables() | {"levels": self._numbered}

    def _facts(self) -> dict[str, Any]:
        """Give what the summary of an `Allocation` says, and the number of ``levels``."""
        return super()._facts() | {"levels": len(self.levels), "certified": self._holds}


def levels_of(table: pl.DataFrame) -> list[_core.Level]:
    """Return the levels in a table that was written with an allocation."""

    def arrays(level: float, held: list[int], links: list[int], prices: list[float]) -> _core.Level:
        return level, np.array(held, np.uint32), np.array(links, np.uint32), np.array(prices, float)

    return [arrays(*row) for row in table.select("level", "connections", "links", "prices").iter_rows()]
