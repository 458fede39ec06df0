"""A progress bar on a terminal; silence elsewhere."""

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
    """Give a function to be told (stage, done, total), or None where nobody would see the bar."""
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


@contextmanager
def run_bar() -> Iterator[Callable[[float, float, int], None] | None]:
    """Give a function to be told (simulated time, duration, events), or None where nobody would see the bar."""
    with runs_bar() as tell:
        yield None if tell is None else partial(tell, "")


@contextmanager
def runs_bar() -> Iterator[Callable[[str, float, float, int], None] | None]:
    """Give a function to be told (run, simulated time, duration, events), or None where nobody would see the bar."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True) as bar:
        task, present, begin = bar.add_task("", total=None), "", time.perf_counter()

        def tell(run: str, time_s: float, duration_s: float, events: int) -> None:
            nonlocal present, begin
            if run != present:
                present, begin = run, time.perf_counter()
                bar.reset(task)
            speed = count_text(events / max(time.perf_counter() - begin, 1e-9))
            words = f"{run} {time_text(time_s)} of {time_text(duration_s)}, {speed} events/s".lstrip()
            bar.update(task, completed=time_s, total=duration_s, description=words)

        yield tell


class PathCounter:
    """Adds up what a search for paths says it has done, for the progress bar."""

    def __init__(self, tell: Callable[[str, int, int], None] | None, total: int) -> None:
        self.tell, self.total, self.done = tell, total, 0

    def __call__(self, count: int) -> None:
        """Take in that so many more connections are done."""
        self.done += count
        if self.tell is not None:
            self.tell("paths", self.done, self.total)
