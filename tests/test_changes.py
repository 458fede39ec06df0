"""Other numbers for the same question: capacities by name, demands and paths on another network, files in one call."""

import json
import math

import networkx as nx
import numpy as np
import polars as pl
import pytest

import anabranch as ab
from command import run

ROWS = [("a", "c", "3 Mbit/s"), ("b", "c", None)]


@pytest.fixture
def ring():
    """a - b - c - a, links of 4 Mbit/s and 1 ms each way."""
    graph = nx.Graph()
    for ends in ("ab", "bc", "ac"):
        graph.add_edge(*ends, capacity="4 Mbit/s", delay_s=1e-3)
    return ab.from_networkx(graph)


def capacities(network):
    return dict(network.links.select("name", "capacity_bps").iter_rows())


def test_capacities_are_changed_by_the_names_of_links_and_others_stay(ring):
    changed = ring.with_capacities({"a-c": "9 Mbit/s", "c-a": 0})
    assert capacities(changed) == capacities(ring) | {"a-c": 9e6, "c-a": 0.0}
    table = pl.DataFrame({"name": ["b-c"], "capacity": ["1 Mbit/s"]})
    assert capacities(ring.with_capacities(table))["b-c"] == 1e6
    halved = ring.links.with_columns(pl.col("capacity_bps") / 2)
    assert set(capacities(ring.with_capacities(halved)).values()) == {2e6}
    assert set(capacities(ring.with_capacities(["1 Mbit/s"] * 6)).values()) == {1e6}
    assert capacities(ring.with_capacities({"a-b": math.inf}))["a-b"] == math.inf


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a-cc": 1}, r"there is no link `a-cc` \(did you mean `a-c`\?\); name one of the network's 6 links"),
        ({"Oslo-Bergen": 1}, r"there is no link `Oslo-Bergen` \(there is `a-b`, .*, \.\.\.\); name one of"),
        ({"a-c": "9 Mbit"}, "link `a-c`: `9 Mbit` is not a rate"),
        ({"a-c": -1}, "link `a-c`: capacity is -1 bit/s; it must be 0 or more"),
        ({"a-c": None}, "link `a-c`: capacity is None; it must be a number of bit/s, or text"),
        ({0: 1e6}, "there is no link `0`"),
        ("9 Mbit/s", "capacity is one text, '9 Mbit/s'"),
        (pl.DataFrame({"link": ["a-c"]}), r"it must have `name` and `capacity_bps`"),
    ],
)
def test_a_mistake_in_new_capacities_names_the_link(ring, given, said):
    with pytest.raises(ValueError, match=said):
        ring.with_capacities(given)


def test_demands_are_made_of_rows(ring):
    expected = ab.demands(ring, ["a", "b"], ["c", "c"], demand_bps=[3e6, None]).connections
    assert ab.demands(ring, ROWS).connections.equals(expected)
    mappings = [{"source": "a", "target": "c", "demand": "3 Mbit/s"}, {"source": "b", "target": "c"}]
    assert ab.demands(ring, mappings).connections.equals(expected)
    frame = pl.DataFrame({"source": ["a", "b"], "target": ["c", "c"], "demand_bps": [3e6, None]})
    assert ab.demands(ring, frame).connections.equals(expected)
    assert ab.demands(ring, ["a", "b"], ["c", "c"], demand_bps=["3 Mbit/s", None]).connections.equals(expected)
    weighted = ab.demands(ring, [("a", "c", 1e6, 2), {"source": "b", "target": "c", "start": "5 ms", "stop": 2}])
    assert weighted.connections["weight"].to_list() == [2.0, 1.0]
    assert weighted.connections["start_s"].to_list() == [0.0, 0.005]


def test_a_rule_for_some_nodes_names_those_that_are_there(ring):
    assert len(ab.gravity(ring, "1 Mbit/s", nodes=["a", "c"])) == 2
    with pytest.raises(
        ValueError, match=r"there is no node `d` \(there is `a`, `b`, `c`\); name one of the network's 3"
    ):
        ab.gravity(ring, "1 Mbit/s", nodes=["a", "d"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", "d")], r"connection 1: there is no node `d` \(there is `a`, `b`, `c`\); name one of the network's 3"),
        ([("a", "c", "3 Mbit")], "connection 1: demand_bps is '3 Mbit'; `3 Mbit` is not a rate"),
        ([("a", "c"), ("a",)], r"connection 2: it is \('a',\); it must be \(source, target\)"),
        ([{"source": "a", "targt": "c"}], r"connection 1: there is no key `targt` \(did you mean `target`\?\)"),
        ([{"source": "a"}], "connection 1: it has no target; name the node"),
        ([{"source": "a", "target": "c", "demand": 1, "demand_bps": 2}], "there are both `demand_bps` and another"),
        ("ac", "the demands are a str; give rows such as"),
    ],
)
def test_a_mistake_in_rows_names_the_connection(ring, rows, said):
    with pytest.raises(ab.ScenarioError, match=said):
        ab.demands(ring, rows)


