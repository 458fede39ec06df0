"""The page tells what its runs are about: descriptions, titles by what differs, rivals in one chart."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

import anabranch as ab
from anabranch.page import result_content, write_report
from anabranch.page.settings import MOST, settings_of

SCENARIOS = Path(__file__).parents[1] / "scenarios"

TOLD = '''
title = "Two on a line"
description = """
Both share a line, see `weight`.

  a ---- 9 Mbit/s ---- b
     '--- nothing else

- <b>double</b> has twice the weight
- single has not
"""
link = [{ name = "line", source = "a", target = "b", capacity = "9 Mbit/s", delay = "1 ms", queue = "20 packets" }]
connection = [
  { name = "double", source = "a", target = "b", protocol = "d-slen", weight = 2 },
  { name = "single", source = "a", target = "b", protocol = "d-slen" },
]
run = { duration = "1 s" }
'''


def test_a_run_carries_its_description_settings_and_head_line():
    header = result_content(ab.run(TOLD)).header
    assert header["description"].startswith("Both share a line")
    assert header["settings"]["link.line.queue"] == "20 packets"
    assert header["settings"]["connection.double.weight"] == "2"
    # What the page says elsewhere is no setting.
    assert not {"title", "description", "run.seed"} & header["settings"].keys()
    assert header["headline"]["fair_jain"] == pytest.approx(1.0)
    json.dumps(header, allow_nan=False)


def test_of_many_settings_only_those_of_the_run_are_carried():
    links = "\n".join(f'[[link]]\nname = "l{i}"\ncapacity = "1 Mbit/s"' for i in range(MOST))
    settings = settings_of(f'[run]\nduration = "4 s"\ndata = true\n{links}\n')
    assert settings == {"run.duration": "4 s", "run.data": "on"}
    assert settings_of("no toml [") == {}


@pytest.mark.slow
def test_the_description_is_shown_below_the_title(open_file, tmp_path):
    write_report([result_content(ab.run(TOLD))], tmp_path / "told.html")
    told = open_file(tmp_path / "told.html").get_by_label("description")
    expect(told.locator("p")).to_have_text("Both share a line, see weight.")
    expect(told.locator("code")).to_have_text("weight")
    assert told.locator("pre").inner_text() == "a ---- 9 Mbit/s ---- b\n   '--- nothing else"
    # Signs are signs, never elements.
    expect(told.get_by_role("listitem")).to_have_text(["<b>double</b> has twice the weight", "single has not"])


@pytest.mark.slow
def test_runs_of_one_protocol_are_called_by_what_differs(open_file, tmp_path):
    changed = [ab.run(TOLD, sets=["link.0.queue=5 packets"]), ab.run(TOLD, seed=2)]
    contents = [result_content(run, name=f"folder-{i}") for i, run in enumerate([ab.run(TOLD), *changed])]
    write_report(contents, tmp_path / "three.html")
    page = open_file(tmp_path / "three.html")
    expect(page.locator("article h2")).to_have_text(
        ["seed 1, line: queue 20 packets", "seed 1, line: queue 5 packets", "seed 2, line: queue 20 packets"]
    )
    expect(page.locator("h1")).to_contain_text("Two on a line")
    # The description of what they have in common is told once.
    expect(page.get_by_label("description")).to_have_count(1)


@pytest.fixture(scope="module")
def rivals(tmp_path_factory):
    """A report of three connections that keep windows, over two links."""
    file = tmp_path_factory.mktemp("rivals") / "rivals.html"
    run = ab.run(SCENARIOS / "wifi-and-cellular.toml", sets=["run.duration=20 s", "run.warm_up=5 s"])
    write_report([result_content(run)], file)
    return file


@pytest.mark.slow
def test_windows_and_round_trips_of_rivals_stand_in_one_chart(open_file, rivals):
    page = open_file(rivals)
    for title in ("Congestion windows", "Round trips"):
        chart = page.locator("figure.chart").filter(has_text=title)
        names = chart.get_by_label("lines").locator("b")
        expect(names).to_have_count(4)
        assert sorted(names.all_inner_texts()) == ["laptop", "modem", "phone, cellular", "phone, wifi"]
    page.get_by_role("group", name="compare").get_by_role("button", name="phone").click()
    expect(
        page.locator("figure.chart").filter(has_text="Round trips").get_by_label("lines").locator("b")
    ).to_have_count(2)
    page.wait_for_function("location.hash.includes('compare=')")
    page.reload()
    page.wait_for_selector("article")
    pressed = page.get_by_role("group", name="compare").locator("[aria-pressed=true]")
    expect(pressed).to_have_text(["laptop", "modem"])


@pytest.mark.slow
def test_lines_of_one_protocol_have_colours_that_can_be_told_apart(open_file, rivals):
    page = open_file(rivals)
    names = page.locator("figure.chart").first.get_by_label("lines").locator("b")
    expect(names).to_have_count(3)
    colours = names.evaluate_all("all => all.map((one) => getComputedStyle(one).borderLeftColor)")
    parts = [[int(number) for number in re.findall(r"\d+", colour)] for colour in colours]
    for i, one in enumerate(parts):
        for other in parts[:i]:
            assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) > 120


@pytest.mark.slow
@pytest.mark.parametrize(("width", "rows"), [(390, 4), (800, 2), (1280, 1), (1920, 1)])
def test_the_tiles_of_the_head_line_stand_in_rows_of_the_same_length(open_file, tmp_path, width, rows):
    write_report([result_content(ab.run(SCENARIOS / "join-and-leave.toml"))], tmp_path / "join.html")
    tiles = open_file(tmp_path / "join.html", width=width).locator(".tiles > div")
    tops = tiles.evaluate_all("tiles => tiles.map(tile => tile.getBoundingClientRect().top)")
    assert [tops.count(top) for top in sorted(set(tops))] == [8 // rows] * rows


CUT = """charts => charts.flatMap(chart => {
  const canvas = chart.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, 1, canvas.height).data;
  const end = chart.getBoundingClientRect().right + 0.5;
  return [
    ...(pixels.some(value => value) ? [`numbers of ${chart.textContent}`] : []),
    ...[...chart.querySelectorAll(".ends li, .ends .value")]
      .filter(name => name.getBoundingClientRect().right > end)
      .map(name => name.textContent),
  ];
})"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_no_number_of_a_chart_is_cut_at_its_edges(open_file, tmp_path, width):
    write_report([result_content(ab.run(SCENARIOS / "classics" / "incast.toml"))], tmp_path / "incast.html")
    page = open_file(tmp_path / "incast.html", width=width)
    expect(page.get_by_label("lines").get_by_text("server-6-switch")).to_be_visible()
    expect(page.locator("figure.chart:not(:has(canvas))")).to_have_count(0)
    assert page.locator("figure.chart").evaluate_all(CUT) == []
