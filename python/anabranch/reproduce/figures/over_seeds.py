"""Figures of means over seeds, a panel for each simulated run, with a band from the least to the greatest.

``mean-rates`` and ``mean-subflow-rates`` are granted rates, ``marks`` the shares of marked packets that protocols go
by::

    connections = ["c1", "c2"]          which; all if left out
    bin = "5 s"                         means over this long; 1 s if left out
    most = "4 Mbit/s"                   the end of the axis of rates
    target = "optimal"                  with rates: the proportional run whose rates are drawn as the aim
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from anabranch.reproduce.figures.bins import optimal_rates, repeated_marks, repeated_rates
from anabranch.reproduce.figures.kind import Gathered, PaperFigure, outcomes_of, read_target
from anabranch.reproduce.figures.simulations import by_protocol, read_simulated, simulations_of
from anabranch.reproduce.outcomes.kinds import Optimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.outcomes.simulation import Simulation
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class GatheredMeans(Gathered):
    """Means over seeds, and the optimum beside them, as `anabranch.reproduce.figures.bins.optimal_rates` gives it."""

    optimum: pl.DataFrame | None = None


@dataclass(frozen=True)
class OverSeeds(PaperFigure[GatheredMeans]):
    """Means over seeds of what the connections or subflows of simulated runs do in each bin of time."""

    of: ClassVar[str] = "subflow"

    runs: tuple[str, ...]
    connections: tuple[str, ...]
    bin_s: float

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> GatheredMeans:
        """Gather the means over the seeds of each run."""
        runs = by_protocol(self.runs, outcomes)
        parts, connections = [], self.connections
        for own, name in zip(runs, self.runs, strict=True):
            seeds = simulations_of(outcomes, name)
            if self.connections in ((), ("*",)):
                connections = tuple(seeds[0].connections)
            parts.append(self.means(seeds, connections).select(pl.lit(own).alias("run"), pl.all()))
        results = {name: run.result for name, run in runs.items()}
        return GatheredMeans(pl.concat(parts), results, optimum=self.optimum(outcomes, connections))

    @abstractmethod
    def means(self, seeds: Sequence[Simulation], connections: Sequence[str]) -> pl.DataFrame:
        """Give the means over the seeds of one run."""

    def optimum(self, _outcomes: Outcomes, _connections: Sequence[str]) -> pl.DataFrame | None:
        """Give the optimum that is drawn beside them, if there is one."""
        return None


@dataclass(frozen=True)
class MeanRates(OverSeeds, draw="mean-rates"):
    """Granted rates of connections."""

    of: ClassVar[str] = "connection"

    most_bps: float | None
    target: str

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> MeanRates:
        """Read the keys of the kind."""
        connections, bin_s = tuple(table.texts("connections")), table.span_s("bin") or 1.0
        most_bps, own = table.rate_bps("most"), read_simulated(table, runs)
        return cls(heading, own, connections, bin_s, most_bps, read_target(table, runs, method="proportional"))

    def means(self, seeds: Sequence[Simulation], connections: Sequence[str]) -> pl.DataFrame:
        """Give the mean granted rates of one run."""
        return repeated_rates(seeds, connections, of=self.of, bin_s=self.bin_s)

    def optimum(self, outcomes: Outcomes, connections: Sequence[str]) -> pl.DataFrame | None:
        """Give the rates of the target."""
        if not self.target:
            return None
        return optimal_rates(outcomes_of(outcomes, self.target, Optimal)[0], connections, of=self.of)

    def draw(self, gathered: GatheredMeans, title: str, file: Path) -> None:
        """Draw a panel for each run."""
        from anabranch import figures

        figures.draw_repeated(
            gathered.results,
            gathered.frame,
            gathered.optimum,
            of=self.of,
            title=title,
            most_bps=self.most_bps,
            file=file,
        )


@dataclass(frozen=True)
class MeanSubflowRates(MeanRates, draw="mean-subflow-rates"):
    """Granted rates of subflows."""

    of: ClassVar[str] = "subflow"


@dataclass(frozen=True)
class Marks(OverSeeds, draw="marks"):
    """The smoothed shares of marked packets that the protocols of subflows go by."""

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Marks:
        """Read the keys of the kind."""
        connections, bin_s = tuple(table.texts("connections")), table.span_s("bin") or 1.0
        return cls(heading, read_simulated(table, runs), connections, bin_s)

    def means(self, seeds: Sequence[Simulation], connections: Sequence[str]) -> pl.DataFrame:
        """Give the mean shares of one run."""
        return repeated_marks(seeds, connections, of=self.of, bin_s=self.bin_s)

    def draw(self, gathered: GatheredMeans, title: str, file: Path) -> None:
        """Draw a panel for each run."""
        from anabranch import figures

        figures.draw_marks(gathered.results, gathered.frame, title=title, file=file)