def test_demands_fit_every_network_that_has_their_nodes(ring):
    demands = ab.demands(ring, ROWS)
    # a>c has its 3 Mbit/s straight and b>c the other 4 + 1: round by a there is what a>c leaves of a-c.
    assert ab.solve(ring, demands).connection_rates.tolist() == pytest.approx([3e6, 5e6])
    wider = ring.with_capacities({"b-c": "10 Mbit/s"})
    assert ab.solve(wider, demands).connection_rates.tolist() == pytest.approx([3e6, 11e6])
    # Nodes in another order.
    graph = nx.Graph()
    for ends in ("zc", "cb", "ca", "ab"):
        graph.add_edge(*ends, capacity="4 Mbit/s")
    larger = ab.from_networkx(graph)
    allocation = ab.solve(larger, demands)
    assert allocation.connection_rates.tolist() == pytest.approx([3e6, 5e6])
    assert allocation.connections["source"].to_list() == ["a", "b"]
    smaller = ab.generate.ring(3)
    with pytest.raises(ValueError, match="the demands are on another network: there is no node `a`"):
        ab.solve(smaller, demands)


def test_paths_go_along_where_links_have_the_same_names_and_ends(ring):
    demands = ab.demands(ring, [("a", "c")])
    by_hand = ab.given_paths(demands, [[["a", "b", "c"]]])
    wider = ring.with_capacities({"a-b": "3 Mbit/s"})
    assert ab.solve(wider, demands, paths=by_hand).connection_rates.tolist() == [3e6]
    graph = nx.Graph()
    for ends in ("bc", "ac"):
        graph.add_edge(*ends, capacity="2 Mbit/s")
    line = ab.from_networkx(graph)
    with pytest.raises(ValueError, match="the paths take links that the network does not have"):
        ab.solve(line, demands, paths=by_hand)
    own = by_hand.on(demands.on(wider))
    assert own.nodes().to_list() == ["a > b > c"]
    assert own.links()["links"].to_list() == by_hand.links()["links"].to_list()


def test_a_link_of_capacity_0_is_down_and_no_path_takes_it(ring):
    demands = ab.demands(ring, [("a", "c")])
    assert ab.find_paths(demands, 4).nodes().to_list() == ["a > c", "a > b > c"]
    down = demands.on(ring.with_capacities({"a-c": 0}))
    found = ab.find_paths(down, 1)
    assert found.nodes().to_list() == ["a > b > c"]
    names = ring.core.link_names
    assert [names[link] for link in found.path_links] == ["a-b", "b-c"]
    # The core has them too, for groups and filters.
    assert ab.groups(found).tolist() == [0]
    lengths = np.ones(6)
    assert ab.find_paths(down, 1, metric=lengths).nodes().to_list() == ["a > b > c"]
    with pytest.raises(ValueError, match=r"metric has the shape \(5,\); it must be \(6,\)"):
        ab.find_paths(down, 1, metric=np.ones(5))


def test_paths_by_delay_need_a_delay(ring):
    assert len(ab.find_paths(ab.demands(ring, ROWS), metric="delay")) == 4
    bare = ab.generate.ring(4, delay=0.0)
    nodes = bare.core.node_names
    with pytest.raises(ab.ScenarioError, match="no link has a delay by which paths could be found; give --delay"):
        ab.find_paths(ab.demands(bare, [(nodes[0], nodes[2])]), metric="delay")


def test_an_allocator_takes_names_and_text(ring):
    allocator = ab.Allocator(ab.find_paths(ab.demands(ring, ROWS), 2))
    assert allocator.update(capacity={"a-c": "1 Mbit/s", "c-a": 0}).tolist() == pytest.approx([2.5e6, 2.5e6])
    assert allocator.update(demand={"a>c": "1 Mbit/s"}).tolist() == pytest.approx([1e6, 4e6])
    with pytest.raises(ValueError, match=r"capacity: there is no link `a-cc` \(did you mean `a-c`\?\)"):
        allocator.update(capacity={"a-cc": 1})
    with pytest.raises(ValueError, match="weight is 'much'; it is a number; give a number"):
        allocator.update(weight={"a>c": "much"})
    bare = ab.Allocator(ab.Problem([1.0], [0, 1], [0], [0]))
    with pytest.raises(ValueError, match="capacity is '1 Mbit/s'; it has the unit of the problem's arrays"):
        bare.update(capacity={0: "1 Mbit/s"})


