"""Curves of subflows, a panel for each connection with all runs in it.

``curves`` shows granted rates of subflows as means over bins and seeds::

    runs = ["wvegas", "lia"]            in each panel
    connections = ["c1", "c2"]          a panel for each
    target = "optimal"                  the proportional run whose rates are drawn besides
    window = ["200 s", "650 s"]         the part of the time
    bin = "50 s"                        means over this long
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.figures.bins import repeated_rates
from anabranch.reproduce.figures.kind import Gathered, PaperFigure, outcomes_of, read_target
from anabranch.reproduce.figures.simulations import GatheredInWindow, read_simulated, simulations_of
from anabranch.reproduce.outcomes.kinds import Optimal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

    Window = tuple[float, float]


@dataclass(frozen=True)
class Curves(PaperFigure[GatheredInWindow], draw="curves"):
    """Granted rates of subflows, a panel for each connection."""

    runs: tuple[str, ...]
    connections: tuple[str, ...]
    target: str
    window_s: Window
    bin_s: float

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Curves:
        """Read the keys of the kind."""
        window, bin_s = table.window_s("window"), table.span_s("bin")
        if window is None or bin_s is None:
            raise table.error("window", "it or `bin` is missing", "give both")
        target = read_target(table, runs, method="proportional")
        return cls(heading, read_simulated(table, runs), tuple(table.texts("connections")), target, window, bin_s)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> GatheredInWindow:
        """Gather a row for each point: ``connection``, ``run``, ``subflow``, ``time_s``, ``mean_bps``, extremes."""
        parts = [self._means(outcomes, name) for name in self.runs]
        if self.target:
            parts.append(self._optimum(outcomes_of(outcomes, self.target, Optimal)[0]))
        frame = pl.concat(parts).filter(pl.col("time_s").is_between(*self.window_s))
        first = simulations_of(outcomes, self.runs[0])[0].result
        return GatheredInWindow(frame, dict.fromkeys(self.connections, first), window_s=self.window_s)

    def _means(self, outcomes: Outcomes, name: str) -> pl.DataFrame:
        seeds = simulations_of(outcomes, name)
        means = repeated_rates(seeds, self.connections, of="subflow", bin_s=self.bin_s)
        return means.select(
            pl.col("name").str.replace(r"/\d+$", "").alias("connection"),
            pl.lit(seeds[0].protocol).alias("run"),
            pl.col("name").str.extract(r"/(\d+)$").cast(pl.Int64).alias("subflow"),
            *("time_s", "mean_bps", "least_bps", "most_bps"),
        )

    def _optimum(self, optimum: Optimal) -> pl.DataFrame:
        """Give the means of the optimal rates over the same bins."""
        demands, offsets = optimum.paths.demands.core, optimum.paths.connection_offsets.tolist()
        rows = []
        for connection in self.connections:
            number = demands.names.index(connection)
            for path in range(offsets[number], offsets[number + 1]):
                start = self.window_s[0]
                while start < self.window_s[1]:
                    rate = optimum.mean_rate([path], (start, start + self.bin_s)) * optimum.unit_bps
                    rank = path - offsets[number] + 1
                    rows.append((connection, "optimum", rank, start + self.bin_s / 2.0, rate, rate, rate))
                    start += self.bin_s
        columns = ["connection", "run", "subflow", "time_s", "mean_bps", "least_bps", "most_bps"]
        return pl.DataFrame(rows, schema=columns, orient="row")

    def draw(self, gathered: Gathered, title: str, file: Path) -> None:
        """Draw a panel for each connection."""
        from anabranch import figures

        figures.draw_curves(gathered.frame, gathered.results, window_s=self.window_s, title=title, file=file)
