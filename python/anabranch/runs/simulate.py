"""Simulation of a scenario in one call."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import _core
from anabranch.errors import RunInterrupted
from anabranch.interrupts import held_interrupts
from anabranch.memory import ask_for_memory
from anabranch.runs.result import Result
from anabranch.runs.scenario import read_plan
from anabranch.runs.scenario_text import text_of
from anabranch.runs.tables import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anabranch.runs.scenario import Plan

    Progress = Callable[[float, float, int], None]
    Onlooker = Callable[[dict[str, NDArray[Any]]], None]

MOST_NAMED = 3
"""The most links that a warning names."""


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seed: int | None = None,
    sets: Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | None = None,
    samples: Onlooker | None = None,
) -> Result:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : path, str or mapping
        A scenario file; its text, if there is a line break in it; or its tables as plain values (`scenario`).
    seed : int, optional
        The seed of the run; by default that of the file.
    sets : sequence of str
        Values that replace those of the file: ``["connection.0.weight=2"]``.
    threads : int, optional
        The number of threads; the tables do not depend on it. By default a large run uses as many threads as this
        process may use while that is faster, and other runs use one. Links that lose, repeat or delay packets at random
        keep a run on one thread.
    progress : callable, optional
        Called some times a second with the simulated time and the duration in seconds, and the number of events. An
        exception in it ends the run.
    samples : callable, optional
        Called some times a second with the samples since the last call, as arrays of a row for each sample and a
        column for each thing, in the order of the tables: ``time_s``, and by the kind of thing and the column of the
        series ``connection_granted_bps``, ``link_backlog_bytes`` and so on, as far as they are recorded. The last
        samples are in the result only. An exception in it ends the run.

    Returns
    -------
    Result
        A function of the scenario and the seed: the same tables each time.

    Raises
    ------
    ScenarioError
        A mistake in the scenario, with file, line, column, reason and remedy; or it would take more memory than it may
        (`allow_memory`).
    MemoryError
        The run took more memory than allowed, which the estimate could not foresee.
    RunInterrupted
        Ctrl-C; a KeyboardInterrupt with what came of the run until then as its ``result``. Once more Ctrl-C changes
        nothing until that is made.
    """
    return run_plan(
        read_plan(text_of(scenario), seed=seed, sets=sets), threads=threads, progress=progress, samples=samples
    )


def run_plan(
    plan: Plan,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    samples: Onlooker | None = None,
) -> Result:
    """Simulate a plan that `read_plan` prepared; see `run`."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}; it must be 1 or more")
    with held_interrupts() as interrupts:
        ended = end_of(plan, threads, interrupts.teller(progress, plan.core.duration_s), samples)
        if isinstance(ended.raised, MemoryError):
            # Tables of what there is would take as much again.
            raise ended.raised
        result = ended.result()
        if interrupts.came or isinstance(ended.raised, KeyboardInterrupt):
            raise RunInterrupted(result) from ended.raised
    if ended.raised is not None:
        raise ended.raised
    return result


@dataclass(frozen=True)
class Ended:
    """A simulation at its end, before its results become tables.

    Attributes
    ----------
    plan : Plan
    outcome : _core.Outcome
    raised : BaseException or None
        What ended it before its time.
    wall_s : float
        How long it took.
    """

    plan: Plan
    outcome: _core.Outcome
    raised: BaseException | None
    wall_s: float

    def result(self) -> Result:
        """Give the results as tables."""
        return _result(self.plan, self.outcome, self.wall_s)


def end_of(
    plan: Plan, threads: int | None, tell: Callable[[float, int], None], samples: Onlooker | None = None
) -> Ended:
    """Simulate a plan that `read_plan` prepared, without the lock of the interpreter.

    Parameters
    ----------
    plan : Plan
    threads : int or None
    tell : callable
        Told some times a second of the simulated time in seconds, and of events. What it raises ends the simulation.
    samples : callable, optional
        See `run`.

    Raises
    ------
    ScenarioError
        It would take more memory than there is.
    """
    ask_for_memory(plan.core.memory(), "the run")
    begin = time.perf_counter()
    outcome, raised = _core.simulate(plan.core, threads, tell, samples)
    return Ended(plan, outcome, raised, time.perf_counter() - begin)


@cache
def _own_version() -> str:
    """Give the version of this program; looking for it among the packages installed takes as long as a small run."""
    return version("anabranch")


def _result(plan: Plan, outcome: _core.Outcome, wall_s: float) -> Result:
    measured = Measured(plan.network, plan.core, outcome)
    connections, links = measured.connections(), measured.links()
    meta = {
        "anabranch": _own_version(),
        "title": plan.title,
        "description": plan.description,
        "seed": plan.core.seed,
        "finished": outcome.is_whole,
        "reached_s": outcome.reached_s,
        "duration_s": plan.core.duration_s,
        "warm_up_s": plan.core.warm_up_s,
        "sample_s": plan.core.sample_s,
        "events": outcome.events,
        "packet_hops": outcome.hops,
        "strays": int(connections["strays"].sum()),
        **_control(plan, connections, links),
        "mean_bottlenecks": measured.mean_bottlenecks(),
        "most_bottlenecks": connections["most_bottlenecks"].max(),
        "warnings": [
            *plan.core.warnings,
            *_warnings(outcome, connections, links, keeps_windows=plan.core.keeps_windows),
        ],
        "threads": outcome.threads,
        "wall_s": round(wall_s, 6),
        "events_per_s": round(outcome.events / wall_s) if wall_s > 0 else 0,
    }
    tables: dict[str, Any] = {
        name: getattr(measured, name)() for name in ("subflows", "series", "spread", "waits", "grants")
    }
    return Result(meta, plan.resolved, plan.network, connections=connections, links=links, **tables)


def _control(plan: Plan, connections: pl.DataFrame, links: pl.DataFrame) -> dict[str, int]:
    """Give the control packets of a run: those that sources sent, and those that entered links."""
    crossing, carried = int(links["control_bytes"].sum()), int(links["carried_bytes"].sum())
    sent, entered = (int(table["control_packets"].sum()) for table in (connections, links))
    total = carried if plan.core.control_is_in_band else carried + crossing
    values = (sent, int(connections["control_bytes"].sum()), entered, crossing, total)
    names = ("control_packets", "control_bytes", "control_hops", "control_hop_bytes", "hop_bytes")
    return dict(zip(names, values, strict=True))


def _warnings(
    outcome: _core.Outcome, connections: pl.DataFrame, links: pl.DataFrame, *, keeps_windows: bool
) -> Iterator[str]:
    """Give what a reader of the numbers must know."""
    if not outcome.is_whole:
        yield f"the run was stopped at {outcome.reached_s:g} s"
    if outcome.bad_grants:
        yield f"{_count(outcome.bad_grants, 'grant')} of the protocols were no rate, and taken for 0"
    # From drops protocols that keep windows learn what there is to share.
    if not keeps_windows and links["dropped"].sum():
        dropping = links.filter(pl.col("dropped") > 0).sort("dropped", descending=True, maintain_order=True)
        named = ", ".join(f"`{name}` {count}" for name, count in dropping.select("link", "dropped")[:MOST_NAMED].rows())
        more = f", and {len(dropping) - MOST_NAMED} more" if len(dropping) > MOST_NAMED else ""
        yield f"{_count(int(dropping['dropped'].sum()), 'packet')} dropped or lost at links: {named}{more}"
    if outcome.links_not_clear and not connections["left_s"].null_count():
        yield f"{_count(outcome.links_not_clear, 'link control')} did not forget connections that have left"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
