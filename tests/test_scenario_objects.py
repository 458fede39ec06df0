"""Scenarios made of Python objects: the text of the file, what it reads as, and where a mistake is."""

from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import anabranch as ab

LINKS = [{"source": "a", "target": "b", "capacity": "4 Mbit/s", "delay": "5 ms"}]


@dataclass
class Connection:
    """A connection of a test's own."""

    source: str
    target: str
    protocol: str = "cubic"
    demand: str | None = None


def test_objects_become_the_text_of_a_file():
    text = ab.scenario(title="One link", links=LINKS, connections=[Connection("a", "b")], run={"duration": "2 s"})
    assert str(text).splitlines() == [
        'title = "One link"',
        "[[link]]",
        'source = "a"',
        'target = "b"',
        'capacity = "4 Mbit/s"',
        'delay = "5 ms"',
        "[[connection]]",
        'source = "a"',
        'target = "b"',
        'protocol = "cubic"',
        "[run]",
        'duration = "2 s"',
        "",
    ]


def test_a_written_scenario_reads_as_it_was_made(tmp_path):
    text = ab.scenario({"link": LINKS}, connections=[{"source": "a", "target": "b", "weight": np.float64(2.0)}])
    text.write(tmp_path / "one.toml")
    read = ab.read_scenario(tmp_path / "one.toml")
    assert read.demands.connections["weight"].to_list() == [2.0]
    assert ab.solve(read.network, read.demands).connection_rates.tolist() == [4e6]


def test_networks_and_demands_are_written_out_to_the_last_bit():
    graph = nx.Graph()
    for ends, capacity in {"ab": 1e6 / 3, "bc": 2e17, "ac": 7.5}.items():
        graph.add_edge(*ends, capacity_bps=capacity, delay_s=1e-3 / 7)
    graph.add_node("d", longitude=10.5, latitude=-3.25)
    network = ab.from_networkx(graph)
    demands = ab.demands(network, [("a", "c", 1e6 / 7, 3), {"source": "b", "target": "c", "qos": 0.3, "stop": "1.5 s"}])
    by_hand = ab.given_paths(demands, [[["a", "b", "c"], ["a", "c"]], [["b", "c"]]])
    demands.paths = by_hand
    read = ab.read_scenario(ab.scenario(network=network, connections=demands))
    assert read.network.links.equals(network.links)
    assert read.network.nodes.equals(network.nodes)
    assert read.demands.connections.equals(demands.connections)
    assert read.demands.paths.nodes().to_list() == by_hand.nodes().to_list()


def test_rules_and_files_of_networks_stand_in_the_table_of_the_network(tmp_path, monkeypatch):
    ring = ab.scenario(network={"generate": {"ring": {"nodes": 5}}}, demands={"rule": "uniform:1 Mbit/s"})
    assert len(ab.read_scenario(ring).demands) == 20
    monkeypatch.chdir(tmp_path)
    Path("two.csv").write_text("source,target,capacity\na,b,4 Mbit/s\n", encoding="utf-8")
    of_file = ab.scenario(network="two.csv", connections=[{"source": "a", "target": "b"}])
    assert len(ab.read_scenario(of_file).network) == 2


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            {"connections": [{"source": "a", "target": "b", "weight": -1}]},
            r"^scenario: connection\.0: connection `a>b`: weight is -1",
        ),
        ({"connections": [{"source": "a", "target": "c"}]}, r"^scenario: connection\.0: target: there is no node `c`"),
        ({"connections": [{"source": "a", "targt": "b"}]}, r"^scenario: connection\.0\.targt: .*did you mean `target`"),
        ({"connections": [{"source": "a", "target": object()}]}, r"^connection\.0\.target: it is a object; give text"),
        ({"connections": [{"source": "a", "target": "b", "demand": 3e6}]}, r"^scenario: connection\.0\.demand: "),
        ({"run": {"duration": float("inf")}}, r"^run\.duration: it is too large a number"),
        ({"run": {1: 2}}, r"^run: the key 1 is no text; keys are those of the scenario file"),
        ({"link": LINKS}, r"^link: it is given twice; keep one"),
    ],
)
def test_a_mistake_is_said_with_its_place_among_the_objects(parts, said):
    with pytest.raises(ab.ScenarioError, match=said):
        ab.scenario(**({"links": LINKS} | parts))


def test_a_scenario_of_objects_is_simulated():
    tables = {
        "run": {"duration": "2 s", "warm_up": "500 ms"},
        "link": LINKS,
        "defaults": {"link": {"queue": "50 packets"}, "connection": {"protocol": "cubic"}},
        "connection": [{"source": "a", "target": "b", "name": "only"}],
    }
    result = ab.run(tables)
    assert result.connections["connection"].to_list() == ["only"]
    # Payload fills the link of 4 Mbit/s but for headers.
    assert result.connections["mean_rate_bps"].item() == pytest.approx(4e6, rel=0.1)
    again = ab.run(ab.scenario(tables), sets=["link.0.capacity=2 Mbit/s"])
    assert again.connections["mean_rate_bps"].item() == pytest.approx(2e6, rel=0.1)
