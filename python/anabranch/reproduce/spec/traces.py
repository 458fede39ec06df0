"""Traces that runs of published experiments follow, of data that do not come with the project.

In ``experiment.toml``::

    [[trace]]
    name = "static-1"
    file = "../../../data/phone.csv"    in any format that `anabranch.read_trace` takes, from the folder on
    duration = "600 s"                  its beginning; all if left out
    capacities = "1 s"                  opportunities as a link that has their rate in such a bin; if left out, the link
                                        sends at these instants

    [[run]]
    traces = { "link.5" = ["static-1", "static-2"] }    simulated with each; numbers are means over them

Several links of one run follow their lists side by side: the first of each, then the second of each. An experiment of
which a file is not there is left out, with a message that says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anabranch.traces import Opportunities, read_trace, to_capacities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.spec.table import Table


@dataclass(frozen=True)
class TracePlan:
    """A trace by its name in an experiment."""

    file: Path
    duration_s: float | None
    capacities_s: float | None
    """The bin in which opportunities are made capacities; None if they are to stay."""


def read_traces(table: Table, folder: Path) -> dict[str, TracePlan]:
    """Read the ``[[trace]]`` tables of an experiment; the files need not be there.

    Raises
    ------
    ScenarioError
        A wrong key or value, or two of one name.
    """
    traces: dict[str, TracePlan] = {}
    for own in table.tables("trace"):
        name = own.text("name")
        if name in traces:
            raise own.error("name", f"there are two traces `{name}`", "give each a name of its own")
        file, capacities_s = folder / own.text("file"), own.span_s("capacities")
        traces[name] = TracePlan(file, own.span_s("duration"), capacities_s)
        own.finish()
    return traces


def read_followed(table: Table, traces: Mapping[str, TracePlan]) -> tuple[tuple[tuple[str, TracePlan], ...], ...]:
    """Read ``traces`` of a run: for each simulation the links with their traces; empty if there are none.

    Raises
    ------
    ScenarioError
        A name that no trace has; lists that are empty or not of one length.
    """
    own = table.table("traces")
    if own is None:
        return ()
    lists: list[list[tuple[str, TracePlan]]] = []
    for link in own.data:
        names = own.texts(link)
        for name in names:
            if name not in traces:
                raise own.error(link, f"there is no trace `{name}`", f"there is {', '.join(traces) or 'none'}")
        lists.append([(link, traces[name]) for name in names])
    if not lists or len({len(names) for names in lists}) > 1 or not lists[0]:
        reason = "its lists are empty, or not of one length"
        raise table.error("traces", reason, "name a trace of each link for each run")
    return tuple(zip(*lists, strict=True))


def sets_of(followed: tuple[tuple[str, TracePlan], ...]) -> tuple[str, ...]:
    """Give the values of a scenario that make its links follow their traces.

    Raises
    ------
    ScenarioError
        A file that is no trace.
    """
    return tuple(text for link, plan in followed for text in _sets(link, plan))


@cache
def _sets(link: str, plan: TracePlan) -> tuple[str, ...]:
    trace = read_trace(plan.file)
    if isinstance(trace, Opportunities):
        if plan.capacities_s is None:
            return (f"{link}.trace={json.dumps(str(plan.file.resolve()), ensure_ascii=False)}",)
        trace = to_capacities(trace, bin_s=plan.capacities_s)
    end_s = trace.duration_s if plan.duration_s is None else plan.duration_s
    holds = trace.time_s < end_s
    is_new = np.append(True, np.diff(trace.capacity_bps[holds]) != 0.0)
    pieces = zip(trace.time_s[holds][is_new].tolist(), trace.capacity_bps[holds][is_new].tolist(), strict=True)
    changes = ", ".join(f'{{ at = "{time_s:.9g} s", capacity = "{bps:.9g} bit/s" }}' for time_s, bps in pieces)
    return (f"{link}.capacity_changes=[{changes}]",)


def missing(traces: Mapping[str, TracePlan]) -> Path | None:
    """Give the first folder of a trace that is not there; None if all files are."""
    return next((plan.file.parent for plan in traces.values() if not plan.file.exists()), None)
