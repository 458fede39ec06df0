"""Sweeps: every run once, whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from anabranch import _core
from anabranch.cli import app
from anabranch.errors import ScenarioError, StorageError
from anabranch.runs.result import read_result
from anabranch.runs.simulate import run
from anabranch.sweeps import other_versions, read_sweep, runner, sweep, version
from anabranch.sweeps.points import Point
from anabranch.sweeps.single_run import Failed, SweptRun
from anabranch.sweeps.store import Store, opened
from anabranch.sweeps.turns import Turns
from labs import PROGRAM

pytestmark = pytest.mark.slow

SCENARIO = """
[run]
duration = "{duration}"
sample = "50 ms"

[[link]]
name = "narrow"
source = "a"
target = "b"
capacity = "2 Mbit/s"
delay = "1 ms"

[[connection]]
name = "one"
source = "a"
target = "b"
links = [["narrow"]]
protocol = "reno"

[[connection]]
name = "two"
source = "a"
target = "b"
links = [["narrow"]]
protocol = "reno"
"""

SWEEP = """
scenario = "scenario.toml"

[sweep]
link.0.delay = ["1 ms", "5 ms"]
seed = "1..{seeds}"

[names]
"link.0.delay" = "delay"
"""


FAILS = """connection.0.start = ["0 ms", "150 ms"]
connection.0.stop = ["100 ms", "200 ms"]
"""


def written(folder: Path, more: str = "", *, seeds: int = 3, duration: str = "300 ms", scenarios: str = "") -> Path:
    (folder / "scenario.toml").write_text(SCENARIO.format(duration=duration))
    file = folder / "sweep.toml"
    file.write_text(SWEEP.format(seeds=seeds).replace("[names]", f"{scenarios}[names]") + more)
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_each_point_has_the_run_that_it_would_have_alone(tmp_path):
    swept = sweep(written(tmp_path), tmp_path / "out")
    assert swept.points.drop("run").rows() == [(d, s) for d in (0.001, 0.005) for s in (1, 2, 3)]
    for name, delay, seed in swept.points.rows():
        own = read_result(tmp_path / "out" / "runs" / name)
        alone = run(tmp_path / "scenario.toml", seed=seed, sets=[f"link.0.delay={delay} s"])
        assert_frame_equal(own.connections, alone.connections)
        assert own.series.equals(alone.series)


def test_tables_over_runs_are_those_of_the_runs(tmp_path):
    swept = sweep(written(tmp_path), tmp_path / "out")
    for of in ("connections", "subflows", "links", "series_connections", "series_links"):
        table = swept.table(of).collect()
        assert table.columns[:3] == ["run", "delay_s", "seed"]
        for name, delay, seed in swept.points.rows():
            own = table.filter(pl.col("run") == name)
            assert own.select("delay_s", "seed").unique().rows() == [(delay, seed)]
            result = read_result(tmp_path / "out" / "runs" / name)
            kind = of.removeprefix("series_")
            there = getattr(result, of) if kind == of else result.series[kind]
            assert_frame_equal(own.select(there.columns), there)
    facts = swept.table("runs").collect()
    assert facts["seed"].to_list() == facts["own_seed"].to_list() == [1, 2, 3, 1, 2, 3]


def test_any_number_of_threads_gives_the_same_bytes(tmp_path):
    file = written(tmp_path)
    for threads in (1, 3):
        sweep(file, tmp_path / str(threads), threads=threads)
    for own in ("runs", "tables"):
        assert contents(tmp_path / "1" / own) == contents(tmp_path / "3" / own)


def made(key: str, rows: int) -> SweptRun:
    return SweptRun(Point((), {}), key, key, {}, is_new=True, tables={"links": pl.DataFrame({"x": range(rows)})})


def test_rows_that_wait_for_a_slow_run_are_bounded():
    turns = Turns(["slow", "a", "b", "c"], most_rows=5)
    assert [run for key, rows in (("b", 3), ("a", 2), ("c", 1)) for run in turns.after(made(key, rows))] == []
    # b and a have 5 rows together, so that c waits without its own; what comes when all wait for it keeps its tables.
    there = list(turns.after(made("slow", 9)))
    assert [(own.key, len(own.tables)) for own in there] == [("slow", 1), ("a", 1), ("b", 1), ("c", 0)]
    assert turns.rows == 0


def test_runs_that_wait_without_their_tables_have_them_in_the_end(tmp_path, monkeypatch):
    class Bare(Turns):
        def after(self, outcome: SweptRun | Failed) -> Iterator[SweptRun]:
            return iter([replace(own, tables={}) for own in super().after(outcome)])

    sweep(written(tmp_path), tmp_path / "with")
    monkeypatch.setattr(runner, "Turns", Bare)
    sweep(written(tmp_path), tmp_path / "without")
    assert contents(tmp_path / "with" / "tables") == contents(tmp_path / "without" / "tables")


def test_what_is_there_is_not_run_again(tmp_path, monkeypatch):
    file = written(tmp_path)
    sweep(file, tmp_path / "out")
    before = contents(tmp_path / "out")
    monkeypatch.setattr("anabranch.sweeps.local.end_of", lambda *_, **__: pytest.fail("it ran again"))
    swept = sweep(file, tmp_path / "out")
    assert swept.points["run"].null_count() == 0
    assert contents(tmp_path / "out") == before


def test_more_values_add_only_their_runs(tmp_path):
    sweep(written(tmp_path), tmp_path / "out")
    told = []
    swept = sweep(written(tmp_path, seeds=4), tmp_path / "out", progress=told.append)
    assert sum(how.outcome is not None and how.outcome.is_new for how in told) == 2
    assert len(swept.points) == len(os.listdir(tmp_path / "out" / "runs")) == 8


def test_two_points_of_one_scenario_are_one_run(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO.format(duration="100 ms"))
    file = tmp_path / "sweep.toml"
    # The same protocol, written in two ways.
    file.write_text('scenario = "scenario.toml"\n[sweep]\nconnection.0.protocol = ["reno", { reno = { } }]\n')
    swept = sweep(file, tmp_path / "out")
    assert len(swept.points) == 2
    assert swept.points["run"].n_unique() == 1
    assert swept.points["run"].null_count() == 0
    assert len(swept.table("runs").collect()) == 2


def test_a_run_of_two_points_counts_once_where_they_are_one_group(tmp_path):
    table = '[[table]]\nfile = "t"\nof = "connections"\nvalue = "1"\njoin = "sum"\nby = ["connection"]\n'
    file = written(tmp_path)
    file.write_text(
        f'scenario = "scenario.toml"\n[sweep]\nconnection.0.protocol = ["reno", {{ reno = {{ }} }}]\n{table}'
    )
    sweep(file, tmp_path / "out")
    # Two points, one run: of each connection one row.
    assert pl.read_csv(tmp_path / "out" / "summary" / "t.csv").select("connection", "count", "mean").rows() == [
        ("one", 1, 1.0),
        ("two", 1, 1.0),
    ]


def test_a_run_that_fails_keeps_its_error_and_stops_no_other(tmp_path):
    # Each time may be, but not to stop at 100 ms after a start at 150 ms: that is seen when the run is planned.
    swept = sweep(written(tmp_path, seeds=1, scenarios=FAILS), tmp_path / "out")
    assert len(swept.points) == 8
    assert swept.points["run"].null_count() == len(swept.failed) == 2
    assert all("scenario.toml with" in error for error in swept.failed["error"])
    assert swept.failed["connection.0.start_s"].to_list() == [0.15, 0.15]
    assert swept.failed["connection.0.stop_s"].to_list() == [0.1, 0.1]


def test_errors_of_values_that_are_no_longer_asked_for_are_forgotten(tmp_path):
    sweep(written(tmp_path, seeds=1, scenarios=FAILS), tmp_path / "out")
    assert len(os.listdir(tmp_path / "out" / "failed")) == 2
    sweep(written(tmp_path, seeds=1), tmp_path / "out")
    assert not os.listdir(tmp_path / "out" / "failed")


def test_a_panic_is_a_run_that_failed(tmp_path, monkeypatch):
    class Panic(BaseException):
        pass

    def panics(plan, *rest):
        if plan.core.seed == 2:
            raise Panic("broken promise")
        return real(plan, *rest)

    from anabranch.runs.simulate import end_of as real

    monkeypatch.setattr("anabranch.sweeps.local.end_of", panics)
    swept = sweep(written(tmp_path), tmp_path / "out")
    assert swept.failed["error"].to_list() == ["Panic: broken promise"] * 2
    monkeypatch.undo()
    # A run that failed is tried again, and its error forgotten.
    swept = sweep(tmp_path / "sweep.toml", tmp_path / "out")
    assert len(swept.failed) == 0
    assert not os.listdir(tmp_path / "out" / "failed")


def test_a_pattern_of_sources_that_names_no_module_is_an_error():
    package = Path(version.__file__).parents[1]
    assert all(file.is_file() for file in version.modules(package, version.MODULES))
    with pytest.raises(AssertionError, match="no module is called moved/away"):
        version.modules(package, [*version.MODULES, "moved/away.py"])


def test_runs_of_another_version_are_left_aside(tmp_path, monkeypatch):
    file = written(tmp_path, seeds=1)
    first = sweep(file, tmp_path / "out")
    version.code_version.cache_clear()
    monkeypatch.setattr("anabranch._core.SOURCES", "other")
    try:
        second = sweep(file, tmp_path / "out")
        assert set(first.points["run"]).isdisjoint(second.points["run"])
        assert len(second.table("connections").collect()) == 4
        assert other_versions(tmp_path / "out") == 2
    finally:
        version.code_version.cache_clear()


def test_a_changed_file_of_the_scenario_makes_other_runs(tmp_path):
    file = written(tmp_path, seeds=1)
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,capacity_bps\n0,2000000\n")
    file.write_text(file.read_text().replace("[sweep]", "set = ['link.0.trace=\"trace.csv\"']\n[sweep]"))
    first = sweep(file, tmp_path / "out")
    trace.write_text("time_s,capacity_bps\n0,1000000\n")
    second = sweep(file, tmp_path / "out")
    assert set(first.points["run"]).isdisjoint(second.points["run"])


def test_a_file_that_changes_while_the_sweep_goes_on_ends_it(tmp_path):
    (tmp_path / "trace.csv").write_text("time_s,capacity_bps\n0,2000000\n")
    file = written(tmp_path, seeds=20)
    file.write_text(file.read_text().replace("[sweep]", "set = ['link.0.trace=\"trace.csv\"']\n[sweep]"))

    def changes(how):
        if how.done == 5:
            (tmp_path / "trace.csv").write_text("time_s,capacity_bps\n0,1000000\n")

    with pytest.raises(ScenarioError, match=r"trace\.csv: it has changed during the sweep"):
        sweep(file, tmp_path / "out", threads=1, progress=changes)
    swept = sweep(file, tmp_path / "out")
    assert swept.table("links").collect()["capacity_bps"].unique().to_list() == [2e6]
    carried = swept.table("links").collect()["carried_bytes"]
    # At 1 Mbit/s for 300 ms, all of them.
    assert carried.max() <= 1e6 * 0.3 / 8


@pytest.mark.parametrize("file", ["runs.parquet", "connections.parquet"])
@pytest.mark.parametrize("is_empty", [True, False])
def test_tables_of_many_runs_that_are_broken_are_made_anew(tmp_path, file, is_empty):
    first = sweep(written(tmp_path), tmp_path / "out")
    before = first.table("connections").collect()
    broken = tmp_path / "out" / "tables" / "000001" / file
    broken.write_bytes(b"") if is_empty else broken.unlink()
    assert_frame_equal(read_sweep(tmp_path / "out").table("connections").collect(), before)
    assert_frame_equal(sweep(tmp_path / "sweep.toml", tmp_path / "out").table("connections").collect(), before)


@pytest.mark.parametrize("name", ["a[1]", "a?b", "a*"])
def test_names_of_folders_are_no_patterns(tmp_path, name):
    (tmp_path / "axb").mkdir()
    sweep(written(tmp_path, seeds=2), tmp_path / "axb")
    swept = sweep(written(tmp_path, seeds=1), tmp_path / name)
    assert len(swept.table("connections").collect()) == 4
    assert len(swept.table("series_links").collect().unique("run")) == 2


@pytest.mark.parametrize("file", ["scenario.toml", "connections.parquet", "series_links.parquet", "meta.json"])
def test_a_run_that_lacks_a_file_is_made_again(tmp_path, file):
    swept = sweep(written(tmp_path), tmp_path / "out")
    before = contents(tmp_path / "out" / "runs")
    (tmp_path / "out" / "runs" / swept.points["run"][1] / file).unlink()
    (tmp_path / "out" / "journal.jsonl").unlink()
    sweep(tmp_path / "sweep.toml", tmp_path / "out")
    assert contents(tmp_path / "out" / "runs") == before


def test_a_copy_without_hidden_files_goes_on(tmp_path, monkeypatch):
    file = written(tmp_path)
    sweep(file, tmp_path / "out")
    (tmp_path / "out" / ".lock").unlink()
    monkeypatch.setattr("anabranch.sweeps.local.end_of", lambda *_, **__: pytest.fail("it ran again"))
    assert sweep(file, tmp_path / "out").points["run"].null_count() == 0


def test_rubbish_in_the_journal_and_among_failures_is_left_out(tmp_path):
    file = written(tmp_path)
    sweep(file, tmp_path / "out")
    with (tmp_path / "out" / "journal.jsonl").open("a") as journal:
        journal.write('{"key": "a", "run": "b", "bytes": 1, "files": ["c"]}\n[1]\n\xff\n')
    (tmp_path / "out" / "failed" / "yy.json").write_text("[1]")
    assert sweep(file, tmp_path / "out").points["run"].null_count() == 0


def test_a_sweep_of_nothing_is_one_run(tmp_path):
    file = written(tmp_path)
    file.write_text('scenario = "scenario.toml"\n' + '[[table]]\nfile = "e"\nof = "runs"\nvalue = "events"\n')
    swept = sweep(file, tmp_path / "out")
    assert swept.points.columns == ["run"]
    assert len(pl.read_csv(tmp_path / "out" / "summary" / "e.csv")) == 1


def test_tables_without_groups_are_over_the_seed_by_whatever_name(tmp_path):
    file = written(tmp_path, '\n[[table]]\nfile = "e"\nof = "runs"\nvalue = "events"\n')
    file.write_text(file.read_text().replace("[names]", '[names]\nseed = "replicate"'))
    sweep(file, tmp_path / "out")
    assert pl.read_csv(tmp_path / "out" / "summary" / "e.csv")["count"].to_list() == [3, 3]


def test_one_number_is_not_sure(tmp_path):
    # Only one seed has a number, so there is no interval, however many there are.
    more = '[repeat]\nleast = 2\nmost = 4\nstep = 1\nof = [{ of = "runs", value = "events", where = "seed = 1" }]\n'
    file = written(tmp_path, more)
    file.write_text(file.read_text().replace('seed = "1..3"\n', ""))
    assert sweep(file, tmp_path / "out").points["seed"].max() == 4


def test_a_run_with_a_broken_file_is_made_again(tmp_path):
    file = written(tmp_path)
    swept = sweep(file, tmp_path / "out")
    before = contents(tmp_path / "out" / "runs")
    # As after a loss of power: a folder with its name, and a file without its content.
    (tmp_path / "out" / "runs" / swept.points["run"][2] / "series_links.parquet").write_bytes(b"")
    sweep(file, tmp_path / "out")
    assert contents(tmp_path / "out" / "runs") == before


@pytest.mark.parametrize("file", ["series_links.parquet", "meta.json"])
def test_a_run_of_which_a_byte_has_changed_is_made_again(tmp_path, file):
    swept = sweep(written(tmp_path), tmp_path / "out")
    before = contents(tmp_path / "out" / "runs")
    flip(tmp_path / "out" / "runs" / swept.points["run"][2] / file)
    assert contents(tmp_path / "out" / "runs") != before
    sweep(tmp_path / "sweep.toml", tmp_path / "out")
    assert contents(tmp_path / "out" / "runs") == before


@pytest.mark.parametrize("file", ["runs.parquet", "connections.parquet", "digest"])
def test_tables_of_many_runs_of_which_a_byte_has_changed_are_made_anew(tmp_path, file):
    first = sweep(written(tmp_path), tmp_path / "out")
    before = first.table("connections").collect()
    flip(tmp_path / "out" / "tables" / "000001" / file)
    assert_frame_equal(sweep(tmp_path / "sweep.toml", tmp_path / "out").table("connections").collect(), before)
    assert contents(tmp_path / "out" / "tables")


def test_journals_without_digests_are_believed_as_before(tmp_path, monkeypatch):
    file = written(tmp_path)
    sweep(file, tmp_path / "out")
    journal = tmp_path / "out" / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "digest"}) + "\n" for line in lines))
    (tmp_path / "out" / "tables" / "000001" / "digest").unlink()
    monkeypatch.setattr("anabranch.sweeps.local.end_of", lambda *_, **__: pytest.fail("it ran again"))
    assert sweep(file, tmp_path / "out").points["run"].null_count() == 0


def test_tables_are_the_same_bytes_whichever_run_is_done_first(tmp_path, monkeypatch):
    file = written(tmp_path)
    sweep(file, tmp_path / "first")
    here = runner.run_here
    monkeypatch.setattr(runner, "run_here", lambda *own, **rest: reversed(list(here(*own, **rest))))
    sweep(file, tmp_path / "last")
    assert contents(tmp_path / "first" / "tables") == contents(tmp_path / "last" / "tables")


def flip(file: Path) -> None:
    """Change a byte in the middle of a file."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def test_a_journal_that_was_broken_off_costs_nothing(tmp_path):
    file = written(tmp_path)
    sweep(file, tmp_path / "out")
    journal = tmp_path / "out" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    swept = sweep(file, tmp_path / "out")
    assert swept.points["run"].null_count() == 0
    assert len(list(Store(tmp_path / "out").lines())) == 6


