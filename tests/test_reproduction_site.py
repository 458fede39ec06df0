"""Reports of reproductions: a page for each paper, one over all, and nothing that they need from elsewhere."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from anabranch.cli import app
from anabranch.errors import ScenarioError
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.figures.kind import GatheredFigure
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.report import all_papers, report, reproduce_all
from anabranch.reproduce.report.html import from_markdown
from anabranch.reproduce.report.paper import counts
from anabranch.reproduce.report.table import columns
from anabranch.reproduce.reproduction import _forget, reproduce
from anabranch.reproduce.rows import Row, Rows
from anabranch.reproduce.settings import Settings
from anabranch.reproduce.spec.verdict import BORNE_OUT, KEPT, NEAR, OPEN, REFUTED, WITHIN
from anabranch.reproduce.summary import summary

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
BIBLIOGRAPHY = EXPERIMENTS.parent / "docs" / "references.bib"


class Links(HTMLParser):
    """What a page refers to, the places in it, and its text by element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.links.append(value)
            if name == "id" and value is not None:
                self.places.add(value)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two papers with an experiment each that takes no time."""
    copy = tmp_path_factory.mktemp("small") / "experiments"
    for name in ("upward-max-min-scenario-1", "upward-max-min-table-7", "upward-max-min-figure-1", "lgcc-section-3"):
        shutil.copytree(EXPERIMENTS / name, copy / name)
    shutil.copy(EXPERIMENTS / "papers.toml", copy)
    return copy


@pytest.fixture(scope="module")
def site(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "site"
    assert [rows.paper.name for rows in reproduce_all(place, experiments=small) if rows.paper] == [
        "upward-max-min",
        "lgcc",
    ]
    return place


def test_every_link_of_a_site_leads_to_what_is_there(site: Path) -> None:
    pages = {page: Links(page.read_text()) for page in site.rglob("*.html")}
    assert len(pages) == 3
    for page, found in pages.items():
        assert found.links
        assert "script" not in found.tags
        for link in found.links:
            file, _, place = link.partition("#")
            target = (page.parent / file).resolve() if file else page.resolve()
            assert target.is_file(), f"{page}: {link}"
            if place:
                assert place in Links(target.read_text()).places, f"{page}: {link}"


def test_the_page_of_a_paper_has_every_row_figure_and_word(site: Path) -> None:
    text = (site / "upward-max-min" / "index.html").read_text()
    rows = json.loads((site / "upward-max-min" / "rows.json").read_text())
    assert text.count('<tr class="') == len(rows)
    assert "Upward Max-Min Fairness in Multipath High-Speed Networks" in text
    assert "Patricia Ludeña-González" in text
    assert '<img src="figure-1.svg"' in text
    # Of the README of table 7: its heading is the section's, and its words stand below the table.
    assert "<h2>Table 7: rates in Scenario 1" in text
    assert "c-SLEN stops after" in text


def test_the_index_says_how_each_paper_came_out(site: Path) -> None:
    text = (site / "index.html").read_text()
    for name in ("upward-max-min", "lgcc"):
        rows = json.loads((site / name / "rows.json").read_text())
        within = sum(row["verdict"] == "within margin" for row in rows)
        assert f"{within} within margin" in text
    assert "not run yet" not in text


def test_what_is_done_stays_if_a_later_paper_fails(small: Path, tmp_path: Path) -> None:
    broken = tmp_path / "experiments"
    shutil.copytree(small, broken)
    file = broken / "lgcc-section-3" / "experiment.toml"
    file.write_text(file.read_text() + "\nnonsense = 1\n")
    papers = reproduce_all(tmp_path / "site", experiments=broken)
    next(papers)
    with pytest.raises(ScenarioError, match="nonsense"):
        next(papers)
    text = (tmp_path / "site" / "index.html").read_text()
    assert text.count("not run yet") == 1
    assert (tmp_path / "site" / "upward-max-min" / "index.html").is_file()
    assert not (tmp_path / "site" / "lgcc").exists()


def test_a_folder_that_is_there_is_refused_before_anything_runs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_papers, "reproduce_to", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(ScenarioError, match="exists already"):
        next(reproduce_all(tmp_path, experiments=small))
    monkeypatch.setattr("anabranch.commands.reproduce.reproduce_to", lambda *_, **__: pytest.fail("it ran"))
    outcome = CliRunner().invoke(app, ["reproduce", "upward-max-min", "--report", str(tmp_path)])
    assert isinstance(outcome.exception, ScenarioError)


def test_figures_are_given_as_soon_as_their_item_is_done_and_then_hold_nothing(small: Path) -> None:
    given: list[list[GatheredFigure]] = []
    rows = reproduce("upward-max-min", experiments=small, each_item=lambda _, figures: given.append(figures))
    assert [[len(figure.frame) > 0 for figure in figures] for figures in given] == [[], [True]]
    assert [(figure.item, len(figure.frame)) for figure in rows.figures] == [("figure-1", 0)]


def test_simulations_are_forgotten_once_no_item_needs_them(small: Path) -> None:
    later = read_experiment(small / "upward-max-min-table-7")
    needed = small / "upward-max-min-scenario-1" / "scenario.toml"
    simulations: Any = {(scenario.resolve(), (), None): "a run" for scenario in (needed, small / "other.toml")}
    _forget(simulations, [later])
    assert list(simulations) == [(needed.resolve(), (), None)]


def test_a_paper_or_all_must_be_named(small: Path) -> None:
    for words in ([], ["upward-max-min", "--all"]):
        outcome = CliRunner().invoke(app, ["reproduce", *words, "--experiments", str(small)])
        assert "name a paper, such as upward-max-min, or give --all instead" in str(outcome.exception)


def test_all_papers_as_data_name_theirs(small: Path) -> None:
    outcome = CliRunner().invoke(app, ["reproduce", "--all", "--json", "--experiments", str(small)])
    rows = json.loads(outcome.stdout)
    assert list(dict.fromkeys(row["paper"] for row in rows)) == ["upward-max-min", "lgcc"]
    assert len(rows) == sum(len(reproduce(name, experiments=small)) for name in ("upward-max-min", "lgcc"))


def test_names_from_files_are_text_and_nothing_else(tmp_path: Path) -> None:
    row = Row("table-1", "<script>x</script>", "number", '<b a="', 1.0, WITHIN, WITHIN, note="a & b < c")
    report(Rows([row]), tmp_path / "one")
    text = (tmp_path / "one" / "index.html").read_text()
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "a &amp; b &lt; c" in text
    assert {"script", "b"}.isdisjoint(Links(text).tags)


def test_the_page_counts_as_the_terminal_does() -> None:
    def row(kind: str, verdict: str, expected: str, cause: str = "") -> Row:
        is_changed = verdict != expected
        return Row("a", "q", kind, "p", "o", verdict, expected, is_changed=is_changed, cause=cause)

    claims = [
        row("claim", BORNE_OUT, BORNE_OUT),
        row("claim", REFUTED, REFUTED, "paper"),
        row("claim", OPEN, BORNE_OUT),
    ]
    rows = Rows([*claims, row("record", KEPT, KEPT)])
    assert {verdict for verdict, number in counts(rows).items() if number == 1} == {BORNE_OUT, REFUTED, OPEN, KEPT}
    assert summary(rows).splitlines() == [
        "3 claims: 1 borne out, 1 open (new: 1), 1 not borne out (the paper's own defect: 1)",
        "1 comparison or record of ours, which reproduces nothing",
        "1 verdict other than on record",
    ]


def test_a_report_of_another_size_says_so(tmp_path: Path) -> None:
    rows = Rows([Row("a", "see `x y`", "number", 1.0, 1.0, WITHIN, WITHIN).unjudged])
    rows.settings = Settings(0.02)
    report(rows, tmp_path / "small")
    factors = "0.02 times the random connections and hosts, over links of 0.02 times the capacity"
    words = f"1 row not judged, because the networks are not of the paper's size: {factors}"
    assert f"{words}." in (tmp_path / "small" / "report.md").read_text()
    text = (tmp_path / "small" / "index.html").read_text()
    assert f"{words.replace(chr(39), '&#x27;')}." in text
    assert "see <code>x y</code>" in text


@pytest.mark.parametrize("page", ["index.html", "upward-max-min/index.html"])
def test_pages_fit_phones(site: Path, browser, page: str) -> None:
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto((site / page).as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    # What a cell holds stands beside its name.
    left = tab.evaluate("[...document.querySelectorAll('td > div')].map(cell => cell.getBoundingClientRect().left)")
    assert min(left) > 100
    tab.close()


def test_a_difference_is_from_what_ours_is_judged_against() -> None:
    row = Row("a", "rate", "number", 2.0, 2.1, NEAR, NEAR, margin=0.2, difference=0.1)
    # 0.1 of 2 is a twentieth.
    assert dict(columns([row]))["difference"] == ["+0.1 (+5 %)"]
    # From 0 nothing is relative; what is beyond five digits is none; far off is written out.
    assert dict(columns([replace(row, ours=0.1)]))["difference"] == ["+0.1"]
    others = [replace(row, ours=2.00001, difference=0.00001), replace(row, ours=1302.0, difference=1300.0)]
    assert dict(columns(others))["difference"] == ["0", "+1300 (+65000 %)"]
    claim = replace(row, kind="claim", ours="1 <= 2", margin=None, difference=None)
    assert "difference" not in dict(columns([claim]))


def test_every_paper_is_named_as_in_the_bibliography() -> None:
    entries = BIBLIOGRAPHY.read_text()
    papers = read_papers(EXPERIMENTS)
    assert list(papers) == ["upward-max-min", "slbn", "nmcc", "wvegas", "lgcc", "acceptance"]
    for paper in papers.values():
        if paper.cite:
            entry = entries.partition(f"{{{paper.cite},")[2].partition("\n}")[0].replace("{", "").replace("}", "")
            assert paper.title.lower() in entry.lower()
            assert paper.published[-4:] in entry


def test_a_folder_that_no_table_names_is_a_paper_too(small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "experiments"
    shutil.copytree(small, copy)
    (copy / "papers.toml").unlink()
    assert [(p.name, p.title, p.items) for p in read_papers(copy).values()] == [
        ("lgcc", "lgcc", ("section-3",)),
        ("upward-max-min", "upward-max-min", ("table-7", "figure-1")),
    ]
    (copy / "papers.toml").write_text('[lgcc]\ntitel = "x"\n')
    with pytest.raises(ScenarioError, match=r"papers.toml, lgcc: `title`: it is missing"):
        read_papers(copy)


def test_links_between_experiments_lead_to_their_places() -> None:
    text = "# Figure 15: queues\n\nAs in [13](../lgcc-figure-13/README.md), [17](../lgcc-figure-17/README.md),"
    text += " [*this*](x.md).\n\n## Why\n\n```sh\n# a comment\n```\n"
    heading, html = from_markdown(text, {"lgcc-figure-13": "figure-13"})
    assert heading == "Figure 15: queues"
    assert 'As in <a href="#figure-13">13</a>, 17, <em>this</em>.' in html
    assert "<h3>Why</h3>" in html
    assert ">\n# a comment" in html.replace('<code class="language-sh">', ">\n")
