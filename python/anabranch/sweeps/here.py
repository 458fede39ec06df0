"""Runs on the threads of this machine: simulations need no lock of the interpreter, so they go side by side.

What does need it is done by one thread at a time: others that wait for it would take it at each call that gives it up,
and the one that did would wait for them again and again.
"""

from __future__ import annotations

import queue
import sys
import threading
from typing import TYPE_CHECKING, Any

from anabranch.errors import StorageError
from anabranch.runs.simulate import end_of
from anabranch.sweeps.version import run_name
from anabranch.sweeps.work import Failed, FileChangedError, Made, error_text, facts_of, files_of, tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anabranch.sweeps.points import Point
    from anabranch.sweeps.store import Store
    from anabranch.sweeps.work import Base, Digests

    Outcome = Made | Failed
    Tell = Callable[[dict[int, float]], None]

SWITCH_S = 0.0005
"""So long a thread may hold the interpreter while another one wants it: tables take no longer to make."""

LOOK_S = 0.2
"""So often it is told how far the runs are."""


def run_here(
    base: Base, points: Iterable[Point], store: Store, digests: Digests, *, threads: int, tell: Tell
) -> Iterator[Outcome]:
    """Make the runs of points, so many at a time, and give each as soon as it is there.

    Parameters
    ----------
    tell : callable
        Told now and then how much of each run under way is done, from 0 to 1, by its number.
    """
    own = _Workers(base, points, store, digests)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield from own.outcomes(threads, tell)
    finally:
        sys.setswitchinterval(before)


class _Workers:
    def __init__(self, base: Base, points: Iterable[Point], store: Store, digests: Digests) -> None:
        self.base = base
        self.points = enumerate(points)
        self.store = store
        self.digests = digests
        self.taking = threading.Lock()
        self.turn = threading.Lock()
        self.is_over = False
        self.shares: dict[int, float] = {}
        self.done: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()

    def outcomes(self, count: int, tell: Tell) -> Iterator[Outcome]:
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            working = count
            while working:
                try:
                    outcome = self.done.get(timeout=LOOK_S)
                except queue.Empty:
                    tell(dict(self.shares))
                    continue
                if outcome is None:
                    working -= 1
                elif isinstance(outcome, BaseException):
                    raise outcome
                else:
                    yield outcome
        finally:
            self.is_over = True
            for thread in threads:
                thread.join()

    def _work(self) -> None:
        try:
            while not self.is_over:
                with self.taking:
                    number, point = next(self.points, (-1, None))
                if point is None:
                    break
                self.done.put(self._outcome(number, point))
        except BaseException as error:
            self.done.put(error)
        else:
            self.done.put(None)

    def _outcome(self, number: int, point: Point) -> Outcome:
        self.shares[number] = 0.0
        key = self.base.key(point)
        try:
            return self._made(point, key, number)
        except (KeyboardInterrupt, SystemExit, StorageError, FileChangedError):
            raise
        except BaseException as error:  # a panic is no Exception
            return Failed(point, key, error_text(error))
        finally:
            self.shares.pop(number, None)

    def _made(self, point: Point, key: str, number: int) -> Made:
        with self.turn:
            plan, files = self.digests.plan(self.base, point)
            run = run_name(plan.resolved)
            if self.store.is_whole(run):
                return Made(point, key, run, files)
        ended = end_of(plan, 1, self._tell(number, plan.core.duration_s))
        if ended.raised is not None:
            raise ended.raised
        with self.turn:
            result = ended.result()
            written, tables = files_of(result), tables_of(result)
        if not self.store.put(run, written):
            return Made(point, key, run, files)
        facts: dict[str, Any] = facts_of(result, written)
        return Made(point, key, run, files, is_new=True, facts=facts, tables=tables)

    def _tell(self, number: int, duration_s: float) -> Callable[[float, int], None]:
        def tell(time_s: float, _events: int) -> None:
            if self.is_over:
                raise KeyboardInterrupt
            self.shares[number] = time_s / duration_s if duration_s > 0.0 else 1.0

        return tell
