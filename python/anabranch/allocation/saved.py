"""Allocations read back from the folders that they were written to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.allocation.levelled import LevelledAllocation, levels_of
from anabranch.allocation.priced import PricedAllocation
from anabranch.errors import ScenarioError
from anabranch.model.demands import demands
from anabranch.model.network import Network
from anabranch.model.paths import Paths, given_paths
from anabranch.model.problem import problem_of

if TYPE_CHECKING:
    import os

TABLES = ("connections", "subflows", "links", "nodes", "paths")


def holds_allocation(folder: str | os.PathLike[str]) -> bool:
    """Tell whether `Allocation.write` has written this folder, of a network and so that it can be read back."""
    return (Path(folder) / "meta.json").is_file() and (Path(folder) / "paths.parquet").is_file()


def read_allocation(folder: str | os.PathLike[str]) -> Allocation:
    """Read the folder that `Allocation.write` or ``anabranch solve --out`` has written.

    The certificate is computed anew from the rates. Weight and QoS factor come back as one claim.

    Raises
    ------
    ScenarioError
        The folder has no allocation, one without a network, or a broken one.
    """
    place = Path(folder)
    if not holds_allocation(place):
        raise ScenarioError(f"{place}: {_lack(place)}; name a folder that `anabranch solve --out` has written")
    try:
        meta = json.loads((place / "meta.json").read_text(encoding="utf-8"))
        tables = {name: pl.read_parquet(place / f"{name}.parquet", glob=False) for name in TABLES}
        if "levels" in meta["summary"]:
            tables["levels"] = pl.read_parquet(place / "levels.parquet", glob=False)
        return _allocation(meta, _paths(meta["title"], tables), tables)
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
        raise ScenarioError(f"{place}: it is no whole allocation ({error}); solve the network again") from error


def _lack(place: Path) -> str:
    if not place.is_dir():
        return "there is no such folder"
    if (place / "scenario.toml").is_file():
        return "it has the result of a run, which `read_result` reads"
    if (place / "subflows.parquet").is_file():
        return "its allocation has no paths.parquet: it is of bare numbers, or older than that file"
    return "it has no allocation"


def _paths(title: str, tables: dict[str, pl.DataFrame]) -> Paths:
    """Make network, demands and paths from the tables."""
    nodes, links, connections = (tables[name] for name in ("nodes", "links", "connections"))
    node = {name: i for i, name in enumerate(nodes["name"])}
    link = {name: i for i, name in enumerate(links["name"])}
    positions = [None if x is None else (x, y) for x, y in nodes.select("longitude", "latitude").iter_rows()]
    core = _core.Network(
        nodes["name"].to_list(),
        positions,
        links["name"].to_list(),
        [node[name] for name in links["source"]],
        [node[name] for name in links["target"]],
        links["capacity_bps"].to_list(),
        links["delay_s"].to_list(),
        [-1 if twin is None else link[twin] for twin in links["twin"]],
    )
    wanted = demands(
        Network(core, title),
        connections["source"].to_list(),
        connections["target"].to_list(),
        demand_bps=connections["demand_bps"].to_list(),
        name=connections["name"].to_list(),
        weight=connections["claim"].to_list(),
        reserved_bps=connections["reserved_bps"].to_list() if "reserved_bps" in connections.columns else None,
    )
    names = links["name"].to_list()
    own: list[list[list[str]]] = [[] for _ in range(len(wanted))]
    for connection, numbers in tables["paths"].iter_rows():
        own[connection].append([names[number] for number in numbers])
    return given_paths(wanted, own, by="links")


def _allocation(meta: dict[str, Any], paths: Paths, tables: dict[str, pl.DataFrame]) -> Allocation:
    summary = meta["summary"]
    facts = {key: summary[key] for key in ("fairness", "method", "tolerance", "passes")}
    problem = problem_of(paths)
    rates = np.array(tables["subflows"]["rate_bps"], dtype=float)
    if len(rates) != len(paths):
        raise ValueError(f"there are rates of {len(rates)} subflows for {len(paths)} paths")
    if "alpha" in summary:
        prices = np.array(tables["links"]["price"], dtype=float)
        return PricedAllocation(problem, rates, prices, alpha=summary["alpha"], paths=paths, **facts)
    if "levels" in summary:
        return LevelledAllocation(problem, rates, levels_of(tables["levels"]), paths=paths, **facts)
    # Folders written before this fact was kept say only whether the answer had converged.
    has_stop_rule = meta.get("has_stop_rule", summary["converged"])
    return Allocation(
        problem,
        rates,
        **facts,
        unmet=meta["unmet"],
        paths=paths,
        is_approximation=summary["approximation"],
        has_stop_rule=has_stop_rule,
    )
