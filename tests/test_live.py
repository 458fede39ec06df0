"""``anabranch live``: scenarios run with real packets, beside their simulation, where the kernel lets us."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import anabranch
from anabranch import cli
from anabranch.commands.exit_codes import DOES_NOT_HOLD
from anabranch.runs.live import check_live
from anabranch.runs.scenario import read_plan
from labs import ATTEMPTS, punctual

ROOT = Path(__file__).parents[1]

FROM_WEST_TO_EAST = """
source = "west"
target = "east"
"""

LINK = f"""{FROM_WEST_TO_EAST}
capacity = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"
"""

SHORT = f"""
[[link]]
name = "line"{LINK}
[[connection]]
name = "one"{FROM_WEST_TO_EAST}
protocol = "reno"
"""

TWO_PATHS = f"""
[[link]]
name = "left"{LINK}
[[link]]
name = "right"{LINK}
[[connection]]
name = "one"{FROM_WEST_TO_EAST}
protocol = "nmcc"
links = [["left"], ["right"]]
"""


def mean_rate(result, of, name, window_s, column="delivered_bps"):
    rows = result.series[f"{of}s"].filter((pl.col(of) == name) & pl.col("time_s").is_between(*window_s))
    return rows[column].mean()


def test_two_paths_deliver_live_what_they_deliver_simulated(lab):
    file = ROOT / "scenarios/live-two-paths.toml"
    sets = ["run.duration=6 s"]
    simulated, live = anabranch.run(file, sets=sets), punctual(lambda: anabranch.live(file, sets=sets))
    expected, found = (result.connections["mean_rate_bps"][0] for result in (simulated, live))
    assert found == pytest.approx(expected, rel=0.05)
    # Both paths are used, and 1500 bytes of a full packet are the scenario's.
    assert live.subflows["mean_rate_bps"].to_list() == pytest.approx([50e6, 20e6], rel=0.1)
    for name in ("connections", "subflows", "links"):
        assert getattr(live, name).schema == getattr(simulated, name).schema, name
    # A live run knows no fair rates.
    assert {"connections", "subflows", "links"} <= set(live.series) <= set(simulated.series)
    for kind, table in live.series.items():
        assert table.schema.items() <= simulated.series[kind].schema.items(), kind


def test_an_amount_is_sent_to_its_end_and_demands_are_kept_to(lab):
    # 10 Mbit/s for 3 s is 3.75 MB. At a demand of 4 Mbit/s 1 MB takes 2 s, and the handshake.
    sets = ["run.duration=4 s", "connection.0.amount=1 MB", "connection.0.demand=4 Mbit/s"]
    result = punctual(lambda: anabranch.live(SHORT, sets=sets))
    row = result.connections.row(0, named=True)
    assert row["completion_s"] == pytest.approx(2.05, rel=0.1)
    assert row["delivered_bytes"] == pytest.approx(1e6, rel=0.04)
    assert 0.94e6 < result.meta["data_bytes"]["one"] < 0.99e6


FORMULAS = f"""
[[link]]
name = "line"{LINK}
[[connection]]
name = "one"{FROM_WEST_TO_EAST}
[run]
duration = "4 s"
warm_up = "1 s"
"""


def test_formulas_control_real_packets_as_they_control_simulated_ones(lab):
    # 17 packets are under way, and 10 wait before one is lost. Half of 27 nearly fills the link; from 2 packets on it
    # takes 15 round trips to fill it.
    live_bps = []
    for decreased in ("window / 2", "2"):
        formulas = f"{{ increase = '1 / window', decreased = '{decreased}' }}"
        sets = ["link.line.queue=10 packets", f"connection.one.protocol.formulas={formulas}"]
        simulated = anabranch.run(FORMULAS, sets=sets).connections["mean_rate_bps"][0]
        live = punctual(lambda sets=sets: anabranch.live(FORMULAS, sets=sets)).connections
        assert live["protocol"].to_list() == ["Formulas"]
        assert live["mean_rate_bps"][0] == pytest.approx(simulated, rel=0.15), decreased
        live_bps.append(live["mean_rate_bps"][0])
    assert live_bps[1] < 0.85 * live_bps[0]


def test_formulas_that_look_at_all_paths_control_them_with_real_packets(lab):
    lia = "{ increase = 'min(largest(rate / rtt) / sum(rate)^2, 1 / window)' }"
    sets = ["link.right.capacity=5 Mbit/s", f"connection.one.protocol={{ formulas = {lia} }}", "run.duration=4 s"]
    result = punctual(lambda: anabranch.live(TWO_PATHS, sets=[*sets, "run.warm_up=1 s"]))
    # Queues of 50 packets keep both links full.
    assert result.subflows["mean_rate_bps"].to_list() == pytest.approx([10e6, 5e6], rel=0.1)


AGENTS_BPS = [0.97 * 20e6, 0.97 * 50e6, 0.97 * 100e6]
"""What agents hand out of the links of `live-agents.toml`: slow, fast, on."""

A_ALONE = ([0, 2, 4], [0, 2, 1, 2], [0, 0])
A_AND_B = ([0, 2, 4, 6], [0, 2, 1, 2, 0, 2], [0, 0, 1])
"""Paths: A over slow and on, and over fast and on; B over slow and on."""


def test_agents_grant_what_the_central_solver_finds(lab):
    # B is there from 3 s to 6 s; each window begins some round trips after a change.
    file = ROOT / "scenarios/live-agents.toml"
    sets = ["defaults.link.control_faults.loss=0.02"]
    result = punctual(lambda: anabranch.live(file, sets=sets))
    for paths, window in ((A_ALONE, (1.5, 2.95)), (A_AND_B, (4.05, 5.95)), (A_ALONE, (7.05, 9.0))):
        fair = anabranch.solve(anabranch.Problem(AGENTS_BPS, *paths), fairness="max-min").connections["rate"]
        for name, fair_bps in zip("AB", fair, strict=False):
            granted = mean_rate(result, "connection", name, window, "granted_bps")
            delivered = mean_rate(result, "connection", name, window)
            assert granted == pytest.approx(fair_bps, rel=0.01), (name, window)
            assert delivered == pytest.approx(fair_bps, rel=0.02), (name, window)
    assert result.subflows["lost_bytes"].sum() == 0
    agents = result.meta["agents"]
    assert agents["agents"] == 3
    assert agents["lost"] == agents["stale"] == 0
    # A is still there at the end.
    assert not agents["is_clear"]


def test_paths_open_and_close_at_their_times(lab):
    times = '\npath_times = [{ stop = "2 s" }, { start = "1 s" }]\n[run]\nduration = "3 s"\nsample = "100 ms"\n'
    result = punctual(lambda: anabranch.live(TWO_PATHS + times))
    at = {(path, window): mean_rate(result, "subflow", f"one/{path}", window) for path in (1, 2) for window in WINDOWS}
    used = {place: rate > 5e6 for place, rate in at.items()}
    assert [used[1, window] for window in WINDOWS] == [True, True, False], at
    assert [used[2, window] for window in WINDOWS] == [False, True, True], at


WINDOWS = ((0.5, 0.95), (1.55, 1.95), (2.55, 2.95))
"""Within each time between two changes, some round trips after the first."""


def test_a_connection_begins_and_ends_at_its_times(lab):
    sets = ["run.duration=2 s", "run.sample=100 ms", "connection.0.start=0.5 s", "connection.0.stop=1.5 s"]
    result = punctual(lambda: anabranch.live(SHORT, sets=sets))
    row = result.connections.row(0, named=True)
    assert (row["start_s"], row["stopped_s"], row["completion_s"]) == (0.5, 1.5, None)
    rates = [mean_rate(result, "connection", "one", window) for window in ((0, 0.45), (0.75, 1.45), (1.75, 2.0))]
    assert rates[0] == 0.0
    assert rates[1] > 8e6
    assert rates[2] == 0.0


def network_state():
    """Give the network namespaces of all processes, and the devices of this one."""
    namespaces = set()
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*/ns/net"):
        try:
            namespaces.add(os.readlink(task))
        except OSError:
            continue
    return namespaces, {device.name for device in Path("/sys/class/net").iterdir()}


def begin(*words, out=None):
    """Start a live run as a process of its own; give it once its hosts are there."""
    before = network_state()[0]
    code = "import sys; from anabranch import cli; sys.argv[0] = 'anabranch'; cli.program()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "live", *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 20
    while len(network_state()[0] - before) < 2:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "its hosts are late"
        time.sleep(0.02)
    time.sleep(0.5)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_whatever_ends_a_run_leaves_nothing_behind(lab, tmp_path, number):
    (tmp_path / "scenario.toml").write_text(SHORT, encoding="utf-8")
    before = network_state()
    process = begin(tmp_path / "scenario.toml", "--out", tmp_path / "out", "--set", "run.duration=60 s")
    process.send_signal(number)
    words = process.communicate(timeout=20)[1]
    end = time.monotonic() + 10
    while network_state()[0] - before[0] and time.monotonic() < end:
        time.sleep(0.05)
    after = network_state()
    assert not after[0] - before[0]
    assert after[1] == before[1]
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number, words
        kept = anabranch.read_result(tmp_path / "out")
        assert not kept.meta["finished"]
        assert kept.meta["live"]
    else:
        assert not (tmp_path / "out").exists()


def command(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["anabranch", "live", *map(str, words)])
    code = 0
    try:
        cli.main()
    except SystemExit as leave:
        code = int(leave.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_lays_both_runs_over_each_other(lab, tmp_path, monkeypatch, capsys):
    (tmp_path / "scenario.toml").write_text(SHORT, encoding="utf-8")
    for attempt in range(ATTEMPTS):
        out = tmp_path / f"out-{attempt}"
        words = (tmp_path / "scenario.toml", "--beside", "--json", "--out", out, "--set", "run.duration=2 s")
        code, printed, said = command(monkeypatch, capsys, *words)
        if code != DOES_NOT_HOLD:
            break
    else:
        pytest.skip(f"the machine is too busy, so the run is not valid: {said}")
    assert code == 0, said
    row = json.loads(printed)["compared"][0]
    assert row["connection"] == "one"
    assert min(row["simulated_bps"], row["live_bps"]) > 5e6
    assert row["simulated_rtt_s"] > 0.02 < row["live_rtt_s"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "the simulation" in page
    assert "the live run" in page
    assert [anabranch.read_result(out / name).meta.get("live", False) for name in ("simulated", "live")] == [
        False,
        True,
    ]


def test_a_run_that_is_late_is_marked_and_said_so(lab, tmp_path):
    # Each of the stops makes late what is under way then: 17 packets or more, of 2,500 in all.
    (tmp_path / "scenario.toml").write_text(SHORT, encoding="utf-8")
    words = (tmp_path / "scenario.toml", "--out", tmp_path / "out", "--set", "run.duration=3 s")
    process = begin(*words, out=subprocess.PIPE)
    for _ in range(12):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    printed, said = process.communicate(timeout=20)
    assert process.returncode == 3, said
    assert "NOT VALID: one packet in a hundred was" in printed
    assert anabranch.read_result(tmp_path / "out").meta["valid"] is False


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [("xcp", "needs links that take part in it"), ("rcp", "needs links that take part in it")],
)
def test_protocols_that_cannot_be_live_are_refused_before_anything_starts(
    tmp_path, monkeypatch, capsys, protocol, reason
):
    (tmp_path / "scenario.toml").write_text(SHORT.replace('"reno"', f'"{protocol}"'), encoding="utf-8")
    code, _, said = command(monkeypatch, capsys, tmp_path / "scenario.toml", "--out", tmp_path / "out")
    assert (code, reason in said) == (2, True), said
    assert not (tmp_path / "out").exists()


def test_all_reasons_are_told_at_once():
    text = SHORT + 'path_times = [{ stop = "1 s" }]\n[run]\ndata = false\n'
    with pytest.raises(anabranch.ScenarioError) as told:
        check_live(read_plan(text))
    for reason in ("`run.data` is false", "connection `one` may use no path at 1 s"):
        assert reason in str(told.value)
