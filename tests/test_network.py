"""Networks from and to networkx, and the options that choose what a command reads."""

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import anabranch as ab
from anabranch import generate
from anabranch.commands.topology import app


def test_opposite_edges_of_a_directed_graph_become_twins_first_with_first():
    graph = nx.MultiDiGraph()
    for ends in ("ab", "ab", "ba", "bc"):
        graph.add_edge(*ends, capacity_bps=1e6)
    assert ab.from_networkx(graph).core.twin.tolist() == [2, -1, 0, -1]


def test_stated_twins_win():
    graph = nx.MultiDiGraph()
    for ends, name, twin in (("ab", "one", None), ("ab", "two", "back"), ("ba", "back", "two")):
        graph.add_edge(*ends, key=name, capacity_bps=1e6, twin=twin)
    network = ab.from_networkx(graph)
    twin = dict(zip(network.core.link_names, network.links["twin"], strict=True))
    assert twin == {"one": None, "two": "back", "back": "two"}


@pytest.mark.parametrize("seed", range(5))
def test_a_network_comes_back_from_networkx_with_its_links_in_order(seed):
    network = generate.waxman(12, seed=seed)
    back = ab.from_networkx(network.to_networkx())
    assert back.links.equals(network.links)
    assert back.nodes.equals(network.nodes)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ({"capacity_bps": [3]}, r"link `a-b`: capacity: it is \[3\], and must be a number of bit/s"),
        ({"capacity_bps": -1}, "link `a-b`: capacity: .*0 or more"),
        ({"capacity": "10 Gbit"}, "link `a-b`: capacity: .*not a rate"),
        ({"capacity_bps": 1, "delay_s": [1]}, "link `a-b`: delay: it is"),
        ({"capacity_bps": 1, "twin": 3}, "link `a-b`: twin is 3"),
        ({"capacity_bps": 1, "twin": "x"}, "no link `x`"),
    ],
)
def test_a_bad_attribute_of_an_edge_is_an_error_with_its_place(edge, message):
    graph = nx.DiGraph()
    graph.add_edge("a", "b", **edge)
    with pytest.raises(ab.ScenarioError, match=message):
        ab.from_networkx(graph)


def test_a_bad_position_is_an_error_with_its_node():
    graph = nx.Graph()
    graph.add_node("a", longitude="x", latitude=1)
    with pytest.raises(ab.ScenarioError, match="node `a`: longitude is 'x'; it must be a number of degrees"):
        ab.from_networkx(graph)


def test_capacities_must_be_one_number_for_each_link():
    network = generate.ring(3)
    assert network.with_capacities(np.arange(6)).core.capacity_bps.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match=r"shape \(2,\); it must be \(6,\)"):
        network.with_capacities([1.0, 2.0])
    with pytest.raises(ValueError, match="link `n0-n1`: `x` is not a rate"):
        network.with_capacities(["x"] * 6)


def test_a_file_of_nodes_is_read_with_csv_links(tmp_path):
    links, nodes, target = tmp_path / "links.csv", tmp_path / "nodes.csv", tmp_path / "out.gml"
    links.write_text("source,target,capacity_bps\na,b,1\n", encoding="utf-8")
    nodes.write_text("name,longitude,latitude\na,1,2\nb,3,4\nc,5,6\n", encoding="utf-8")
    run = CliRunner().invoke
    done = run(app, ["info", str(links), "--nodes", str(nodes), "--json"], catch_exceptions=False)
    assert '"nodes_with_position": 3' in done.output
    run(app, ["convert", str(links), str(target), "--input-nodes", str(nodes)], catch_exceptions=False)
    assert len(ab.read_network(target)) == 3


def test_a_network_id_is_refused_for_what_has_none(tmp_path):
    links = tmp_path / "links.csv"
    links.write_text("source,target,capacity_bps\na,b,1\n", encoding="utf-8")
    with pytest.raises(ab.ScenarioError, match="a network is chosen by id"):
        CliRunner().invoke(app, ["info", str(links), "--network-id", "x"], catch_exceptions=False)


@pytest.mark.parametrize(
    "arguments", [["ring", "--nodes", "0"], ["ring", "--nodes", "99999999999999999999"], ["waxman", "--seed", "-1"]]
)
def test_integers_out_of_range_are_mistakes_of_usage(arguments, tmp_path):
    done = CliRunner().invoke(app, ["generate", arguments[0], str(tmp_path / "x.gml"), *arguments[1:]])
    assert done.exit_code == 2
    assert not (tmp_path / "x.gml").exists()
