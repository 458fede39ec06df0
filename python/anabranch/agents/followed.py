"""Groups of paths that follow what the agent of this machine hears of links."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAUSE_S = 0.5
"""The time between two questions."""


class FollowedGroups:
    """The present groups of paths, for which a thread asks again and again.

    Groups stay as they are while the agent is away or knows no path over an interface.

    Parameters
    ----------
    ask : callable
        Asks for the groups: a number for each path.
    first : sequence of int
        The groups at the start.
    """

    def __init__(self, ask: Callable[[], Sequence[int]], first: Sequence[int]) -> None:
        self._ask = ask
        self._groups = numbered(first)
        threading.Thread(target=self._run, name="followed-groups", daemon=True).start()

    def __call__(self) -> list[int]:
        """Return the present groups."""
        return self._groups

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(PAUSE_S):
            with suppress(ValueError, OSError):
                self._groups = numbered(self._ask())


def numbered(groups: Sequence[int]) -> list[int]:
    """Give each group the number of its place, so that groups that are the same have the same numbers."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(group, len(numbers)) for group in groups]
