"""Networks, demands, paths, allocations and results show themselves in notebooks: in words, small, and escaped."""

import re
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

import anabranch as ab
from anabranch.notebook import allocation_html, network_html
from anabranch.notebook.chart import MOST_POINTS, chart
from anabranch.notebook.map import MOST_LINKS, network_map

ROOT = Path(__file__).parents[1]


@pytest.fixture
def two_links() -> ab.Network:
    """Two parallel links between west and east, 10 and 8 Mbit/s."""
    return ab.read_scenario(ROOT / "scenarios/two-paths.toml").network


def drawing(html: str) -> ElementTree.Element:
    """Give the first SVG, which must be well-formed."""
    return ElementTree.fromstring(re.search(r"<svg.*?</svg>", html, re.DOTALL)[0])


def test_a_network_shows_how_much_there_is_of_it():
    graph = nx.Graph([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")])
    nx.set_edge_attributes(graph, "10 Mbit/s", "capacity")
    graph.edges["a", "c"]["capacity"] = "4 Mbit/s"
    graph.add_node("e")
    html = ab.from_networkx(graph)._repr_html_()
    for words in ("5 nodes, 8 directed links", "capacity 4 Mbit/s to 10 Mbit/s", "2 parts that no link joins"):
        assert words in html
    # 8 links are 4 pairs there and back, and each pair is one line: "M x y L x y" four times; a dot for each node.
    lines, nodes = (path.get("d") for path in drawing(html))
    assert (lines.count("L"), nodes.count("h0")) == (4, 5)


def test_an_allocation_shows_its_proof_and_its_links_by_utilisation(two_links):
    # Both links are full, and so are their halves; the ways back are idle.
    allocation = ab.solve(two_links, ab.demands(two_links, ["west", "west"], ["east", "east"]), paths=2)
    html = allocation._repr_html_()
    assert "certified at 1e-06: every subflow has a bottleneck" in html
    assert "2 connections, 4 subflows, 4 links, of which 2 saturated" in html
    assert "under 25 %: 2" in html
    assert "saturated: 2" in html


def test_an_allocation_that_is_not_certified_says_so():
    # It takes 26 passes to 1e-6.
    two_paths = ab.read_scenario(ROOT / "scenarios/two-paths.toml")
    with pytest.warns(ab.ConvergenceWarning):
        allocation = ab.solve(two_paths.network, two_paths.demands, method="c-slen", tolerance=1e-6, max_passes=2)
    html = allocation._repr_html_()
    assert "NOT certified at 1e-06: connection `" in html
    assert "no link holds it back" in html


def test_a_problem_of_arrays_has_no_map_and_no_unit():
    # 1 on link 0 and 2 on link 1; the connection of both paths and that of one get 1.5 each.
    problem = ab.Problem(np.array([1.0, 2.0]), [0, 1, 2, 3], [0, 1, 1], path_connection=[0, 0, 1])
    html = allocation_html(ab.solve(problem, tolerance=1e-9))
    assert "<svg" not in html
    assert "3 carried" in html
    assert "bit/s" not in html


def test_demands_and_paths_show_the_largest_and_the_first(two_links):
    demands = ab.demands(two_links, ["west", "east"], ["east", "west"], demand_bps=[3e6, None])
    html = demands._repr_html_()
    assert "2 connections on" in html
    assert "3 Mbit/s asked for" in html
    assert "1 connection without a limit" in html
    paths = ab.find_paths(demands, 2)._repr_html_()
    assert "4 paths of 2 connections" in paths
    assert "west &gt; east" in paths


def test_a_run_shows_rates_and_errors_over_time():
    result = ab.run(ROOT / "scenarios/join-and-leave.toml", sets=["run.duration=1.5 s"])
    html = result._repr_html_()
    for words in ("1.5 s simulated, seed 1", "granted rates, up to", "errors of granted rates", "d-SLEN", "through"):
        assert words in html
    assert html.count("<svg") == 3
    assert len(html) < 30_000


def test_a_run_without_connections_or_fair_rates_shows_what_there_is():
    bare = ab.run(ROOT / "scenarios/join-and-leave.toml", sets=["run.duration=0.5 s", 'run.record=["links"]'])
    html = bare._repr_html_()
    assert html.count("<svg") == 1
    assert "errors" not in html


def test_names_are_text_wherever_they_come_from():
    evil = '<b onclick="x">&'
    scenario = f"""
title = '{evil}'
run.duration = "0.1 s"
link = [{{ source = '{evil}', target = "b", capacity = "1 Mbit/s", delay = "1 ms" }}]
connection = [{{ name = '{evil}', source = '{evil}', target = "b", demand = "2 Mbit/s", protocol = "d-slen" }}]
"""
    read = ab.read_scenario(scenario)
    shown = [read.network, read.demands, ab.find_paths(read.demands), ab.solve(read.network, read.demands)]
    for thing in [*shown, ab.run(scenario)]:
        html = thing._repr_html_()
        assert "<b onclick" not in html
        assert "&lt;b onclick=&quot;x&quot;&gt;&amp;" in html


def test_a_network_of_a_thousand_nodes_is_drawn_in_less_than_100_kb():
    network = ab.generate.transit_stub(1100)
    demands = ab.random_pairs(network, 100, seed=1)
    allocation = ab.solve(network, demands, paths=1)
    for html in (network_html(network), allocation_html(allocation)):
        assert "<svg" in html
        assert len(html.encode()) < 100_000
    assert network_map(ab.generate.grid(40, 40)) == ""  # 2 * 2 * 40 * 39 = 6,240 links
    assert MOST_LINKS < 6240


def test_a_chart_is_thinned_and_leaves_gaps():
    time = np.arange(1000.0)
    values = np.where((time > 300) & (time < 500), np.nan, 1.0)
    path = drawing(chart({"a": (time, values)}, "a"))[1].get("d")
    # Every fifth of 1,000 points, less those in the gap, and the line begins anew after it.
    assert path.count("M") == 2
    assert path.count("L") + 2 == 200 - 39
    assert path.count("L") < MOST_POINTS
    assert chart({"a": (time, np.full(1000, np.nan))}, "a") == ""
    assert chart({}, "nothing") == ""
