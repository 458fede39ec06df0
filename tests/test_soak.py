"""Solvers on random problems, judged by code that shares nothing with them; tests/soak.py runs thousands."""

import numpy as np
import pytest

import anabranch as ab
from fairness_judge import unfair_paths
from soak import SPANS, allocator_sequence, every_method, exact, heterogeneous


@pytest.mark.parametrize("seed", range(21))
def test_an_allocator_gives_what_solve_gives_or_warns(seed):
    _, told, silent = allocator_sequence(seed)
    assert silent == []
    # Over ten powers of ten at the most, doubles prove every rate of these.
    assert told == 0 or SPANS[seed % len(SPANS)] > 10


@pytest.mark.parametrize("seed", range(7))
def test_no_method_takes_long_or_overloads_a_link(seed):
    assert every_method(seed) == []


@pytest.mark.parametrize("seed", range(60))
def test_what_is_certified_is_fair_by_the_definition(seed):
    converged, _, unfair = heterogeneous(seed)
    assert converged
    assert unfair == []


@pytest.mark.parametrize("seed", range(20))
def test_exact_rates_are_those_of_an_independent_chain_of_programs(seed):
    assert max(exact(seed).values()) <= 1e-6


def test_the_judge_finds_what_is_unfair():
    # Connection 0 has links of 1 and 1000, connection 1 the first. If 0 takes 0.4 of the first, 1 has 0.6 of its 1.
    problem = ab.Problem([1.0, 1000.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])
    assert unfair_paths(problem, np.array([0.4, 1000.0, 0.6]), 1e-2) == [2]
    assert unfair_paths(problem, np.array([0.0, 1000.0, 1.0]), 1e-2) == []
    assert unfair_paths(problem, np.array([0.0, 900.0, 1.0]), 1e-2) == [1]
