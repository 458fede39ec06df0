"""The progress of a fetch: lines about what fails and, on a terminal, the file with its sources and their paths."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from anabranch.commands.text import printable, rate_text
from anabranch.number_labels import bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.commands.fetch_notices import Notices
    from anabranch.transfer.fetched import FetchState

RATED_S = 1.0
"""Rates of paths are shown over this time."""

LEFT_S = 5.0
"""The time left is computed from the rate over this time."""

SILENT_S = 1.0
"""A source that sent nothing for this long is shown as silent."""

BAR_WIDTH = 40

_Key = tuple[int, int]
"""The numbers of a source, and of a path to it."""


class ProgressView:
    """The file, and below it its sources and their paths, with their rates over the last second."""

    def __init__(self, console: Console, notices: Notices) -> None:
        self.console = console
        self.notices = notices
        self.live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        self.paths: deque[tuple[float, dict[_Key, int]]] = deque([(0.0, {})])
        self.file: deque[tuple[float, int]] = deque()

    def __enter__(self) -> Callable[[FetchState, str], None]:
        if self.live is not None:
            self.live.start()
        return self.show

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, state: FetchState, title: str = "") -> None:
        """Print what is to be said at once and, on a terminal, draw it anew below."""
        for line in self.notices.new(state):
            self.console.print(Text(printable(line)), soft_wrap=True)
        if self.live is None:
            return
        if self.file and state.time_s < self.file[-1][0]:
            self.file.clear()
            self.paths = deque([(0.0, {})])
        total = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(state.size_bytes or 0, 1), completed=state.there_bytes, width=BAR_WIDTH)
        total.add_row(bar, self._total(state))
        head = [Text(title)] if title else []
        self.live.update(Group(*head, total, self._sources(state)), refresh=True)

    def _total(self, state: FetchState) -> str:
        """Give bytes, rate and time left of the file."""
        there, size = state.there_bytes, state.size_bytes
        self.file.append((state.time_s, there))
        while len(self.file) > 2 and state.time_s - self.file[1][0] >= LEFT_S:
            self.file.popleft()
        before_s, before = self.file[0]
        rate = 8 * max(there - before, 0) / max(state.time_s - before_s, 1e-9)
        if size is None:
            return "connecting"
        left = f", {time_text(8 * (size - there) / rate)} left" if rate > 0 else ""
        return f"{bytes_text(there)} of {bytes_text(size)}, {rate_text(rate)}{left}"

    def _sources(self, state: FetchState) -> Table:
        """Give a row for each source and each path."""
        counts = {
            (number, at): path["received_bytes"]
            for number, source in enumerate(state.sources)
            for at, path in enumerate(source["paths"])
        }
        self.paths.append((state.time_s, counts))
        while len(self.paths) > 2 and state.time_s - self.paths[1][0] >= RATED_S:
            self.paths.popleft()
        before_s, before = self.paths[0]
        table = Table.grid(padding=(0, 2))
        for number, source in enumerate(state.sources):
            table.add_row(source["source"], bytes_text(source["brought_bytes"]), "", Text(printable(standing(source))))
            for at, path in enumerate(source["paths"]):
                key = (number, at)
                rate = 8 * max(counts[key] - before.get(key, 0), 0) / max(state.time_s - before_s, 1e-9)
                trip = f"rtt {1e3 * path['rtt_s']:.1f} ms" if path["is_open"] else "closed"
                table.add_row(Text(f"  {path['path']}"), bytes_text(counts[key]), rate_text(rate), trip)
        return table


def standing(source: dict[str, Any]) -> str:
    """Say how a source stands, with the reason if it does not send."""
    if source["why"]:
        return f"{source['standing']}: {source['why']}"
    if source["standing"] == "sending" and source["silence_s"] >= SILENT_S:
        return f"silent for {source['silence_s']:.0f} s"
    return "connecting" if source["standing"] == "awaited" else str(source["standing"])


def time_text(seconds: float) -> str:
    """Give a time as it is read at a glance: ``12 s``, ``3:05 min``, ``2:10 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole // 60 % 60:02} h"
