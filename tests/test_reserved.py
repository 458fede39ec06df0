"""Reserved parts: they come before shares, in files, solvers, simulations and results alike."""

import numpy as np
import pytest

import anabranch as ab
from command import run

SCENARIO = """
[run]
duration = "3 s"
seed = 1

[[link]]
source = "a"
target = "b"
capacity = "20 Mbit/s"
delay = "2 ms"

[[link]]
name = "wide"
source = "a"
target = "b"
capacity = "50 Mbit/s"
delay = "3 ms"

[defaults.connection]
protocol = "d-slen"

[[connection]]
name = "tunnel"
source = "a"
target = "b"
paths = 2
reserved = "40 Mbit/s"

[[connection]]
name = "other"
source = "a"
target = "b"
links = [["wide"]]
"""


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "reserved.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def test_solver_and_protocol_agree_on_them(scenario):
    # The tunnel has the 20 of the first link, and 20 of the second; both share the other 30 of the second.
    wanted = [55e6, 15e6]
    network, demands = ab.read_scenario(scenario).network, ab.read_scenario(scenario).demands
    for fairness in ("max-min", "upward-max-min"):
        solved = ab.solve(network, demands, fairness=fairness)
        assert solved.connection_rates == pytest.approx(wanted)
        assert solved.certify() is None or solved.certificate.holds
    result = ab.run(scenario)
    rates = result.rates()
    last = rates.filter(rates["time_s"] == rates["time_s"].max())
    granted = dict(zip(last["name"], last["granted_bps"], strict=True))
    assert [granted["tunnel"], granted["other"]] == pytest.approx(wanted, rel=1e-3)
    assert result.residual < 1e-3


def test_where_they_do_not_fit_the_summary_says_how_much_is_missing():
    # 8 reserved of 6: all have three quarters of theirs, and the third, which has none, has nothing.
    problem = ab.Problem([6.0], [0, 1, 2, 3], [0, 0, 0], [0, 1, 2], reserved=[6.0, 2.0, 0.0])
    found = ab.solve(problem)
    assert found.connection_rates == pytest.approx([4.5, 1.5, 0.0])
    assert found.connections["level"].to_list() == pytest.approx([-0.25, -0.25, 0.0])
    assert found.connections["reserved"].to_list() == [6.0, 2.0, 0.0]
    assert (found.summary["unmet_reserved"], found.summary["least_reserved_met"]) == (2, pytest.approx(0.75))
    assert found.certificate.holds


def test_methods_that_take_none_say_so():
    problem = ab.Problem([6.0], [0, 1, 2], [0, 0], [0, 1], reserved=[4.0, 0.0])
    for options in ({"fairness": "proportional"}, {"method": "c-slen"}, {"method": "swan"}):
        with pytest.raises(ValueError, match=r"parts of rates are reserved, and .* takes none"):
            ab.solve(problem, **options)
    with pytest.raises(ValueError, match="connection 1: reserved is -1"):
        ab.Problem([6.0], [0, 1, 2], [0, 0], [0, 1], reserved=[4.0, -1.0])


def test_protocols_that_take_none_say_so(scenario):
    for protocol in ("reno", "slbn", "rcp"):
        with pytest.raises(ab.ScenarioError, match=r"connection `tunnel`: .*reserves nothing"):
            ab.run(scenario, sets=[f"defaults.connection.protocol={protocol}", "connection.0.paths=1"])


def test_an_allocator_follows_them():
    problem = ab.Problem([9.0], [0, 1, 2], [0, 0], [0, 1], reserved=[4.0, 0.0])
    allocator = ab.Allocator(problem)
    assert allocator.connection_rates == pytest.approx([6.5, 2.5])
    assert allocator.update(reserved={0: 0.0, 1: 3.0}) == pytest.approx([3.0, 6.0])
    assert allocator.update(demand=[np.inf, 2.0]) == pytest.approx([7.0, 2.0])


def test_files_and_folders_keep_them(tmp_path):
    network = ab.generate.grid(2, 2, capacity="10 Mbit/s")
    nodes = network.core.node_names
    file = tmp_path / "demands.csv"
    lines = ("source,target,reserved,weight", f"{nodes[0]},{nodes[3]},4 Mbit/s,2", f"{nodes[0]},{nodes[3]},,1")
    file.write_text("\n".join(lines), encoding="utf-8")
    demands = ab.read_demands(file, network)
    assert demands.connections["reserved_bps"].to_list() == [4e6, 0.0]
    found = ab.solve(network, demands, paths=1)
    found.write(tmp_path / "allocation")
    read = ab.read_allocation(tmp_path / "allocation")
    assert read.connections.equals(found.connections)
    assert read.problem.reserved.tolist() == [4e6, 0.0]
    ab.scenario(network=network, connections=demands).write(tmp_path / "written.toml")
    assert ab.read_scenario(tmp_path / "written.toml").demands.connections["reserved_bps"].to_list() == [4e6, 0.0]


def test_the_command_shows_them(scenario):
    shown = run("solve", str(scenario)).stdout
    assert "reserved" in shown
    row = next(line for line in shown.splitlines() if line.startswith("tunnel")).split()
    assert {"55", "40", "15"} <= set(row)
