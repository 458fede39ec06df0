"""Max-min fair rates that follow changes, as Python users meet them."""

import networkx as nx
import numpy as np
import pytest

import anabranch as ab
from test_levelled import SHARED, whole_problem


def fresh(problem):
    return ab.solve(problem, fairness="max-min", method="dual-simplex").connection_rates


def test_rates_follow_demands_and_capacities_given_one_by_one_or_all():
    # Connection 0 may take either link (4 and 10), 1 the first, 2 the second. If 1 wants 1, the others have 6.5 each of
    # the 13 that are left; if the second link fails, 0 and 1 share the first: 1 and the 3 that are left.
    allocator = ab.Allocator(SHARED)
    assert allocator.connection_rates.tolist() == [5.0, 4.0, 5.0]
    assert allocator.update(demand={1: 1.0}).tolist() == [6.5, 1.0, 6.5]
    assert allocator.update(capacity={1: 0.0}).tolist() == [3.0, 1.0, 0.0]
    assert allocator.update(capacity=[4, 10], demand=np.full(3, np.inf)).tolist() == [5.0, 4.0, 5.0]
    # Weights of 1, 1 and 3 for the 14 of both links: 1 and 0 have 2.8 each, 0 of that 1.2 on the first link.
    assert allocator.update(weight={2: 3.0}) == pytest.approx([2.8, 2.8, 8.4])


def test_an_allocation_is_there_with_its_proof_after_each_change():
    allocator = ab.Allocator(SHARED)
    first = allocator.allocation
    assert first is allocator.allocation
    allocator.update(demand={1: 1.0})
    second = allocator.allocation
    assert second is not first
    assert first.connection_rates.tolist() == [5.0, 4.0, 5.0]
    assert second.proof.holds
    assert second.connections["demand"][1] == 1.0
    second.certify()


def test_connections_are_added_and_removed():
    # A fourth connection on the second link: 14 for four. Without 0 the first link is for 1, and 5 each for the others.
    allocator = ab.Allocator(SHARED)
    assert allocator.add([[1]]) == 3
    assert allocator.connection_rates == pytest.approx([3.5, 3.5, 3.5, 3.5])
    allocator.remove(0)
    assert allocator.connection_rates == pytest.approx([4.0, 5.0, 5.0])
    assert allocator.allocation.proof.holds
    assert allocator.add([], demand=2.0) == 3
    assert allocator.connection_rates == pytest.approx([4.0, 5.0, 5.0, 0.0])


def test_a_network_names_its_links_and_connections():
    # Two ways of 10 Mbit/s from a to c, one over b; the two connections have both ways, 20 Mbit/s together.
    rows = [("a", "b"), ("b", "c"), ("a", "c")]
    graph = nx.DiGraph()
    graph.add_edges_from(rows, capacity_bps=10e6, delay_s=1e-3)
    network = ab.from_networkx(graph)
    demands = ab.demands(network, ["a", "a"], ["c", "c"])
    allocator = ab.Allocator(ab.find_paths(demands, 2))
    names = demands.connections["name"].to_list()
    ends = network.links.select("source", "target").iter_rows()
    links = dict(zip(ends, network.links["name"].to_list(), strict=True))
    assert allocator.connection_rates == pytest.approx([10e6, 10e6])
    assert allocator.update(capacity={links["a", "c"]: 0.0}) == pytest.approx([5e6, 5e6])
    assert allocator.update(demand={names[1]: 1e6}) == pytest.approx([9e6, 1e6])
    assert allocator.allocation.connections["rate_bps"].to_list() == pytest.approx([9e6, 1e6])
    with pytest.raises(ValueError, match="capacity: there is no link `x`"):
        allocator.update(capacity={"x": 1.0})
    with pytest.raises(ValueError, match="add would part from them"):
        allocator.add([[0]])


class Unproved:
    """A core that proves nothing, and says that all rates are 1."""

    is_proved = False
    exchanges = 0

    def __init__(self, connections):
        self.connection_rates = np.ones(connections)

    def follow(self, problem):
        self.connection_rates = np.ones(problem.connections)


