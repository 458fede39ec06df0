"""What judges the rates of agents in trials finds what is wrong, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from agent_processes import Wish
from granted_rates import Fair, Watch, granted

LINKS = [("a", "b", 10), ("b", "c", 20), ("a", "c", 30)]


def fair(*wishes: Wish) -> Fair:
    links = [{"source": a, "target": b, "capacity": f"{most} Mbit/s"} for a, b, most in LINKS]
    return Fair(ab.read_scenario(ab.scenario(links=links)).network, 1.0, list(wishes))


ONE, TWO = Wish("one", "a", "c", paths=2), Wish("two", "a", "b")
"""One has two ways, and two shares the first link of the second."""


def shown(one: tuple[float, float], two: float, **other: Any) -> dict[str, Any]:
    """What agents show of both."""
    paths = [(["a-c"], one[0]), (["a-b", "b-c"], one[1])]
    sessions = [
        {
            "name": "one",
            "state": "active",
            "rate_bps": sum(one),
            "paths": [{"links": links, "rate_bps": bps, "works": True} for links, bps in paths],
        },
        {
            "name": "two",
            "state": "active",
            "rate_bps": two,
            "paths": [{"links": ["a-b"], "rate_bps": two, "works": True}],
        },
    ]
    return {"a": {"sessions": [own | other for own in sessions]}}


def test_rates_are_fair_where_nobody_could_gain_by_taking_from_higher_levels() -> None:
    own = fair(ONE, TWO)
    assert own.rates() == {"one": pytest.approx(30e6), "two": pytest.approx(10e6)}
    assert own.fault(shown((30e6, 1.0), 10e6), is_exact=False) is None
    # Two has less than one, and could take what one has of its link.
    assert "two could have more" in str(own.fault(shown((30e6, 5e6), 5e6), is_exact=False))
    assert "one could have more" in str(own.fault(shown((20e6, 1.0), 10e6), is_exact=False))
    assert "overloaded" in str(own.fault(shown((30e6, 1e6), 10e6), is_exact=False))
    assert "one has 20000000.0, not 3" in str(own.fault(shown((20e6, 0.0), 10e6), is_exact=True))


def test_sessions_and_paths_have_to_be_those_that_are_expected() -> None:
    own = fair(ONE, TWO)
    good = shown((30e6, 1.0), 10e6)
    assert "there are ['one', 'two'], not ['one']" in str(fair(ONE).fault(good, is_exact=False))
    assert "two is waiting" in str(own.fault(_with(good, 1, state="waiting"), is_exact=False))
    good["a"]["sessions"][0]["paths"][1]["works"] = False
    assert "does without a path" in str(own.fault(good, is_exact=False))
    good["a"]["sessions"][0]["paths"].pop()
    assert "one is active and has" in str(own.fault(good, is_exact=False))


def _with(agents: dict[str, Any], place: int, **other: Any) -> dict[str, Any]:
    sessions = list(agents["a"]["sessions"])
    sessions[place] = sessions[place] | other
    return {"a": {"sessions": sessions}}


def test_a_session_without_any_path_has_no_rate() -> None:
    own = fair(Wish("two", "a", "b"))
    own.paths["two"] = []
    state = _with(shown((0.0, 0.0), 1.0), 1)
    state["a"]["sessions"].pop(0)
    assert "two has 1.0, and no path" in str(own.fault(state, is_exact=False))
    assert own.fault(_with(state, 0, rate_bps=0.0), is_exact=False) is None


def test_demands_weights_and_reserved_parts_count() -> None:
    three, four = Wish("one", "a", "b", weight=2.0, reserved_bps=1e6), Wish("two", "a", "b", demand_bps=2e6)
    own = fair(three, four)
    assert own.rates() == {"one": pytest.approx(8e6), "two": pytest.approx(2e6)}
    state = shown((8e6, 0.0), 2e6)
    state["a"]["sessions"][0]["paths"] = [{"links": ["a-b"], "rate_bps": 8e6, "works": True}]
    assert own.fault(state, is_exact=False) is None
    state["a"]["sessions"][1]["paths"][0]["rate_bps"] = 1.5e6
    assert "could have more" in str(own.fault(state, is_exact=False))


def test_no_path_may_have_more_than_a_link_of_it() -> None:
    watch = Watch(fair().most_bps)
    watch.see(granted(shown((30e6, 10e6), 0.0)), 0.0)
    assert not watch.wrong
    watch.see(granted(shown((30e6, 10.1e6), 0.0)), 1.0)
    assert len(watch.wrong) == 1


def test_an_overload_counts_from_the_second_look_on_until_it_ends() -> None:
    watch = Watch(fair().most_bps)
    # Both have all of the link, but never in two looks on end.
    for second, (one, two) in enumerate([(10e6, 0.0), (0.0, 10e6), (10e6, 0.0), (10e6, 10e6)]):
        watch.see(granted(shown((0.0, one), two)), float(second))
    assert (watch.worst, watch.glimpse) == (0.0, pytest.approx(1.0))
    watch.see(granted(shown((0.0, 10e6), 5e6)), 4.0)
    watch.see(granted(shown((0.0, 10e6), 5e6)), 6.5)
    watch.see(granted(shown((0.0, 5e6), 5e6)), 7.0)
    assert (watch.worst, watch.longest_s) == (pytest.approx(0.5), 2.5)
    assert watch.episodes == [(4.0, "a-b", 3.0, pytest.approx(0.5))]


def test_what_comes_over_a_hop_that_is_cut_loads_no_link_after_it() -> None:
    watch = Watch(fair().most_bps)
    rates = {("one", ("a-b", "b-c")): 10e6, ("two", ("b-c",)): 20e6}
    for second in range(3):
        watch.see(rates, float(second), {"a-b"})
    assert watch.worst == 0.0
    for second in range(3):
        watch.see(rates, 3.0 + second)
    assert watch.worst == pytest.approx(0.5)
