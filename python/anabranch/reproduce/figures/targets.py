"""Figures of solvers on their way to an aim: c-SLEN and IEWF pass by pass, weighted Vegas' algorithm 2 step by step.

``convergence`` shows rates after each pass by running time, of runs of c-SLEN and IEWF. ``steps`` shows rates and
prices of paths after each step, of one run with ``weight-allocation``. Both have a key::

    target = "limit"                    the run whose rates are drawn as the aim
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce.figures.kind import Gathered, PaperFigure, outcomes_of, read_runs, read_target
from anabranch.reproduce.outcomes.kinds import OnPaths, Solved, WeightAllocated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.figures.kind import Heading
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class GatheredWithTargets(Gathered):
    """Rates on their way.

    Attributes
    ----------
    targets : dict of str to float
        The rate that each connection or subflow tends to.
    rates_in : str
        The unit of the rates.
    """

    targets: dict[str, float] = field(default_factory=dict)
    rates_in: str = ""


@dataclass(frozen=True)
class Convergence(PaperFigure[GatheredWithTargets], draw="convergence"):
    """Rates of connections after each pass of a solver, by running time."""

    runs: tuple[str, ...]
    target: str

    @property
    def timed(self) -> tuple[str, ...]:
        """The runs that it needs pass by pass: all of them."""
        return self.runs

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Convergence:
        """Read the keys of the kind."""
        own, target = read_runs(table, runs), read_target(table, runs)
        for name in own:
            if runs[name].method not in ("c-slen", "iewf") or runs[name].stop_change_bps is None:
                remedy = 'draw only methods "c-slen" and "iewf" with a stop_change, which end after a number of passes'
                raise table.error("runs", f"run `{name}` cannot be timed pass by pass", remedy)
        return cls(heading, own, target)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> GatheredWithTargets:
        """Gather a row for each run, pass and connection: ``run``, ``pass``, ``time_us``, ``connection``, ``rate``."""
        aim = outcomes_of(outcomes, self.target, OnPaths)[0]
        targets = dict(zip(aim.paths.demands.core.names, aim.connection_rates.tolist(), strict=True))
        frames = (_passes(name, own) for name in self.runs for own in outcomes_of(outcomes, name, Solved))
        return GatheredWithTargets(pl.concat(frames), targets=targets, rates_in=rates_in)

    def draw(self, gathered: GatheredWithTargets, title: str, file: Path) -> None:
        """Draw a panel for each run."""
        from anabranch import figures

        figures.draw_convergence(
            gathered.frame,
            targets=gathered.targets,
            rates_in=gathered.rates_in,
            title=title,
            caption=self.heading.caption,
            file=file,
        )


def _passes(name: str, outcome: Solved) -> pl.DataFrame:
    if outcome.trace is None:
        raise AssertionError(f"run `{name}` has no trace; the runs of a convergence are timed")
    passes, connections = outcome.trace.rates.shape
    return pl.DataFrame(
        {
            "run": [name] * (passes * connections),
            "connection": [c for c in outcome.paths.demands.core.names for _ in range(passes)],
            "pass": list(range(1, passes + 1)) * connections,
            "time_us": outcome.trace.time_us.cumsum().tolist() * connections,
            "rate": outcome.trace.rates.T.ravel(),
        }
    ).select("run", "pass", "time_us", "connection", "rate")


@dataclass(frozen=True)
class Steps(PaperFigure[GatheredWithTargets], draw="steps"):
    """Rates and prices of paths after each step of a weight allocation."""

    run: str
    target: str

    @classmethod
    def read(cls, table: Table, heading: Heading, runs: Mapping[str, Run]) -> Steps:
        """Read the keys of the kind."""
        own, target = read_runs(table, runs), read_target(table, runs)
        if len(own) > 1 or runs[own[0]].method != "weight-allocation":
            raise table.error("runs", "it must be one with steps", 'name one with method = "weight-allocation"')
        return cls(heading, own[0], target)

    def gather(self, outcomes: Outcomes, rates_in: str, place: Path) -> GatheredWithTargets:
        """Gather a row for each subflow and step, from 1 on: ``step``, ``name``, ``rate``, ``price``."""
        found = outcomes_of(outcomes, self.run, WeightAllocated)[0]
        aim = outcomes_of(outcomes, self.target, OnPaths)[0]
        names = _subflow_names(found)
        steps = range(1, len(found.step_rates) + 1)
        columns = {"step": [s for _ in names for s in steps], "name": [name for name in names for _ in steps]}
        frame = pl.DataFrame(columns | {"rate": found.step_rates.T.ravel(), "price": found.step_prices.T.ravel()})
        targets = dict(zip(names, aim.path_rates.tolist(), strict=True))
        return GatheredWithTargets(frame, targets=targets, rates_in=rates_in)

    def draw(self, gathered: GatheredWithTargets, title: str, file: Path) -> None:
        """Draw rates above and prices below."""
        from anabranch import figures

        figures.draw_steps(gathered.frame, targets=gathered.targets, rates_in=gathered.rates_in, title=title, file=file)


def _subflow_names(outcome: OnPaths) -> list[str]:
    offsets, names = outcome.paths.connection_offsets.tolist(), outcome.paths.demands.core.names
    return [f"{name}/{p + 1}" for c, name in enumerate(names) for p in range(offsets[c + 1] - offsets[c])]
