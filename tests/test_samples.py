"""Samples are tables by kind of thing, and a column that the table of columns declares is in all of them."""

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.runs import columns
from anabranch.runs.columns import COLUMNS, KINDS, THINGS, Column, schema_of
from anabranch.runs.result import read_result
from anabranch.runs.series import Series, series_of

SCENARIO = """
link = [{ name = "l", source = "a", target = "b", capacity = "8 Mbit/s", delay = "5 ms" }]
connection = [{ name = "c", source = "a", target = "b", protocol = "d-slen" }]
run = { duration = "500 ms", sample = "50 ms", record = ["connections", "subflows", "links", "fairness", "windows"] }
"""


@pytest.fixture(scope="module")
def result() -> ab.Result:
    return ab.run(SCENARIO)


def test_a_declared_column_reaches_tables_and_files_without_further_words(result, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "COLUMNS", (*COLUMNS, Column("link", "fresh_bytes", "bytes", pl.UInt64)))
    samples = {"time_s": np.array([1.0, 2.0]), "link_fresh_bytes": np.array([[1, 3], [2, 4]], dtype=np.uint64)}
    series = series_of(samples, {"links": pl.Series(["l", "m"])})
    assert series["links"].rows() == [(1.0, "l", 1), (2.0, "l", 2), (1.0, "m", 3), (2.0, "m", 4)]
    assert series["links"].columns == ["time_s", "link", "fresh_bytes"]
    changed = ab.Result(
        result.meta, result.scenario, result.network, result.connections, result.subflows, result.links, series
    )
    changed.write(tmp_path / "run")
    assert read_result(tmp_path / "run").series.equals(series)
    assert schema_of("links")["fresh_bytes"] == pl.UInt64


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_the_declared_columns_and_types(result, kind):
    declared = schema_of(kind)
    own = dict(result.series[kind].schema)
    assert own.items() <= declared.items()
    # In the order in which they are declared.
    assert list(own) == [name for name in declared if name in own]


def test_every_array_that_a_run_gives_is_declared():
    parts: list[dict] = []
    sets = ['run.duration="400 s"', 'run.sample="1 s"', 'link.0.capacity_changes=[{at="1 s",capacity="4 Mbit/s"}]']
    record = 'run.record=["connections","subflows","links","fairness","windows","errors"]'
    ab.run(SCENARIO, sets=[*sets, record], samples=parts.append)
    keys = {column.key for column in COLUMNS}
    given = {key for part in parts for key in part if "_errors_" not in key} - {"time_s"}
    assert len(given) > 15
    assert given <= keys


def test_all_samples_of_a_thing_stand_together_in_the_order_of_the_things():
    more = '{ source = "b", target = "d", capacity = "1 Mbit/s", delay = "1 ms" }'
    result = ab.run(SCENARIO.replace("link = [", f"link = [{more}, "))
    links = result.series["links"]
    assert links["link"].unique(maintain_order=True).to_list() == result.links["link"].to_list()
    times = links["time_s"].to_numpy().reshape(len(result.links), -1)
    assert (times == times[0]).all()
    assert (np.diff(times[0]) > 0).all()


def test_no_column_is_there_that_was_not_recorded():
    series = ab.run(SCENARIO, sets=['run.record=["links"]']).series
    assert list(series) == ["links"]
    assert series["links"].columns == ["time_s", "link", "granted_bps", "carried_bps", "backlog_bytes", "peak_packets"]
    assert series.has("links", "granted_bps", "carried_bps")
    assert not series.has("links", "granted_bps", "fair_bps")
    assert not series.has("run", "residual")
    assert "run" not in series
    assert series.get("run") is None
    assert len(series) == 1


def test_nothing_recorded_is_no_table(tmp_path):
    result = ab.run(SCENARIO, sets=["run.record=[]"])
    assert dict(result.series) == {}
    assert repr(result.series) == "<Series nothing was recorded>"
    result.write(tmp_path / "run")
    assert not list((tmp_path / "run").glob("series*"))
    assert read_result(tmp_path / "run").series.equals(result.series)


@pytest.mark.parametrize(("kind", "word"), [("connections", "connections"), ("run", "fairness")])
def test_a_kind_that_was_not_recorded_is_refused_with_what_records_it(kind, word):
    with pytest.raises(ScenarioError) as caught:
        Series({})[kind]
    assert str(caught.value) == f'"{word}" was not recorded; add it to record under [run]'


def test_there_are_no_other_kinds():
    with pytest.raises(ValueError, match="there is no kind 'link'; there are connections, subflows, links, run"):
        Series({"link": pl.DataFrame()})
    assert set(THINGS) < set(KINDS)


def test_a_path_is_a_list_of_links_in_the_table_and_its_file(result, tmp_path):
    assert result.subflows.schema["path"] == pl.List(pl.String)
    result.write(tmp_path / "run")
    assert pl.read_parquet(tmp_path / "run" / "subflows.parquet")["path"].to_list() == [["l"]]
