"""The page of a server as a person meets it: runs compared, a run started, watched while it grows, stopped."""

import json
import re
import socket
import threading
import time

import pytest
import uvicorn
from playwright.sync_api import expect

import anabranch as ab
from anabranch.runs.result import read_result
from anabranch.serve import Settings, make_app
from served import AS_JSON, LONG, SCENARIOS

pytestmark = pytest.mark.slow

TOKEN = "correct-horse"


@pytest.fixture(scope="module")
def results():
    """Two runs of a scenario, under two protocols."""
    scenario = SCENARIOS / "join-and-leave.toml"
    return [ab.run(scenario), ab.run(scenario, sets=["defaults.connection.protocol=vo-le-tran"])]


@pytest.fixture
def folder(tmp_path, results):
    results[0].write(tmp_path / "one")
    results[1].write(tmp_path / "deep" / "vo le tran")
    (tmp_path / "none").mkdir()
    return tmp_path


class Served:
    """A server in a thread, at a port that was free."""

    def __init__(self, settings):
        self.listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(make_app(settings), log_level="error", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.origin = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join()
        self.listener.close()


@pytest.fixture
def site(folder):
    with Served(Settings(folder, SCENARIOS)) as site:
        yield site


@pytest.fixture
def open_page(browser):
    """Give a function that opens a place; in the end, nothing may have been complained of or asked of others."""
    troubles, contexts = [], []

    def opened(site, place="", *, width=1280, dark=False):
        scheme = "dark" if dark else "light"
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda r: r.url.startswith((site.origin, "data:")) or troubles.append(r.url))
        page.goto(site.origin + place)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def write_long(page):
    """Write a scenario that runs for long into the text field."""
    page.get_by_role("tab", name="text").click()
    field = page.get_by_label("scenario as TOML")
    text = field.input_value()
    for line in LONG:
        key, _, value = line.partition("=")
        name = key.partition(".")[2]
        kept = [old for old in text.splitlines() if not old.startswith(f"{name} =")]
        at = kept.index("[run]") + 1
        text = "\n".join([*kept[:at], f"{name} = {value}", *kept[at:]])
    field.fill(text)


def opened_section(page, name):
    """Open a section of the form."""
    section = page.locator("details.section").filter(has=page.locator(f"summary > code:text-is('{name}')")).first
    section.locator("summary").first.click()
    return section


def test_runs_are_listed_filtered_and_compared(site, open_page):
    page = open_page(site)
    page.wait_for_selector(".tile")
    expect(page.locator(".tile")).to_have_count(2)
    expect(page.get_by_text("1 folder cannot be shown")).to_be_visible()
    page.get_by_role("searchbox").fill("leave vo-le")
    expect(page.locator(".tile")).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    page.get_by_label("order").select_option("by folder")
    expect(page.locator(".tile .choose")).to_have_text(["deep/vo le tran", "one"])
    page.get_by_label("choose one").check()
    page.get_by_label("choose deep/vo le tran").check()
    page.get_by_role("link", name="compare 2 side by side").click()
    expect(page.locator("article h2")).to_have_text(["d-SLEN", "Vo-Le-Tran"])
    # The address has it all: the same in another window, and the way back leads to the same choice.
    other = open_page(site, page.url.removeprefix(site.origin))
    expect(other.locator("article h2")).to_have_text(["d-SLEN", "Vo-Le-Tran"])
    page.go_back()
    expect(page.get_by_label("choose one")).to_be_checked()


