"""Sweeps on a Ray cluster: the bytes of this machine, though a node dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ScenarioError
from anabranch.sweeps import sweep
from test_sweep import FAILS, contents, written

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install anabranch[ray]")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, with a processor each."""
    from ray.cluster_utils import Cluster

    alone = {"num_cpus": 1, "object_store_memory": 200_000_000}
    own = Cluster(initialize_head=True, head_node_args={**alone, "include_dashboard": False})
    try:
        own.other = own.add_node(**alone)
        yield own
    finally:
        ray.shutdown()
        own.shutdown()


def test_a_cluster_gives_the_bytes_of_this_machine_though_a_node_dies(tmp_path: Path, cluster: Any) -> None:
    more = '\n[[table]]\nfile = "rate"\nof = "connections"\nvalue = "mean_rate_bps"\n'
    file = written(tmp_path, more, seeds=30, duration="2 s")
    here = sweep(file, tmp_path / "here")
    nodes, done = set(), 0

    def kills_one(how: Any) -> None:
        nonlocal done
        if ray.is_initialized():
            nodes.update(node["NodeID"] for node in ray.nodes() if node["Alive"])
        done += how.outcome is not None
        if done == 15 and cluster.other is not None:
            cluster.remove_node(cluster.other, allow_graceful=False)
            cluster.other = None

    there = sweep(file, tmp_path / "there", on="ray", address=cluster.address, progress=kills_one)
    assert len(nodes) == 2
    assert cluster.other is None
    assert len(there.failed) == 0
    for own in ("runs", "summary"):
        assert contents(tmp_path / "here" / own) == contents(tmp_path / "there" / own)
    assert here.points.equals(there.points)


def test_nodes_write_to_a_shared_folder_themselves(tmp_path: Path, cluster: Any) -> None:
    file = written(tmp_path, scenarios=FAILS)
    here = sweep(file, tmp_path / "here")
    there = sweep(file, tmp_path / "there", on="ray", address=cluster.address, shared=True)
    assert contents(tmp_path / "here" / "runs") == contents(tmp_path / "there" / "runs")
    # Half of the points fail when they are planned, as here.
    assert there.failed.equals(here.failed)
    assert len(there.failed) == 6
    assert there.table("connections").collect().equals(here.table("connections").collect())


def test_no_cluster_at_an_address_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no Ray cluster can be joined there"):
        sweep(written(tmp_path), tmp_path / "out", on="ray", address="127.0.0.1:1")
