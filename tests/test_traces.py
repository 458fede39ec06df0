"""Traces of links: opportunities and capacities read, converted, written; recordings; the command `trace`."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import ScenarioError, cli
from anabranch.commands.trace import describe
from anabranch.traces import (
    Capacities,
    Opportunities,
    rates_bps,
    read_trace,
    to_capacities,
    to_opportunities,
    write_trace,
)
from anabranch.traces.irish_5g import Cleaning

MBPS = 1e6


def written(tmp_path, text, name="trace"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def capacities(*rows):
    return Capacities(np.array([time for time, _ in rows]), np.array([mbps * MBPS for _, mbps in rows]))


def irish(tmp_path, *rows):
    """Write a recording of seconds after 13:40, rates in kbit/s and states."""
    head = "Timestamp,Longitude,DL_bitrate,State\n"
    return written(
        tmp_path, head + "".join(f"2019.12.16_13.40.{s:02},-8.4,{kbps},{state}\n" for s, kbps, state in rows)
    )


def test_capacities_become_an_opportunity_for_every_12000_bits():
    # 6 Mbit/s fill one in 2 ms. At 18 Mbit/s there are 1.5 a millisecond, so one and two in turn.
    trace = to_opportunities(capacities((0.0, 6), (0.004, 18), (0.008, 0)))
    assert trace.times_ms.tolist() == [2, 4, 5, 6, 6, 7, 8, 8]


def test_the_last_opportunity_stands_at_the_end_of_the_trace():
    # 12 Mbit/s for 3 ms, then nothing for 7 ms.
    assert to_opportunities(capacities((0.0, 12), (0.003, 0), (0.01, 0))).times_ms.tolist() == [1, 2, 3, 10]


def test_before_the_first_line_holds_what_the_last_says():
    trace = capacities((1.0, 2), (2.0, 4))
    assert trace.bits_by(np.array([0.5, 1.0, 2.0])).tolist() == [2 * MBPS, 4 * MBPS, 6 * MBPS]


def test_opportunities_become_rates_in_bins():
    # Two in the first 10 ms, the second of them at its end; none in the next; one in the 5 ms that are left.
    trace = to_capacities(Opportunities(np.array([3, 10, 25], dtype=np.uint32)), bin_s=0.01)
    assert trace.time_s.tolist() == [0.0, 0.01, 0.02, 0.025]
    np.testing.assert_allclose(trace.capacity_bps, np.array([2.4, 0.0, 2.4, 2.4]) * MBPS)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=20), st.sampled_from([1, 7, 20]))
def test_what_a_link_carries_stays_through_both_conversions(mbps, bin_ms):
    ends = np.arange(len(mbps) + 1) * 0.14
    trace = Capacities(ends, np.array([*mbps, 0.0]) * MBPS)
    opportunities = to_opportunities(trace)
    bits = float(trace.bits_by(ends[-1:])[0])
    # One more may stand at the end.
    assert math.floor(bits / 12000 + 1e-6) <= len(opportunities.times_ms) <= bits / 12000 + 1 + 1e-6
    assert opportunities.times_ms[-1] == round(ends[-1] * 1e3)
    back = to_capacities(opportunities, bin_s=bin_ms / 1e3)
    carried = float(back.bits_by(np.array([back.duration_s]))[0])
    assert math.isclose(carried, 12000 * len(opportunities.times_ms), rel_tol=1e-9)
    by_second = rates_bps(back, 0.14) - rates_bps(trace, 0.14)
    # What is carried over a border is less than a packet, or what a bin there holds.
    assert np.abs(by_second).max() * 0.14 <= 2 * 12000 + 2 * bin_ms / 1e3 * 100 * MBPS


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=50), st.integers(1, 5000))
def test_what_is_written_is_read_back(tmp_path_factory, times, last):
    folder = tmp_path_factory.mktemp("traces")
    trace = Opportunities(np.array(sorted([*times, last]), dtype=np.uint32))
    write_trace(trace, folder / "t.down")
    assert read_trace(folder / "t.down").times_ms.tolist() == trace.times_ms.tolist()
    table = to_capacities(trace, bin_s=0.007)
    write_trace(table, folder / "t.csv")
    again = read_trace(folder / "t.csv")
    np.testing.assert_allclose(again.time_s, table.time_s, rtol=1e-11)
    np.testing.assert_allclose(again.capacity_bps, table.capacity_bps, rtol=1e-11)


@given(st.text(alphabet="0123456789 .,-e#Run\n\tTimestamp_DLbirae", max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    file = written(tmp_path_factory.mktemp("traces"), text)
    try:
        trace = read_trace(file)
    except ScenarioError as error:
        assert str(error).startswith(str(file))  # noqa: PT017
    else:
        assert trace.duration_s >= 0.0


def test_a_recording_is_cleaned_of_repeated_stamps_idle_rows_and_pauses(tmp_path):
    rows = [
        (1, 20_000, "D"),
        (2, 30_000, "D"),
        (2, 50_000, "D"),  # the same second: 40 Mbit/s
        (3, 60_000, "I"),  # idle
        (4, 500, "D"),  # a second below the least: raised
        (6, 70_000, "D"),
        (7, 100, "D"),  # two seconds below it: a pause
        (8, 0, "D"),
        (9, "-", "D"),  # not known
        (10, 80_000, "D"),
    ]
    trace = read_trace(irish(tmp_path, *rows))
    assert (trace.capacity_bps / MBPS).tolist() == [20, 40, 1, 70, 80, 80]
    assert trace.time_s.tolist() == [0, 1, 2, 3, 4, 5]
    whole = read_trace(irish(tmp_path, *rows), cleaning=Cleaning("rows", least_bps=0.0, keep_idle=True))
    # Ten rows in 9 seconds, one of them not known.
    assert (whole.capacity_bps / MBPS).tolist() == [20, 30, 50, 60, 0.5, 70, 0.1, 0, 80, 80]
    np.testing.assert_allclose(whole.time_s, np.arange(10) * 1.0)


def test_a_second_that_is_low_is_no_pause_with_either_clock(tmp_path):
    # One low row alone, then two in a row.
    rows = [(0, 20_000, "D"), (1, 500, "D"), (2, 30_000, "D"), (4, 100, "D"), (5, 100, "D"), (6, 40_000, "D")]
    by_stamps, by_rows = (read_trace(irish(tmp_path, *rows), cleaning=Cleaning(clock)) for clock in ("stamps", "rows"))
    assert (by_stamps.capacity_bps / MBPS).tolist() == [20, 1, 30, 40, 40]
    assert (by_rows.capacity_bps / MBPS).tolist() == [20, 1, 30, 40, 40]
    # Six rows in 6 s: 1.2 s each.
    np.testing.assert_allclose(by_rows.time_s, np.arange(5) * 1.2)


def test_recordings_of_lumos5g_and_runs_of_an_uplink_are_read(tmp_path):
    trace = read_trace(written(tmp_path, "1.0\t91.0\n2.0\t123.0\n4.0\t96.5\n"))
    assert trace.time_s.tolist() == [0, 1, 3, 5]
    assert (trace.capacity_bps / MBPS).tolist() == [91, 123, 96.5, 96.5]
    runs = written(tmp_path, "####\nRun 1\n0,5.5,7\n####\nRun 2\n1,2\n")
    assert (read_trace(runs).capacity_bps / MBPS).tolist() == [0, 5.5, 7, 7]
    assert read_trace(runs, run=2, step_s=0.5).time_s.tolist() == [0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n\n2\n", "trace, line 2: it is empty; leave it out"),
        ("5\n4\n", "trace, line 2: 4 ms follows 5 ms"),
        ("hello\n", "trace, line 1: a trace begins with the line `time_s,capacity_bps`, or has"),
        ("time_s,capacity_bps\n", "trace: there is no capacity in it; add lines"),
        ("1.0 91\n2.0\n", "trace, line 2: it is not a time and a rate; write it like"),
        ("2.0 91\n1.0 9\n", "trace, line 2: the time is not later"),
        ("1.0 91\n1e300 5\n", "trace, line 2: the time is 1e+300 s after that of the first line; give up to"),
        ("1.0 91\n2.0 1e305\n", "trace, line 2: it is not a time and a rate"),
        ("Run 1\n1,2\nRun 1\n3\n", "trace, line 3: there is a run 1 already; give each run a number"),
        ("Run 1\n1,1e305\n", "trace, line 2: it is not a run of rates"),
        (f"Run {'1' * 5000}\n1,2\n", "trace, line 1: a trace begins with"),
        (f"5\n{'1' * 5000}\n", f"trace, line 2: `{'1' * 57}...` is not a whole number of milliseconds from 0"),
        (
            "Timestamp,DL_bitrate,State\n2019.12.16_13.40.04,5,D\n2019.12.16_13.40.03,5,D\n",
            "trace, line 3: the time is before that of the line before; sort them",
        ),
        ("####\nRun 3\n1,2\n", "trace: there is no run 1; take one of its runs: 3"),
        ("Run 1\n1,x\n", "trace, line 2: it is not a run of rates"),
        ("Timestamp,State\n", "trace: it is not read as CSV"),
        ("Timestamp,DL_bitrate,State\nnoon,5,D\n", "trace, line 2: the time or the rate is none"),
        ("Timestamp,DL_bitrate,State\n2019.12.16_13.40.04,5,I\n", "trace: all of it is idle or a pause"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, message):
    with pytest.raises(ScenarioError) as caught:
        read_trace(written(tmp_path, text))
    assert message in str(caught.value)


def test_what_cannot_be_converted_is_refused():
    with pytest.raises(ScenarioError, match=r"a bin of 0\.5 ms cannot be"):
        to_capacities(Opportunities(np.array([1], dtype=np.uint32)), bin_s=0.0005)
    with pytest.raises(ScenarioError, match="it ends at 0 s"):
        to_opportunities(capacities((0.0, 5)))
    with pytest.raises(ScenarioError, match="it carries inf bits, which are over 67108864 opportunities"):
        to_opportunities(capacities((0.0, math.inf), (1.0, 1)))
    with pytest.raises(ScenarioError, match=r"it ends at 4\.29497e\+06 s; .* an end at 1 ms to 604800 s"):
        to_opportunities(capacities((0.0, 0.001), (4_294_967.0, 0.001)))


def test_what_would_not_be_read_again_is_not_written(tmp_path):
    with pytest.raises(ScenarioError, match="up to 268435456 are read; give a shorter trace or larger opportunities"):
        # 45 million lines of 5 digits and the end of the line, 270 MB.
        write_trace(Opportunities(np.full(45_000_000, 12_345, dtype=np.uint32)), tmp_path / "t.down")
    with pytest.raises(ScenarioError, match=r"it ends at 2e\+07 s; give a trace of up to 1\.84467e\+07 s"):
        write_trace(capacities((0.0, 1), (2e7, 1)), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_long_traces_become_opportunities_part_by_part():
    # 12 kbit/s: one each second, for 3,000 s, which is more milliseconds than are looked at together.
    trace = to_opportunities(capacities((0.0, 0.012), (3000.0, 0.012)))
    assert trace.times_ms.tolist() == list(range(1000, 3_000_001, 1000))


def test_a_capacity_without_limit_at_the_end_carries_nothing():
    trace = to_opportunities(capacities((0.0, 12), (0.002, math.inf)))
    assert trace.times_ms.tolist() == [1, 2]


def command(monkeypatch, capsys, *words):
    """Run the command; give its exit code, what it prints and its error."""
    monkeypatch.setattr("sys.argv", ["anabranch", "trace", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return left.value.code or 0, said.out, said.err


def test_facts_of_a_trace_without_limit_are_json(tmp_path, monkeypatch, capsys):
    # Nothing in the second second, no limit in the third.
    table = written(tmp_path, "time_s,capacity_bps\n0,12e6\n1,0\n2,inf\n3,5\n", "t.csv")
    code, out, _ = command(monkeypatch, capsys, "info", table, "--json")
    facts = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert (code, facts["mean_bps"], facts["max_bps"], facts["p50_bps"]) == (0, None, None, None)
    assert (facts["bins"], facts["empty_bins"]) == (3, 1)
    assert "mean        without limit" in command(monkeypatch, capsys, "info", table)[1]


def test_an_opportunity_that_would_change_nothing_is_refused(tmp_path, monkeypatch, capsys):
    down = written(tmp_path, "1\n5\n", "t.down")
    table = written(tmp_path, "time_s,capacity_bps\n0,12e6\n1,0\n", "t.csv")
    for words in ((down, tmp_path / "other.down"), (table, tmp_path / "other.csv")):
        code, _, error = command(monkeypatch, capsys, "convert", *words, "--opportunity", "1504 B")
        assert code != 0
        assert "--opportunity is for conversions between the two kinds of traces" in " ".join(error.split())
        assert command(monkeypatch, capsys, "convert", *words)[0] == 0
    code, _, error = command(monkeypatch, capsys, "info", tmp_path)
    assert "it is a folder; name a file that holds a trace" in " ".join(error.split())


def test_the_command_converts_both_ways_and_tells_the_facts(tmp_path, monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["anabranch", "trace", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code in (0, None)
        return capsys.readouterr().out

    table = written(tmp_path, "time_s,capacity_bps\n0,12e6\n2,0\n3,0\n", "steps.csv")
    call("convert", table, tmp_path / "steps.down")
    call("convert", tmp_path / "steps.down", tmp_path / "back.csv", "--bin", "1 s")
    back = (tmp_path / "back.csv").read_text(encoding="utf-8").splitlines()
    assert back == ["time_s,capacity_bps", "0,12000000", "2,12000", "3,12000"]
    facts = json.loads(call("info", table, "--json"))
    assert facts == {
        "format": "capacities",
        "lines": 3,
        "duration_s": 3.0,
        "mean_bps": 8e6,
        "p5_bps": pytest.approx(1.2e6),
        "p50_bps": 12e6,
        "p95_bps": 12e6,
        "max_bps": 12e6,
        "bins": 3,
        "empty_bins": 1,
    }
    assert "mean        8 Mbit/s" in call("info", table)


# Lines, seconds, Mbit/s: mean, percentiles 5, 50 and 95, most; and empty bins; from the page of the data set.
MAHIMAHI = {
    "ATT-LTE-driving-2016.down": (45604, 120.0, 4.56, 0.58, 3.74, 11.08, 27.6, 0),
    "ATT-LTE-driving-2016.up": (19101, 120.0, 1.91, 0.03, 1.57, 4.79, 12.8, 4),
    "ATT-LTE-driving.down": (338895, 786.1, 5.17, 0.69, 5.41, 9.53, 15.5, 0),
    "ATT-LTE-driving.up": (70336, 1012.5, 0.83, 0.00, 1.04, 1.19, 1.3, 94),
    "TMobile-LTE-driving.down": (505078, 474.6, 12.77, 2.90, 9.97, 30.51, 59.5, 0),
    "TMobile-LTE-short.down": (194846, 140.0, 16.70, 4.12, 13.81, 36.66, 59.1, 0),
    "TMobile-LTE-short.up": (155381, 140.0, 13.32, 2.48, 11.50, 27.53, 29.7, 0),
    "TMobile-UMTS-driving.down": (156262, 928.4, 2.02, 0.02, 1.89, 5.35, 7.1, 32),
    "Verizon-EVDO-driving.down": (46065, 1062.0, 0.52, 0.01, 0.41, 1.45, 3.0, 43),
    "Verizon-LTE-short.down": (58655, 140.0, 5.03, 1.07, 4.30, 10.83, 16.8, 0),
    "Verizon-LTE-short.up": (69367, 140.0, 5.95, 1.17, 5.69, 11.38, 12.9, 1),
    "bw12.mahi": (1, 0.001, 12.0, 12.0, 12.0, 12.0, 12.0, 0),
    "bw12_24_5_5.mahi": (210000, 140.0, 18.0, 18.0, 18.0, 18.0, 18.0, 0),
    "bw96.mahi": (8, 0.001, 96.0, 96.0, 96.0, 96.0, 96.0, 0),
    "orange/orange-4G-traces-highway-up.pps": (461092, 813.0, 6.81, 0.07, 4.06, 24.30, 27.2, 4),
    "nyc/trace-2925703-home1": (189438, 299.7, 7.59, 4.08, 7.70, 10.28, 11.8, 2),
}


@pytest.mark.parametrize("file", MAHIMAHI)
def test_cellular_traces_have_the_lines_and_rates_that_are_known(shared_data, file):
    path = shared_data / "traces" / file
    if not path.exists():
        pytest.skip(f"{path} is not there")
    lines, seconds, mean, *percentiles, most, empty = MAHIMAHI[file]
    facts = describe(read_trace(path), 1500)
    assert (facts["lines"], facts["empty_bins"]) == (lines, empty)
    assert facts["duration_s"] == pytest.approx(seconds, abs=0.06)
    assert facts["mean_bps"] / MBPS == pytest.approx(mean, abs=0.006)
    # There a bin has what is at its beginning, here what is at its end.
    assert [facts[f"p{p}_bps"] / MBPS for p in (5, 50, 95)] == pytest.approx(percentiles, abs=0.03, rel=0.01)
    assert facts["max_bps"] / MBPS == pytest.approx(most, abs=0.2)


# Rows, the mean and the greatest rate in Mbit/s of all rows, from the page of the data set.
IRISH = {
    "B_2019.12.16_13.40.04.csv": (2143, 50.4, 302.7),
    "B_2020.01.16_10.43.34.csv": (3322, 68.4, 333.1),
    "B_2020.02.13_13.57.29.csv": (3148, 43.4, 313.8),
    "B_2020.02.14_13.21.26.csv": (1013, 121.0, 254.1),
    "B_2020.02.27_18.39.27.csv": (5991, 74.5, 323.7),
}


@pytest.mark.parametrize("file", IRISH)
def test_irish_recordings_have_the_rates_that_are_known(shared_data, file):
    path = shared_data / "traces5g/static_download" / file
    if not path.exists():
        pytest.skip(f"{path} is not there")
    rows, mean, most = IRISH[file]
    whole = read_trace(path, cleaning=Cleaning("rows", least_bps=0.0, keep_idle=True))
    assert len(whole.time_s) == rows + 1
    assert whole.capacity_bps[:-1].mean() / MBPS == pytest.approx(mean, abs=0.06)
    assert whole.capacity_bps.max() / MBPS == pytest.approx(most, abs=0.06)
    cleaned = read_trace(path)
    assert cleaned.capacity_bps.min() >= MBPS
    assert cleaned.duration_s < whole.duration_s


def test_mmwave_recordings_have_the_rates_that_are_known(shared_data):
    lumos = sorted((shared_data / "traces5g/lumos5g").glob("*_walking"))
    uplink = shared_data / "traces5g/mmwave_uplink/static_toward_p1.list"
    if not lumos or not uplink.exists():
        pytest.skip(f"{uplink} is not there")
    traces = [read_trace(path) for path in lumos]
    assert sum(len(trace.time_s) - 1 for trace in traces) == 59748
    assert np.mean([trace.capacity_bps[:-1].mean() for trace in traces]) / MBPS == pytest.approx(555.7, abs=0.06)
    runs = [read_trace(uplink, run=run).capacity_bps[:-1] for run in range(1, 7)]
    assert (sum(map(len, runs)), np.concatenate(runs).mean() / MBPS) == (830, pytest.approx(130.4, abs=0.06))
