"""The page as a person meets it, in a browser: a report is opened as a file, played, searched, compared."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

import anabranch as ab
from anabranch.page import allocation_content, result_content, write_report

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Files with one run, with two, and with an allocation."""
    folder = tmp_path_factory.mktemp("reports")
    one = result_content(ab.run(SCENARIOS / "join-and-leave.toml"), name="one")
    other = ab.run(SCENARIOS / "join-and-leave.toml", sets=["defaults.connection.protocol=vo-le-tran"])
    scenario = ab.read_scenario(SCENARIOS / "two-paths.toml")
    solved = ab.solve(scenario.network, scenario.demands, paths=scenario.demands.paths)
    contents = {"one": [one], "two": [one, result_content(other, name="two")], "solved": [allocation_content(solved)]}
    for name, own in contents.items():
        write_report(own, folder / f"{name}.html")
    return folder


@pytest.fixture
def open_report(open_file, reports):
    """Give a function that opens a report by its name."""
    return lambda name, **how: open_file(reports / f"{name}.html", **how)


def move_to(page, time_s):
    """Move the slider."""
    page.get_by_role("slider").fill(str(time_s))


def cell(page, name, column):
    """A cell of a connection in the table."""
    return page.get_by_role("row").filter(has_text=name).first.locator("th,td").nth(column)


def expect_rates(page, name, *texts):
    """The table has these for a connection: its rate, the fair one, and the difference."""
    for column, text in enumerate(texts, start=5 - len(texts)):
        expect(cell(page, name, column)).to_have_text(text)


def test_the_table_follows_the_slider(open_report):
    page = open_report("one")
    # At 1.5 s "first" has the 8 Mbit/s that are left on the first link; in the end it has 7, level with "through".
    move_to(page, 1.5)
    expect_rates(page, "first", "8 Mbit/s", "8 Mbit/s", "0 %")
    move_to(page, 4)
    expect_rates(page, "first", "7 Mbit/s", "7 Mbit/s", "0 %")
    # "last" is there no more.
    expect_rates(page, "last", "\u2013", "\u2013")


def test_play_moves_time_and_pause_holds_it(open_report):
    page = open_report("one")
    page.get_by_role("button", name="play").click()
    page.wait_for_function("Number(document.querySelector('input[type=range]').value) > 0.05")
    page.get_by_role("button", name="pause").click()
    held = page.get_by_role("slider").input_value()
    assert 0.0 < float(held) < 4.0
    page.wait_for_timeout(100)
    assert page.get_by_role("slider").input_value() == held


def test_keys_play_step_and_choose_nothing(open_report):
    page = open_report("one")
    page.keyboard.press("Home")
    expect(page.get_by_role("slider")).to_have_value(re.compile(r"^0(\.00\d*)?$"))
    page.keyboard.press("End")
    expect(page.get_by_role("slider")).to_have_value("4")
    page.keyboard.press("/")
    page.keyboard.type("first")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("row").nth(1).get_by_role("button").press("Enter")
    expect(page.get_by_label("chosen connection")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_label("chosen connection")).to_be_hidden()


def test_a_chosen_connection_shows_its_subflows_and_what_holds_them_back(open_report):
    page = open_report("one")
    move_to(page, 1.5)
    page.get_by_role("row", name="through").click()
    told = page.get_by_label("chosen connection")
    # Both of its ways are full: "last" has the rest of the second link, and nobody else is on the detour.
    expect(told).to_contain_text("2 Mbit/s over west-middle > middle-east")
    expect(told).to_contain_text("4 Mbit/s over west-east · full: west-east")
    expect(page.get_by_text("subflows of through")).to_be_visible()


def test_a_chart_draws_what_is_chosen_of_what_was_recorded(open_report):
    page = open_report("one")
    page.get_by_role("row", name="through").click()
    page.get_by_label("of subflows").select_option("delivered_bps")
    page.get_by_label("of connections", exact=True).select_option("delivered_bps")
    axes = page.locator("figure.chart select").evaluate_all("all => all.map((one) => one.selectedOptions[0].text)")
    assert axes[:2] == ["delivered rate", "delivered rate"]


def test_a_filter_without_a_match_says_so(open_report):
    page = open_report("one")
    page.get_by_role("searchbox").fill("nobody")
    # The chart of rates and the table.
    expect(page.get_by_text("no connection has `nobody` in its name or protocol")).to_have_count(2)
    expect(page.get_by_text("this was not recorded")).to_have_count(0)


def test_two_runs_move_together_and_share_their_axes(open_report):
    page = open_report("two")
    expect(page.locator("article h2")).to_have_text(["one", "two"])
    move_to(page, 1.5)
    expect(cell(page.locator("article").nth(0), "first", 1)).to_have_text("d-SLEN")
    expect(cell(page.locator("article").nth(1), "first", 1)).to_have_text("Vo-Le-Tran (reconstruction)")
    page.locator("article").nth(0).get_by_role("row", name="first").click()
    expect(page.get_by_label("chosen connection")).to_have_count(2)


def test_discs_of_two_runs_are_on_one_scale(open_report):
    page = open_report("two")
    largest = [text.split("the largest ")[1].split("·")[0] for text in page.locator(".legend").all_inner_texts()]
    assert len(largest) == 2
    assert largest[0] == largest[1]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(open_report, width, dark):
    for name in ("one", "two", "solved"):
        page = open_report(name, width=width, dark=dark)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
