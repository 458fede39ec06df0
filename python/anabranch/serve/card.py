"""A run, an allocation or a scenario at a glance: a small picture, and numbers that say how it went.

Cards are made in child processes, since a run may take as much memory as its tables, and are kept as JSON.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.figures.line_colours import line_colours
from anabranch.page import read_folder
from anabranch.runs.headline import headline
from anabranch.runs.result import Result
from anabranch.runs.scenario import plan_facts
from anabranch.serve.child import done
from anabranch.serve.names import place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from anabranch.allocation.allocation import Allocation
    from anabranch.model.network import Network
    from anabranch.serve.child import Teller
    from anabranch.serve.models import Source
    from anabranch.serve.scenarios import Scenarios

POINTS = 120
"""The most points of a line: more cannot be seen in a small picture."""
LEAST_POINTS = 3
"""The points of a line that can be seen; of a run without such a line the network is shown."""

MOST_LINES = 7
MOST_LINKS = 600
"""The most lines and links of a picture."""

DIGITS = 4
MOST_S = 60.0
REMEDY = "open it to see all of it"
MOST_HELD = 2_000


@dataclass
class Cards:
    """Cards that were made, by what they are of and its state; the last ones that were asked for are kept."""

    held: OrderedDict[tuple[str, str], bytes] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)
    making: Lock = field(default_factory=Lock)

    def card(self, id: str, state: str, work: Callable[..., dict[str, Any]], *arguments: object) -> bytes:
        """Give a card as JSON.

        Raises
        ------
        ScenarioError
            It cannot be made.
        """
        key = (id, state)
        known = self._known(key)
        if known is not None:
            return known
        # One at a time, so that a page of many cards leaves room for other work.
        with self.making:
            known = self._known(key)
            if known is not None:
                return known
            card = done(work, *arguments, most_s=MOST_S, remedy=REMEDY)
        made = json.dumps(_finite(card), allow_nan=False, separators=(",", ":")).encode()
        with self.lock:
            self.held[key] = made
            while len(self.held) > MOST_HELD:
                self.held.popitem(last=False)
        return made

    def _known(self, key: tuple[str, str]) -> bytes | None:
        with self.lock:
            if key in self.held:
                self.held.move_to_end(key)
            return self.held.get(key)


def run_card(_teller: Teller, root: Path, id: str) -> dict[str, Any]:
    """Give the card of a run or an allocation.

    Raises
    ------
    ScenarioError
        It is neither, or a broken one.
    """
    folder = place(root, id)
    if folder is None:
        raise ScenarioError("it was there a moment ago; look at the list again")
    shown = read_folder(folder)
    if isinstance(shown, Result):
        return {"headline": headline(shown).values(), "picture": _rates(shown) or _map_of_run(shown)}
    return {"summary": shown.summary, "picture": _map_of_allocation(shown)}


def scenario_card(_teller: Teller, scenarios: Scenarios, source: Source) -> dict[str, Any]:
    """Give the card of a scenario: what it has, and its network.

    Raises
    ------
    ScenarioError
        The first mistake in it.
    """
    plan = scenarios.plan(source)
    facts = plan_facts(plan)
    return {"facts": facts, "picture": _map(plan.network, np.zeros(len(plan.network.core.link_names)))}


def _rates(result: Result) -> dict[str, Any] | None:
    """Give rates over time, of the connections that delivered most; nothing if there are no lines."""
    has_data = bool(result.connections["sent_bytes"].sum())
    column = "delivered_bps" if has_data else "granted_bps"
    if not result.series.has("connections", column):
        return None
    kept = result.connections.with_row_index("place").sort(
        pl.col("mean_rate_bps").fill_null(0.0), descending=True, maintain_order=True
    )
    kept = kept.head(MOST_LINES).sort("place")
    names, protocols = kept["connection"].to_list(), kept["protocol"].to_list()
    rows = result.series["connections"].join(kept.select("connection", "start_s", "stopped_s"), on="connection")
    # Lines are drawn for as long as their connections are there.
    rows = rows.filter(
        (pl.col("time_s") >= pl.col("start_s")) & (pl.col("time_s") <= pl.col("stopped_s").fill_null(math.inf))
    )
    end_s = float(result.meta["reached_s"]) or 1.0
    bins = (pl.col("time_s") / end_s * POINTS).ceil().cast(pl.Int64).clip(1, POINTS) - 1
    means = rows.group_by("connection", bins.alias("bin")).agg(pl.col(column).mean())
    lines = []
    for name, colour in zip(names, line_colours(protocols), strict=True):
        own = means.filter(pl.col("connection") == name).drop_nulls().sort("bin")
        points = [[int(place), _short(value)] for place, value in own.select("bin", column).iter_rows()]
        lines.append({"name": name, "colour": colour, "points": points})
    # Connections that are there for an instant are no lines.
    if max((len(line["points"]) for line in lines), default=0) < LEAST_POINTS:
        return None
    most = max((value for line in lines for _, value in line["points"]), default=0.0)
    return {"kind": "rates", "bins": POINTS, "most": most, "end_s": end_s, "lines": lines}


def _map_of_run(result: Result) -> dict[str, Any]:
    return _map(result.network, result.links["utilisation"].fill_null(0.0).to_numpy())


def _map_of_allocation(allocation: Allocation) -> dict[str, Any] | None:
    if allocation.paths is None:
        return None
    return _map(allocation.paths.demands.network, allocation.links["utilisation"].fill_null(0.0).to_numpy())


def _map(network: Network, utilisation: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """Give the places of nodes within a square of side 1, and cables with the utilisation of their busier half."""
    core = network.core
    places = network.layout()
    low = places.min(axis=0) if len(places) else np.zeros(2)
    extent = float((places.max(axis=0) - low).max()) if len(places) > 1 else 0.0
    fitted = (places - low) / (extent or 1.0)
    busy: dict[tuple[int, int], float] = {}
    parallel: dict[tuple[int, int], int] = {}
    for link, (a, b) in enumerate(zip(core.link_source.tolist(), core.link_target.tolist(), strict=True)):
        ends = (min(a, b), max(a, b))
        busy[ends] = max(busy.get(ends, 0.0), float(utilisation[link]))
        twin = int(core.twin[link])
        parallel[ends] = parallel.get(ends, 0) + int(twin < 0 or link < twin)
    cables = sorted(busy, key=lambda ends: -busy[ends])[:MOST_LINKS]
    # Of a large network those nodes are left out at which no cable is drawn.
    shown = range(len(fitted)) if len(fitted) <= MOST_LINKS else sorted({node for ends in cables for node in ends})
    number = {node: i for i, node in enumerate(shown)}
    return {
        "kind": "map",
        "nodes": [[_short(x), _short(y)] for x, y in fitted[list(shown)].tolist()],
        "cables": [[number[a], number[b], _short(min(busy[a, b], 1.0)), parallel[a, b]] for a, b in cables],
    }


def _finite(value: Any) -> Any:
    """Give plain values with null in place of numbers that JSON cannot hold."""
    match value:
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list():
            return [_finite(inner) for inner in value]
        case float() if not math.isfinite(value):
            return None
    return value


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
