"""Figures of simulated runs, a panel or a line for each, which show what each run records.

``rates``, ``subflow-rates``: granted rates over time::

    connections = ["c1", "c2"]          which, ["*"] for all; the first 7 if left out
    most = "4 Mbit/s"                   the end of the axis
    window = ["0 s", "0.5 s"]           this part of the time only
    last = "3 s"                        instead: this long until the last of the connections leaves

``queues``: the longest queue of each link. ``queues-over-time`` takes ``links`` (the 7 with the longest queues if left
out) and ``window``, ``longest-queue`` takes ``window``. ``completions``: the time that transfers take by their size.
``errors``: errors of rates over time, with ``of = "link"`` those of bottlenecks instead of sources, ``window``, and
``extremes = false`` for means and percentiles alone.

Figures over time show the first seed of runs that have several, and say so.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from anabranch.reproduce.figures.kind import Gathered, PaperFigure, outcomes_of, read_runs
from anabranch.reproduce.outcomes.kinds import Simulated
from anabranch.runs.settling import by_amount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.outcomes.simulation import Simulation
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

    Window = tuple[float, float]


def read_simulated(table: Table, runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Read the runs that a figure shows, which must all be simulated."""
    own = read_runs(table, runs)
    for name in own:
        if runs[name].method != "simulate":
            raise table.error("runs", f"run `{name}` is not simulated", 'draw only runs with method = "simulate"')
    return own


def simulations_of(outcomes: Outcomes, name: str) -> list[Simulation]:
    """Give the simulations of a run, one for each seed."""
    return [own.simulation for own in outcomes_of(outcomes, name, Simulated)]


def by_protocol(runs: tuple[str, ...], outcomes: Outcomes) -> dict[str, Simulation]:
    """Give the first simulation of each run by the title of its protocol, or by its own name where two are alike."""
    first = {name: simulations_of(outcomes, name)[0] for name in runs}
    titles = {own.protocol: own for own in first.values()}
    return titles if len(titles) == len(first) else first


@dataclass(frozen=True)
class GatheredInWindow(Gathered):
    """The numbers of a figure, and the part of the time that it shows; all of it for None."""

    window_s: Window | None = None


@dataclass(frozen=True)
class OfSimulations(PaperFigure[GatheredInWindow]):
    """A figure that shows what each of its runs records."""

    is_of_one_seed: ClassVar[bool] = False

    runs: tuple[str, ...]
    window_s: Window | None

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> OfSimulations:
        """Read the keys of the kind."""
        return cls(heading, read_simulated(table, runs), None)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> GatheredInWindow:
        """Gather the numbers of each run."""
        runs = by_protocol(self.runs, outcomes)
        seeds = max(len(outcomes[name]) for name in self.runs)
        note = f"; one seed of {seeds}" if self.is_of_one_seed and seeds > 1 else ""
        frames = (self.numbers(own).select(pl.lit(name).alias("run"), pl.all()) for name, own in runs.items())
        results = {name: own.result for name, own in runs.items()}
        return GatheredInWindow(pl.concat(frames), results, note, self.window(runs))

    def window(self, _runs: Mapping[str, Simulation]) -> Window | None:
        """Give the part of the time that is shown."""
        return self.window_s

    @abstractmethod
    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give the numbers that are drawn of one run."""


@dataclass(frozen=True)
class Rates(OfSimulations, draw="rates"):
    """Granted rates of connections over time."""

    is_of_one_seed: ClassVar[bool] = True
    subflows: ClassVar[bool] = False

    connections: tuple[str, ...]
    most_bps: float | None
    last_s: float | None

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Rates:
        """Read the keys of the kind."""
        window, connections = table.window_s("window"), tuple(table.texts("connections"))
        most_bps, last_s = table.rate_bps("most"), table.span_s("last")
        if last_s is not None and (window or connections in ((), ("*",))):
            raise table.error(
                "last", "it is the end of the stay of connections", "name connections, and give no window"
            )
        return cls(heading, read_simulated(table, runs), window, connections, most_bps, last_s)

    def window(self, runs: Mapping[str, Simulation]) -> Window | None:
        """Give the part of the time that is shown."""
        if self.last_s is None:
            return self.window_s
        ends = [min(run.connections[c]["end_s"] for c in self.connections) for run in runs.values()]
        return min(ends) - self.last_s, max(ends)

    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give a row for each change of a rate: ``time_s``, ``name``, ``granted_bps``."""
        rates = run.result.rates(subflows=self.subflows)
        # The subflows of c1 are called c1/1, c1/2, ...
        connection = pl.col("name").str.replace(r"/\d+$", "") if self.subflows else pl.col("name")
        return rates if self.connections in ((), ("*",)) else rates.filter(connection.is_in(self.connections))

    def draw(self, gathered: GatheredInWindow, title: str, file: Path) -> None:
        """Draw a panel for each run."""
        # Only now: matplotlib takes longer to load than the experiments take to run.
        from anabranch import figures

        figures.draw_rates(
            gathered.results,
            connections=self.connections or None,
            subflows=self.subflows,
            window_s=gathered.window_s,
            most_bps=self.most_bps,
            title=title,
            file=file,
        )


