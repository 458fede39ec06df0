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
    continent = ab.read_scenario(SCENARIOS / "continent.toml").network
    large = ab.solve(continent, ab.gravity(continent, "1 Tbit/s"), paths=2)
    two = result_content(other, name="two")
    contents = {
        "one": [one],
        "two": [one, two],
        "three": [one, two, one],
        "solved": [allocation_content(solved)],
        "continent": [allocation_content(large)],
    }
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
    for column, text in enumerate(texts, start=1):
        expect(cell(page, name, column)).to_have_text(text)


def in_sight(place, page):
    """Whether all of a thing is within the window."""
    box = place.bounding_box()
    height = page.viewport_size["height"]
    return box is not None and box["y"] >= 0 and box["y"] + min(box["height"], height) <= height


def test_the_page_opens_where_all_connections_are_there_and_plays_when_asked(open_report):
    page = open_report("one")
    # Three connections are there from 1 s to some 2 s.
    assert 1.0 < float(page.get_by_role("slider").input_value()) < 2.1
    expect_rates(page, "last", "6.00", "6.00", "0.0")
    button = page.get_by_role("button", name="play")
    expect(button).to_have_text("▶ Play")
    held = page.get_by_role("slider").input_value()
    page.wait_for_timeout(200)
    assert page.get_by_role("slider").input_value() == held


def test_the_table_follows_the_slider(open_report):
    page = open_report("one")
    # At 1.5 s "first" has the 8 Mbit/s that are left on the first link; in the end it has 7, level with "through".
    move_to(page, 1.5)
    expect_rates(page, "first", "8.00", "8.00", "0.0")
    # One unit for the column.
    expect(page.locator(".connections thead th")).to_have_text(
        ["connection", "granted Mbit/s", "fair Mbit/s", "from fair %", "completion s", "delivered Mbit/s"]
    )
    move_to(page, 4)
    expect_rates(page, "first", "7.00", "7.00", "0.0")
    # "last" is there no more.
    expect_rates(page, "last", "0.00", "\u2013", "\u2013")


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
    rows = page.locator(".connections").get_by_role("row")
    expect(rows).to_have_count(2)
    rows.nth(1).get_by_role("button").press("Enter")
    expect(page.get_by_label("chosen connection")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_label("chosen connection")).to_be_hidden()


def test_a_chosen_connection_explains_itself_below_its_row(open_report):
    page = open_report("one")
    move_to(page, 1.5)
    row = page.get_by_role("row", name="through")
    row.click()
    told = page.get_by_label("chosen connection")
    expect(told).to_contain_text("Under d-SLEN it may send at 6 Mbit/s; 6 Mbit/s would be fair (0 %)")
    # Both of its ways are full: "last" has the rest of the second link, and nobody else is on the detour.
    expect(told).to_contain_text("2 Mbit/s over west-middle > middle-east")
    expect(told).to_contain_text("4 Mbit/s over west-east · full: west-east")
    expect(page.locator("tr.chosen + tr.opened")).to_have_count(1)
    expect(told.get_by_text("Subflows of through")).to_be_visible()
    page.get_by_role("row", name="through").click()
    expect(told).to_be_hidden()


def test_a_chosen_row_stays_where_it_is_while_the_page_plays(open_report):
    page = open_report("one")
    move_to(page, 1.5)
    page.get_by_role("row", name="last").click()
    names = page.locator(".connections tbody th")
    before = names.all_inner_texts()
    move_to(page, 2.05)
    expect(names).to_have_text(before, use_inner_text=True)


def test_a_chart_draws_what_is_chosen_of_what_was_recorded(open_report):
    page = open_report("one")
    page.get_by_role("row", name="through").click()
    page.get_by_label("of subflows").select_option("delivered_bps")
    page.get_by_label("of connections", exact=True).select_option("delivered_bps")
    axes = page.locator("figure.chart select").evaluate_all("all => all.map((one) => one.selectedOptions[0].text)")
    assert axes[:2] == ["delivered rate", "delivered rate"]


def test_lines_have_their_names_at_their_ends(open_report):
    page = open_report("one")
    names = page.locator("figure.chart").first.get_by_label("lines").get_by_role("button")
    expect(names).to_have_count(3)
    # "last" leaves in the middle, where its line ends, and the others go on to the end.
    box = {name.locator("b").inner_text(): name.bounding_box() for name in names.all()}
    assert box["last"]["x"] + 50 < box["first"]["x"]
    heights = sorted((box["through"]["y"], box["first"]["y"]))
    assert heights[1] - heights[0] > 10
    names.filter(has_text="first").click()
    expect(page.get_by_label("chosen connection")).to_be_visible()