def test_only_one_sweep_writes_to_a_folder(tmp_path):
    with opened(tmp_path / "out"), pytest.raises(ScenarioError, match="another sweep writes there"):
        sweep(written(tmp_path), tmp_path / "out")


def test_a_folder_of_something_else_is_refused_and_left_as_it_is(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(ScenarioError, match="something else is there"):
        sweep(written(tmp_path), other)
    assert os.listdir(other) == ["letter.txt"]
    with pytest.raises(ScenarioError, match=r"no folder|cannot be made"):
        sweep(written(tmp_path), tmp_path / "sweep.toml" / "out")


def test_a_full_disk_ends_the_sweep_with_a_clear_error_and_no_half_run(tmp_path, monkeypatch):
    file = written(tmp_path)
    real, count = _core.put_folder, 0

    def full(*folder):
        nonlocal count
        count += 1
        if count > 3:
            raise OSError(28, "No space left on device")
        return real(*folder)

    monkeypatch.setattr(_core, "put_folder", full)
    with pytest.raises(StorageError, match=r"No space left on device.*make room"):
        sweep(file, tmp_path / "out", threads=1)
    monkeypatch.undo()
    runs = tmp_path / "out" / "runs"
    assert 0 < len(os.listdir(runs)) < 6
    for name in os.listdir(runs):
        read_result(runs / name)
    assert sweep(file, tmp_path / "out").points["run"].null_count() == 0


def test_means_are_repeated_until_they_are_sure(tmp_path):
    # One connection of the two has an amount of its own for each seed, so that the link's load differs by seed.
    (tmp_path / "scenario.toml").write_text(
        SCENARIO.format(duration="400 ms")
        + '[[traffic]]\ncount = 3\nprotocol = "reno"\namount = { uniform = ["1 kB", "20 kB"] }\n'
    )
    file = tmp_path / "sweep.toml"
    file.write_text(
        'scenario = "scenario.toml"\n[sweep]\nlink.0.delay = ["1 ms", "2 ms"]\n'
        "[repeat]\nmargin = 0.2\nleast = 3\nmost = 40\nstep = 4\n"
        '[[table]]\nfile = "load"\nof = "connections"\nvalue = "delivered_bytes"\njoin = "sum"\n'
        "where = \"connection <> 'one' and connection <> 'two'\"\n"
    )
    swept = sweep(file, tmp_path / "out")
    table = pl.read_csv(tmp_path / "out" / "summary" / "load.csv")
    assert len(table) == 2
    for row in table.rows(named=True):
        assert row["half_width"] <= 0.2 * row["mean"]
        assert row["count"] > 3
    for _, own in swept.points.group_by("link.0.delay_s"):
        assert own["seed"].to_list() == list(range(1, len(own) + 1))
        assert (len(own) - 3) % 4 == 0


def test_a_sweep_killed_at_any_moment_goes_on_and_has_every_run_once(tmp_path):
    file = written(tmp_path, seeds=60)
    never_killed = sweep(file, tmp_path / "whole")
    expected = contents(tmp_path / "whole" / "runs")
    command = [*PROGRAM, "sweep", str(file), "--out", str(tmp_path / "out")]
    moments = random.Random(4)
    for _ in range(20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        begun = time.monotonic()
        runs = tmp_path / "out" / "runs"
        before = len(os.listdir(runs)) if runs.is_dir() else 0
        # From before the first run of this process to after some: counted by runs, since machines differ in speed.
        more = moments.randrange(0, 9)
        while process.poll() is None and time.monotonic() - begun < 30.0:
            if runs.is_dir() and len(os.listdir(runs)) >= before + more:
                break
            time.sleep(0.002)
        time.sleep(moments.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode != -signal.SIGKILL:
            break
        for name in os.listdir(runs) if runs.is_dir() else ():
            if not name.startswith("."):
                whole = {file.split("/")[1] for file in expected if file.startswith(f"{name}/")}
                assert set(contents(runs / name)) == whole
    swept = sweep(file, tmp_path / "out")
    assert contents(tmp_path / "out" / "runs") == expected
    assert_frame_equal(swept.points, never_killed.points)
    for of in ("runs", "connections", "links"):
        assert_frame_equal(swept.table(of).collect(), never_killed.table(of).collect())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_sweep_soon_and_it_says_that_it_goes_on(tmp_path, number):
    file = written(tmp_path, seeds=400)
    process = subprocess.Popen(
        [*PROGRAM, "sweep", str(file), "--out", str(tmp_path / "out"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "the same command goes on" in err
    assert out.count("\n") < 700
    assert all(read_result(place) for place in (tmp_path / "out" / "runs").iterdir())


def test_json_lines_tell_of_each_run(tmp_path):
    file = written(tmp_path)
    outcome = CliRunner().invoke(app, ["sweep", str(file), "--out", str(tmp_path / "out"), "--json"])
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [line["event"] for line in lines] == ["begin", *["done"] * 6, "end"]
    assert lines[-1] == {"event": "end", "folder": str(tmp_path / "out"), "total": 6, "failed": 0}
    assert lines[6]["done"] == 6
    assert lines[6]["left_s"] == 0.0
    assert set(lines[1]["values"]) == {"delay_s", "seed"}


def test_the_command_prints_tables_and_says_where_runs_are(tmp_path):
    more = '\n[[table]]\nfile = "rate"\nof = "connections"\nvalue = "mean_rate_bps / 1e6"\njoin = "sum"\n'
    file = written(tmp_path, more)
    outcome = CliRunner().invoke(app, ["sweep", str(file), "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 0, outcome.output
    assert "6 of 6 runs are in" in outcome.stdout
    lines = outcome.stdout.splitlines()
    assert lines[0].strip() == "rate"
    assert lines[1].split()[:4] == ["delay_s", "count", "mean", "low"]
    assert [line.split()[:2] for line in lines[2:4]] == [["0.001", "3"], ["0.005", "3"]]


def test_a_failed_run_is_exit_code_one_and_named(tmp_path):
    file = written(tmp_path, seeds=1, scenarios=FAILS)
    outcome = CliRunner().invoke(app, ["sweep", str(file), "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 1
    assert "2 of 8 runs failed" in outcome.stderr


def test_check_takes_sweep_files(tmp_path):
    outcome = CliRunner().invoke(app, ["check", str(written(tmp_path))])
    assert outcome.exit_code == 0
    assert "delay_s (2), seed (3)" in outcome.stdout
    outcome = CliRunner().invoke(app, ["check", str(tmp_path / "sweep.toml"), "--seed", "2"])
    assert "it is a sweep file" in str(outcome.exception)


def test_reading_what_is_no_sweep_says_so(tmp_path):
    with pytest.raises(ScenarioError, match=r"it has no points\.parquet"):
        read_sweep(tmp_path)
    with pytest.raises(ScenarioError, match="there is no such folder"):
        read_sweep(tmp_path / "nowhere")


def test_a_column_that_is_not_there_is_told_after_the_first_run(tmp_path):
    more = '\n[[table]]\nfile = "rate"\nof = "connections"\nvalue = "mean_rate"\n'
    with pytest.raises(ScenarioError, match=r"table `rate`.*mean_rate"):
        sweep(written(tmp_path, more, seeds=50), tmp_path / "out", threads=1)
    assert 1 <= len(os.listdir(tmp_path / "out" / "runs")) < 100
