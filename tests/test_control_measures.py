"""Measures of control packets, where one can tell what they must be."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.measures.address import Address
from anabranch.reproduce.measures.evaluate import measured
from anabranch.reproduce.outcomes.kinds import Simulated, simulated

SCENARIO = """
[defaults.connection]
protocol = "d-slen"

[run]
duration = "0.984 s"

[[link]]
name = "ab"
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "5 ms"

[[link]]
name = "bc"
source = "b"
target = "c"
capacity = "10 Mbit/s"
delay = "5 ms"

[[connection]]
name = "c1"
source = "a"
target = "c"
"""


def simulation(folder: Path, sets: list[str]) -> Simulated:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    return simulated(simulate(file, sets, None), 1.0, 1e-3)


def number(run: Simulated, name: str, subject: str = "") -> float:
    """Measure a number of a run by its name in experiments."""
    return measured({"own": run}, Address("own", name, subject), Path("expected.toml"))


@pytest.mark.parametrize("protocol", ["d-slen", "slbn"])
def test_a_probe_goes_round_every_20_ms(tmp_path: Path, protocol: str) -> None:
    # Probes leave at 0, 20, ..., 980 ms: 50 of 64 bytes. All enter the first link; the last enters no other.
    run = simulation(tmp_path, [f"defaults.connection.protocol={protocol}"])
    assert [number(run, f"control-{what}") for what in ("packets", "bytes", "hops")] == [50, 3200, 197]
    assert number(run, "control-packets-of", "c1") == number(run, "control-packets-of", "*") == 50
    assert number(run, "control-bytes-of", "c1") == 3200
    links = run.simulation.result.links
    assert links["control_packets"].to_list() == [50, 49, 49, 49]
    carried = links["carried_bytes"].to_list()
    assert number(run, "control-share") == pytest.approx(197 * 64 / (sum(carried) + 197 * 64))
    assert number(run, "control-share-at", "ab") == pytest.approx(3200 / (carried[0] + 3200))


def test_in_band_the_bytes_that_links_carry_have_control_packets_among_them(tmp_path: Path) -> None:
    run = simulation(tmp_path, ['run.control="in-band"', 'run.control_packet="100 B"', "run.data=false"])
    # Nothing but control packets is there; what is in transmission at the end does not count as carried yet.
    assert number(run, "control-bytes") == 100 * number(run, "control-packets")
    assert number(run, "control-share") == pytest.approx(1.0, rel=0.01)
    assert number(run, "control-share-at", "bc") == pytest.approx(1.0, rel=0.01)


def test_protocols_that_keep_windows_have_none(tmp_path: Path) -> None:
    run = simulation(tmp_path, ["defaults.connection.protocol=reno"])
    assert number(run, "control-packets") == number(run, "control-hops") == number(run, "control-share") == 0


def test_where_no_packet_enters_a_link_there_is_no_share(tmp_path: Path) -> None:
    run = simulation(tmp_path, ['connection.0.start="0.9839 s"', "defaults.connection.protocol=reno"])
    with pytest.raises(ScenarioError, match="no packet entered a link"):
        number(run, "control-share-at", "bc")


def test_the_summary_of_a_run_has_them(tmp_path: Path) -> None:
    meta = simulation(tmp_path, []).simulation.result.meta
    assert [meta[f"control_{name}"] for name in ("packets", "bytes", "hops", "hop_bytes")] == [50, 3200, 197, 12608]
    result = ab.run(SCENARIO)
    result.write(tmp_path / "out")
    assert ab.read_result(tmp_path / "out").meta["control_hops"] == 197


@pytest.mark.parametrize(
    ("protocol", "mean", "most"), [("d-slen", 1, 1), ("slbn", 2, 2), ("d-slen={variant='paper'}", 2, 2)]
)
def test_of_two_equal_links_d_slen_takes_the_setter_alone_and_as_printed_both_as_slbn_does(
    tmp_path: Path, protocol: str, mean: int, most: int
) -> None:
    name, _, parameters = protocol.partition("=")
    run = simulation(tmp_path, [f"defaults.connection.protocol={{{name}={parameters or '{}'}}}".replace("'", '"')])
    assert (number(run, "mean-bottlenecks"), number(run, "most-bottlenecks")) == (mean, most)
    assert run.simulation.result.connections.select("mean_bottlenecks", "most_bottlenecks").row(0) == (mean, most)


def test_other_protocols_have_no_sets_of_bottlenecks(tmp_path: Path) -> None:
    run = simulation(tmp_path, ["defaults.connection.protocol=bfyz"])
    assert run.simulation.result.connections["mean_bottlenecks"].null_count() == 1
    with pytest.raises(ScenarioError, match="d-SLEN and SLBN have such sets"):
        number(run, "mean-bottlenecks")
