"""The data of the page are those of the tables, and survive the way into a file and back."""

import json
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.page import allocation_content, result_content
from anabranch.page.content import Content, read_series
from anabranch.page.of_result import SHOWN
from anabranch.page.palette import looks, palette
from anabranch.runs.columns import kind_of

SCENARIOS = Path(__file__).parents[1] / "scenarios"
ROUNDED = 1.23e-4
RECORD = 'run.record=["connections", "subflows", "windows", "links", "fairness"]'


@pytest.fixture(scope="module")
def result():
    return ab.run(SCENARIOS / "join-and-leave.toml")


@pytest.fixture(scope="module")
def windows():
    return ab.run(SCENARIOS / "three-sources.toml", sets=["run.duration=12 s", RECORD])


def test_short_numbers_come_back_from_the_blob_bit_by_bit():
    content = Content({})
    first = np.array([[0.0, 1.5, 1.5, np.nan], [2.0**-100, -3.0, 8191.0, np.inf]], dtype="f4")
    content.add("link", "carried_bps", first)
    content.add("run", "present", [3, 4, 4, 5])
    arrays = read_series(content.header, content.blob())
    # Eight values of four bytes each stand before the second array.
    assert content.header["series"][1] == {"of": "run", "name": "present", "rows": 1, "columns": 4, "start": 32}
    assert arrays["link", "carried_bps"].view("u4").tolist() == first.view("u4").tolist()
    assert arrays["run", "present"].tolist() == [[3.0, 4.0, 4.0, 5.0]]


def test_other_numbers_are_rounded_to_a_part_in_8192():
    content = Content({})
    values = np.random.default_rng(2).lognormal(0.0, 20.0, (3, 1000))
    content.add("link", "carried_bps", values)
    shown = read_series(content.header, content.blob())["link", "carried_bps"]
    # Half of the last of 12 bits behind the first one.
    assert float(np.abs(shown / values - 1.0).max()) == pytest.approx(2.0**-13, rel=0.05)


def test_what_stays_the_same_takes_next_to_no_room():
    content = Content({})
    # A thousand rows of a thousand samples each: 4 MB, of which only the first column says anything.
    content.add("link", "carried_bps", np.repeat(np.random.default_rng(1).random((1000, 1)), 1000, axis=1))
    assert len(zlib.compress(content.blob(), 6)) < 20_000


@pytest.mark.parametrize("of", SHOWN)
@pytest.mark.parametrize("which", ["result", "windows"])
def test_the_page_has_the_numbers_of_the_tables(request, tmp_path, which, of):
    run = request.getfixturevalue(which)
    run.write(tmp_path / "run")
    content = result_content(ab.read_result(tmp_path / "run"))
    arrays = read_series(content.header, content.blob())
    kind = kind_of(of)
    series = pl.read_parquet(tmp_path / "run" / f"series_{kind}.parquet") if kind in run.series else pl.DataFrame()
    names = {f"{kind}s": content.header[f"{kind}s"]["name"] for kind in ("connection", "subflow", "link")}
    names["runs"] = [""]
    title = (pl.lit("") if of == "run" else pl.col(of)).alias("title")
    for column in set(SHOWN[of]) - ({"granted_bps"} if of == "link" else set()):
        own = series.drop_nulls(column) if column in series else pl.DataFrame()
        assert ((of, column) in arrays) == (len(own) > 0), column
        if not len(own):
            continue
        row = {name: i for i, name in enumerate(names[f"{of}s"])}
        column_of = {time: i for i, time in enumerate(content.header["times_s"])}
        table = arrays[of, column]
        shown = [table[row[name], column_of[time]] for time, name in own.select("time_s", title).iter_rows()]
        np.testing.assert_allclose(shown, own[column].cast(pl.Float64).to_numpy(), rtol=ROUNDED, atol=1e-30)
        # What is null in the table is no number on the page.
        assert int(np.isfinite(table).sum()) == len(own)