@dataclass(frozen=True)
class SubflowRates(Rates, draw="subflow-rates"):
    """Granted rates of subflows over time."""

    subflows: ClassVar[bool] = True


@dataclass(frozen=True)
class Queues(OfSimulations, draw="queues"):
    """The longest queue of each link, a bar for each run."""

    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give a row for each link with a queue: ``link``, ``most_packets``."""
        return run.result.links.filter(pl.col("most_packets") > 0).select("link", "most_packets")

    def draw(self, gathered: GatheredInWindow, title: str, file: Path) -> None:
        """Draw the bars of all runs beside each other."""
        from anabranch import figures

        figures.draw_queues(gathered.results, title=title, file=file)


@dataclass(frozen=True)
class QueuesOverTime(OfSimulations, draw="queues-over-time"):
    """The queues of links over time."""

    is_of_one_seed: ClassVar[bool] = True

    links: tuple[str, ...]

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> QueuesOverTime:
        """Read the keys of the kind."""
        return cls(heading, read_simulated(table, runs), table.window_s("window"), tuple(table.texts("links")))

    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give a row for each sample of a link: ``time_s``, ``link``, ``peak_packets``."""
        rows = run.samples("link").filter(pl.col("peak_packets").max().over("name") > 0)
        rows = rows.filter(pl.col("name").is_in(self.links)) if self.links else rows
        return rows.select("time_s", pl.col("name").alias("link"), "peak_packets")

    def draw(self, gathered: GatheredInWindow, title: str, file: Path) -> None:
        """Draw a panel for each run."""
        from anabranch import figures

        links = self.links or None
        figures.draw_queues(
            gathered.results, over="time", links=links, window_s=gathered.window_s, title=title, file=file
        )


@dataclass(frozen=True)
class LongestQueue(OfSimulations, draw="longest-queue"):
    """The most packets at any link over time, a line for each run."""

    is_of_one_seed: ClassVar[bool] = True

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> LongestQueue:
        """Read the keys of the kind."""
        return cls(heading, read_simulated(table, runs), table.window_s("window"))

    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give a row for each sample: ``time_s``, ``peak_packets``."""
        return run.samples("run").select("time_s", "peak_packets")

    def draw(self, gathered: GatheredInWindow, title: str, file: Path) -> None:
        """Draw the lines of all runs in one frame."""
        from anabranch import figures

        figures.draw_longest_queue(gathered.results, window_s=gathered.window_s, title=title, file=file)


@dataclass(frozen=True)
class Completions(OfSimulations, draw="completions"):
    """The time that transfers take by their size, a line for each run."""

    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give a row for each bin of sizes, as `anabranch.runs.settling.by_amount` does."""
        return by_amount(run.result)

    def draw(self, gathered: GatheredInWindow, title: str, file: Path) -> None:
        """Draw the lines of all runs in one frame."""
        from anabranch import figures

        figures.draw_completions(gathered.results, title=title, file=file)


@dataclass(frozen=True)
class Errors(OfSimulations, draw="errors"):
    """Errors of rates over time: their mean, percentiles and extremes."""

    is_of_one_seed: ClassVar[bool] = True

    of: Literal["connection", "link"]
    extremes: bool

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Errors:
        """Read the keys of the kind."""
        of: Literal["connection", "link"] = table.choice("of", ("connection", "link"), "connection")
        extremes = table.flag("extremes", default=True)
        return cls(heading, read_simulated(table, runs), table.window_s("window"), of, extremes)

    def numbers(self, run: Simulation) -> pl.DataFrame:
        """Give a row for each sample, as `Result.errors` does."""
        return run.result.errors(of=self.of)

    def draw(self, gathered: GatheredInWindow, title: str, file: Path) -> None:
        """Draw a panel for each run."""
        from anabranch import figures

        figures.draw_errors(
            gathered.results,
            of=self.of,
            window_s=gathered.window_s,
            extremes=self.extremes,
            title=title,
            file=file,
        )
