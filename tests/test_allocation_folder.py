"""Allocations come back from the folders they were written to."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import polars.testing
import pytest

import anabranch as ab
from anabranch.errors import ScenarioError

TWO_PATHS = Path(__file__).parents[1] / "scenarios" / "two-paths.toml"


@pytest.fixture(scope="module")
def allocations():
    """One of each kind, on a network with positions, parallel links, weights, demands and a name in need of care."""
    links = [
        {"source": "a", "target": "b > c", "capacity_bps": 7e6, "delay_s": 0.001},
        {"source": "a", "target": "b > c", "capacity_bps": 3e6, "delay_s": 0.002},
        {"source": "b > c", "target": " d", "capacity_bps": 5e6, "delay_s": 0.003},
    ]
    graph = nx.MultiDiGraph(name="care")
    graph.add_node("a", longitude=1.5, latitude=-2.5)
    for number, link in enumerate(links):
        graph.add_edge(link["source"], link["target"], key=f"l,{number}", **link)
        graph.add_edge(link["target"], link["source"], key=f"back {number}", **link)
    network = ab.from_networkx(graph)
    wanted = ab.demands(
        network,
        ["a", "a", "b > c"],
        [" d", "b > c", "a"],
        demand_bps=[None, 4e6, 1e6],
        weight=[2.0, 1.0, 1.0],
        qos=[0.5, 0.25, 1.0],
    )
    kinds = {"upward-max-min": {}, "max-min": {}, "proportional": {}, "alpha": {"alpha": 2.0}}
    return {kind: ab.solve(network, wanted, fairness=kind, **more) for kind, more in kinds.items()}


@pytest.mark.parametrize("kind", ["upward-max-min", "max-min", "proportional", "alpha"])
def test_an_allocation_comes_back_with_its_tables_and_its_proof(allocations, kind, tmp_path):
    allocation = allocations[kind]
    allocation.write(tmp_path / "kept")
    again = ab.read_allocation(tmp_path / "kept")
    assert type(again) is type(allocation)
    for name in ("connections", "subflows", "links"):
        pl.testing.assert_frame_equal(getattr(again, name), getattr(allocation, name))
    network = allocation.paths.demands.network
    found = again.paths.demands.network
    pl.testing.assert_frame_equal(found.links, network.links)
    pl.testing.assert_frame_equal(found.nodes, network.nodes)
    assert found.name == "care"
    np.testing.assert_array_equal(again.paths.path_links, allocation.paths.path_links)
    # Computed anew from what was read.
    assert again.summary == allocation.summary
    again.certify()


def test_an_allocation_that_was_not_done_says_so_still(tmp_path):
    scenario = ab.read_scenario(TWO_PATHS)
    with pytest.warns(ab.errors.ConvergenceWarning):
        allocation = ab.solve(scenario.network, scenario.demands, method="c-slen", tolerance=1e-12, max_passes=2)
    allocation.write(tmp_path / "kept")
    again = ab.read_allocation(tmp_path / "kept")
    assert again.shortcoming == allocation.shortcoming
    assert not again.converged


def test_what_is_no_allocation_is_refused_with_the_reason(allocations, tmp_path):
    ab.run(TWO_PATHS, sets=["run.duration=10 ms"]).write(tmp_path / "run")
    ab.solve(ab.Problem([1.0], [0, 1], [0], [0])).write(tmp_path / "bare")
    allocations["max-min"].write(tmp_path / "broken")
    (tmp_path / "broken" / "nodes.parquet").write_bytes(b"no table")
    allocations["max-min"].write(tmp_path / "short")
    pl.read_parquet(tmp_path / "short" / "subflows.parquet").head(2).write_parquet(tmp_path / "short/subflows.parquet")
    reasons = {
        "none": "there is no such folder",
        "run": "it has the result of a run, which `read_result` reads",
        "bare": "it is of bare numbers",
        "broken": "it is no whole allocation",
        "short": "there are rates of 2 subflows for",
    }
    for name, reason in reasons.items():
        with pytest.raises(ScenarioError, match=reason):
            ab.read_allocation(tmp_path / name)


@pytest.mark.parametrize("is_older", [False, True])
@pytest.mark.parametrize(
    ("method", "is_approximation", "has_stop_rule"),
    [("iewf", False, True), ("swan", True, False), ("lp", False, False)],
)
def test_an_allocation_comes_back_with_what_its_method_promised(
    allocations, method, is_approximation, has_stop_rule, is_older, tmp_path
):
    # IEWF overloads links: without its stop rule its rates would count as spoilt by rounding.
    paths = allocations["max-min"].paths
    fairness = "upward-max-min" if method == "iewf" else "max-min"
    allocation = ab.solve(paths.demands.network, paths.demands, paths=paths, fairness=fairness, method=method)
    allocation.write(tmp_path / "kept")
    file = tmp_path / "kept" / "meta.json"
    meta = json.loads(file.read_text(encoding="utf-8"))
    assert meta["has_stop_rule"] is has_stop_rule
    if is_older:
        del meta["has_stop_rule"]
        file.write_text(json.dumps(meta), encoding="utf-8")
    again = ab.read_allocation(tmp_path / "kept")
    assert again.is_approximation is is_approximation
    assert is_older or again.has_stop_rule is has_stop_rule
    assert (again.converged, again.shortcoming) == (True, None)


def test_a_folder_without_paths_may_be_an_older_one(allocations, tmp_path):
    allocations["max-min"].write(tmp_path / "old")
    (tmp_path / "old" / "paths.parquet").unlink()
    with pytest.raises(ScenarioError, match="it is of bare numbers, or older than that file"):
        ab.read_allocation(tmp_path / "old")
    meta = json.loads((tmp_path / "old" / "meta.json").read_text(encoding="utf-8"))
    assert meta["title"] == "care"
