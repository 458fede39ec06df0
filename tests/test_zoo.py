"""The Internet Topology Zoo, all 276 networks in both formats, against the facts that its README and summary state."""

import re
from collections import Counter

import networkx as nx
import polars as pl
import pytest

from anabranch import read_network

FILLED_BPS = 1.5
"""A capacity that no file states, so that filled links can be told from stated ones."""


@pytest.fixture(scope="module")
def zoo(shared_data):
    """For each name the network read from GML and from GraphML."""
    folder = shared_data / "topologies"
    names = pl.read_csv(folder / "summary.csv")["name"].to_list()
    return {
        name: (
            read_network(folder / "gml" / f"{name}.gml", capacity=FILLED_BPS),
            read_network(folder / "graphml" / f"{name}.graphml", capacity=FILLED_BPS),
        )
        for name in names
    }


def test_all_networks_have_the_sizes_of_the_summary(zoo, shared_data):
    summary = pl.read_csv(shared_data / "topologies" / "summary.csv")
    assert len(zoo) == 276
    for row in summary.iter_rows(named=True):
        network = zoo[row["name"]][0]
        capacity = network.core.capacity_bps
        stated = capacity[capacity != FILLED_BPS]
        assert len(network) == row["nodes"], row["name"]
        # Each edge is two links; an edge from a node to itself is dropped.
        assert len(capacity) == 2 * (row["edges"] - row["selfloops"]), row["name"]
        assert int(network.parts.max()) + 1 == row["components"], row["name"]
        assert sum(p is not None for p in network.core.positions) == row["nodes_with_latlon"], row["name"]
        if not row["selfloops"]:
            assert len(stated) == 2 * row["edges_with_capacity"], row["name"]
        if len(stated):
            assert (stated.min(), stated.max()) == (row["cap_min"], row["cap_max"]), row["name"]


def test_both_formats_give_the_same_network(zoo):
    for name, (gml, graphml) in zoo.items():
        assert gml.name == graphml.name, name
        assert gml.nodes.equals(graphml.nodes), name
        assert gml.links.equals(graphml.links), name


def test_the_networks_of_the_readme_are_the_only_ones_in_parts(zoo, shared_data):
    readme = (shared_data / "topologies" / "README.md").read_text()
    line = next(text for text in readme.splitlines() if text.startswith("Not connected: "))
    expected = {name: int(parts) for name, parts in re.findall(r"(\w+) \((\d+) parts\)", line)}
    parts = {name: int(network.parts.max()) + 1 for name, (network, _) in zoo.items()}
    assert {name: n for name, n in parts.items() if n > 1} == expected


@pytest.mark.parametrize("name", ["Abilene", "Garr201201", "Kdl", "Cogentco"])
def test_networkx_sees_the_same_edges(zoo, shared_data, name):
    graph = nx.read_graphml(shared_data / "topologies" / "graphml" / f"{name}.graphml")
    theirs = Counter(frozenset((int(u), int(v))) for u, v in graph.edges())
    core = zoo[name][1].core
    ours = Counter(map(frozenset, zip(core.link_source.tolist(), core.link_target.tolist(), strict=True)))
    assert ours == {ends: 2 * count for ends, count in theirs.items() if len(ends) == 2}