def test_a_filter_without_a_match_says_so(open_report):
    page = open_report("one")
    page.get_by_role("searchbox").fill("nobody")
    # The chart of rates and the table.
    expect(page.get_by_text("no connection has `nobody` in its name or protocol")).to_have_count(2)
    expect(page.get_by_text("this was not recorded")).to_have_count(0)


def test_two_runs_move_together_and_share_their_axes(open_report):
    page = open_report("two")
    expect(page.locator("h1")).to_have_text("d-SLEN beside Vo-Le-Tran: Join and leave")
    assert page.title() == "d-SLEN beside Vo-Le-Tran: Join and leave"
    expect(page.locator("article h2")).to_have_text(["d-SLEN", "Vo-Le-Tran"])
    move_to(page, 1.5)
    page.locator("article").nth(0).get_by_role("row", name="first").click()
    expect(page.get_by_label("chosen connection")).to_have_count(2)


def test_runs_are_compared_in_numbers_and_in_words(open_report):
    page = open_report("two")
    told = page.get_by_label("comparison")
    expect(told.locator("thead th")).to_have_text(["d-SLEN", "Vo-Le-Tran"])
    expect(told.get_by_role("listitem").filter(has_text="The longest queue has")).to_have_text(
        re.compile(r"The longest queue has \d\spackets under d-SLEN and \d{3}\spackets under Vo-Le-Tran\.")
    )
    row = told.get_by_role("row", name="settles after a leave")
    expect(row.get_by_role("cell").nth(1)).to_contain_text("never")


def test_the_head_line_of_a_run_has_its_numbers(open_report):
    page = open_report("one")
    tiles = page.get_by_label("head line")
    expect(tiles.locator(".large")).to_have_count(8)
    # Of the three only "last" has an amount, and sends all of it.
    expect(tiles.locator("div").filter(has_text="longest completion")).to_contain_text("2.03 s")
    expect(tiles).to_contain_text("the fair rates have 0.993")
    expect(tiles).to_contain_text("4 packets")


def test_queues_of_two_runs_are_on_one_scale(open_report):
    page = open_report("two")
    largest = [text.split("ten are ")[1].split(",")[0] for text in page.locator(".legend").all_inner_texts()]
    assert len(largest) == 2
    assert largest[0] == largest[1]


@pytest.mark.parametrize("how", ["keyboard", "touch", "mouse"])
def test_a_word_is_explained_at_hand(open_report, how):
    page = open_report("one", touch=how == "touch")
    word = page.get_by_label("head line").get_by_role("button", name="Jain's index")
    if how == "keyboard":
        word.focus()
        page.keyboard.press("Enter")
    else:
        word.tap() if how == "touch" else word.hover()
    meaning = page.get_by_role("tooltip")
    expect(meaning).to_contain_text("A number from 0 to 1 that measures how equal rates by claim are")
    assert in_sight(meaning, page)
    page.get_by_role("row", name="through").click() if how == "touch" else page.keyboard.press("Escape")
    expect(meaning).to_have_count(0)


def test_a_meaning_that_was_asked_for_stays_until_one_presses_elsewhere(open_report):
    page = open_report("one")
    word = page.get_by_label("head line").get_by_role("button", name="Jain's index")
    meaning = page.get_by_role("tooltip")
    word.hover()
    expect(meaning).to_be_visible()
    page.mouse.move(5, 5)
    expect(meaning).to_have_count(0)
    word.click()
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)
    expect(meaning).to_be_visible()
    page.locator("h1").click()
    expect(meaning).to_have_count(0)


def test_what_a_word_means_goes_and_what_is_chosen_stays(open_report):
    page = open_report("one", hash="#connection=through")
    page.get_by_label("head line").get_by_role("button", name="longest queue").press("Enter")
    expect(page.get_by_role("tooltip")).to_contain_text("The bytes that wait at a link.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_have_count(0)
    expect(page.get_by_label("chosen connection")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_tables_are_whole_in_narrow_panels(open_report, width):
    for name in ("two", "three", "solved", "continent"):
        page = open_report(name, width=width)
        cells = page.locator(".connections, .connections td, .connections th, .connections th > button")
        cut = cells.evaluate_all(
            "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"
        )
        assert cut == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(open_report, width, dark):
    for name in ("one", "two", "solved"):
        page = open_report(name, width=width, dark=dark)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
