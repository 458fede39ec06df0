"""What a person chooses on the page: links, spans of time, looks; what the address keeps; what can be saved."""

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import expect

import anabranch as ab
from anabranch.page import result_content, write_report

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[1] / "scenarios"

SILENT = """
title = "Nobody there"
link = [{ source = "a", target = "b", capacity = "1 Mbit/s", delay = "1 ms" }]
run = { duration = "1 s" }
"""


@pytest.fixture(scope="module")
def result():
    return ab.run(SCENARIOS / "join-and-leave.toml")


@pytest.fixture(scope="module")
def report(result, tmp_path_factory):
    file = tmp_path_factory.mktemp("choices") / "one.html"
    write_report([result_content(result)], file)
    return file


def map_drawn(page, other_than=None):
    """The picture of the map, once it is drawn, another one than before, and the same for two frames."""
    picture = """(before) => {
      const [map, blank] = [document.querySelector("canvas"), document.createElement("canvas")];
      [blank.width, blank.height] = [map.width, map.height];
      const now = map.toDataURL();
      const still = window.mapLately === now;
      window.mapLately = now;
      return still && now !== blank.toDataURL() && now !== before ? now : null;
    }"""
    return page.wait_for_function(picture, arg=other_than).json_value()


def on_link(page, header, name, share=0.5):
    """Where a link of a small network is on the map: at a share of the way between its nodes."""
    map_drawn(page)
    # A description may push the map below the window.
    page.locator("canvas").first.scroll_into_view_if_needed()
    box = page.locator("canvas").first.bounding_box()
    xs, ys = np.array(header["nodes"]["x"]), np.array(header["nodes"]["y"])
    # All nodes are seen, with room of 64 and 46 pixels for their names, and a frame of one.
    wide, high = box["width"] - 130, box["height"] - 94
    # Places that are not of the earth are stretched, so that they fill the room.
    xs = xs * np.clip(wide / high * np.ptp(ys) / np.ptp(xs), 1 / 2.5, 2.5)
    scale = min(wide / np.ptp(xs), high / np.ptp(ys))
    link = header["links"]["name"].index(name)
    a, b = header["links"]["source"][link], header["links"]["target"][link]
    x, y = (values[a] + share * (values[b] - values[a]) for values in (xs, ys))
    middle_x, middle_y = (xs.min() + xs.max()) / 2, (ys.min() + ys.max()) / 2
    return box["x"] + box["width"] / 2 + scale * (x - middle_x), box["y"] + box["height"] / 2 - scale * (y - middle_y)


def test_a_click_on_a_link_chooses_it_and_escape_lets_go(open_file, report, result):
    page = open_file(report, hash="#time=4")
    page.mouse.click(*on_link(page, result_content(result).header, "west-middle"))
    told = page.get_by_label("chosen link")
    # In the end "through" has 3 Mbit/s of the first link and "first" the other 7.
    expect(told.locator("h3")).to_have_text("west-middle")
    expect(told).to_contain_text("2 connections send over it, of 2 with a path there")
    expect(told.get_by_role("listitem")).to_have_text(["first 7 Mbit/s", "through 3 Mbit/s"], use_inner_text=True)
    expect(page.get_by_text("Load of west-middle")).to_be_visible()
    expect(page.get_by_text("at west-middle")).to_be_visible()
    # Those that cross it are lit in the table: all but "last".
    expect(page.locator("tr.lit th")).to_have_text(["▸ through", "▸ first"], use_inner_text=True)
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    expect(page.locator("tr.lit")).to_have_count(0)


def test_names_of_links_and_connections_lead_to_each_other(open_file, report):
    page = open_file(report)
    page.get_by_role("row", name="through").click()
    page.get_by_label("chosen connection").get_by_role("button", name="west-east").first.click()
    expect(page.get_by_label("chosen link").locator("h3")).to_have_text("west-east")
    # What it says stays in sight below the row that led there.
    expect(page.get_by_label("chosen connection")).to_be_visible()
    page.get_by_label("chosen link").get_by_role("button", name="through").click()
    expect(page.get_by_label("chosen link")).to_be_hidden()
    expect(page.locator("tr.chosen")).to_contain_text("through")


