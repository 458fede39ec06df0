"""Results of points, put into the order of the points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.sweeps.single_run import SweptRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.sweeps.single_run import Failed


class Turns:
    """Runs that wait for those of the points before them, so that tables do not depend on which run is done first.

    Where many rows wait for one slow run, further runs wait without their tables, which are in their folders.

    Parameters
    ----------
    keys : sequence of str
        Of the points, in their order.
    most_rows : int
        The most rows of tables that wait.
    """

    def __init__(self, keys: Sequence[str], most_rows: int) -> None:
        self.keys = list(dict.fromkeys(keys))
        self.most_rows = most_rows
        self.next = self.rows = 0
        self.waiting: dict[str, SweptRun | Failed] = {}

    def after(self, outcome: SweptRun | Failed) -> Iterator[SweptRun]:
        """Add the result of a point, and give the runs whose turn it is."""
        is_next = self.keys[self.next : self.next + 1] == [outcome.key]
        if isinstance(outcome, SweptRun) and not is_next and self.rows + _rows(outcome) > self.most_rows:
            outcome = replace(outcome, tables={})
        self.waiting[outcome.key] = outcome
        self.rows += _rows(outcome)
        while self.next < len(self.keys) and self.keys[self.next] in self.waiting:
            own = self.waiting.pop(self.keys[self.next])
            self.next += 1
            self.rows -= _rows(own)
            if isinstance(own, SweptRun):
                yield own

    def rest(self) -> Iterator[SweptRun]:
        """Give the runs that still wait after the last result."""
        for key in self.keys[self.next :]:
            own = self.waiting.pop(key, None)
            if isinstance(own, SweptRun):
                yield own


def _rows(outcome: SweptRun | Failed) -> int:
    return sum(map(len, outcome.tables.values())) if isinstance(outcome, SweptRun) else 0
