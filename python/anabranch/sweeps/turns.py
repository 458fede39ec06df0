"""What came of points, in the order of the points, however it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.sweeps.work import Made

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.sweeps.work import Failed


class Turns:
    """Runs that wait for those of the points before them, so that tables do not depend on which run is done first.

    Parameters
    ----------
    keys : sequence of str
        Of the points, in their order.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = list(dict.fromkeys(keys))
        self.next = 0
        self.waiting: dict[str, Made | Failed] = {}

    def after(self, outcome: Made | Failed) -> Iterator[Made]:
        """Take in what came of a point, and give the runs whose turn it is."""
        self.waiting[outcome.key] = outcome
        while self.next < len(self.keys) and self.keys[self.next] in self.waiting:
            own = self.waiting.pop(self.keys[self.next])
            self.next += 1
            if isinstance(own, Made):
                yield own

    def rest(self) -> Iterator[Made]:
        """Give the runs that still wait, where no more come."""
        for key in self.keys[self.next :]:
            own = self.waiting.pop(key, None)
            if isinstance(own, Made):
                yield own