def test_what_is_not_proved_is_solved_for_as_by_solve():
    allocator = ab.Allocator(SHARED)
    allocator._core = Unproved(3)
    assert allocator.update(demand={1: 1.0}).tolist() == [6.5, 1.0, 6.5]
    assert allocator.connection_rates.tolist() == [6.5, 1.0, 6.5]
    assert allocator.allocation.proof.holds


def test_what_nothing_proves_comes_with_a_warning(monkeypatch):
    allocator = ab.Allocator(SHARED)
    allocator._core = Unproved(3)
    monkeypatch.setattr(ab.LevelledAllocation, "shortcoming", property(lambda _: "numbers lie too far apart"))
    with pytest.warns(ab.ConvergenceWarning, match="too far apart") as of_update:
        assert allocator.update(demand={1: 2.0}).tolist() == [6.0, 2.0, 6.0]
    fresh_one = ab.Allocator(SHARED)
    with pytest.warns(ab.ConvergenceWarning, match="too far apart") as of_allocation:
        assert fresh_one.allocation is not None
    # Both point to this test, and not into the package.
    assert [told[0].filename for told in (of_update, of_allocation)] == [__file__, __file__]


@pytest.mark.parametrize("seed", range(30))
def test_a_chain_of_changes_comes_to_the_rates_of_a_fresh_solve(seed):
    rng = np.random.default_rng(seed)
    allocator = ab.Allocator(whole_problem(rng))
    for _ in range(10):
        now = allocator.problem
        links, connections = now.core.links, now.core.connections
        kind = rng.integers(5)
        if kind == 0:
            allocator.update(demand={int(rng.integers(connections)): float(rng.choice([0, 1, 2.5, np.inf]))})
        elif kind == 1:
            allocator.update(capacity={int(rng.integers(links)): float(rng.integers(0, 6))})
        elif kind == 2:
            allocator.update(weight=rng.uniform(0.3, 3, connections))
        elif kind == 3 or connections == 1:
            paths = [rng.permutation(links)[: rng.integers(1, links + 1)] for _ in range(rng.integers(0, 4))]
            allocator.add(paths, demand=float(rng.choice([1, np.inf])), weight=0.5)
        else:
            allocator.remove(int(rng.integers(connections)))
        np.testing.assert_allclose(allocator.connection_rates, fresh(allocator.problem), rtol=1e-9, atol=1e-12)
        assert allocator.allocation.proof.holds


def test_mistakes_are_told_with_their_place_and_change_nothing():
    allocator = ab.Allocator(SHARED)
    for change, said in [
        ({"demand": {7: 1.0}}, "demand: there is no connection 7; there are 3"),
        ({"demand": {-1: 1.0}}, "demand: there is no connection -1"),
        ({"demand": {"a": 1.0}}, "a problem of arrays has no names"),
        ({"capacity": {0: -1.0}}, "link 0: capacity is -1"),
        ({"capacity": [1.0]}, "capacity has 1 values; it must have 2"),
        ({"weight": {0: 0.0}}, "connection 0: weight is 0"),
        ({"capacity": {0: np.inf}}, "would be infinite"),
    ]:
        with pytest.raises(ValueError, match=said):
            allocator.update(**change)
    with pytest.raises(ValueError, match="there is no connection 3"):
        allocator.remove(3)
    with pytest.raises(ValueError, match="there is no link 9"):
        allocator.add([[9]])
    with pytest.raises(ValueError, match="path 4: it has no links"):
        allocator.add([[]])
    with pytest.raises(ValueError, match="path_links holds float64"):
        allocator.add([[0.5]])
    with pytest.raises(TypeError, match="float"):
        allocator.update(demand={0.5: 1.0})
    with pytest.raises(TypeError, match="must be a Problem or Paths"):
        ab.Allocator([1.0])
    assert allocator.connection_rates.tolist() == [5.0, 4.0, 5.0]
