"""Groups of paths, their filters, and the command that prints them."""

import json
import os
import subprocess
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch import generate
from labs import PROGRAM

SCENARIOS = Path(__file__).parents[1] / "scenarios"

# Sources a and b, target t: a > c > t, a > d > t, b > d > t, b > e > t, with the link from d to t in common.
CSV = """source,target,capacity
a,c,1 Gbit/s
c,t,1 Gbit/s
a,d,1 Gbit/s
d,t,1 Gbit/s
b,d,1 Gbit/s
b,e,1 Gbit/s
e,t,1 Gbit/s
"""


def run(*arguments):
    environment = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    command = [*PROGRAM, "paths", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def topology(tmp_path):
    path = tmp_path / "two-sources.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.fixture
def paths(topology):
    """Two paths from each source: the second of a and the first of b share d > t."""
    network = ab.read_network(topology)
    return ab.find_paths(ab.demands(network, ["a", "b"], ["t", "t"]), 2)


def test_groups_are_numbered_for_each_connection_or_over_all(paths):
    assert paths.nodes().to_list() == ["a > c > t", "a > d > t", "b > d > t", "b > e > t"]
    assert ab.groups(paths).tolist() == [0, 1, 0, 1]
    assert ab.groups(paths, together=True).tolist() == [0, 1, 1, 2]
    assert ab.groups(paths).dtype == np.uint32


def test_links_left_out_make_no_group_nor_do_the_nodes_beside_them(paths):
    assert ab.groups(paths, together=True, without=["d-t"]).tolist() == [0, 1, 2, 3]
    assert ab.groups(paths, together=True, sharing="nodes").tolist() == [0, 1, 1, 2]
    assert ab.groups(paths, together=True, sharing="nodes", without=["d-t"]).tolist() == [0, 1, 2, 3]


def test_a_chain_of_shared_links_is_one_group():
    # Four paths {a, b}, {b, c}, {c, d}, {e} of links: over parallel links a and c lead from 0 to 1, b and d on to 2.
    network = ab.from_networkx(nx.MultiDiGraph([(0, 1), (1, 2), (0, 1), (1, 2), (0, 2)]), capacity="1 Gbit/s")
    a, b, c, d, e = "0-1", "1-2", "0-1#2", "1-2#2", "0-2"
    one = ab.demands(network, ["0"], ["2"])
    paths = ab.given_paths(one, [[[a, b], [c, b], [c, d], [e]]], by="links")
    assert ab.groups(paths).tolist() == [0, 0, 0, 1]


@given(st.integers(0, 500), st.integers(1, 6), st.sampled_from(["links", "nodes"]))
def test_groups_are_the_connected_parts_of_what_is_shared(seed, count, sharing):
    network = generate.waxman(20, seed=seed)
    paths = ab.find_paths(generate.random_pairs(network, 5, seed=seed), count)
    groups = ab.groups(paths, sharing=sharing)
    for first, end in zip(paths.connection_offsets[:-1], paths.connection_offsets[1:], strict=True):
        graph = nx.Graph()
        for path in range(first, end):
            own = paths.path_links[paths.path_offsets[path] : paths.path_offsets[path + 1]]
            graph.add_edges_from((("path", path), ("link", link)) for link in own)
            if sharing == "nodes":
                inner = network.core.link_target[own[:-1]]
                graph.add_edges_from((("path", path), ("node", node)) for node in inner)
        parts = [{number for kind, number in part if kind == "path"} for part in nx.connected_components(graph)]
        expected = {path: number for number, part in enumerate(sorted(parts, key=min)) for path in part}
        assert groups[first:end].tolist() == [expected[path] for path in range(first, end)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sharing": "routers"}, 'sharing is "routers"; it must be "links" or "nodes"'),
        ({"without": ["d-x"]}, "links to leave out: there is no link `d-x`"),
        ({"without": "d-t"}, "give a list of the names of links"),
    ],
)
def test_groups_of_what_is_not_there_are_refused(paths, arguments, message):
    with pytest.raises(ValueError, match=message):
        ab.groups(paths, **arguments)


