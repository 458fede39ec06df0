"""Overload from grants, where one can tell what it must be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.measures.address import Address
from anabranch.reproduce.measures.evaluate import measured
from anabranch.reproduce.outcomes.granted_loads import granted_excess
from anabranch.reproduce.outcomes.kinds import Simulated, simulated

if TYPE_CHECKING:
    from anabranch.reproduce.measures.registry import Window

SCENARIO = """
[run]
duration = "4 s"
sample = "500 ms"
record = ["grants", "fairness"]

[[link]]
name = "l"
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "5 ms"
capacity_changes = [{ at = "2.001 s", capacity = "5 Mbit/s" }]

[[connection]]
name = "c1"
source = "a"
target = "b"
protocol = "slbn"

[[connection]]
name = "c2"
source = "a"
target = "b"
start = "1.003 s"
protocol = "slbn"
"""


def simulation(folder: Path, sets: list[str]) -> Simulated:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    return simulated(simulate(file, sets, None), 1.0, 1e-3)


def number(run: Simulated, name: str, window_s: Window | None = None) -> float:
    """Measure a number of a run by its name in experiments."""
    return measured({"own": run}, Address("own", name, "", window_s), Path("expected.toml"))


def test_a_fall_of_capacity_is_seen_between_samples(tmp_path: Path) -> None:
    # Probes of c1 are back at 0.01 s, 0.02 s and so on, those of c2 at 1.013 s, 1.023 s and so on: c1 falls to 5 of
    # 10 Mbit/s before c2 has any. From 2.001 s on the link has 5 Mbit/s; c2 hears of it at 2.003 s, and c1 at 2.01 s.
    run = simulation(tmp_path, [])
    assert number(run, "peak-granted-overload", (0.0, 2.0)) == pytest.approx(0.0, abs=1e-6)
    assert number(run, "peak-granted-overload") == pytest.approx(1.0, abs=1e-6)
    assert number(run, "peak-granted-overload", (2.004, 2.009)) == pytest.approx(0.5, abs=1e-6)
    assert number(run, "last-overload") == pytest.approx(2.01, abs=1e-6)
    # No sample falls into these times.
    assert number(run, "peak-overload") < 1e-3


def test_overload_that_stays_has_no_end(tmp_path: Path) -> None:
    # SLBN and BFYZ do not know of each other: each grants all of the link.
    run = simulation(tmp_path, ["connection.1.protocol=bfyz"])
    assert number(run, "peak-granted-overload", (1.1, 2.0)) == pytest.approx(1.0, abs=1e-6)
    assert number(run, "last-overload") == run.simulation.result.meta["reached_s"]
    # With shares of a half and 0.3 there is none after the capacity has fallen.
    run = simulation(tmp_path, ["connection.1.protocol=bfyz", "link.0.shares={slbn=0.5, bfyz=0.3}"])
    assert number(run, "peak-granted-overload", (0.0, 2.0)) == 0.0
    assert number(run, "last-overload") < 2.021


def test_without_grants_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match='add "grants" to record'):
        number(simulation(tmp_path, ['run.record=["fairness"]']), "peak-granted-overload")


def test_what_changes_at_one_instant_counts_together() -> None:
    # Over a link of 10, a path is granted 8, from 1 s on 12 and at the same instant 2. From 3 s on the link has no
    # capacity: a load of 2 on nothing is an excess of 1.
    network = ab.generate.dumbbell(1)
    paths = ab.find_paths(ab.demands(network, ["s0"], ["t0"]), 1)
    links = paths.path_links.tolist()
    capacity = np.full(len(network.core.link_names), math.inf)
    capacity[links[1]] = 10.0
    grants = pl.DataFrame(
        {"path": [0, 0, 0], "time_s": [0.0, 1.0, 1.0], "granted_bps": [8.0, 12.0, 2.0]},
        schema_overrides={"path": pl.UInt32},
    )
    frame = granted_excess(grants, paths, capacity, [(links[1], 3.0, 0.0)]).filter(pl.col("link") == links[1])
    assert frame.select("time_s", "until_s", "excess").rows() == [
        (0.0, 1.0, pytest.approx(-0.2)),
        (1.0, 3.0, pytest.approx(-0.8)),
        (3.0, math.inf, 1.0),
    ]