def test_a_run_is_started_watched_and_stopped(site, open_page, folder):
    page = open_page(site, "#/new?from=join-and-leave.toml")
    page.wait_for_selector(".form")
    write_long(page)
    page.get_by_label("name", exact=True).first.fill("watched")
    page.wait_for_selector("button[type=submit]:enabled")
    page.get_by_role("button", name="start").click()
    page.wait_for_selector("article")
    slider = page.get_by_role("slider", name="time")
    before = slider.get_attribute("max")
    chart = page.locator(".chart canvas").first
    picture = chart.evaluate("(canvas) => { canvas.isSame = true; return canvas.toDataURL(); }")
    expect(slider).not_to_have_attribute("max", before)
    assert float(slider.get_attribute("max")) > float(before) > 0
    # The chart grows, and is not made anew, so that what the pointer is at stays lit.
    now = "(canvas) => canvas.toDataURL()"
    assert any(chart.evaluate(now) != picture or page.wait_for_timeout(100) for _ in range(300))
    assert chart.evaluate("(canvas) => canvas.isSame")
    # Who looks at the end stays there.
    assert float(slider.input_value()) > float(before)
    expect(page.get_by_role("row", name="first")).to_be_visible()
    home = open_page(site)
    expect(home.get_by_label("job watched")).to_contain_text("events/s")
    page.get_by_role("button", name="stop").click()
    page.wait_for_url("**/#/runs/watched")
    page.wait_for_selector("article")
    assert not read_result(folder / "watched").meta["finished"]
    expect(home.get_by_role("article", name="watched")).to_contain_text("stopped at")


def test_the_form_shows_a_mistake_at_its_field_and_starts_when_it_is_right(site, open_page, folder):
    page = open_page(site, "#/new?from=empty")
    page.wait_for_selector(".form")
    page.get_by_label("title").fill("by hand")
    for name, ends in [("link", ("a", "b")), ("connection", ("a", "b"))]:
        section = opened_section(page, name)
        section.get_by_role("button", name=f"add a {name}").click()
        for key, end in zip(("source", "target"), ends, strict=True):
            section.locator(f"[data-key='{name}.0.{key}'] input").fill(end)
    capacity = page.locator("[data-key='link.0.capacity']")
    capacity.locator("input").fill("10 apples")
    capacity.get_by_text("not a unit of rate").wait_for()
    expect(page.get_by_role("button", name="start")).to_be_disabled()
    capacity.locator("input").fill("10 Mbit/s")
    protocol = page.locator("[data-key='connection.0.protocol']")
    protocol.get_by_label("form of protocol").select_option("by its name")
    protocol.locator("select").nth(1).select_option("reno")
    # A mistake of the whole connection stands above its fields.
    page.locator("details.item").get_by_text("give its links delays").wait_for()
    page.locator("[data-key='link.0.delay'] input").fill("1 ms")
    page.wait_for_selector("button[type=submit]:enabled")
    page.get_by_role("tab", name="text").click()
    expect(page.get_by_label("scenario as TOML")).to_have_value(re.compile('protocol = "reno"'))
    page.get_by_role("button", name="start").click()
    page.wait_for_url("**/#/runs/by-hand")
    assert read_result(folder / "by-hand").connections["protocol"].to_list() == ["Reno"]


def test_nothing_starts_while_a_field_is_half_written(site, open_page):
    page = open_page(site, "#/new?from=join-and-leave.toml")
    page.wait_for_selector("button[type=submit]:enabled")
    start, verdict = page.get_by_role("button", name="start"), page.locator(".verdict")
    section = opened_section(page, "connection")
    section.locator("details.item > summary").first.click()
    paths = page.locator("[data-key='connection.0.paths']")
    choice = paths.get_by_label("form of paths")
    if choice.count():
        choice.select_option("list")
    paths.locator("input").fill('[["west", "east"]')
    paths.get_by_text("this is no list yet").wait_for()
    # Longer than until it would be checked.
    page.wait_for_timeout(1000)
    assert start.is_disabled()
    expect(verdict).to_have_text(re.compile("^connection.0.paths: this is no list yet"))
    expect(page.get_by_role("tab", name="text")).to_be_disabled()
    paths.locator("input").fill("")
    page.wait_for_selector("button[type=submit]:enabled")
    opened_section(page, "run")
    seed = page.locator("[data-key='run.seed'] input")
    for text in ("1e", "9007199254740993"):
        seed.fill("")
        seed.press_sequentially(text)
        # At once: there is no moment in which it could be pressed.
        assert start.is_disabled()
        assert seed.get_attribute("aria-invalid") == "true"
    expect(seed).to_have_value("9007199254740993")
    seed.fill("3")
    page.wait_for_selector("button[type=submit]:enabled")


