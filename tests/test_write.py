"""Writing a network and reading it back gives the same network."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import ScenarioError, from_networkx, read_network, write_network

SUFFIX = {"graphml": ".graphml", "gml": ".gml", "node-link": ".json", "rfc8345": ".json", "csv": ".csv"}

names = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=8
)
names = names.map(str.strip).filter(bool)
degrees = st.tuples(st.floats(-180, 180), st.floats(-90, 90))
rates = st.floats(0, 1e15) | st.just(float("inf"))
delays = st.floats(0, 1e6)


@st.composite
def networks(draw):
    """Up to five nodes and eight links, parallel ones too, some of them twins."""
    nodes = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    graph = nx.MultiDiGraph(name=draw(names))
    for node in nodes:
        position = draw(st.none() | degrees)
        graph.add_node(node, **({} if position is None else {"longitude": position[0], "latitude": position[1]}))
    for name in draw(st.lists(names, max_size=4, unique=True)):
        source, target = draw(st.permutations(nodes))[:2]
        there, back = (f"{name}/1", f"{name}/2")
        two_way = draw(st.booleans())
        for key, ends, twin in [(there, (source, target), back), (back, (target, source), there)]:
            if two_way or draw(st.booleans()):
                attributes = {"capacity_bps": draw(rates), "delay_s": draw(delays), "twin": twin if two_way else None}
                graph.add_edge(*ends, key=key, **attributes)
    return from_networkx(graph)


def assert_same(found, network):
    assert found.name == network.name
    assert found.nodes.equals(network.nodes)
    assert found.links.equals(network.links)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("kind", ["graphml", "gml", "node-link", "rfc8345"])
@settings(max_examples=100)
@given(network=networks())
def test_reading_back_gives_the_same_network(folder, kind, network):
    path = folder / f"network{SUFFIX[kind]}"
    write_network(network, path, format=kind)
    assert_same(read_network(path), network)


@settings(max_examples=100)
@given(network=networks())
def test_two_tables_give_the_same_network(folder, network):
    path, nodes = folder / "links.csv", folder / "nodes.csv"
    write_network(network, path, nodes=nodes)
    found = read_network(path, nodes=nodes)
    assert found.nodes.equals(network.nodes)
    assert found.links.equals(network.links)


def pair():
    """a - b, with different ways there and back."""
    graph = nx.MultiDiGraph(name="pair")
    graph.add_edge("a", "b", key="up", capacity_bps=1e6, delay_s=0.1, twin="down")
    graph.add_edge("b", "a", key="down", capacity_bps=2e6, delay_s=0.2, twin="up")
    return graph


def test_networkx_reads_what_is_written(tmp_path):
    network = from_networkx(pair())
    write_network(network, tmp_path / "pair.graphml")
    graph = nx.read_graphml(tmp_path / "pair.graphml")
    assert {(u, v, d["capacity_bps"]) for u, v, d in graph.edges(data=True)} == {("0", "1", 1e6), ("1", "0", 2e6)}
    write_network(network, tmp_path / "pair.gml")
    graph = nx.read_gml(tmp_path / "pair.gml")
    assert {(u, v, d["capacity_bps"]) for u, v, d in graph.edges(data=True)} == {("a", "b", 1e6), ("b", "a", 2e6)}


def test_a_table_of_links_alone_refuses_to_lose_nodes(tmp_path):
    graph = pair()
    write_network(from_networkx(graph), tmp_path / "links.csv")
    assert_same(read_network(tmp_path / "links.csv").with_capacities([1e6, 2e6]), _named(graph, "links"))
    graph.add_node("alone", longitude=1.0, latitude=2.0)
    with pytest.raises(ScenarioError, match="would lose 1 positions and 1 nodes without links"):
        write_network(from_networkx(graph), tmp_path / "links.csv")


def _named(graph, name):
    graph = graph.copy()
    graph.graph["name"] = name
    return from_networkx(graph)


def test_names_that_would_not_come_back_are_refused(tmp_path):
    for name in (" a", "a\n", "a\0b"):
        graph = nx.relabel_nodes(pair(), {"a": name})
        with pytest.raises(ScenarioError, match="the name has a control character, or blanks around it"):
            write_network(from_networkx(graph), tmp_path / "pair.gml")
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written_stays(tmp_path):
    network = from_networkx(pair())
    (tmp_path / "taken.gml").mkdir()
    for path in (tmp_path / "taken.gml", tmp_path / "gone" / "pair.gml", "a\0b.gml"):
        with pytest.raises(ScenarioError, match="it cannot be written"):
            write_network(network, path)
    assert [p.name for p in tmp_path.iterdir()] == ["taken.gml"]
    write_network(network, tmp_path / "pair.gml")
    write_network(network, tmp_path / "pair.gml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pair.gml", "taken.gml"]


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    network = from_networkx(pair())
    with pytest.raises(ScenarioError, match=r"there is no format `\.txt` to write; choose one of graphml, gml"):
        write_network(network, tmp_path / "pair.txt")
    with pytest.raises(ScenarioError, match="give `nodes` only with csv"):
        write_network(network, tmp_path / "pair.gml", nodes=tmp_path / "nodes.csv")
