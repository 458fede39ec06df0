"""What a problem takes as arrays, and what columns demands take."""

import numpy as np
import pytest

import anabranch as ab
from anabranch import generate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": [1j]}, "capacity holds complex128 values; it must hold numbers"),
        ({"capacity": [True]}, "capacity holds bool values; it must hold numbers"),
        ({"capacity": ["1"]}, "capacity holds <U1 values; it must hold numbers"),
        ({"capacity": np.array(["2020-01-01"], dtype="datetime64[s]")}, r"capacity holds datetime64\[s\] values"),
        ({"capacity": np.ma.array([1.0], mask=[True])}, "capacity is a masked array; fill it"),
        ({"capacity": [[1.0], [1.0, 2.0]]}, "capacity has rows of different lengths"),
        ({"path_links": [0.0]}, "path_links holds float64 values; it must hold whole numbers"),
        ({"path_connection": [False]}, "path_connection holds bool values; it must hold whole numbers"),
        ({"path_connection": [4294967294]}, "path_connection names connection 4294967294.*give demand or weight"),
        ({"demand": [None]}, "demand holds object values"),
    ],
)
def test_arrays_that_would_lose_something_are_refused(change, message):
    arrays = {"capacity": [1.0], "path_offsets": [0, 1], "path_links": [0], "path_connection": [0]}
    with pytest.raises(ValueError, match=message):
        ab.Problem(**(arrays | change))


def test_integers_and_narrow_floats_are_taken():
    problem = ab.Problem(np.array([3], dtype=np.int8), [0, 1], [0], [0], np.array([2.0], dtype=np.float32))
    assert (problem.capacity.tolist(), problem.demand.tolist()) == ([3.0], [2.0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"weight": []}, "weight has 0 values; it must have 2, one for each source"),
        ({"weight": np.ones(3)}, "weight has 3 values; it must have 2"),
        ({"name": ["x"]}, "name has 1 values; it must have 2"),
        ({"demand_bps": [1.0]}, "demand_bps has 1 values"),
        ({"qos": [1.0, None]}, "connection 2: qos is None; it must be a number"),
        ({"start_s": [0.0, "soon"]}, "connection 2: start_s is 'soon'"),
    ],
)
def test_columns_of_demands_must_fit_each_other(columns, message):
    network = generate.ring(3)
    nodes = network.core.node_names
    with pytest.raises(ab.ScenarioError, match=message):
        ab.demands(network, nodes[:2], nodes[1:3], **columns)


def test_columns_of_demands_may_be_arrays():
    network = generate.ring(3)
    nodes = network.core.node_names
    made = ab.demands(network, nodes[:2], nodes[1:3], weight=np.array([1.0, 2.0]), demand_bps=np.array([5.0, 6.0]))
    assert made.core.weight.tolist() == [1.0, 2.0]
    assert made.core.demand_bps.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: generate.ring(-1), "nodes is -1; it must be a whole number from 0"),
        (lambda: generate.ring(2.5), "nodes is 2.5; it must be a whole number"),
        (lambda: generate.waxman(5, seed=-1), "seed is -1"),
        (lambda: generate.waxman(5, seed=2**64), "seed is 18446744073709551616"),
        (lambda: generate.random_pairs(generate.ring(3), -2), "count is -2"),
    ],
)
def test_counts_and_seeds_out_of_range_are_value_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_changed_problem_is_the_one_made_anew_from_its_numbers():
    # Two paths of one connection, of 4 and 3; then the second link fails, and the demand of 5 is more than is left.
    arrays = {"path_offsets": [0, 1, 2], "path_links": [0, 1], "path_connection": [0, 0]}
    problem = ab.Problem([4.0, 3.0], **arrays)
    failed = problem.changed(capacity=[4.0, 0.0], demand=[5.0])
    assert (failed.capacity.tolist(), failed.demand.tolist(), failed.weight.tolist()) == ([4.0, 0.0], [5.0], [1.0])
    anew = ab.Problem([4.0, 0.0], **arrays, demand=[5.0])
    assert ab.solve(failed).path_rates.tolist() == ab.solve(anew).path_rates.tolist() == [4.0, 0.0]
    assert problem.capacity.tolist() == [4.0, 3.0]
    assert failed.path_links is problem.path_links
    assert not failed.capacity.flags.writeable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": [1.0]}, "capacity has 1 values; it must have 2, one for each link"),
        ({"capacity": [1.0, -1.0]}, "link 1: capacity is -1"),
        ({"capacity": [np.inf, 1.0]}, "path 0: no link on it has a finite capacity"),
        ({"demand": [[1.0]]}, "demand has 2 axes"),
        ({"weight": [0.0]}, "connection 0: weight is 0"),
    ],
)
def test_a_change_that_cannot_be_is_told_with_its_place(change, message):
    problem = ab.Problem([4.0, 3.0], [0, 1, 2], [0, 1], [0, 0])
    with pytest.raises(ValueError, match=message):
        problem.changed(**change)
