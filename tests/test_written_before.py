"""Folders that version 0.1 has written are read as those of today.

`data/written-before` has one, as that version wrote it, of links whose names have the sign that stood between the names
of a path: `a > b > b` is the path over `a > b` and `b`.
"""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.page.of_result import result_content
from anabranch.runs.columns import THINGS
from anabranch.runs.result import Result, read_result
from anabranch.runs.written_before import with_path_lists

OLD = Path(__file__).parent / "data" / "written-before"

SCENARIO = """
title = "Before"
link = [{ name = "a > b", source = "a", target = "b", capacity = "8 Mbit/s", delay = "5 ms" }]
connection = [{ name = "one", source = "a", target = "b" }, { name = "two", source = "b", target = "a" }]
defaults.connection.protocol = "d-slen"
run = { duration = "500 ms", sample = "50 ms" }
"""

SWEEP = 'scenario = "scenario.toml"\n[sweep]\nseed = "1..3"\n'


@pytest.fixture
def old() -> Result:
    return read_result(OLD)


def as_before(folder: Path) -> None:
    """Make a folder as version 0.1 wrote it of one of today."""
    kinds = {"connection": "connections", "subflow": "subflows", "link": "links", "run": "run"}
    files = {of: folder / f"series_{kind}.parquet" for of, kind in kinds.items()}
    parts = [
        pl.read_parquet(file).with_columns(of=pl.lit(of), name=pl.col(of) if of != "run" else pl.lit(""))
        for of, file in files.items()
        if file.exists()
    ]
    pl.concat(parts, how="diagonal").drop("connection", "subflow", "link", strict=False).write_parquet(
        folder / "series.parquet"
    )
    for file in files.values():
        file.unlink(missing_ok=True)
    as_text(folder / "subflows.parquet")
    meta = json.loads((folder / "meta.json").read_text())
    del meta["tables"]
    (folder / "meta.json").write_text(json.dumps(meta))


def as_text(file: Path) -> None:
    pl.read_parquet(file).with_columns(pl.col("path").list.join(" > ")).write_parquet(file)


def test_the_folder_is_one_of_before():
    assert "of" in pl.read_parquet_schema(OLD / "series.parquet")
    assert pl.read_parquet(OLD / "subflows.parquet")["path"].to_list() == ["a > b > b", "b"]


def test_a_folder_of_before_has_the_samples_of_the_same_run_today(old):
    now = ab.run(OLD / "scenario.toml")
    assert list(old.series) == list(now.series) == ["connections", "subflows", "links", "run"]
    for kind, table in old.series.items():
        assert_frame_equal(now.series[kind].select(table.columns), table)
    # Windows are recorded, but d-SLEN and Reno have neither a pace nor a share of marked packets: a column of nulls is
    # none that can be told from one that was not recorded.
    assert set(now.series["subflows"].columns) - set(old.series["subflows"].columns) == {"pace_bps", "marked_share"}
    assert_frame_equal(old.subflows, now.subflows)
    assert old.subflows["path"].to_list() == [["a > b", "b"], ["b"]]
    assert_frame_equal(old.errors(), now.errors().drop("magnitude"))
    assert_frame_equal(old.settling(of="final"), now.settling(of="final"))
    # Scenarios had no description.
    assert now.meta.keys() - old.meta.keys() == {"description"}


def test_the_page_shows_a_folder_of_before_as_the_same_run_today(old):
    shown, now = (result_content(result) for result in (old, ab.run(OLD / "scenario.toml")))
    # Of queues, only their packets were written, not the time in which a link sends them.
    assert now.header["headline"]["queue_s"] > 0
    now.header["headline"]["queue_s"] = None
    assert shown.header == now.header
    assert shown.blob() == now.blob()


def test_a_folder_of_before_is_written_anew_as_one_of_today(old, tmp_path):
    old.write(tmp_path / "new")
    assert not (tmp_path / "new" / "series.parquet").exists()
    again = read_result(tmp_path / "new")
    assert again.series.equals(old.series)
    assert again.subflows.equals(old.subflows)


def test_a_folder_of_before_without_its_samples_is_refused(tmp_path):
    shutil.copytree(OLD, tmp_path / "cut")
    (tmp_path / "cut" / "series.parquet").unlink()
    with pytest.raises(ScenarioError, match="it is no whole result of a run"):
        read_result(tmp_path / "cut")


def test_a_folder_of_today_without_a_table_that_it_lists_is_refused(tmp_path):
    ab.run(SCENARIO).write(tmp_path / "cut")
    (tmp_path / "cut" / "series_run.parquet").unlink()
    with pytest.raises(ScenarioError, match=r"it is no whole result of a run .*series_run\.parquet"):
        read_result(tmp_path / "cut")


def test_a_path_over_a_link_that_is_not_there_is_refused():
    subflows = pl.DataFrame({"path": ["a > b > c"]})
    with pytest.raises(ScenarioError, match="path `a > b > c`: there is no link `c` in the network"):
        with_path_lists(subflows, ["a", "b", "c > d"])
    with pytest.raises(ScenarioError, match=r"path `a > c`: there is no link `c` in the network"):
        with_path_lists(pl.DataFrame({"path": ["a > c"]}), ["a"])


def test_a_sweep_of_before_is_read_as_one_of_today(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    swept = ab.sweep(tmp_path / "sweep.toml", tmp_path / "out")
    names = [f"series_{kind}" for kind in (*THINGS, "run")]
    before = {name: swept.table(name).collect() for name in ("subflows", *names)}
    assert len(before["series_links"]) == 3 * 2 * 10
    folders = sorted((tmp_path / "out" / "runs").iterdir())
    # One run stays as it is: both may stand side by side.
    for folder in folders[1:]:
        as_before(folder)
    for tables in (tmp_path / "out" / "tables").iterdir():
        as_text(tables / "subflows.parquet")
        (tables / "digest").unlink()
    after = ab.read_sweep(tmp_path / "out")
    for name, table in before.items():
        assert_frame_equal(after.table(name).select(table.columns).collect(), table)


def test_runs_of_a_sweep_that_recorded_different_columns_stand_in_one_table(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    vary = 'run.record = [["links"], ["links", "fairness"]]'
    (tmp_path / "sweep.toml").write_text(f'scenario = "scenario.toml"\n[sweep]\n{vary}\n')
    swept = ab.sweep(tmp_path / "sweep.toml", tmp_path / "out")
    table = swept.table("series_links").collect()
    assert len(table) == 2 * 2 * 10
    assert table["fair_bps"].count() == 2 * 10


def test_a_sweep_that_names_the_table_of_all_samples_is_told_what_to_name(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    table = '[[table]]\nfile = "peaks"\nof = "series"\nwhere = "of = \'link\'"\nvalue = "peak_packets"\n'
    (tmp_path / "sweep.toml").write_text(SWEEP + table)
    with pytest.raises(ScenarioError, match=r"there is no table `series`; .*name \"series_connections\""):
        ab.sweep(tmp_path / "sweep.toml", tmp_path / "out")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    swept = ab.sweep(tmp_path / "sweep.toml", tmp_path / "out")
    with pytest.raises(ScenarioError, match="there is no table `series`; samples have a table for each kind"):
        swept.table("series")
