"""Real networks, solved: every one is certified, or refused because no link joins its parts."""

import numpy as np
import pytest

import anabranch as ab

pytestmark = pytest.mark.slow

SMALL = 60
"""Nodes; larger networks take longer than a test should, and are solved by benches/zoo.py."""


def test_every_small_network_of_the_zoo_is_certified_or_has_several_parts(shared_data):
    refused = []
    solved = 0
    for file in sorted((shared_data / "topologies" / "graphml").glob("*.graphml")):
        network = ab.read_network(file, capacity="10 Gbit/s")
        if len(network) > SMALL:
            continue
        demands = ab.gravity(network, total=0.5 * network.core.capacity_bps.sum(), seed=1)
        if network.parts.max() > 0:
            with pytest.raises(ab.ScenarioError, match=r"there is no path from .* parts that no link joins"):
                ab.solve(network, demands)
            refused.append(file.stem)
        else:
            ab.solve(network, demands).certify()
            solved += 1
    assert (solved, len(refused)) == (223, 15)


def test_sndlib_instances_are_solved_with_their_own_demands(shared_data):
    for name in ("abilene", "polska", "germany50", "nobel-us"):
        file = shared_data / "sndlib" / "native" / f"{name}.txt"
        network = ab.read_network(file)
        allocation = ab.solve(network, ab.read_demands(file, network), paths=3)
        allocation.certify()


def test_exact_max_min_rates_are_those_of_an_independent_chain_of_linear_programs(shared_data):
    with np.load(shared_data / "te" / "b4_k8.npz") as arrays:
        counts = np.diff(arrays["conn_ptr"])
        connection = np.repeat(np.arange(len(counts)), counts)
        paths = arrays["link_capacity"], arrays["path_ptr"], arrays["path_links"], connection
        for kind in ("gravity", "uniform"):
            problem = ab.Problem(*paths, demand=arrays[f"conn_demand_{kind}"])
            exact = ab.solve(problem, fairness="max-min", tolerance=1e-6)
            published = np.load(shared_data / "te" / f"gmmf_rate_b4_k8_{kind}.npy")
            np.testing.assert_allclose(exact.connection_rates, published, rtol=1e-6)
            exact.certify()
