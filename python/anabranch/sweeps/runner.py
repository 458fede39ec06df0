"""The runner of sweeps: every point is run once, here or on a cluster; an interrupted sweep continues later."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.memory import ask_for_memory
from anabranch.runs.result import read_result
from anabranch.sweeps.file import Sweep, read_file
from anabranch.sweeps.local import run_here
from anabranch.sweeps.more_seeds import first_seeds, unsure
from anabranch.sweeps.outputs import USUAL, check_columns, write_all
from anabranch.sweeps.points import SEED, axes_of, column_of_seed, points_of
from anabranch.sweeps.results import POINTS, Swept, alone, joined, read_sweep, runs_together, together
from anabranch.sweeps.single_run import Base, Digests, Failed, SweptRun, read_base, tables_of
from anabranch.sweeps.store import Store, opened
from anabranch.sweeps.turns import Turns
from anabranch.sweeps.version import code_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from anabranch.figures.paper import PaperChoice
    from anabranch.sweeps.points import Axis, Point

    On = Literal["here", "ray"]

MOST_PLANNED = 500
"""The number of values that are planned before a sweep begins; all are read."""

RUNS, ROWS = 1_000, 1_000_000
"""The number of runs, or of rows, whose tables are written together."""


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep.

    Attributes
    ----------
    total, done, failed, running : int
        Numbers of points; `done` has those that were there before.
    left_s : float or None
        About how long it will take; None as long as that cannot be told.
    outcome : SweptRun, Failed or None
        The run that was just done.
    """

    total: int
    done: int
    failed: int
    running: int
    left_s: float | None
    outcome: SweptRun | Failed | None = None


@dataclass(frozen=True)
class Checked:
    """A sweep file whose values can be set.

    Attributes
    ----------
    sweep : Sweep
    base : Base
        The scenario.
    axes : list of Axis
    points : list of Point
        Without the seeds that `repeat` adds.
    """

    sweep: Sweep
    base: Base
    axes: list[Axis]
    points: list[Point]


def check_sweep(file: str | os.PathLike[str]) -> Checked:
    """Read a sweep file, and make sure that each value can be set in the scenario.

    Raises
    ------
    ScenarioError
        The first mistake: in the file, in the scenario, in a path or a value.
    """
    sweep = read_file(file)
    base = read_base(sweep.scenario)
    axes = axes_of(sweep)
    points = points_of(sweep, axes)
    for axis in axes:
        for sets in dict.fromkeys(axis.at(step)[0] for step in _steps_to_check(axis)):
            _check_values(sweep, base, sets)
    _check_plans(sweep, base, points)
    return Checked(sweep, base, axes, points)


def _check_plans(sweep: Sweep, base: Base, points: Sequence[Point]) -> None:
    """Make sure that there is a run with each value.

    Raises
    ------
    ScenarioError
        There is none with one of the first `MOST_PLANNED` values, at the first and the last point that has it.
    """
    having: dict[tuple[str, Any], list[Point]] = {}
    for point in points:
        for name, value in point.values.items():
            own = having.setdefault((name, value), [point, point])
            own[1] = point
    having = {pair: own for pair, own in having.items() if pair[0] != column_of_seed(sweep)} or {("", 0): [points[0]]}
    fine: set[tuple[str, Any]] = set()
    for pair, candidates in itertools.islice(having.items(), MOST_PLANNED):
        if pair in fine:
            continue
        for point in candidates:
            try:
                ask_for_memory(base.plan(point).core.memory(), "a run of it")
            except ScenarioError as error:
                if point is candidates[-1]:
                    raise sweep.error(str(error)) from error
            else:
                fine.update(point.values.items())
                break


def _steps_to_check(axis: Axis) -> Iterable[int]:
    """Give all steps; of seeds that are whole numbers, the least and the greatest, since all between can be set too."""
    first, *others = axis.varied
    if others or first.path != SEED or any(type(seed) is not int for seed in first.given):
        return range(len(axis))
    return first.given.index(min(first.given)), first.given.index(max(first.given))


