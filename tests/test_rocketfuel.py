"""Rocketfuel's maps and the node-link files of traffic-engineering papers against their READMEs."""

import pytest

from anabranch import read_network

# Nodes, directed links, least and most latency in ms, parts.
MAPS = {
    "AS1221": (108, 306, 1, 17, 3),
    "AS1239": (315, 1944, 1, 64, 1),
    "AS1755": (87, 322, 1, 31, 1),
    "AS3257": (161, 656, 1, 47, 1),
    "AS3967": (79, 294, 1, 44, 1),
    "AS6461": (141, 748, 1, 45, 2),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_has_the_links_and_latencies_of_the_readme(shared_data, name):
    nodes, links, least, most, parts = MAPS[name]
    network = read_network(shared_data / "rocketfuel" / f"{name}.latencies.intra", capacity="10 Gbit/s")
    delay_s = network.core.delay_s
    assert (len(network), len(delay_s)) == (nodes, links)
    assert (delay_s.min(), delay_s.max()) == pytest.approx((least / 1e3, most / 1e3))
    assert int(network.parts.max()) + 1 == parts
    assert (network.core.twin >= 0).all()
    weights = read_network(shared_data / "rocketfuel" / f"{name}.weights.intra", capacity="10 Gbit/s")
    assert sorted(weights.core.link_names) == sorted(network.core.link_names)
    assert weights.core.delay_s.max() == 0.0


@pytest.mark.parametrize(
    ("name", "nodes", "links", "least", "most"),
    [
        ("b4-teavar", 12, 38, 5000, 5000),
        ("teal-UsCarrier", 158, 378, 50, 5850),
        ("teal-Kdl", 754, 1790, 500, 67500),
        ("teal-ASN2k", 1739, 8558, 250, 53750),
    ],
)
def test_capacities_of_engineering_papers_count_as_megabits(shared_data, name, nodes, links, least, most):
    network = read_network(shared_data / "topologies" / "te" / f"{name}.json")
    capacity = network.core.capacity_bps / 1e6
    assert (len(network), len(capacity), capacity.min(), capacity.max()) == (nodes, links, least, most)
