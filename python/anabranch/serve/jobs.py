"""Simulations in processes of their own: some at a time, the others wait; each becomes a run in the folder."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from anabranch.errors import ScenarioError
from anabranch.page import Growing
from anabranch.serve import work
from anabranch.serve.child import Child
from anabranch.serve.models import JobFacts
from anabranch.serve.names import address, new_name

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.serve.models import State
    from anabranch.serve.work import Prepared

MOST_WAITING = 50
MOST_KEPT = 100
"""The number of ended jobs that are remembered."""

OVER = ("done", "stopped", "failed")
NAMES_TO_TRY = 20

LOOK_S = 0.05
"""So often a job is looked at that is to be called off."""

TO_BEGIN_S = 3.0
"""Seconds that a job which is called off may still read its scenario; what has not begun then ends without a run."""

ASIDE = re.compile(r"\.[0-9a-f]{16}")
"""The name of a folder in which a job writes its run: hidden, with the job's id."""

LEFT_S = 3600.0
"""A folder aside that is older belongs to a server that was killed, and to none that is still there."""


@dataclass
class Job:
    """A scenario that waits, runs or has run.

    Attributes
    ----------
    name : str
        That of the run's folder.
    prepared : Prepared or None
        None once the job is over, as is ``samples``.
    is_called_off : bool
        It ends at the next opportunity, and what there is until then is kept.
    """

    name: str
    prepared: Prepared | None
    title: str
    duration_s: float
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "waiting"
    is_called_off: bool = False
    time_s: float = 0.0
    events: int = 0
    begin: float | None = None
    end: float | None = None
    samples: Growing | None = None
    count: int = 0
    run: str | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state in OVER

    def facts(self) -> JobFacts:
        """Give the progress of the job."""
        now = time.monotonic() if self.end is None else self.end
        wall_s = 0.0 if self.begin is None else max(now - self.begin, 1e-9)
        share = self.time_s / self.duration_s if self.duration_s > 0 else 0.0
        return JobFacts(
            **{name: getattr(self, name) for name in ("id", "name", "title", "state", "time_s", "duration_s")},
            events=self.events,
            events_per_s=round(self.events / wall_s) if wall_s else 0.0,
            wall_s=round(wall_s, 3),
            left_s=round(wall_s * (1.0 / share - 1.0), 3) if share > 0 and not self.is_over else None,
            samples=self.count,
            run=self.run,
            error=self.error,
        )

    def header(self) -> dict[str, Any] | None:
        """Give the header of the growing run; nothing once it is over."""
        prepared = self.prepared
        return None if prepared is None or self.is_over else prepared.header() | {"name": self.name}