def test_filters_say_how_full_they_are_and_what_is_taken_beside_the_path(paths):
    table = ab.filters(paths)
    # Two links of five ones each: at most 10 of 256 bits.
    assert table["fill"].is_between(6 / 256, 10 / 256).all()
    # With 8 bits, of which 3 are one for each link, a filter of two links matches much.
    small = ab.filters(paths, bits=8, ones=3, tables=1)
    assert small["expected_strays"].min() > 0.1
    assert small.columns == ["table", "fill", "expected_strays", "strays"]
    assert table.equals(ab.filters(paths, seed=1))
    # More tables to choose from never take more links.
    chosen = ab.filters(paths, bits=16, ones=3, tables=32)["strays"]
    blind = ab.filters(paths, bits=16, ones=3, tables=1)["strays"]
    assert (chosen <= blind).all()


def test_a_path_too_long_for_a_filter_has_none():
    network = generate.parking_lot(100)
    ends = network.core.node_names
    longest = ab.find_paths(ab.demands(network, [ends[0]], [ends[100]]), 1)
    assert np.diff(longest.path_offsets).tolist() == [100]
    table = ab.filters(longest)
    assert table.select("table", "fill", "strays").row(0) == (None, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bits": 300}, "they have 300 bits; it must be 8 to 256"),
        ({"ones": 0}, "0 of their bits are one; it must be 1 to 256"),
        ({"tables": 1000}, "there are 1000 tables; it must be 1 to 255"),
        ({"tables": 2**40}, "it must be under 2\\^32"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_filters_out_of_range_are_refused(paths, arguments, message):
    with pytest.raises(ValueError, match=message):
        ab.filters(paths, **arguments)


def test_the_command_numbers_all_sources_of_a_receiver_together(topology):
    done = run(topology, "--sources", "a, b", "--target", "t", "--paths", "2", "--filters")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["connection", "group", "links", "fill", "strays", "expected", "taken", "path"]
    assert [row[:3] for row in rows[1:5]] == [
        ["a>t", "0", "2"],
        ["a>t", "1", "2"],
        ["b>t", "1", "2"],
        ["b>t", "2", "2"],
    ]
    assert "4 paths of 2 connections" in done.stdout


def test_the_command_gives_json_to_machines(topology):
    arguments = ("--sources", "a,b", "--target", "t", "--paths", "2", "--without", "d-t", "--json")
    answer = json.loads(run(topology, *arguments).stdout)
    assert [row["group"] for row in answer["paths"]] == [0, 1, 2, 3]
    assert answer["paths"][1]["links"] == ["a-d", "d-t"]
    assert answer["without_path"] == []


def test_the_command_shows_paths_that_a_scenario_gives():
    done = run(SCENARIOS / "two-paths.toml", "--groups")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:4] == ["connection", "group", "links", "path"]


@pytest.mark.slow
def test_connections_without_a_path_are_named(tmp_path):
    path = tmp_path / "two-parts.csv"
    path.write_text("source,target,capacity\na,b,1 Gbit/s\nc,d,1 Gbit/s\n", encoding="utf-8")
    done = run(path, "--sources", "a,c", "--target", "b")
    assert done.returncode == 0, done.stderr
    assert "1 path of 2 connections\n1 connection without a path: c>b" in done.stdout
    assert json.loads(run(path, "--sources", "c", "--target", "b", "--json").stdout)["paths"] == []


def test_rows_beyond_the_limit_are_counted(topology):
    done = run(topology, "--demands", "uniform:1Mbit/s", "--rows", "2")
    assert "more; --rows 0 shows all" in done.stdout
    assert done.stdout.split()[:3] == ["connection", "links", "path"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sources", "a"), "--sources and --target name the ends of paths; give both"),
        (("--target", "t"), "--sources and --target name the ends of paths; give both"),
        (("--sources", "a", "--target", "t", "--demands", "uniform:1Mbit/s"), "give one of them"),
        (("--sources", "a,t", "--target", "t"), "--target t: it is one of the sources"),
        (("--sources", "a,b,a", "--target", "t"), "`a` stands there twice"),
        (("--sources", "a,,b", "--target", "t"), "a name is empty"),
        (("--sources", "a,x", "--target", "t"), "there is no node `x`"),
        (("--sources", "a", "--target", "t", "--without", "d-x"), "there is no link `d-x`"),
        (("--demands", "uniform:1Mbit/s", "--sharing", "nodes"), "give --groups too"),
        ((), "the file has no demands"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(topology, arguments, message):
    done = run(topology, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
