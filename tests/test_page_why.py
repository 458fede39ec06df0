"""The page of an allocation says why each demand gets no more, as its certificate has it."""

from pathlib import Path

import networkx as nx
import pytest
from playwright.sync_api import expect

import anabranch as ab
from anabranch.page import allocation_content, write_report

TWO_PATHS = Path(__file__).parents[1] / "scenarios" / "two-paths.toml"


def open_allocation(open_file, place, allocation):
    """Open the page of an allocation."""
    write_report([allocation_content(allocation)], place / "solved.html")
    return open_file(place / "solved.html")


def why(page, connection):
    """Choose a connection, and give what is said of it."""
    page.locator(".connections").get_by_role("row", name=connection).get_by_role("button").first.click()
    told = page.get_by_label("chosen connection")
    expect(told.locator("h3")).to_have_text(f"Why does {connection} get no more?")
    return told.inner_text()


@pytest.fixture
def line():
    """Two links in a row, of 10 and 4 Mbit/s: a long connection, one on each link, and one that asks for little."""
    graph = nx.DiGraph(name="line")
    graph.add_edge("a", "b", capacity="10 Mbit/s")
    graph.add_edge("b", "c", capacity="4 Mbit/s")
    network = ab.from_networkx(graph)
    sources, targets = ["a", "a", "b", "a"], ["c", "b", "c", "b"]
    names = ["long", "wide", "narrow", "modest"]
    return ab.demands(network, sources, targets, name=names, demand_bps=[None, None, None, 1e6])


def test_max_min_names_the_full_link_and_who_is_there_at_what_level(open_file, tmp_path, line):
    # "long" and "narrow" have 2 each of the 4; "modest" has its 1, and "wide" the 7 that are left of the 10.
    page = open_allocation(open_file, tmp_path, ab.solve(line.network, line, fairness="max-min"))
    verdict = "The rates are max\u2011min fair, found by progressive-filling. Certified: every subflow has a bottleneck"
    expect(page.get_by_text(verdict)).to_be_visible()
    told = why(page, "long")
    assert "It gets 2 Mbit/s and has no demand limit; its level is 2 Mbit/s" in told
    assert "b-c is full, with 4 Mbit/s" in told
    assert "Its path leads over a full link on which nobody has a greater level than 2 Mbit/s." in told
    assert "The only other one there is at the same level." in told
    assert "narrow 2 Mbit/s · level 2 Mbit/s" in told
    told = why(page, "wide")
    assert "nobody has a greater level than 7 Mbit/s. Those who have a lower one are held back elsewhere" in told
    assert "All 2 others there are at lower levels." in told
    told = why(page, "modest")
    assert "It gets 1 Mbit/s of its demand of 1 Mbit/s (100 %)" in told
    assert "Its demand is met." in told
    assert "is full" not in told


@pytest.mark.slow
def test_paths_are_numbered_in_order_and_no_sentence_comes_twice(open_file, tmp_path):
    scenario = ab.read_scenario(Path(__file__).parents[1] / "scenarios" / "continent.toml")
    demands = ab.gravity(scenario.network, "1 Tbit/s")
    page = open_allocation(open_file, tmp_path, ab.solve(scenario.network, demands, paths=4))
    lead = page.get_by_label("the worst-off")
    starts = lead.locator("ol").evaluate_all("lists => lists.map(list => [list.start, list.children.length])")
    # Each list goes on where the one before has ended.
    assert len(starts) > 1
    assert [start for start, _ in starts] == [1 + sum(count for _, count in starts[:i]) for i in range(len(starts))]
    assert lead.locator("li[value]").count() == 0
    sentences = [sentence for text in lead.locator("p").all_inner_texts() for sentence in text.split(". ")]
    assert len(sentences) == len(set(sentences))