def saved(page, button, place):
    """The bytes of the file that a button gives."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    download.value.save_as(place)
    return place.read_bytes()


def saved_table(page, button, place):
    """The rows of a table that a button saves."""
    return list(csv.reader(saved(page, button, place).decode().splitlines()))


def test_a_drag_zooms_all_charts_and_what_is_saved_is_what_is_shown(open_file, report, result, tmp_path):
    page = open_file(report)
    box = page.locator(".u-over").first.bounding_box()
    y = box["y"] + 50
    # The run takes 4 s: from a quarter to a half are 1 s to 2 s.
    page.mouse.move(box["x"] + box["width"] / 4, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, y, steps=4)
    page.mouse.up()
    page.wait_for_function("location.hash.includes('span=')")
    names, *rows = saved_table(page, "save Rates as CSV", tmp_path / "rates.csv")
    assert names[:3] == ["time_s", "through, fair", "through"]
    table = np.array(rows, dtype=object)
    times = table[:, 0].astype(float)
    assert (times[0], times[-1]) == (pytest.approx(1.0, abs=0.02), pytest.approx(2.0, abs=0.02))
    series = result.series["connections"].filter(connection="through")
    own = series.filter((series["time_s"] >= times[0] - 1e-9) & (series["time_s"] <= times[-1] + 1e-9))
    for column, name in enumerate(("fair_bps", "granted_bps"), start=1):
        np.testing.assert_allclose(table[:, column].astype(float), own[name], rtol=1.3e-4)
    page.mouse.dblclick(box["x"] + box["width"] / 2, y)
    page.wait_for_function("!location.hash.includes('span=')")
    names, first, *_, end = saved_table(page, "save Rates as CSV", tmp_path / "all.csv")
    assert (float(first[0]), float(end[0])) == (result.series["connections"]["time_s"].min(), 4.0)
    # What is not there is empty: "last" has no fair rate once it has left.
    assert end[names.index("last, fair")] == ""


def test_the_table_is_saved_with_the_digits_that_it_has_and_units(open_file, report, result, tmp_path):
    page = open_file(report, hash="#time=1.5&filter=first")
    names, *rows = saved_table(page, "save the connections as CSV", tmp_path / "table.csv")
    own = result.series["connections"].filter(connection="first")
    at = own.filter(own["time_s"] <= 1.5).row(-1, named=True)
    assert [row[:2] for row in rows] == [["first", "d-SLEN"]]
    for column in ("granted_bps", "fair_bps", "delivered_bps"):
        assert float(rows[0][names.index(column)]) == pytest.approx(at[column], rel=1.3e-4)
    # The fair rate is 8 Mbit/s, which 12 bits miss.
    assert rows[0][names.index("fair_bps")] == "8000000"


def test_charts_and_map_are_saved_as_pictures(open_file, report, tmp_path):
    page = open_file(report)
    for button in ("save the network as PNG", "save Queues as PNG"):
        picture = saved(page, button, tmp_path / "picture.png")
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 2000


def test_the_address_keeps_what_is_chosen(open_file, report):
    page = open_file(report, hash="#runs=mine")
    page.get_by_role("searchbox").fill("th")
    page.get_by_role("row", name="through").click()
    page.get_by_role("slider").fill("2")
    page.wait_for_function("location.hash.includes('time=2')")
    # What others keep there stays.
    kept = page.evaluate("location.hash").removeprefix("#").split("&")
    assert sorted(kept) == ["connection=through", "filter=th", "runs=mine", "time=2"]
    page.reload()
    page.wait_for_selector("article")
    expect(page.get_by_role("searchbox")).to_have_value("th")
    expect(page.get_by_role("slider")).to_have_value("2")
    expect(page.get_by_label("chosen connection")).to_be_visible()


def test_an_address_of_something_else_chooses_nothing(open_file, report):
    page = open_file(report, hash="#connection=nobody&time=soon&span=9-3&link=")
    assert 1.0 < float(page.get_by_role("slider").input_value()) < 2.1
    expect(page.get_by_label("chosen connection")).to_be_hidden()


def test_the_keys_are_listed_and_escape_closes_the_list(open_file, report):
    page = open_file(report, hash="#connection=through")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog").get_by_text("play or pause")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Only the list was closed.
    expect(page.get_by_label("chosen connection")).to_be_visible()


PRESSED_AT_ONCE = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("article")) return;
  observer.disconnect();
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "?" }));
}).observe(document, { childList: true, subtree: true });
"""