def test_a_list_goes_with_the_table_that_is_removed(site, open_page):
    page = open_page(site, "#/new?from=join-and-leave.toml")
    page.wait_for_selector("button[type=submit]:enabled")
    section = opened_section(page, "connection")
    section.locator("details.item > summary").first.click()
    section.get_by_text("more settings").first.click()
    after = page.locator("[data-key='connection.0.after'] input")
    after.fill('[ "last" ]')
    expect(after).to_have_value('[ "last" ]')
    section.locator("details.item").first.locator(".remove").last.click()
    expect(section.locator("details.item")).to_have_count(2)
    expect(after).to_have_value("")


def test_a_seed_is_sent_in_digits_and_refused_beyond_its_range(site, open_page):
    page = open_page(site, "#/new?from=join-and-leave.toml")
    page.wait_for_selector("button[type=submit]:enabled")
    sent = []

    def answer(route):
        sent.append(route.request.post_data_json.get("seed"))
        route.fulfill(json={"right": True, "facts": None, "problem": None, "text": None, "value": None})

    page.route("**/api/check", answer)
    seed = page.get_by_label("seed", exact=True).first
    # 2^53 + 1 is no number of JavaScript; 2^63 is too large.
    seed.fill("9007199254740993")
    page.wait_for_selector("button[type=submit]:enabled")
    assert sent == ["9007199254740993"]
    for wrong in ("9223372036854775808", "-1", "1.5"):
        seed.fill(wrong)
        page.get_by_text("a seed is a whole number from 0").wait_for()
        expect(page.get_by_role("button", name="start")).to_be_disabled()


def test_a_scenario_that_the_form_cannot_hold_exactly_opens_as_text(tmp_path, open_page):
    text = (SCENARIOS / "join-and-leave.toml").read_text()
    files = tmp_path / "scenarios"
    files.mkdir()
    (files / "large.toml").write_text(text.replace("[run]", "[run]\nseed = 9007199254740993"))
    with Served(Settings(tmp_path, files)) as site:
        page = open_page(site, "#/new?from=large.toml")
        page.get_by_text("run.seed is beyond 2^53").wait_for()
        expect(page.get_by_label("scenario as TOML")).to_have_value(re.compile("9007199254740993"))
        expect(page.get_by_role("tab", name="all settings")).to_be_disabled()
        expect(page.get_by_role("button", name="start")).to_be_enabled()


def test_every_example_opens_in_the_form_and_is_right(site, open_page):
    page = open_page(site, "#/new")
    page.wait_for_selector(".tile")
    files = sorted(file.relative_to(SCENARIOS).as_posix() for file in SCENARIOS.rglob("*.toml"))
    assert sorted(tile.get_attribute("aria-label") for tile in page.locator(".tile").all()) == files
    for file in files:
        page.get_by_role("article", name=file, exact=True).get_by_role("link").click()
        page.wait_for_selector(".form")
        page.wait_for_selector("button[type=submit]:enabled")
        expect(page.locator(".verdict")).to_have_text(re.compile("^valid: "))
        page.go_back()
        page.wait_for_selector(".tile")


def test_an_empty_folder_says_what_to_do(tmp_path, open_page):
    with Served(Settings(tmp_path)) as site:
        page = open_page(site)
        page.get_by_text("There is no run in this folder yet").wait_for()
        page.get_by_role("link", name="start with an example").click()
        # Those that come with anabranch are there without any folder.
        page.get_by_role("link", name="Join and leave").click()
        page.wait_for_selector("button[type=submit]:enabled")