def test_the_bottlenecks_are_listed_with_the_tightest_first(open_file, tmp_path, line):
    page = open_allocation(open_file, tmp_path, ab.solve(line.network, line, fairness="max-min"))
    rows = page.get_by_label("bottlenecks").get_by_role("row").all_inner_texts()
    # The tightest first. "modest" is held by its demand, so that the first link holds one connection.
    assert [row.split("\t") for row in rows[1:]] == [
        ["b-c", "2.00", "2", "4.00"],
        ["a-b", "7.00", "1", "10.00"],
    ]
    page.get_by_label("bottlenecks").get_by_role("button", name="b-c").click()
    expect(page.get_by_label("chosen link")).to_contain_text("2 connections send over it, of 2 with a path there")


def test_the_page_of_an_allocation_begins_with_why_the_worst_off_gets_no_more(open_file, tmp_path, line):
    page = open_allocation(open_file, tmp_path, ab.solve(line.network, line, fairness="max-min"))
    expect(page.locator("h1")).to_have_text("line: max\u2011min fair rates")
    lead = page.get_by_label("the worst-off")
    expect(lead.locator("h3")).to_have_text("Why does long get no more?")
    expect(lead).to_contain_text("b-c is full, with 4 Mbit/s.")
    # There is no time, and nothing to play.
    expect(page.get_by_role("slider")).to_have_count(0)
    expect(page.locator("footer")).not_to_contain_text("play")
    expect(page.get_by_role("searchbox")).to_have_attribute("placeholder", "connection")
    page.keyboard.press("Space")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).not_to_contain_text("play")


def test_proportional_fairness_says_what_more_is_worth_and_what_paths_cost(open_file, tmp_path):
    # "both" may use either link. All of 18 Mbit/s at one price: three connections have 6 each, so that a unit more is
    # worth 1 / (6 Mbit/s), that is 166.7 per Gbit/s, and each link charges that.
    scenario = ab.read_scenario(TWO_PATHS)
    page = open_allocation(open_file, tmp_path, ab.solve(scenario.network, scenario.demands, fairness="proportional"))
    expect(
        page.get_by_text("The rates are proportional fair, found by interior-point. Certified: the duality gap is")
    ).to_be_visible()
    told = why(page, "both")
    assert "One more unit of rate would be worth 167 per Gbit/s to it. That is what its cheapest paths cost" in told
    assert "4 Mbit/s over fast\n\nIt costs 100 % of what more is worth, the least of its paths. Charged by fast" in told
    # Rate and level: nobody has a demand.
    rows = page.get_by_label("connections", exact=True).get_by_role("row").all_inner_texts()
    assert rows[1].split("\t")[1:3] == ["6.00", "6.00"]


def test_a_path_that_is_too_dear_stays_unused_and_says_so(open_file, tmp_path):
    # A triangle: from a to c directly, or by b over two links that others want. All capacities are 6 Mbit/s.
    graph = nx.DiGraph(name="triangle")
    for a, b in (("a", "c"), ("a", "b"), ("b", "c")):
        graph.add_edge(a, b, capacity="6 Mbit/s")
    network = ab.from_networkx(graph)
    wanted = ab.demands(network, ["a", "a", "b"], ["c", "b", "c"], name=["way", "first", "second"])
    # Each has a link to itself at 6 Mbit/s and price 1/6: the detour costs 2/6, twice what more is worth.
    page = open_allocation(open_file, tmp_path, ab.solve(network, wanted, fairness="proportional"))
    told = why(page, "way")
    assert "It costs 200 % of what more is worth, more than its cheapest path: it stays unused." in told
    assert "Charged by a-b (50 %), b-c (50 %)." in told


def test_what_is_not_certified_is_called_so(open_file, tmp_path):
    scenario = ab.read_scenario(TWO_PATHS)
    with pytest.warns(ab.errors.ConvergenceWarning):
        allocation = ab.solve(scenario.network, scenario.demands, method="c-slen", tolerance=1e-12, max_passes=2)
    page = open_allocation(open_file, tmp_path, allocation)
    expect(page.get_by_text("Not certified: the residual is")).to_be_visible()