def _check_values(sweep: Sweep, base: Base, sets: Sequence[str]) -> None:
    values = [(path, value) for path, _, value in (own.partition("=") for own in (*sweep.file.sets, *sets))]
    try:
        _core.Scenario(base.text, values)
    except ValueError as error:
        raise sweep.error(f"{' '.join(sets)} in {base.file}: {error}") from error


def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    threads: int | None = None,
    on: On = "here",
    address: str | None = None,
    shared: bool = False,
    progress: Callable[[Progress], None] | None = None,
    formats: Sequence[str] = USUAL,
    paper: PaperChoice | None = None,
) -> Swept:
    """Run a scenario with many values, and make tables and figures of all runs.

    Existing runs are kept: an interrupted sweep continues, and a sweep whose file has more values now runs only these.
    Runs of another version of the code, or of a scenario that has changed since, are ignored.

    Parameters
    ----------
    file : path
        The sweep file.
    out : path
        The folder of the sweep; created if it does not exist.
    threads : int, optional
        Number of runs at a time; by default the number of processors.
    on : {"here", "ray"}
        On this machine, or on a Ray cluster. The runs are the same, byte for byte.
    address : str, optional
        Address of the cluster, such as ``"auto"``; by default a cluster of this machine alone.
    shared : bool
        Nodes of the cluster write to `out` themselves, under the same name everywhere, and send no results.
    progress : callable, optional
        Called with the progress of the sweep. An exception in it ends the sweep; finished runs are kept.
    formats : sequence of {"svg", "png", "pdf"}
        The formats of figures.
    paper : dict, optional
        ``width``, ``font`` and ``font_size`` of figures, as in `PaperChoice`.

    Raises
    ------
    ScenarioError
        A mistake in the sweep file or the scenario; `out` holds something else, or another sweep writes there.
    StorageError
        The disk is full or cannot be written to; finished runs are kept.
    """
    checked = check_sweep(file)
    with opened(Path(out)) as store:
        runner = _Runner(checked, store, threads or os.cpu_count() or 1, on, address, shared, progress)
        runner.go()
        swept = read_sweep(out)
        write_all(checked.sweep, swept, formats, paper)
    return swept