def test_the_token_leaves_the_address_and_is_kept(folder, open_page):
    with Served(Settings(folder, token=TOKEN)) as site:
        page = open_page(site, f"?token={TOKEN}")
        page.wait_for_selector(".tile")
        assert TOKEN not in page.url
        page.reload()
        page.wait_for_selector(".tile")
        assert page.context.cookies()[0]["httpOnly"]
        # It would go on asking when the server is gone.
        page.close()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(site, open_page, width, dark):
    for place, there in [
        ("", ".tile"),
        ("#/new", ".tile"),
        ("#/new?from=join-and-leave.toml", ".form"),
        ("#/guide", "dl"),
        ("#/runs/one", "article"),
    ]:
        page = open_page(site, place, width=width, dark=dark)
        page.wait_for_selector(there)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_a_scenario_with_a_long_name_fits_a_narrow_window(folder, tmp_path_factory, open_page):
    scenarios = tmp_path_factory.mktemp("scenarios")
    long = "w" * 60
    lines = (SCENARIOS / "join-and-leave.toml").read_text(encoding="utf-8").splitlines()
    named = [f'title = "{long}"' if line.startswith("title = ") else line for line in lines]
    (scenarios / f"{long}.toml").write_text("\n".join(named), encoding="utf-8")
    with Served(Settings(folder, scenarios)) as site:
        for place in ("", "#/new", f"#/new?from={long}.toml"):
            page = open_page(site, place, width=390)
            page.wait_for_selector(".form" if "from" in place else ".tile")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, place
            # It would go on asking when the server is gone.
            page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_many_runs_stand_apart_and_are_wide_enough_to_read(tmp_path, results, open_page, width):
    names = [f"run {number}" for number in range(6)]
    for name in names:
        results[0].write(tmp_path / name)
    with Served(Settings(tmp_path)) as site:
        home = open_page(site)
        home.wait_for_selector(".tile")
        for name in names:
            home.get_by_label(f"choose {name}").check()
        ids = (
            home.get_by_role("link", name="compare 6 side by side").get_attribute("href").rpartition("/")[2].split(",")
        )
        # It would go on asking when the server is gone.
        home.close()
        for count in (1, 2, 3, 6):
            page = open_page(site, f"#/runs/{','.join(ids[:count])}", width=width)
            page.wait_for_selector("article table")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, count
            for run in page.get_by_role("article").all():
                # What a run has lies within it, or in a box of its own that is scrolled.
                sizes = run.evaluate("(run) => [run.clientWidth, run.scrollWidth]")
                assert sizes[0] >= min(360, width - 20)
                assert sizes[1] <= sizes[0]
                last = run.locator("table tr").last.locator("td").last
                last.scroll_into_view_if_needed()
                box, cell = run.locator(".connections").bounding_box(), last.bounding_box()
                assert cell["x"] + cell["width"] <= box["x"] + box["width"] + 1


def test_the_last_label_of_the_time_is_whole(tmp_path, open_page):
    ab.run(SCENARIOS / "join-and-leave.toml", sets=['run.duration="1000 s"', 'run.sample="10 s"']).write(
        tmp_path / "long"
    )
    with Served(Settings(tmp_path)) as site:
        page = open_page(site, "#/runs/long")
        page.wait_for_selector(".chart canvas")
        # Of the five columns of pixels at the right edge none is touched: a label that is cut reaches it.
        touched = """(canvas) => {
            const { data } = canvas.getContext("2d").getImageData(canvas.width - 5, 0, 5, canvas.height);
            return data.some((byte) => byte > 0);
        }"""
        assert not page.locator(".chart canvas").first.evaluate(touched)


def test_the_first_samples_are_seen_soon(site, open_page):
    page = open_page(site)
    page.wait_for_selector(".tile")
    body = json.dumps({"scenario": (SCENARIOS / "join-and-leave.toml").read_text(), "sets": LONG})
    begin = time.monotonic()
    answer = page.request.post(f"{site.origin}api/jobs", data=body, headers=AS_JSON)
    job = answer.json()
    page.goto(f"{site.origin}#/jobs/{job['id']}")
    page.wait_for_selector("article")
    # Less than a second on an idle machine.
    assert time.monotonic() - begin < 15
    page.request.delete(f"{site.origin}api/jobs/{job['id']}")
    page.wait_for_url("**/#/runs/**")


def test_a_card_has_a_picture_numbers_and_a_date_that_all_read_alike(site, open_page):
    page = open_page(site)
    card = page.get_by_role("article", name="one", exact=True)
    expect(card.locator("polyline")).to_have_count(3)
    expect(card.locator(".numbers")).to_contain_text("away from fair")
    expect(card.locator("time")).to_have_text(re.compile(r"^20\d\d-\d\d-\d\d \d\d:\d\d$"))
    card.get_by_role("link", name="Join and leave").click()
    page.wait_for_url("**/#/runs/one")


