"""The data of an unfinished run for the page: its plan, and samples as they arrive."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.model.demands import Demands
from anabranch.model.paths import Paths
from anabranch.page.content import Content
from anabranch.page.of_network import network_header
from anabranch.page.of_result import PERCENTILES, SHOWN, SPREAD
from anabranch.page.palette import looks
from anabranch.page.settings import settings_of
from anabranch.runs.columns import COLUMNS
from anabranch.runs.derived import with_derived
from anabranch.runs.settling import BEARERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.runs.scenario import Plan

    Tables = dict[tuple[str, str], NDArray[np.float32]]


def plan_header(plan: Plan, *, name: str = "") -> dict[str, Any]:
    """Give the header of a run before there is any sample: its ``times_s`` and ``series`` are empty.

    What only the end tells is not in it.

    Parameters
    ----------
    name : str
        What the run is called beside others; its title if not given.
    """
    core = plan.core
    demands = Demands(plan.network, core.demands())
    titles = [plan.protocols[number] for number in core.connection_protocol]
    return {
        "kind": "run",
        "name": name or plan.title or "run",
        "title": plan.title,
        "description": plan.description,
        "settings": settings_of(plan.resolved),
        "seed": core.seed,
        "duration_s": core.duration_s,
        "warm_up_s": core.warm_up_s,
        "sample_s": core.sample_s,
        "warnings": [],
        "times_s": [],
        **network_header(plan.network),
        "connections": _connections(demands, titles),
        "subflows": _subflows(demands, Paths(demands, core.paths())),
        "protocols": looks(dict.fromkeys(titles)),
        "series": [],
    }


def _connections(demands: Demands, titles: list[str]) -> dict[str, list[Any]]:
    number = {name: i for i, name in enumerate(demands.network.core.node_names)}
    frame = demands.connections
    return {
        "name": frame["name"].to_list(),
        # Of several sources the paths tell.
        "source": [number.get(source) for source in frame["source"]],
        "target": [number.get(target) for target in frame["target"]],
        "protocol": titles,
        "start_s": frame["start_s"].to_list(),
    }


def _subflows(demands: Demands, paths: Paths) -> dict[str, list[Any]]:
    names, links = demands.core.names, paths.path_links.tolist()
    rank = np.arange(len(paths)) - paths.connection_offsets[paths.connection] + 1
    of = paths.connection.tolist()
    return {
        "name": [f"{names[c]}/{r}" for c, r in zip(of, rank.tolist(), strict=True)],
        "connection": of,
        "path": [links[a:b] for a, b in itertools.pairwise(paths.path_offsets.tolist())],
    }


class Growing:
    """The samples until now of an unfinished run.

    Parameters
    ----------
    capacity_bps : ndarray of float64, shape (links,)
        Of the network.
    has_data : bool
        Whether data packets are sent.
    """

    def __init__(self, capacity_bps: NDArray[np.float64], *, has_data: bool) -> None:
        self.capacity_bps = capacity_bps
        # Of the two loads of a link the measured one is shown, if data are sent.
        self.unshown = ("link", "granted_bps" if has_data else "carried_bps")
        self.times_s: list[float] = []
        self.parts: list[tuple[int, Tables]] = []

    def __len__(self) -> int:
        return len(self.times_s)

    def add(self, samples: dict[str, NDArray[Any]]) -> None:
        """Add samples of the run: arrays with a row for each sample and a column for each thing."""
        tables = {
            (of, name): table
            for of, name, table in _shown(samples, self.capacity_bps)
            if (of, name) != self.unshown and not np.isnan(table).all()
        }
        self.parts.append((len(self), tables))
        self.times_s.extend(samples["time_s"].tolist())

    def content(self, first: int, last: int) -> Content:
        """Give the samples from ``first`` until before ``last``: ``first``, their times, and the series."""
        count = len(self)
        first, last = min(first, count), min(max(first, last), count)
        content = Content({"first": first, "times_s": self.times_s[first:last], "series": []})
        own = [(start, tables) for start, tables in list(self.parts) if start < last]
        for key in dict.fromkeys(key for _, tables in own for key in tables):
            rows = next(len(tables[key][0]) for _, tables in own if key in tables)
            table = np.full((last - first, rows), np.nan, np.float32)
            for start, tables in own:
                if key in tables and start + len(tables[key]) > first:
                    part = tables[key][max(first - start, 0) : last - start]
                    at = max(start - first, 0)
                    table[at : at + len(part)] = part
            content.add(*key, table.T)
        return content


def _shown(
    samples: dict[str, NDArray[Any]], capacity_bps: NDArray[np.float64]
) -> list[tuple[str, str, NDArray[np.float32]]]:
    """Give what the page shows of samples, by kind of thing and name; what is no finite number is none."""
    known = with_derived(samples, capacity_bps)
    shown = [column for column in COLUMNS if column.name in SHOWN[column.of] and column.key in known]
    found = [(column.of, column.name, known[column.key]) for column in shown]
    return [(of, name, _finite(table)) for of, name, table in [*found, *_spreads(known)]]


def _spreads(samples: dict[str, NDArray[Any]]) -> list[tuple[str, str, NDArray[np.float64]]]:
    """Give how the errors of connections, and of bottlenecks, are spread: as was recorded, or else over those given."""
    found = []
    for of in BEARERS:
        if f"{of}_errors_count" in samples:
            table = np.stack([samples[f"{of}_errors_{name}"] for name in SPREAD], axis=1)
            has_some = samples[f"{of}_errors_count"] > 0
            found.append(("errors", of, np.where(has_some[:, np.newaxis], table, np.nan)))
        elif f"{of}_error" in samples:
            errors = samples[f"{of}_error"]
            # A connection whose rate is 0 may only have begun.
            counts = samples["connection_granted_bps"] > 0 if of == "connection" else True
            found.append(("errors", of, _spread(np.where(counts, errors, np.nan))))
    return found


def _finite(table: NDArray[Any]) -> NDArray[np.float32]:
    own = table.reshape(len(table), -1).astype(np.float32)
    own[~np.isfinite(own)] = np.nan
    return own


def _spread(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the extremes and percentiles of each row, of what is there in it."""
    spread = np.full((len(errors), len(SPREAD)), np.nan)
    for row, own in zip(spread, errors, strict=True):
        there = own[np.isfinite(own)]
        if there.size:
            row[:] = np.percentile(there, (0, *PERCENTILES, 100))
    return spread
