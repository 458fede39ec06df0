"""Each format on a small file made for it: what is kept, and what is dropped."""

import gzip
import json
import pkgutil
from importlib import import_module

import networkx as nx
import pytest

from anabranch import Network, ScenarioError, formats, read_demands, read_network
from anabranch.formats import known
from anabranch.formats import rfc8345 as rfc8345_format
from format_samples import GML, GRAPHML, NATIVE, XML, read, refused, rfc8345, rfc_link


def links(network):
    """The links as (name, source, target, Mbit/s, twin)."""
    rows = network.links.select("name", "source", "target", "capacity_bps", "twin").iter_rows()
    return [(name, source, target, bps / 1e6, twin) for name, source, target, bps, twin in rows]


@pytest.mark.parametrize(("name", "text"), [("inland.graphml", GRAPHML), ("inland.gml", GML)])
def test_repeated_and_empty_labels_get_ids_and_loops_go(tmp_path, name, text):
    network = read(tmp_path, name, text, capacity="1 Mbit/s")
    assert network.name == "Inland"
    assert network.nodes["name"].to_list() == ["Quay & Lock (0)", "Mühle", "Quay & Lock (2)", "node (3)"]
    # Longitude 500 is no longitude, so that node has no position; the link of 0 bit/s is one of unknown capacity.
    assert network.core.positions == [(5.5, 52.25), None, None, None]
    assert links(network) == [
        ("Quay & Lock (0)-Mühle", "Quay & Lock (0)", "Mühle", 2.0, "Mühle-Quay & Lock (0)"),
        ("Mühle-Quay & Lock (0)", "Mühle", "Quay & Lock (0)", 2.0, "Quay & Lock (0)-Mühle"),
        ("Mühle-Quay & Lock (0)#2", "Mühle", "Quay & Lock (0)", 3.0, "Quay & Lock (0)-Mühle#2"),
        ("Quay & Lock (0)-Mühle#2", "Quay & Lock (0)", "Mühle", 3.0, "Mühle-Quay & Lock (0)#2"),
        ("Quay & Lock (2)-node (3)", "Quay & Lock (2)", "node (3)", 1.0, "node (3)-Quay & Lock (2)"),
        ("node (3)-Quay & Lock (2)", "node (3)", "Quay & Lock (2)", 1.0, "Quay & Lock (2)-node (3)"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_the_encoding_is_found(tmp_path, encoding):
    text = 'graph [ node [ id 1 label "Ærø" ] node [ id 2 label "Malmö" ] edge [ source 1 target 2 ] ]'
    network = read(tmp_path, "sound.gml", text.encode(encoding), capacity=1e9)
    assert network.nodes["name"].to_list() == ["Ærø", "Malmö"]


def test_a_packed_file_reads_as_its_content(tmp_path):
    network = read(tmp_path, "inland.gml.gz", gzip.compress(GML.encode()), capacity="1 Mbit/s")
    assert links(network) == links(read(tmp_path, "inland.gml", GML, capacity="1 Mbit/s"))


def test_directed_edges_are_one_way_and_pair_first_with_first(tmp_path):
    edges = "".join(f"edge [ source {a} target {b} ] " for a, b in [(0, 1), (0, 1), (1, 0), (1, 2)])
    text = f"graph [ directed 1 node [ id 0 ] node [ id 1 ] node [ id 2 ] {edges} ]"
    network = read(tmp_path, "three.gml", text, capacity=1e6)
    twins = [(name, twin) for name, _, _, _, twin in links(network)]
    assert twins == [("0-1", "1-0"), ("0-1#2", None), ("1-0", "0-1"), ("1-2", None)]


def test_what_networkx_writes_is_read(tmp_path):
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", capacity_bps=1e6, delay_s=0.01)
    graph.add_edge("b", "a", capacity_bps=2e6, delay_s=0.02)
    nx.write_graphml(graph, tmp_path / "pair.graphml")
    nx.write_gml(graph, tmp_path / "pair.gml")
    for edges in ("links", "edges"):
        data = nx.node_link_data(graph, edges=edges)
        (tmp_path / f"{edges}.json").write_text(json.dumps(data))
    for name in ("pair.graphml", "pair.gml", "links.json", "edges.json"):
        network = read_network(tmp_path / name)
        assert links(network) == [("a-b", "a", "b", 1.0, "b-a"), ("b-a", "b", "a", 2.0, "a-b")], name
        assert network.core.delay_s.tolist() == [0.01, 0.02]


def test_bare_capacities_of_node_link_json_are_megabits(tmp_path):
    def capacity(graph, **attributes):
        link = {"source": 0, "target": 1, **attributes}
        text = json.dumps({"directed": True, "graph": graph, "nodes": [{"id": 0}, {"id": 1}], "links": [link]})
        return links(read(tmp_path, "two.json", text))[0][3]

    assert capacity({}, capacity=5000.0) == 5000.0
    assert capacity({"capacity_unit": "Gbit/s"}, capacity=5) == 5000.0
    assert capacity({}, capacity="5 Gbit/s") == 5000.0
    assert capacity({}, capacity_bps=5000) == 0.005


def test_sndlib_capacity_is_installed_then_smallest_module_then_missing(tmp_path):
    network = read(tmp_path, "three.txt", NATIVE, capacity="1 Mbit/s")
    capacity = {name: mbps for name, _, _, mbps, _ in links(network)}
    assert capacity == {"L1": 4e3, "L1~": 4e3, "L2": 1e4, "L2~": 1e4, "L3": 1.0, "L3~": 1.0}
    assert network.core.positions == [(10.0, 50.0), (11.0, 51.0), (12.0, 52.0)]
    assert "no capacity (1 of 3 links" in refused(tmp_path, "three.txt", NATIVE)


def test_sndlib_coordinates_of_a_plane_are_dropped_for_all(tmp_path):
    network = read(tmp_path, "three.txt", NATIVE.replace("12.0 52.0", "12.0 352.0"), capacity=1e6)
    assert network.core.positions == [None, None, None]


def test_sndlib_links_that_all_have_an_opposite_are_one_way(tmp_path):
    back = "L2 ( N3 N2 ) 0 0 0 0 ( )\n L3 ( N2 N3 ) 0 0 0 0 ( )\n L4 ( N2 N1 ) 0 0 0 0 ( )\n)\nDEMANDS"
    start, end = NATIVE.index("  L2"), NATIVE.index("DEMANDS")
    network = read(tmp_path, "three.txt", NATIVE[:start] + back + NATIVE[end + 7 :], capacity=1e6)
    assert [(name, twin) for name, _, _, _, twin in links(network)] == [
        ("L1", "L4"),
        ("L2", "L3"),
        ("L3", "L2"),
        ("L4", "L1"),
    ]


def test_sndlib_demands_come_with_their_paths(tmp_path):
    network = read(tmp_path, "three.txt", NATIVE, capacity=1e6)
    found = read_demands(tmp_path / "three.txt", network)
    # The second takes 2 units of capacity for each of its 0.25.
    assert found.connections["demand_bps"].to_list() == [1.5e9, 0.5e9]
    # From N1 over N2 to N3: the second link is listed from N3 to N2, so its twin is taken.
    assert found.paths is not None
    names = [network.core.link_names[i] for i in found.paths.path_links.tolist()]
    assert names == ["L3", "L1", "L2~"]
    assert found.paths.connection_offsets.tolist() == [0, 2, 2]


def test_sndlib_paths_are_passed_over_on_a_network_without_their_links(tmp_path):
    other = read(tmp_path, "other.csv", "source,target,capacity_bps\nN1,N2,1\nN2,N3,1\n")
    (tmp_path / "three.txt").write_text(NATIVE)
    assert read_demands(tmp_path / "three.txt", other).paths is None
    gap = NATIVE.replace("L1 L2", "L2 L1")
    network = read(tmp_path, "three.txt", gap, capacity=1e6)
    with pytest.raises(ScenarioError, match="line 24: link `L2` does not go on"):
        read_demands(tmp_path / "three.txt", network)


def test_sndlib_xml_demands_are_matched_by_node_names(tmp_path):
    network = read(tmp_path, "three.txt", NATIVE, capacity=1e6)
    path = tmp_path / "traffic.xml"
    path.write_text(XML)
    assert read_demands(path, network).connections.select("name", "demand_bps").rows() == [("N1_N3", 12_500.0)]
    path.write_text(XML.replace("<target>N3", "<target>N4"))
    with pytest.raises(ScenarioError, match="demand `N1_N3`: there is no node `N4`"):
        read_demands(path, network)
    with pytest.raises(ScenarioError, match="give this one as the demands"):
        read_network(path)


def test_rfc_8345_capacities_come_from_te_layer_2_or_our_own_attributes(tmp_path):
    te = {
        "ietf-te-topology:te": {"te-link-attributes": {"max-link-bandwidth": {"te-bandwidth": {"generic": "0x1p20"}}}}
    }
    layer2 = {"ietf-l2-topology:l2-link-attributes": {"rate": "2.50", "delay": 1500}}
    own = {"anabranch:capacity-bps": 7e6, "anabranch:delay-s": 0.25}
    ends = [("A", "B", te), ("B", "A", layer2), ("A", "B", own)]
    given = [rfc_link(a, b, **more) | {"link-id": f"l{i}"} for i, (a, b, more) in enumerate(ends)]
    network = read(tmp_path, "layers.json", rfc8345(links=given))
    assert network.name == "routed"
    # 2^20 bytes a second are 8.388608 Mbit/s.
    assert links(network) == [
        ("l0", "A", "B", 8.388608, "l1"),
        ("l1", "B", "A", 2.5, "l0"),
        ("l2", "A", "B", 7.0, None),
    ]
    assert network.core.delay_s.tolist() == [0.0, 0.0015, 0.25]


def test_rfc_8345_delays_come_from_te_or_layer_2_attributes_in_microseconds(tmp_path):
    te = {"ietf-te-topology:te": {"te-link-attributes": {"te-delay-metric": 2500, "te-default-metric": 7}}}
    layer_2 = {"ietf-l2-topology:l2-link-attributes": {"delay": 40}}
    rate = {"anabranch:capacity-bps": 1e6}
    given = [rfc_link("A", "B", **te, **rate), rfc_link("B", "A", **layer_2, **rate)]
    network = read(tmp_path, "layers.json", rfc8345(links=given))
    assert network.links["delay_s"].to_list() == [0.0025, 4e-5]
    te["ietf-te-topology:te"]["te-link-attributes"]["te-delay-metric"] = -1
    said = refused(tmp_path, "x.json", rfc8345(links=[rfc_link("A", "B", **te, **rate)]))
    assert said.startswith("x.json, link `A|B`: te-delay-metric is")


def test_rfc_8345_files_have_te_attributes_that_others_read(tmp_path):
    network = read(tmp_path, "a.json", rfc8345(links=[rfc_link("A", "B", **{"anabranch:capacity-bps": 20e6})]))
    text = json.loads(rfc8345_format.write(network))
    (link,) = text["ietf-network:networks"]["network"][0]["ietf-network-topology:link"]
    attributes = link["ietf-te-topology:te"]["te-link-attributes"]
    # 2,500,000 bytes a second are 1.1920928955078125 x 2^21.
    assert attributes["max-link-bandwidth"] == {"te-bandwidth": {"generic": "0x1.312dp21"}}
    # Without our own attributes the same network is read.
    for key in [key for key in link if key.startswith("anabranch:")]:
        del link[key]
    assert read(tmp_path, "b.json", json.dumps(text)).links.equals(network.links)


def test_rfc_8345_files_with_several_networks_ask_which(tmp_path):
    second = {"network-id": "second", "node": [{"node-id": "C"}, {"node-id": "A"}], "link": [rfc_link("C", "A")]}
    text = rfc8345(second, links=[rfc_link("A", "B")])
    said = refused(tmp_path, "layers.json", text, capacity=1e6)
    assert said.startswith("layers.json: 2 of its 3 networks have links; choose one with --network-id")
    assert "`fibre`, `routed`, `second`" in said
    network = read(tmp_path, "layers.json", text, capacity=1e6, network_id="second")
    assert network.nodes["name"].to_list() == ["C", "A"]
    assert "there is no network `third`" in refused(tmp_path, "layers.json", text, network_id="third")


def test_rfc_8345_capacities_of_optical_networks_count_as_missing(tmp_path):
    te = {"te": {"te-link-attributes": {"max-link-bandwidth": {"te-bandwidth": {"generic": "0,2,3,1"}}}}}
    assert "no capacity" in refused(tmp_path, "x.json", rfc8345(links=[rfc_link("A", "B", **te)]))
    te["te"]["te-link-attributes"]["max-link-bandwidth"]["te-bandwidth"]["generic"] = "0xfast"
    said = refused(tmp_path, "x.json", rfc8345(links=[rfc_link("A", "B", **te)]))
    assert said.startswith("x.json, link `A|B`: max-link-bandwidth is `0xfast`; it must be a number of bytes a second")


def test_csv_links_take_units_names_and_directions(tmp_path):
    text = "Source, Target, capacity, delay_s, name\na, b, 10 Mbit/s, 0.5, up\nb,a,20 Mbit/s,,down\n\nb,c,1 kbit/s,0,\n"
    network = read(tmp_path, "links.csv", text)
    assert links(network) == [
        ("up", "a", "b", 10, "down"),
        ("down", "b", "a", 20, "up"),
        ("b-c", "b", "c", 0.001, None),
    ]
    two_way = read(tmp_path, "links.csv", "source,target,capacity_bps,two_way\na,b,1e6,yes\nb,c,2e6,no\n")
    assert [(name, twin) for name, _, _, _, twin in links(two_way)] == [("a-b", "b-a"), ("b-a", "a-b"), ("b-c", None)]


def test_csv_nodes_come_from_a_second_file(tmp_path):
    (tmp_path / "nodes.csv").write_text("name,longitude,latitude\nalone,,\nb,10,50\na,11,51\n")
    network = read(tmp_path, "links.csv", "source,target,capacity_bps\na,b,1\n", nodes=tmp_path / "nodes.csv")
    assert network.nodes.rows() == [("alone", None, None), ("b", 10.0, 50.0), ("a", 11.0, 51.0)]
    said = refused(tmp_path, "links.csv", "source,target,capacity_bps\na,c,1\n", nodes=tmp_path / "nodes.csv")
    assert said == "links.csv, line 2: there is no node `c`; add it to nodes.csv or correct the name"
    assert "give nodes only with csv" in refused(tmp_path, "x.gml", GML, nodes=tmp_path / "nodes.csv")


def test_rocketfuel_latencies_are_delays_and_weights_are_not(tmp_path):
    text = "San+Jose,+CA1 Reno,+NV2 4\nReno,+NV2 San+Jose,+CA1 4\n"
    network = read(tmp_path, "AS1.latencies.intra", text, capacity=1e9)
    assert network.nodes["name"].to_list() == ["San Jose, CA1", "Reno, NV2"]
    assert network.core.delay_s.tolist() == [0.004, 0.004]
    assert network.core.twin.tolist() == [1, 0]
    assert read(tmp_path, "AS1.weights.intra", text, capacity=1e9).core.delay_s.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", NATIVE),
        ("a", GML),
        ("a.xml", GRAPHML),
        ("a.dat", "source,target\na,b\n"),
        ("b.txt", "a b 1\nb a 1\n"),
        ("a.topology", rfc8345(links=[rfc_link("A", "B")])),
        ("c.txt", '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}'),
    ],
)
def test_a_format_is_known_by_its_content(tmp_path, name, text):
    assert isinstance(read(tmp_path, name, text, capacity=1e9), Network)


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    said = refused(tmp_path, "notes.txt", "Dear diary,\n")
    assert said.startswith("notes.txt: its format is not known; name the format, or use one of: graphml (.graphml")
    assert "choose one of graphml, gml" in refused(tmp_path, "a.gml", GML, format="dot")


def test_coordinates_give_delays(tmp_path):
    network = read(tmp_path, "three.txt", NATIVE, capacity=1e6, delay="coordinates")
    # N1 to N2 is a degree of each: some 132 km, 0.66 ms in fibre.
    assert network.core.delay_s[0] == pytest.approx(0.66e-3, rel=0.01)


def test_every_module_of_a_format_is_listed_and_every_ending_belongs_to_one_format():
    declaring = {
        module.name
        for module in pkgutil.iter_modules(formats.__path__)
        if hasattr(import_module(f"anabranch.formats.{module.name}"), "FORMAT")
    }
    assert declaring == set(known.MODULES)
    assert len(known.FORMATS) == len(known.MODULES)
    endings = [suffix for found in known.FORMATS.values() for suffix in (*found.suffixes, *found.writes_to)]
    assert len(endings) == len(set(endings))
    # JSON comes in two formats, told apart by what it holds; one of them is written.
    assert known.WRITTEN_SUFFIXES[".json"] == "node-link"
