"""Scenario files from Python: networks inline and in files of their own, plans, places of mistakes, noise."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch import _core
from anabranch.runs.scenario import read_plan

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


LINE = """
[[link]]
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "1 ms"
[[connection]]
name = "first"
source = "a"
target = "b"
"""


def test_values_are_set_from_outside():
    plan = read_plan(
        LINE, seed=5, sets=["connection.0.amount=3 MB", "connection.0.protocol=vo-le-tran", "run.seed = 2"]
    )
    assert (plan.core.seed, plan.core.amount_bytes.tolist()) == (5, [3e6])
    assert plan.protocols == ["Vo-Le-Tran (reconstruction)"]
    assert plan.core.protocols[0][0] == "vo-le-tran"
    scenario = ab.read_scenario(LINE, sets=["connection.0.weight=2"])
    assert scenario.demands.connections["weight"].to_list() == [2.0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "run.sed=3",
            r"^scenario: line \d+, column 1 \(with run.sed=3\): there is no key `sed` here \(did you mean `seed`\?\)",
        ),
        ("connection.3.weight=3", r"`connection` is a list without `3`; it has one entry, number 0"),
        ("run.seed", r"`run.seed` sets nothing; write it like"),
        ("run.seed=-3", r"seed is -3; it must be 0 to"),
    ],
)
def test_a_value_that_cannot_be_set_is_refused(value, message):
    with pytest.raises(ab.ScenarioError, match=message):
        read_plan(LINE, sets=[value])


def test_a_plan_takes_demands_and_traces_from_files_beside_it(tmp_path):
    ab.write_network(ab.generate.ring(4), tmp_path / "ring.graphml")
    names = ab.read_network(tmp_path / "ring.graphml").core.node_names
    demands = f"source,target,demand_bps,name\n{names[0]},{names[1]},2e6,x\n"
    (tmp_path / "demands.csv").write_text(demands, encoding="utf-8")
    (tmp_path / "trace.csv").write_text("time_s,capacity_bps\n1,5e6\n", encoding="utf-8")
    file = tmp_path / "s.toml"
    parts = [
        "[network]\nfile = 'ring.graphml'",
        "[demands]\nfile = 'demands.csv'",
        "[defaults.link]\ntrace = 'trace.csv'",
    ]
    file.write_text(
        "\n".join([*parts, "[defaults.connection]\nprotocol = 'd-slen'", "[[traffic]]\ncount = 3"]), encoding="utf-8"
    )

    plan = read_plan(file)
    assert plan.core.demands().names == ["x", "t1", "t2", "t3"]
    assert plan.protocols == ["d-SLEN"]
    assert plan.core.connection_protocol.tolist() == [0, 0, 0, 0]
    assert ab.read_scenario(file).demands.connections["name"].to_list() == ["x", "t1", "t2", "t3"]
    # Whole, it needs none of the files.
    again = read_plan(plan.resolved)
    assert again.network.links.equals(plan.network.links)
    assert again.core.demands().names == plan.core.demands().names
    assert again.core.paths().path_links.tolist() == plan.core.paths().path_links.tolist()
    assert again.resolved == plan.resolved

    (tmp_path / "trace.csv").unlink()
    with pytest.raises(ab.ScenarioError, match=r"s\.toml: line 6, column 9: .*trace\.csv: there is no such file"):
        read_plan(file)


def test_what_can_be_solved_may_be_refused_for_a_run():
    text = LINE.replace('"10 Mbit/s"', '"10 Mbit/s"\ntwo_way = false')
    assert ab.read_scenario(text).demands.connections["name"].to_list() == ["first"]
    with pytest.raises(ab.ScenarioError, match="link `a-b` has no way back for replies"):
        read_plan(text, sets=["connection.first.protocol=d-slen"])


@pytest.mark.parametrize("table", ["network", "demands"])
def test_a_mistake_in_a_file_is_told_where_the_scenario_names_it(tmp_path, table):
    file = tmp_path / "s.toml"
    before = "" if table == "network" else LINE
    named = f"{before}[{table}]\n" + 'file  = "beside"\n[[traffic]]\ncount = 1\n'
    file.write_text(named, encoding="utf-8")
    place = f"line {before.count(chr(10)) + 2}, column 9"
    for read in (ab.read_scenario, read_plan):
        with pytest.raises(ab.ScenarioError, match=rf"s\.toml: {place}: .*beside: there is no such file"):
            read(file)
        with pytest.raises(ab.ScenarioError, match=r"line \d+, column 8 \(with .*\): .*other: there is no such file"):
            read(file, sets=[f"{table}.file=other"])
    (tmp_path / "beside").write_text("graph [ node [ id", encoding="utf-8")
    with pytest.raises(ab.ScenarioError, match=rf"s\.toml: {place}: .*beside"):
        read_plan(file)


def test_a_folder_is_no_scenario(tmp_path):
    with pytest.raises(ab.ScenarioError, match="it is a folder; name a scenario file"):
        read_plan(tmp_path)


def test_one_text_is_no_list_of_values():
    with pytest.raises(ab.ScenarioError, match=r"sets is one text; give a list of them, such as \['run\.seed=3'\]"):
        ab.run(LINE, sets="run.seed=3")


def test_the_schema_lists_every_table():
    schema = json.loads(_core.Scenario.schema())
    singles = {"title", "description", "network", "run", "defaults", "assistance", "relays", "filters"}
    lists = {"demands", "node", "link", "connection", "traffic"}
    assert set(schema["properties"]) == singles | lists
    kept = Path(__file__).parents[1] / "crates" / "scenario" / "scenario.schema.json"
    assert schema == json.loads(kept.read_text(encoding="utf-8"))


@settings(max_examples=200)
@given(st.integers(0, len(EXAMPLE)), st.text(max_size=12), st.integers(0, 30))
def test_a_mangled_scenario_is_read_or_refused_and_nothing_else(tmp_path_factory, at, inserted, removed):
    file = tmp_path_factory.mktemp("mangled") / "s.toml"
    file.write_text(EXAMPLE[:at] + inserted + EXAMPLE[at + removed :], encoding="utf-8")
    # Any other exception fails the test.
    with contextlib.suppress(ab.ScenarioError):
        scenario = ab.read_scenario(file)
        ab.solve(scenario.network, scenario.demands)
    with contextlib.suppress(ab.ScenarioError):
        read_plan(file)
