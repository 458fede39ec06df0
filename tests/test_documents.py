"""Documents for those who change the code: ARCHITECTURE.md is one screen, words and decisions are in order."""

import re
import tomllib
from pathlib import Path

import pytest

import anabranch

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
MOST_BYTES = 6000


def rows(page: Path) -> list[str]:
    """Give the first cells of the rows of a page's first table."""
    table = re.findall(r"^\| (.+?) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    return table[1:]


def test_the_architecture_is_one_screen():
    assert len(ARCHITECTURE.read_bytes()) <= MOST_BYTES


def test_the_architecture_names_every_crate_and_every_folder_of_the_package():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    crates = {manifest.parent.name for manifest in (ROOT / "crates").glob("*/Cargo.toml")}
    arrows = tomllib.loads((ROOT / "tests/architecture.toml").read_text(encoding="utf-8"))["imports"]
    folders = {name for name in arrows if (ROOT / "python/anabranch" / name).is_dir()}
    missing = {name for name in crates | folders if not re.search(rf"\b{name.rpartition('/')[2]}\b", text)}
    assert not missing


def test_each_word_stands_once_and_in_order():
    words = rows(ROOT / "docs/words.md")
    assert len(words) > 50
    assert words == sorted({*words}, key=str.lower)


def test_usual_synonyms_lead_to_words():
    text = (ROOT / "docs/words.md").read_text(encoding="utf-8")
    usual = ("flow", "throughput", "bandwidth", "route", "convergence", "congestion window", "exit", "packet loss")
    assert [word for word in usual if not re.search(rf"\b{word}\b", text)] == []


def test_the_index_of_decisions_lists_every_page():
    folder = ROOT / "docs/decisions"
    index = (folder / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in folder.glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\((\S+\.md)\)", index)) == pages
    assert all(f"\n{page.removesuffix('.md')}\n" in index for page in pages)


def test_every_decision_says_what_was_chosen_and_why():
    for page in (ROOT / "docs/decisions").glob("*.md"):
        for decision in page.read_text(encoding="utf-8").split("\n## ")[1:]:
            assert re.findall(r"^\*\*(\w+)\.\*\*", decision, re.MULTILINE)[:3] == ["Context", "Choice", "Why"], (
                page.name
            )


def test_the_citation_names_this_version_and_every_reproduced_paper():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    papers = tomllib.loads((ROOT / "experiments/papers.toml").read_text(encoding="utf-8"))
    assert citation["version"] == cargo["workspace"]["package"]["version"]
    assert {own["title"] for own in citation["references"]} == {own["title"] for own in papers.values() if own["cite"]}


def test_the_page_of_the_python_interface_has_every_public_name():
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert [name for name in anabranch.__all__ if not re.search(rf"anabranch(\.|::){name}\b", text)] == []