class _Runner:
    def __init__(
        self,
        checked: Checked,
        store: Store,
        threads: int,
        on: On,
        address: str | None,
        shared: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.checked = checked
        self.base = checked.base
        self.store = store
        self.threads, self.on, self.address, self.shared = threads, on, address, shared
        self.progress = progress
        self.digests = Digests()
        self.points: list[Point] = []
        self.done = self.failed = self.new = 0
        self.shares: dict[int, float] = {}
        self.pending: list[tuple[str, dict[str, pl.DataFrame]]] = []
        self.rows = 0
        self.kept_together = runs_together(store.folder)
        self.begin = time.perf_counter()
        self.known = self._known()
        self.as_written: set[str] = set()
        self.failed_before = set(store.failures())

    def go(self) -> None:
        """Run all points, and those that `repeat` adds."""
        self.store.put_text("sweep.toml", self.checked.sweep.text)
        repeat = self.checked.sweep.file.repeat
        more = self.checked.points if repeat is None else first_seeds(self.checked.points, repeat)
        while more:
            self._round(more)
            swept = read_sweep(self.store.folder)
            self._keep_together(swept)
            more = [] if repeat is None else unsure(self.checked.sweep, self.checked.points, read_sweep(swept.folder))
        self.store.keep_failures({self.base.key(point) for point in self.points})

    def _round(self, points: Sequence[Point]) -> None:
        self.points += points
        self._put_points()
        new = []
        for point in points:
            if self._is_there(point):
                self.done += 1
            else:
                new.append(point)
        self._tell(None)
        turns = Turns([self.base.key(point) for point in new], ROWS)
        try:
            for outcome in self._outcomes(new):
                self._take(outcome)
                self._keep(turns.after(outcome))
        finally:
            self._keep(turns.rest())
            self._flush()

    def _outcomes(self, points: Sequence[Point]) -> Iterator[SweptRun | Failed]:
        if not points:
            return iter(())
        if self.on == "ray":
            from anabranch.sweeps.on_ray import run_on_ray

            return run_on_ray(
                self.base, points, self.store, self.digests, address=self.address, shared=self.shared, tell=self._hear
            )
        threads = min(self.threads, len(points))
        return run_here(self.base, points, self.store, self.digests, threads=threads, tell=self._hear)

    def _take(self, outcome: SweptRun | Failed) -> None:
        """Note what came of a point."""
        if isinstance(outcome, Failed):
            self.failed += 1
            self.store.note_failure(outcome.key, {"sets": outcome.point.sets, "error": outcome.error})
        else:
            self.done += 1
            if outcome.is_new and not self.new:
                check_columns(self.checked.sweep, alone(self.store.folder, outcome.point, outcome.run))
            self.new += outcome.is_new
            line = {"key": outcome.key, "run": outcome.run, "code": code_version(), "files": outcome.files}
            facts = outcome.facts or {"bytes": self.store.size(outcome.run), "digest": self.store.digest(outcome.run)}
            self.store.note({**line, **facts})
            if outcome.key in self.failed_before:
                self.store.forget_failure(outcome.key)
        self._tell(outcome)

    def _keep(self, outcomes: Iterable[SweptRun]) -> None:
        """Keep the tables of runs to be written together."""
        for outcome in outcomes:
            if outcome.is_new and outcome.run not in self.kept_together:
                self.kept_together.add(outcome.run)
                tables = outcome.tables or tables_of(read_result(self.store.place(outcome.run)))
                self.pending.append((outcome.run, tables))
                self.rows += sum(map(len, tables.values()))
            if len(self.pending) >= RUNS or self.rows >= ROWS:
                self._flush()

    def _flush(self) -> None:
        """Write the tables of the runs of late together."""
        pending, self.pending, self.rows = self.pending, [], 0
        if pending:
            self.store.put_tables(joined(pending))

    def _keep_together(self, swept: Swept) -> None:
        """Add runs to the tables of many runs that a sweep which was ended has not."""
        loose = swept.loose_runs
        for start in range(0, len(loose), RUNS):
            self.store.put_tables(together(self.store, loose[start : start + RUNS]))
        self.kept_together |= set(loose)

    def _put_points(self) -> None:
        values = {name: [point.values[name] for point in self.points] for name in self.points[0].values}
        keys = [self.base.key(point) for point in self.points]
        self.store.put_frame(POINTS, pl.DataFrame({"key": keys, **values}, strict=False))

    def _known(self) -> dict[str, dict[str, Any]]:
        """Give the lines of the journal on runs that are there, by key."""
        there = self.store.names()
        return {line["key"]: line for line in self.store.lines() if line["run"] in there}

    def _is_there(self, point: Point) -> bool:
        """Tell whether the run of a point is there, whole, and of files that have not changed."""
        line = self.known.get(self.base.key(point))
        if line is None or not self.digests.hold(line["files"]):
            return False
        run = line["run"]
        if run in self.as_written:
            return True
        # As after a loss of power, or on a disk that rots: it is made again. Sizes tell sooner, where they tell.
        is_same = self.store.size(run) == line["bytes"] and line.get("digest") in (None, self.store.digest(run))
        if not is_same:
            self.store.remove(run)
            return False
        self.as_written.add(run)
        return True

    def _hear(self, shares: dict[int, float]) -> None:
        if not shares and not self.new:
            # A cluster may take long to start, which says nothing of its runs.
            self.begin = time.perf_counter()
        self.shares = shares
        self._tell(None)

    def _tell(self, outcome: SweptRun | Failed | None) -> None:
        if self.progress is None:
            return
        total = len(self.points)
        remaining = total - self.done - self.failed
        running = min(remaining, len(self.shares) or self.threads)
        part = sum(self.shares.values()) if outcome is None else 0.0
        worked = self.new + self.failed + part
        left = None if worked <= 0.0 else (time.perf_counter() - self.begin) / worked * max(remaining - part, 0.0)
        self.progress(Progress(total, self.done, self.failed, running, left, outcome))


def other_versions(folder: Path) -> int:
    """Give how many runs in a folder are of other versions of the code than this."""
    store = Store(folder)
    there = store.names()
    return len({line["run"] for line in store.lines() if line["run"] in there and line.get("code") != code_version()})