def test_a_run_is_renamed_deleted_and_brought_back(site, open_page, folder):
    page = open_page(site)
    # Their cards are read by then, so that no folder goes away below its reader.
    expect(page.locator(".tile polyline")).to_have_count(6)
    page.get_by_label("rename one").click()
    question = page.get_by_role("dialog")
    question.get_by_label("title").fill("The first")
    question.get_by_label("folder").fill("first run")
    question.get_by_role("button", name="rename").click()
    card = page.get_by_role("article", name="first-run")
    expect(card).to_contain_text("The first")
    page.get_by_label("delete first-run").click()
    page.get_by_role("dialog").get_by_role("button", name="cancel").click()
    assert (folder / "first-run").is_dir()
    page.get_by_label("delete first-run").click()
    page.get_by_role("dialog").get_by_role("button", name="delete").click()
    expect(card).to_have_count(0)
    assert not (folder / "first-run").exists()
    page.get_by_role("button", name="undo").click()
    expect(card).to_be_visible()
    page.get_by_label("delete first-run").click()
    page.get_by_role("dialog").get_by_role("button", name="delete").click()
    page.get_by_text("1 run in the trash").click()
    page.get_by_role("button", name="empty the trash").click()
    page.get_by_role("button", name="remove it").click()
    expect(page.get_by_text("in the trash")).to_have_count(1)  # the message of what was deleted
    assert not (folder / ".trash").exists()


WITH_COMMENTS = """\
# a ---- b
title = "Two nodes" # short

[run]
duration = "1 s" # not longer
seed = 4

[defaults.connection]
protocol = "lia"

# The only link.
[[link]]
source = "a"
target = "b"
capacity = "1 Mbit/s"
delay = "1 ms"
queue = "9 packets"

[[connection]]
source = "a"
target = "b"
"""


def test_the_form_changes_its_line_of_the_text_and_nothing_else(tmp_path, open_page):
    (tmp_path / "own.toml").write_text(WITH_COMMENTS)
    with Served(Settings(tmp_path, tmp_path)) as site:
        page = open_page(site, "#/new?from=own.toml")
        page.get_by_label("duration").first.fill("2 s")
        page.locator(".basics select").select_option("reno")
        expect(page.locator(".verdict")).to_have_text("valid: 2 nodes, 2 links, 1 connection, 2 s")
        expect(page.get_by_label("seed").first).to_have_attribute("placeholder", "4, of the scenario")
        # What applies is shown where nothing stands.
        opened_section(page, "connection").locator("details.item > summary").first.click()
        form = page.locator("[data-key='connection.0.protocol'] select").first
        assert form.evaluate("(own) => own.selectedOptions[0].text") == "reno, from [defaults]"
        page.get_by_role("tab", name="text").click()
        text = page.get_by_label("scenario as TOML").input_value()
        assert text == WITH_COMMENTS.replace('"1 s"', '"2 s"').replace('"lia"', '"reno"')


def test_a_mistake_in_the_text_is_marked_at_its_line(site, open_page):
    page = open_page(site, "#/new?from=join-and-leave.toml")
    page.wait_for_selector(".form")
    page.get_by_role("tab", name="text").click()
    field = page.get_by_label("scenario as TOML")
    text = field.input_value()
    line = text[: text.index('"8 Mbit/s"')].count("\n") + 1
    field.fill(text.replace('"8 Mbit/s"', '"8 apples"'))
    expect(page.locator(".verdict")).to_have_text(re.compile(f"^line {line}: .*apples.* is not a rate"))
    expect(page.locator(".lines .wrong")).to_have_text(re.compile(rf"^{line}\s*$"))
    # The mark lies on its line, and the number beside it.
    mark, number = page.locator(".band").bounding_box(), page.locator(".lines .wrong").bounding_box()
    assert abs(mark["y"] - number["y"]) < 6
    assert page.locator(".lines span").count() == text.count("\n") + 1


def test_an_untouched_form_complains_of_nothing(site, open_page):
    page = open_page(site, "#/new?from=empty")
    expect(page.locator(".verdict")).to_have_text("add links and connections")
    expect(page.locator(".failed")).to_have_count(0)
    expect(page.get_by_role("button", name="start")).to_be_disabled()
    page.get_by_label("duration").first.fill("ten")
    expect(page.locator(".verdict.failed")).to_be_visible()