@pytest.fixture
def files(ring, tmp_path):
    """Give the files of a network and of demands on it."""
    ab.write_network(ring, tmp_path / "ring.csv")
    (tmp_path / "demands.csv").write_text("source,target,demand\na,c,3 Mbit/s\nb,c,\n", encoding="utf-8")
    return tmp_path


def test_files_are_solved_in_one_call(files):
    allocation = ab.solve(files / "ring.csv", files / "demands.csv")
    assert allocation.connection_rates.tolist() == pytest.approx([3e6, 5e6])
    by_rule = ab.solve(str(files / "ring.csv"), "uniform:1Mbit/s")
    assert len(by_rule.connections) == 6
    with pytest.raises(ab.ScenarioError, match="the file has no demands"):
        ab.solve(files / "ring.csv")


def test_the_command_changes_links_by_name(files):
    def rates(*options):
        done = run("solve", "ring.csv", "--demands", "demands.csv", *options, "--json", cwd=files)
        assert done.returncode == 0, done.stderr
        return [row["rate_bps"] for row in json.loads(done.stdout)["connections"]]

    assert rates() == pytest.approx([3e6, 5e6])
    # Without a-c both share b-c.
    assert rates("--link", "a-c=0") == pytest.approx([2e6, 2e6])
    assert rates("--link", "a-c=0", "--link", "b-c=9Mbit/s") == pytest.approx([3e6, 6e6])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--link", "a-cc=0"], "--link: there is no link `a-cc` (did you mean `a-c`?)"),
        (["--link", "a-c"], "--link a-c: it is no change; write it like --link Oslo-Bergen=40Gbit/s"),
        (["--link", "a-c=0", "--link", "a-c=1Gbit/s"], "--link a-c=1Gbit/s: link `a-c` is changed twice"),
        (["--link", "a-c=fast"], "--link: link `a-c`: `fast` is not a rate"),
        (["--set", "run.seed=2"], "ring.csv: --set is for scenarios (.toml); --link NAME=RATE changes a link"),
        (["--seed", "2"], "--seed 2: it is for demands by a rule, such as gravity:40Gbit/s; leave it out"),
        (["--out", "x", "--csv", "./x"], "x: --out and --csv name one folder; give each its own"),
        (["--reroute"], "--reroute and --no-reroute say what a failure does to paths; give --each-failure too"),
    ],
)
def test_what_would_change_nothing_is_refused(files, options, said):
    done = run("solve", "ring.csv", "--demands", "demands.csv", *options, cwd=files)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_capacity_for_links_that_have_theirs_is_told_to_change_nothing(files):
    done = run("solve", "ring.csv", "--demands", "demands.csv", "--capacity", "9 Mbit/s", cwd=files)
    assert done.returncode == 0
    assert (
        done.stderr == "anabranch: ring.csv: --capacity changes nothing, since the file gives every link its capacity\n"
    )


def test_values_of_a_scenario_are_set_for_the_solver(tmp_path):
    text = '[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "4 Mbit/s"\n[[connection]]\nsource = "a"\ntarget = "b"\n'
    (tmp_path / "one.toml").write_text(text, encoding="utf-8")
    done = run("solve", "one.toml", "--set", "link.0.capacity=9 Mbit/s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "carried 9 Mbit/s" in done.stdout
    done = run("solve", "one.toml", "--link", "a-b=2Mbit/s", cwd=tmp_path)
    assert "carried 2 Mbit/s" in done.stdout
    done = run("solve", "one.toml", "--seed", "3", cwd=tmp_path)
    assert "one.toml: --seed is for demands by a rule; give --set run.seed=3 instead" in done.stderr


def test_a_summary_prints_as_lines(ring):
    allocation = ab.solve(ring, ab.demands(ring, ROWS))
    lines = str(allocation.summary).splitlines()
    assert lines[0].split() == ["fairness", "max-min"]
    assert "total rate       8 Mbit/s" in lines
    # Words of the proof come with what they mean; the keys are short.
    assert any(line.startswith("residual         0 (optimality gap: how far any path is from its") for line in lines)
    assert {"passes", "residual", "overload"} <= set(allocation.summary)
    assert allocation.summary["total_rate_bps"] == pytest.approx(8e6)


def test_tables_are_written_as_csv_whole_or_not_at_all(ring, tmp_path):
    allocation = ab.solve(ring, ab.demands(ring, ROWS))
    allocation.write_csv(tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "connections.csv",
        "links.csv",
        "subflows.csv",
    ]
    assert pl.read_csv(tmp_path / "out" / "connections.csv")["rate_bps"].to_list() == pytest.approx([3e6, 5e6])
    with pytest.raises(ab.ScenarioError, match="it exists already"):
        allocation.write_csv(tmp_path / "out")