class Jobs:
    """All jobs, and the threads that look after their processes.

    Parameters
    ----------
    folder : Path
        Where runs are written.
    at_once : int
        Number of jobs that run at a time.
    memory : str or None
        The most that each may take; 70 % of what is free when it begins if None.
    """

    def __init__(self, folder: Path, at_once: int, memory: str | None = None) -> None:
        self.folder = folder
        self.memory = memory
        self.at_once = at_once
        self.known: dict[str, Job] = {}
        self.waiting: deque[Job] = deque()
        self.changed = Condition()
        self.is_closed = False
        _remove_left(folder)
        self.threads = [Thread(target=self._work, name=f"simulation {i}", daemon=True) for i in range(at_once)]
        for thread in self.threads:
            thread.start()

    def start(self, prepared: Prepared, name: str | None) -> Job:
        """Add a job.

        Raises
        ------
        ScenarioError
            Too many wait already, or the server is about to end.
        """
        with self.changed:
            if self.is_closed:
                raise ScenarioError("the server is about to end; start it again first")
            if len(self.waiting) >= MOST_WAITING:
                raise ScenarioError(f"{MOST_WAITING} jobs wait already; stop some, or wait until they have run")
            taken = {job.name for job in self.known.values() if not job.is_over}
            own = new_name(name or prepared.title or "run", taken, self.folder)
            job = Job(own, prepared, prepared.title, prepared.duration_s)
            self.known[job.id] = job
            over = [known for known in self.known.values() if known.is_over]
            for old in over[: max(len(over) - MOST_KEPT, 0)]:
                del self.known[old.id]
            self.waiting.append(job)
            self.changed.notify()
        return job

    def stop(self, job: Job) -> None:
        """Cancel a job: a waiting job ends at once, a running one soon."""
        with self.changed:
            job.is_called_off = True
            if job in self.waiting:
                self.waiting.remove(job)
                _end(job, "stopped")

    def close(self) -> None:
        """Cancel all jobs, and wait until their results are written."""
        with self.changed:
            self.is_closed = True
            for job in list(self.known.values()):
                job.is_called_off = True
            for job in self.waiting:
                _end(job, "stopped")
            self.waiting.clear()
            self.changed.notify_all()
        for thread in self.threads:
            thread.join()

    def all(self) -> list[Job]:
        """Give all jobs, the newest first."""
        with self.changed:
            return list(self.known.values())[::-1]

    def names(self) -> set[str]:
        """Give the names that runs of jobs are about to take."""
        with self.changed:
            return {job.name for job in self.known.values() if not job.is_over}

    def _work(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or self.is_closed)
                if not self.waiting:
                    return
                job = self.waiting.popleft()
                job.state, job.begin = "running", time.monotonic()
            try:
                self._run(job)
            except BaseException as error:
                _end(job, "failed", " ".join(str(error).split()) or type(error).__name__)

    def _run(self, job: Job) -> None:
        prepared = job.prepared
        assert prepared is not None
        job.samples = Growing(prepared.capacity_bps, has_data=prepared.has_data)
        threads = None if self.at_once == 1 else max((os.cpu_count() or 1) // self.at_once, 1)
        aside = self.folder / f".{job.id}"
        written = aside / "run"
        child = Child(work.run, prepared.scenario, written, threads, memory=self.memory)
        try:
            facts = self._followed(job, child)
            if facts is not None:
                job.name = self._put(written, job)
        finally:
            child.close()
            shutil.rmtree(aside, ignore_errors=True)
        if facts is None:
            _end(job, "stopped")
            return
        job.run = address((job.name,))
        job.time_s, job.events = facts["time_s"], facts["events"]
        _end(job, facts["state"])

    def _followed(self, job: Job, child: Child) -> dict[str, Any] | None:
        """Take in what the process of a job tells until its end; give the facts of its run if it has begun."""
        samples = job.samples
        assert samples is not None
        has_begun, stopped_s = False, None
        while True:
            if job.is_called_off and stopped_s is None:
                stopped_s = time.monotonic()
                child.stop()
            if stopped_s is not None and not has_begun and time.monotonic() - stopped_s > TO_BEGIN_S:
                return None
            match child.heard(LOOK_S):
                case "begun", _:
                    has_begun = True
                case "progress", (time_s, events):
                    job.time_s, job.events = time_s, events
                case "samples", new:
                    samples.add(new)
                    job.count = len(samples)
                case "done", facts:
                    return dict(facts)

    def _put(self, written: Path, job: Job) -> str:
        """Give a run the job's name, or one like it if somebody has taken that meanwhile; give the name."""
        for _ in range(NAMES_TO_TRY):
            with self.changed:
                taken = {other.name for other in self.known.values() if not other.is_over and other is not job}
            name = new_name(job.name, taken, self.folder)
            try:
                written.rename(self.folder / name)
            except OSError:
                if not os.path.lexists(self.folder / name):
                    raise
                continue
            return name
        raise ScenarioError(f"{self.folder}: no new name could be found for {job.name}; remove old runs")


def _remove_left(folder: Path) -> None:
    """Remove what jobs have left aside whose server was killed."""
    for place in folder.glob(".*"):
        with suppress(OSError):
            if ASIDE.fullmatch(place.name) and time.time() - place.lstat().st_mtime > LEFT_S:
                shutil.rmtree(place, ignore_errors=True)


def _end(job: Job, state: State, error: str | None = None) -> None:
    job.error, job.end = error, time.monotonic()
    # Last, since other threads read the rest once they see the state.
    job.state = state
    job.prepared, job.samples = None, None
