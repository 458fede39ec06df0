"""Values that change at instants: what they are, where they turn, how long they stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.runs.step_function import StepFunction, longest_still


def steps(*changes: tuple[float, float]) -> StepFunction:
    return StepFunction(np.array([t for t, _ in changes], dtype=float), np.array([v for _, v in changes], dtype=float))


def test_a_value_lasts_until_the_next_change() -> None:
    function = steps((1.0, 5.0), (2.0, 7.0))
    assert [function.at(t) for t in (0.5, 1.0, 1.5, 2.0, 9.0)] == [0.0, 5.0, 5.0, 7.0, 7.0]
    assert [function.before(t) for t in (1.0, 1.5, 2.0, 9.0)] == [0.0, 5.0, 5.0, 7.0]
    part = function.within(1.5, 3.0)
    assert (part.time_s.tolist(), part.value.tolist()) == ([1.5, 2.0], [5.0, 7.0])
    assert function.until(2.0).value.tolist() == [5.0]


@pytest.mark.parametrize(
    ("values", "turns"),
    [
        ([], []),
        ([5], []),
        ([5, 5, 5], []),
        ([0, 1, 2, 3], []),
        # Up by 3, down by 3: the turn is at the high.
        ([0, 3, 0], [1]),
        # Down by only 1 in between: no turn.
        ([0, 3, 2, 5], []),
        # It stays at the high; the turn is where that began.
        ([0, 3, 3, 0], [1]),
        ([3, 0, 3, 0], [1, 2]),
        # It falls on by a billionth; the turn is where it was as good as down.
        ([3, 0, -1e-9, 3], [1]),
        # Neither 2 nor 1.5 is more than the threshold from the other, but the way from 0 to 5 is, and back.
        ([0, 2, 1.5, 5, 4, 0], [3]),
    ],
)
def test_a_turn_has_a_way_of_more_than_the_threshold_on_both_sides(values: list[float], turns: list[float]) -> None:
    assert steps(*enumerate(values)).turns(1.0) == turns


def test_the_longest_still_time_is_of_all_functions_together() -> None:
    # The first is still from 0 to 4 and from 4 on, the second from 0 to 3 and from 3 on: together from 4 to 10.
    first, second = steps((0.0, 1.0), (4.0, 9.0)), steps((0.0, 1.0), (3.0, 9.0))
    assert longest_still([first, second], 0.0, 10.0, 0.5) == 6.0
    assert longest_still([first], 0.0, 7.0, 0.5) == 4.0
    assert longest_still([first, second], 0.0, 10.0, 8.0) == 10.0


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=8, max_size=8), min_size=1, max_size=3),
    st.integers(0, 4),
)
def test_the_longest_still_time_is_that_of_a_search_through_all_spans(rows: list[list[int]], threshold: int) -> None:
    functions = [steps(*((float(t), float(v)) for t, v in enumerate(row))) for row in rows]
    spans = (
        end - begin
        for begin in range(8)
        for end in range(begin + 1, 9)
        if all(max(row[begin:end]) - min(row[begin:end]) <= threshold for row in rows)
    )
    assert longest_still(functions, 0.0, 8.0, float(threshold)) == max(spans)
