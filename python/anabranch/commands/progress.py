"""Progress of long work: a bar on a terminal, and now and then a line elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from anabranch.commands.text import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function that takes (stage, done, total) and draws a bar; None if nobody would see the bar."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, int] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = int(bar.add_task(stage, total=total))
            bar.update(bar.task_ids[tasks[stage]], completed=done, total=total)

        yield tell


LINE_EVERY_S = 30.0
"""So long is between two lines where there is no terminal."""


@contextmanager
def run_bar() -> Iterator[Callable[[float, float, int], None]]:
    """Give a function that takes (simulated time, duration, events) and shows the progress of a run."""
    with runs_bar() as tell:
        yield partial(tell, "")


@contextmanager
def runs_bar() -> Iterator[Callable[[str, float, float, int], None]]:
    """Give a function that takes (run, simulated time, duration, events) and shows the progress of several runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _by_lines(console)
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True) as bar:
        task, present, begin = bar.add_task("", total=None), "", time.perf_counter()

        def tell(run: str, time_s: float, duration_s: float, events: int) -> None:
            nonlocal present, begin
            if run != present:
                present, begin = run, time.perf_counter()
                bar.reset(task)
            words = _words(run, time_s, duration_s, events / max(time.perf_counter() - begin, 1e-9))
            bar.update(task, completed=time_s, total=duration_s, description=words)

        yield tell


def _by_lines(console: Console) -> Callable[[str, float, float, int], None]:
    present, begin, last = "", time.perf_counter(), time.perf_counter()

    def tell(run: str, time_s: float, duration_s: float, events: int) -> None:
        nonlocal present, begin, last
        now = time.perf_counter()
        if run != present:
            present, begin = run, now
        if now - last >= LINE_EVERY_S:
            last = now
            words = _words(run, time_s, duration_s, events / max(now - begin, 1e-9))
            console.print(words, highlight=False, markup=False, soft_wrap=True)

    return tell


def _words(run: str, time_s: float, duration_s: float, events_per_s: float) -> str:
    return f"{run} {time_text(time_s)} of {time_text(duration_s)}, {count_text(events_per_s)} events/s".lstrip()


class PathCounter:
    """Adds up what a search for paths says it has done, for the progress bar."""

    def __init__(self, tell: Callable[[str, int, int], None] | None, total: int) -> None:
        self.tell, self.total, self.done = tell, total, 0

    def __call__(self, count: int) -> None:
        """Add a number of connections that are done."""
        self.done += count
        if self.tell is not None:
            self.tell("paths", self.done, self.total)
