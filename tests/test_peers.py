"""Small allocation cases with answers from textbooks, papers and other people's test suites."""

import json
from pathlib import Path

import numpy as np
import pytest

import anabranch as ab

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
    assert allocation.method == ("parametric-simplex" if case["multipath"] else "progressive-filling")
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-9, atol=1e-12)
    allocation.certify()


@pytest.mark.parametrize(("case", "answer"), questions("upward-max-min"))
def test_upward_max_min_rates_are_those_of_the_source(case, answer):
    allocation = ab.solve(read_problem(case), fairness="upward-max-min", tolerance=1e-7)
    np.testing.assert_allclose(allocation.connection_rates, expected_rates(case, answer), rtol=1e-6)
    allocation.certify()