def test_a_key_counts_as_soon_as_the_page_is_there(open_file, report):
    page = open_file(report)
    page.add_init_script(PRESSED_AT_ONCE)
    page.reload()
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_follow_the_system_until_one_is_chosen(open_file, report, dark):
    page = open_file(report, dark=dark)
    paper = "getComputedStyle(document.body).backgroundColor"
    light, night = "rgb(255, 255, 255)", "rgb(21, 27, 35)"
    assert page.evaluate(paper) == (night if dark else light)
    page.get_by_role("button", name="system").click()
    page.wait_for_function(f"{paper} === '{light}'")
    page.get_by_role("button", name="light").click()
    page.wait_for_function(f"{paper} === '{night}'")
    page.reload()
    page.wait_for_selector("article")
    assert page.evaluate(paper) == night


def test_fingers_move_and_zoom_the_map(open_file, report):
    page = open_file(report, width=390, touch=True)
    page.locator("canvas").first.scroll_into_view_if_needed()
    box = page.locator("canvas").first.bounding_box()
    x, y = box["x"] + 150, box["y"] + 150
    session = page.context.new_cdp_session(page)

    def touch(kind, *points):
        places = [{"x": x + dx, "y": y + dy, "id": i} for i, (dx, dy) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    first = map_drawn(page)
    touch("touchStart", (0, 0))
    touch("touchMove", (40, 10))
    touch("touchEnd")
    moved = map_drawn(page, other_than=first)
    touch("touchStart", (-20, 0), (20, 0))
    touch("touchMove", (-80, 0), (80, 0))
    touch("touchEnd")
    assert map_drawn(page, other_than=moved) != first
    # Nothing was chosen by that.
    expect(page.get_by_label("chosen link")).to_be_hidden()
    page.get_by_role("button", name="whole network").click()
    page.wait_for_function("(first) => document.querySelector('canvas').toDataURL() === first", arg=first)


def test_the_map_moves_by_keys_of_its_own(open_file, report):
    page = open_file(report)
    before, time = map_drawn(page), page.get_by_role("slider").input_value()
    page.locator("canvas").first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    map_drawn(page, other_than=before)
    # Time has not moved by that.
    assert page.get_by_role("slider").input_value() == time


def test_loads_that_were_not_recorded_are_shown_as_their_means(open_file, tmp_path, result):
    brief = ab.run(SCENARIOS / "join-and-leave.toml", sets=['run.record=["errors", "waits"]'])
    content = result_content(brief)
    write_report([content], tmp_path / "brief.html")
    page = open_file(tmp_path / "brief.html", hash="#link=west-middle")
    told = page.get_by_label("chosen link")
    mean = brief.links.row(by_predicate=pl.col("link") == "west-middle", named=True)["utilisation"]
    expect(told).to_contain_text(f"{float(f'{100.0 * mean:.3g}'):g} % of 10 Mbit/s, the mean after the warm-up")
    expect(told).to_contain_text("2 connections have a path over it; rates were not recorded.")
    page.keyboard.press("Escape")
    expect(page.locator(".legend")).to_contain_text("filled by utilisation, the mean after the warm-up.")
    # No queue was recorded: no disc is spoken of.
    expect(page.locator(".map .disc")).to_have_count(0)
    content.header["links"]["utilisation"] = [None] * len(content.header["links"]["name"])
    write_report([content], tmp_path / "less.html")
    page = open_file(tmp_path / "less.html", hash="#link=west-middle")
    expect(page.get_by_label("chosen link")).to_contain_text("capacity 10 Mbit/s, load was not recorded")
    page.keyboard.press("Escape")
    expect(page.locator(".map figcaption").get_by_text("load was not recorded")).to_be_visible()


def test_runs_without_connections_and_of_one_sample_or_none_are_shown(open_file, tmp_path):
    (tmp_path / "silent.toml").write_text(SILENT, encoding="utf-8")
    write_report([result_content(ab.run(tmp_path / "silent.toml"))], tmp_path / "silent.html")
    page = open_file(tmp_path / "silent.html")
    expect(page.get_by_text("There are no connections.")).to_be_visible()
    # Samples at 3 s, and none before the end at 4 s.
    for sample, count in (("3 s", 1), ("10 s", 0)):
        few = ab.run(SCENARIOS / "join-and-leave.toml", sets=[f"run.sample={sample}"])
        write_report([result_content(few)], tmp_path / "few.html")
        page = open_file(tmp_path / "few.html")
        expect(page.get_by_text(f"{count} sample")).to_be_visible()
        expect(page.get_by_role("slider")).to_have_count(0)
        expect(page.get_by_role("row", name="through")).to_be_visible()
