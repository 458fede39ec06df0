"""Scenario files from Python: networks inline and in files of their own, places of mistakes, noise."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab

EXAMPLE = (Path(__file__).parents[1] / "scenarios" / "two-paths.toml").read_text(encoding="utf-8")


def test_a_scenario_has_title_network_connections_and_paths():
    scenario = ab.read_scenario(Path(__file__).parents[1] / "scenarios" / "two-paths.toml")
    assert scenario.title == "Two paths"
    assert scenario.network.links["name"].to_list() == ["fast", "fast~", "slow", "slow~"]
    assert scenario.demands.connections["name"].to_list() == ["both", "fast-only", "slow-only"]
    assert len(scenario.demands.paths) == 4


def test_the_network_may_stand_in_a_file_beside_it(tmp_path):
    ab.write_network(ab.generate.ring(4), tmp_path / "ring.graphml")
    text = '[network]\nfile = "ring.graphml"\n[[connection]]\nsource = "{}"\ntarget = "{}"\npaths = 2\n'
    names = ab.read_network(tmp_path / "ring.graphml").core.node_names
    (tmp_path / "s.toml").write_text(text.format(names[0], names[2]), encoding="utf-8")
    scenario = ab.read_scenario(tmp_path / "s.toml")
    # Both ways round the ring of 10 Gbit/s.
    assert ab.solve(scenario.network, scenario.demands).connection_rates[0] == pytest.approx(20e9)


def test_a_mistake_is_told_with_file_line_and_column(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(EXAMPLE.replace('"10 Mbit/s"', '"10 Mbits"'), encoding="utf-8")
    with pytest.raises(ab.ScenarioError, match=r"s\.toml: line \d+, column 12: .*is not a unit of rate; write it like"):
        ab.read_scenario(file)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(EXAMPLE)), st.text(max_size=12), st.integers(0, 30))
def test_a_mangled_scenario_is_read_or_refused_and_nothing_else(tmp_path_factory, at, inserted, removed):
    file = tmp_path_factory.mktemp("mangled") / "s.toml"
    file.write_text(EXAMPLE[:at] + inserted + EXAMPLE[at + removed :], encoding="utf-8")
    # Any other exception fails the test.
    with contextlib.suppress(ab.ScenarioError):
        scenario = ab.read_scenario(file)
        ab.solve(scenario.network, scenario.demands)