def test_links_have_the_loads_granted_where_no_data_are_sent(result):
    silent = ab.run(SCENARIOS / "join-and-leave.toml", sets=["run.data=false"])
    for run, shown in ((result, "carried_bps"), (silent, "granted_bps")):
        names = {place["name"] for place in result_content(run).header["series"] if place["of"] == "link"}
        assert names & {"carried_bps", "granted_bps"} == {shown}


def test_percentiles_of_errors_are_those_of_the_result(result):
    content = result_content(result)
    shown = read_series(content.header, content.blob())["errors", "connection"]
    frame = result.errors((10, 50, 90))
    at = np.searchsorted(content.header["times_s"], frame["time_s"].to_numpy())
    np.testing.assert_allclose(shown[2, at], frame["p50"].to_numpy(), rtol=ROUNDED, atol=1e-30)
    assert np.isnan(np.delete(shown, at, axis=1)).all()


def test_errors_are_those_of_delivered_rates_where_windows_were_recorded(windows):
    content = result_content(windows)
    shown = read_series(content.header, content.blob())["errors", "connection"]
    rows = windows.series["connections"].filter(pl.col("time_s") == pl.col("time_s").max(), pl.col("fair_bps") > 0.0)
    errors = (rows["delivered_bps"] / rows["fair_bps"] - 1.0).to_numpy()
    assert len(errors) > 1
    expected = [errors.min(), np.median(errors), errors.max()]
    np.testing.assert_allclose(shown[[0, 2, 4], -1], expected, rtol=ROUNDED, atol=1e-6)


def test_links_nodes_and_paths_are_known_by_number(result):
    header = result_content(result).header
    nodes, links = header["nodes"]["name"], header["links"]
    assert nodes == ["west", "middle", "east"]
    ends = [(nodes[a], nodes[b]) for a, b in zip(links["source"], links["target"], strict=True)]
    assert ends[:2] == [("west", "middle"), ("middle", "west")]
    assert links["twin"][:2] == [1, 0]
    assert links["capacity_bps"][0] == 10e6
    # "through" goes by the middle and by the detour.
    paths = [[ends[link] for link in path] for path in header["subflows"]["path"]]
    assert paths[0] == [("west", "middle"), ("middle", "east")]
    assert paths[1] == [("west", "east")]
    assert header["subflows"]["connection"] == [0, 0, 1, 2]


def test_names_with_the_sign_between_names_are_found_in_paths(tmp_path):
    text = """
    link = [
      { name = "a > b", source = "a", target = "b", capacity = "1 Mbit/s", delay = "1 ms" },
      { name = "b", source = "b", target = "c", capacity = "1 Mbit/s", delay = "1 ms" },
    ]
    connection = [{ name = "x", source = "a", target = "c", protocol = "d-slen" }]
    run = { duration = "1 s" }
    """
    file = tmp_path / "signs.toml"
    file.write_text(text, encoding="utf-8")
    header = result_content(ab.run(file)).header
    names = [header["links"]["name"][link] for link in header["subflows"]["path"][0]]
    assert names == ["a > b", "b"]


@pytest.mark.parametrize("fairness", ["upward-max-min", "proportional"])
def test_an_allocation_is_a_run_of_one_instant_with_its_bottlenecks(fairness):
    scenario = ab.read_scenario(SCENARIOS / "two-paths.toml")
    allocation = ab.solve(scenario.network, scenario.demands, paths=scenario.demands.paths, fairness=fairness)
    header = allocation_content(allocation).header
    arrays = read_series(header, allocation_content(allocation).blob())
    assert header["times_s"] == [0.0]
    assert header["connections"]["name"] == allocation.connections["name"].to_list()
    np.testing.assert_allclose(
        arrays["connection", "granted_bps"][:, 0], allocation.connections["rate_bps"], rtol=ROUNDED
    )
    np.testing.assert_allclose(arrays["link", "granted_bps"][:, 0], allocation.links["load_bps"], rtol=ROUNDED)
    names = header["links"]["name"]
    assert json.loads(json.dumps(header, allow_nan=False)) == header
    held = [None if link is None else names[link] for link in header["subflows"]["bottleneck"]]
    assert held == allocation.subflows["bottleneck"].to_list()
    assert header["connections"]["bottleneck"] == allocation.connections["bottleneck"].to_list()
    # With all digits: what is told of a connection is computed from these.
    assert header["connections"]["granted_bps"] == allocation.connections["rate_bps"].to_list()
    assert header["connections"]["level_bps"] == allocation.connections["level_bps"].to_list()
    assert header["connections"]["claim"] == allocation.connections["claim"].to_list()
    assert header["subflows"]["granted_bps"] == allocation.subflows["rate_bps"].to_list()


