"""Small allocation cases with answers from textbooks, papers and other people's test suites."""

import json
from pathlib import Path

import numpy as np
import pytest

import anabranch as ab
from anabranch.allocation.comparison import compare_rates
from anabranch.solvers.approximate import OPTIONS

CASES = Path(__file__).parents[2] / "shared" / "data" / "peers" / "cases.json"


if not CASES.exists():
    pytest.skip("the cases of others are not part of the repository, and not beside it", allow_module_level=True)


def load_cases():
    return json.loads(CASES.read_text(encoding="utf-8"))["cases"]


def questions(criterion):
    """Every case that states rates for the criterion, with that answer."""
    return [
        pytest.param(case, answer, id=case["id"])
        for case in load_cases()
        for answer in case["expected"]
        if answer["criterion"] == criterion and answer["rates"]
    ]


def read_problem(case):
    links = {link["id"]: i for i, link in enumerate(case["links"])}
    offsets, path_links, coefficient, connection = [0], [], [], []
    for c, row in enumerate(case["connections"]):
        for subflow in row["subflows"]:
            path_links += [links[use["link"]] for use in subflow["uses"]]
            coefficient += [use["coef"] for use in subflow["uses"]]
            offsets.append(len(path_links))
            connection.append(c)
    return ab.Problem(
        [link["capacity"] for link in case["links"]],
        offsets,
        path_links,
        connection,
        demand=[np.inf if row["demand"] is None else row["demand"] for row in case["connections"]],
        weight=[row["weight"] for row in case["connections"]],
        coefficient=coefficient,
    )


def expected_rates(case, answer):
    return np.array([answer["rates"][row["id"]] for row in case["connections"]])


def test_there_are_cases():
    assert len(load_cases()) == 27


@pytest.mark.parametrize(("case", "answer"), questions("max-min"))
def test_max_min_rates_are_those_of_the_source(case, answer):
    allocation = ab.solve(read_problem(case), fairness="max-min", tolerance=1e-6)
    assert allocation.method == ("dual-simplex" if case["multipath"] else "progressive-filling")
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-9, atol=1e-12)
    allocation.certify()


@pytest.mark.parametrize(("case", "answer"), questions("upward-max-min"))
def test_upward_max_min_rates_are_those_of_the_source(case, answer):
    # The answers are those that equal portions lead to; others may be upward max-min fair too.
    allocation = ab.solve(read_problem(case), fairness="upward-max-min", start="equal", tolerance=1e-7)
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-6)
    allocation.certify()


@pytest.mark.parametrize(("case", "answer"), questions("proportional"))
def test_proportional_rates_are_those_of_the_source(case, answer):
    allocation = ab.solve(read_problem(case), fairness="proportional")
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-6)
    allocation.certify()


@pytest.mark.parametrize(("case", "answer"), questions("min-potential-delay"))
def test_rates_of_the_least_potential_delay_are_those_of_alpha_2(case, answer):
    allocation = ab.solve(read_problem(case), fairness="alpha", alpha=2)
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-6)
    allocation.certify()


@pytest.mark.parametrize(("case", "answer"), questions("max-throughput"))
def test_the_greatest_total_is_that_of_one_bin(case, answer):
    allocation = ab.solve(read_problem(case), fairness="max-min", method="equi-depth-binner", bins=1)
    assert allocation.connection_rates.sum() == pytest.approx(answer["total"])


@pytest.mark.parametrize(("case", "answer"), questions("per-subflow-max-min"))
def test_subflows_taken_for_connections_have_the_rates_of_the_source(case, answer):
    allocation = ab.solve(read_problem(case), fairness="max-min", method="water-filling")
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-9)


SINGLE = [case for case in questions("max-min") if not case.values[0]["multipath"]]
"""With one path for each connection, subflows are connections."""


@pytest.mark.parametrize(("case", "answer"), SINGLE)
def test_water_filling_is_exact_for_one_path_each(case, answer):
    allocation = ab.solve(read_problem(case), fairness="max-min", method="water-filling")
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("case", "answer"), SINGLE)
@pytest.mark.parametrize("method", ["lp", "c-slen", "iewf"])
def test_all_that_find_max_min_rates_agree_on_one_path_each(case, answer, method):
    if method == "lp":
        allocation = ab.solve(read_problem(case), fairness="max-min", method=method)
    else:
        allocation = ab.solve(read_problem(case), method=method, tolerance=1e-6 if method == "c-slen" else 1e-2)
    near = 0.1 if method == "iewf" else 1e-5
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=near, atol=1e-12)


@pytest.mark.parametrize(("case", "answer"), questions("max-min"))
@pytest.mark.parametrize("method", list(OPTIONS))
def test_approximations_overload_nothing_and_come_near(case, answer, method):
    allocation = ab.solve(read_problem(case), fairness="max-min", method=method)
    assert allocation.certificate.is_feasible
    exact = expected_rates(case, answer)
    found = compare_rates(allocation.connection_rates, exact, 1e-4 * exact.max())
    assert found.worst >= 0.5
    assert found.q >= 0.65
