"""A topology manager from Python: what it answers while links fail and return, and what it refuses."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch import generate

# Publishers a and b, receiver t: a > c > t, a > d > t, b > d > t, b > e > t, all both ways.
ENDS = [("a", "c"), ("c", "t"), ("a", "d"), ("d", "t"), ("b", "d"), ("b", "e"), ("e", "t")]


@pytest.fixture
def manager():
    return ab.TopologyManager(ab.from_networkx(nx.Graph(ENDS), capacity="1 Gbit/s"))


def test_a_receiver_is_told_paths_of_all_publishers_in_groups(manager):
    request = manager.request("t", ["a", "b"], 2)
    # The second of a and the first of b share d > t.
    records = manager.records(request)
    assert records["group"].to_list() == [0, 1, 1, 2]
    assert records["publisher"].to_list() == ["a", "a", "b", "b"]
    assert records["has_way_back"].all()
    # Two links of five ones each: at most 10 of 256 bits, each way.
    assert records["forward_fill"].is_between(6 / 256, 10 / 256).all()
    assert records["reverse_fill"].is_between(6 / 256, 10 / 256).all()
    assert manager.requests == [request]


def test_changes_tell_whose_paths_they_touched(manager):
    both = manager.request("t", ["a", "b"], 2)
    one = manager.request("t", ["a"], 1)
    before = manager.records(both)
    assert manager.fail("d-t") == [both]
    assert manager.records(both)["group"].to_list() == [0, 1]
    assert manager.fail("c-t") == [both, one]
    assert manager.records(one).is_empty()
    assert manager.restore("d-t") == [both]
    assert manager.find_again(one)
    assert manager.records(one)["links"].to_list() == [["a-d", "d-t"]]
    assert manager.restore("c-t") == [both]
    assert manager.records(both).equals(before)
    manager.end(one)
    assert manager.requests == [both]


def test_paths_and_publishers_come_and_go(manager):
    request = manager.request("t", ["a"], 1)
    added = manager.add_path(request, ["a-d", "d-t"])
    assert manager.records(request)["path"].to_list()[1] == added
    manager.set_publishers(request, ["a", "b"])
    assert manager.records(request)["publisher"].to_list() == ["a", "a", "b"]
    manager.remove_path(request, added)
    assert len(manager.records(request)) == 2
    manager.set_publishers(request, ["b"])
    assert manager.records(request)["publisher"].to_list() == ["b"]


def test_links_left_out_make_no_group():
    network = ab.from_networkx(nx.Graph(ENDS), capacity="1 Gbit/s")
    manager = ab.TopologyManager(network, without=["d-t"])
    assert manager.records(manager.request("t", ["a", "b"], 2))["group"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.request("x", ["a"]), "there is no node `x`"),
        (lambda m: m.request("t", "ab"), "give a list of the names of nodes"),
        (lambda m: m.request("t", []), "without a publisher"),
        (lambda m: m.request("t", ["t"]), "`t` is receiver and publisher"),
        (lambda m: m.request("t", ["a"], 0), "a request for 0 paths"),
        (lambda m: m.request("t", ["a"], -1), "paths is -1"),
        (lambda m: m.fail("t-x"), "there is no link `t-x`"),
        (lambda m: m.records(7), "there is no request 7"),
        (lambda m: m.records(-7), "request is -7"),
        (lambda m: m.remove_path(m.request("t", ["a"]), 99), "it has no path 99"),
        (lambda m: m.add_path(m.request("t", ["a"], 1), ["c-t"]), "a path from `c`, which is no publisher"),
        (lambda m: m.add_path(m.request("t", ["a"], 1), ["x"]), "there is no link `x`"),
        (lambda m: ab.TopologyManager(m.network, sharing="all"), 'it must be "links" or "nodes"'),
        (lambda m: ab.TopologyManager(m.network, without=["x"]), "there is no link `x`"),
        (lambda m: ab.TopologyManager(m.network, seed=-1), "seed is -1"),
    ],
)
def test_what_cannot_be_is_refused(manager, act, message):
    with pytest.raises(ValueError, match=message):
        act(manager)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.lists(st.integers(0, 10_000), max_size=12))
def test_groups_are_those_of_the_paths_that_are_left(seed, fails):
    network = generate.random_regular(20, 4, seed=seed)
    names = network.core.link_names
    manager = ab.TopologyManager(network)
    request = manager.request("n0", ["n1", "n2", "n3"], 5)
    for number in fails:
        manager.fail(names[number % len(names)])
    records = manager.records(request)
    ends = ab.demands(network, records["publisher"].to_list(), ["n0"] * len(records))
    paths = ab.given_paths(ends, [[own] for own in records["links"].to_list()], by="links")
    assert records["group"].to_list() == ab.groups(paths, together=True).tolist()
