"""Verdicts: a number is judged by what is published alone, a claim as stated, and neither by an interval too wide."""

from __future__ import annotations

import math

import pytest

from anabranch.estimate import Estimate
from anabranch.reproduce.spec.verdict import judge_check, judge_number


@pytest.mark.parametrize(
    ("ours", "half_width", "verdict"),
    [
        # Printed is 2.00, with a margin of 0.005: half a unit of the last digit.
        (2.004, None, "within margin"),
        (2.006, None, "within 5 %"),
        (2.1, None, "within 5 %"),
        (2.11, None, "off"),
        # An interval of ours is added to the margin, but not beyond 5 %, 0.1.
        (2.06, 0.06, "within margin"),
        (2.09, 0.02, "within 5 %"),
        (2.2, 0.3, "open"),
        (2.0, 0.3, "open"),
        (2.2, 0.05, "off"),
        (2.2, 0.15, "open"),
        (math.inf, None, "off"),
    ],
)
def test_a_number_is_judged_by_margin_interval_and_five_percent(ours, half_width, verdict):
    found = Estimate(ours, half_width, 1 if half_width is None else 10)
    assert judge_number(found, 2.0, 0.005) == verdict


def test_a_wide_margin_counts_only_with_a_reason():
    # 20 % of 2.0: the reader of files refuses it without a reason.
    assert judge_number(Estimate(2.3, None, 1), 2.0, 0.4, may_be_wide=True) == "within margin"
    assert judge_number(Estimate(2.3, 0.3, 5), 2.0, 0.4, may_be_wide=True) == "within margin"
    assert judge_number(Estimate(2.5, None, 1), 2.0, 0.4, may_be_wide=True) == "off"


def test_nothing_printed_is_met_by_next_to_nothing():
    # Printed is 0.00: 5 % of it is nothing, and half a unit of the last digit is 0.005.
    assert judge_number(Estimate(0.004, None, 1), 0.0, 0.005) == "within margin"
    assert judge_number(Estimate(0.006, None, 1), 0.0, 0.005) == "off"
    assert judge_number(Estimate(0.006, 0.003, 5), 0.0, 0.005) == "within margin"
    assert judge_number(Estimate(0.006, 0.03, 5), 0.0, 0.005) == "open"


@pytest.mark.parametrize(
    ("left", "comparison", "right", "verdict"),
    [
        # One run each: they decide by themselves.
        ([1.0], "<", [2.0], "borne out"),
        ([2.0], "<", [2.0], "not borne out"),
        ([2.0], "<=", [2.0], "borne out"),
        ([3.0], "=", [3.0 + 1e-10], "borne out"),
        ([3.0], "=", [3.1], "not borne out"),
        # Seeds vary by 10 from one to the next, and the difference within a seed is 1 each time.
        ([10.0, 20.0, 30.0], "<", [11.0, 21.0, 31.0], "borne out"),
        ([10.0, 20.0, 30.0], ">", [11.0, 21.0, 31.0], "not borne out"),
        # Differences of -1, 1 and 0: their interval holds 0.
        ([10.0, 21.0, 30.0], "<", [11.0, 20.0, 30.0], "open"),
        ([10.0, 21.0, 30.0], "=", [11.0, 20.0, 30.0], "open"),
        # -1, -2 and -0.1: the mean is -1.03, and the interval of three, 2.36 wide to each side, holds 0.
        ([0.0, 0.0, 0.0], "<", [1.0, 2.0, 0.1], "open"),
        # What never comes is later than all, in each seed or in some.
        ([math.inf, math.inf], ">", [3.0, 4.0], "borne out"),
        ([math.inf, math.inf], ">", [math.inf, math.inf], "not borne out"),
        ([math.inf, 2.0], ">", [3.0, 4.0], "open"),
    ],
)
def test_a_claim_is_decided_by_the_interval_of_differences(left, comparison, right, verdict):
    assert judge_check(left, comparison, right) == verdict