def test_prices_are_those_of_the_allocation_and_null_where_infinite(tmp_path):
    # The second path of "x" leads over a link without capacity, whose price is infinite.
    text = """
    link = [
      { name = "one", source = "a", target = "b", capacity = "6 Mbit/s", delay = "1 ms" },
      { name = "none", source = "a", target = "b", capacity = "0 bit/s", delay = "1 ms" },
    ]
    connection = [{ name = "x", source = "a", target = "b", links = [["one"], ["none"]] }]
    """
    file = tmp_path / "none.toml"
    file.write_text(text, encoding="utf-8")
    scenario = ab.read_scenario(file)
    allocation = ab.solve(scenario.network, scenario.demands, fairness="alpha", alpha=2.0)
    header = allocation_content(allocation).header
    # Two-way links stand beside each other. A unit more is worth 1 / (6 Mbit/s)^2, and "one" charges that.
    price = dict(zip(header["links"]["name"], header["links"]["price"], strict=True))
    assert price["one"] == pytest.approx(1 / 36e12)
    assert price["none"] is None
    assert header["subflows"]["price"] == [pytest.approx(1 / 36e12), None]
    assert header["connections"]["marginal_utility"] == [pytest.approx(1 / 36e12)]
    assert (header["summary"]["alpha"], header["summary"]["gap"]) == (2.0, pytest.approx(0.0, abs=1e-6))


def test_what_opens_the_page_comes_first_and_subflows_last(windows):
    header = result_content(windows).header
    places = [(place["of"], place["name"], place["start"] >= header["first_bytes"]) for place in header["series"]]
    assert {of for of, _, _ in places} == {"connection", "subflow", "link", "run", "errors"}
    for of, name, is_late in places:
        assert is_late == (of == "subflow" or (of, name) == ("link", "peak_packets"))


def test_an_allocation_of_bare_numbers_is_refused():
    allocation = ab.solve(ab.Problem([1.0], [0, 1], [0], [0]))
    with pytest.raises(ScenarioError, match="has no network to show"):
        allocation_content(allocation)


def test_protocols_look_as_in_figures():
    from anabranch.figures.protocol_styles import protocol_looks

    titles = [title for _, title, *_ in ab._core.protocols()]
    drawn = protocol_looks()
    assert looks(titles) == {title: {"colour": drawn[title].colour, "marker": drawn[title].marker} for title in titles}


def test_the_palette_is_that_of_the_figures():
    from anabranch.figures.style import COLOURS

    assert palette()["lines"] == list(COLOURS)
    assert palette()["utilisation"][0] == "#c6cfda"
    assert palette()["utilisation"][-1] == "#7f1842"


@pytest.mark.parametrize(("name", "sign"), [("utilisation", -1), ("utilisation_dark", 1)])
def test_busier_links_stand_out_more_whatever_colours_one_can_see(name, sign):
    """The lightness of the colours goes one way: darker on light paper, lighter on dark."""
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in palette()[name]])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    # In steps of a sixteenth, beside which the rounding to 8 bits is nothing.
    assert (sign * np.diff(luminance[::4]) > 0.0).all()
