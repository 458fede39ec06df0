"""The documentation site: made of the code, built without warnings, and asking nothing of the net."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from anabranch import _core

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from made import contents, experiments, head_comment, protocols  # noqa: E402
from made.references import cited_in, entry_text, linked  # noqa: E402

pytestmark = pytest.mark.slow

KINDS = (protocols.PROTOCOLS, protocols.DISCIPLINES)


def index_of(kind: protocols.Kind) -> str:
    return "protocols" if kind is protocols.PROTOCOLS else "disciplines"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build the site in a copy, since pages are made there; warnings are errors, and the notebook is run."""
    pytest.importorskip("sphinx")
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", place / "docs", ignore=shutil.ignore_patterns("_build", "reference", "__pycache__"))
    for folder in ("scenarios", "experiments", "crates", "python", "ui/src"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("*.so", "*.html", "__pycache__"))
    arguments = ("-W", "--keep-going", "-q", "-b", "html", "docs", "html")
    environment = os.environ | {"PYTHONWARNINGS": ""}
    made = subprocess.run(
        [sys.executable, "-m", "sphinx", *arguments], cwd=place, env=environment, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return place / "html"


@pytest.mark.parametrize("kind", KINDS, ids=index_of)
def test_the_index_lists_each_once_and_no_family_is_empty(kind):
    listed = re.findall(r"^\| \[.*?\| `([^`]+)` \|", protocols.pages_of(kind)[f"{index_of(kind)}.md"], re.MULTILINE)
    assert sorted(listed) == sorted(name for name, *_ in kind.known)
    assert all(kind.families.values())


def test_families_have_protocols_of_the_same_capabilities():
    capabilities = {name: _core.protocol_capabilities(name) for name, *_ in _core.protocols()}
    families = protocols.PROTOCOLS.families
    rates = [family for family in families if "rate" in family]
    windows = [family for family in families if "indow" in family]
    assert all(not capabilities[name]["keeps_windows"] for family in rates for name in families[family])
    assert all(
        capabilities[name]["keeps_windows"] or capabilities[name]["has_headers"]
        for family in windows
        for name in families[family]
    )
    several = {name for name, own in capabilities.items() if own["is_joint"]}
    of_several = ("Explicit rates over several paths", "Windows of several paths")
    assert several == {name for family in of_several for name in families[family]}
    assert _core.protocol_capabilities("no such protocol") is None


@pytest.mark.parametrize("kind", KINDS, ids=index_of)
def test_each_has_a_page_with_a_head_of_substance(kind):
    made = protocols.pages_of(kind)
    names = [name for name, *_ in kind.known]
    assert set(made) == {f"{index_of(kind)}.md", *(f"{index_of(kind)}/{name}.md" for name in names)}
    for module, name in kind.modules.items():
        file = head_comment.source_of(module, kind.folder)
        head, page = head_comment.head_of(file), made[f"{index_of(kind)}/{name}.md"]
        assert len(head.split()) >= 40, f"{file}: say what it decides, how, and where it differs from its paper"
        said = [line for line in head_comment.as_markdown(head).splitlines() if line and ".rs`" not in line]
        assert all(line in page for line in said), name
        # Formulas stay as they are; a work is cited in the head or in the line of the list.
        assert (
            re.findall(r"```text\n.*?```", head, re.DOTALL)
            == re.findall(r"```text\n.*?```", page, re.DOTALL)[: head.count("```text")]
        )
        assert cited_in(page), name


@pytest.mark.parametrize("kind", KINDS, ids=index_of)
def test_every_parameter_is_listed_with_its_default(kind):
    made = protocols.pages_of(kind)
    types = json.loads(_core.Scenario.schema())["$defs"]
    for name, *_ in kind.known:
        table = made[f"{index_of(kind)}/{name}.md"].partition("\n## Parameters\n")[2].partition("\n## ")[0]
        listed = re.findall(r"^\| `(\w+)` \| (.+?) \| (`.+?`|none) \| .+\. \|$", table, re.MULTILINE)
        defaults = {
            key: f"`{json.dumps(rule['default'])}`" if "default" in rule else "none"
            for key, rule in protocols.rules_of(kind, name, types).items()
        }
        assert [(row[0], row[2]) for row in listed] == list(defaults.items()), name


@pytest.mark.parametrize("kind", KINDS, ids=index_of)
def test_what_a_page_writes_into_a_scenario_is_accepted(kind):
    network = 'link = [{ source = "a", target = "b", capacity = "1 Mbit/s", delay = "1 ms" }]\n'
    for page in protocols.pages_of(kind).values():
        for example in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
            head, *lines = example.strip().splitlines()
            for line in (line.removeprefix("# ") for line in lines if line != "# or, with parameters:"):
                _core.Scenario(f"{network}{head}\n{line}\n")
    with pytest.raises(ValueError, match="no-such"):
        _core.Scenario(f'{network}[defaults.connection]\nprotocol = "no-such"\n')


def test_a_head_comment_becomes_markdown():
    head = "B: a*b < c [`X`](crate::x) and [`Y`].\n\n```text\na * b < c\n```\n\ndiffers: `p * q`"
    wanted = "B: a\\*b \\< c `X` and `Y`.\n\n```text\na * b < c\n```\n\n**Differs from the paper:** `p * q`"
    assert head_comment.as_markdown(head) == wanted


def test_files_that_a_head_names_are_linked_or_told():
    text, shared = head_comment.shared_parts(
        "see `rcp.rs` and `rate_feedback.rs`", "proto/src/protocols", {"rcp": "rcp"}
    )
    assert text == "see [rcp](rcp.md) and [`rate_feedback.rs`](#from-rate_feedbackrs)"
    assert [name for name, _ in shared] == ["rate_feedback.rs"]
    assert "The common part of RCP and its relatives" in shared[0][1]


def test_every_file_of_the_code_is_in_the_table_of_contents():
    page = contents.contents_page()
    rows = re.findall(r"^- `([^`]+)`: (.+)$", page, re.MULTILINE)
    crates = [contents.rust_files(file.parent) for file in (ROOT / "crates").glob("*/src/lib.rs")]
    scripts = contents.script_files(ROOT / "ui/src")
    modules = contents.python_files(ROOT / "python/anabranch")
    # Each crate, each folder of the package, the package and the page have a heading for their first file.
    headings = page.count("\n### `")
    assert len(rows) + headings == sum(map(len, crates)) + len(modules) + len(scripts)
    assert {"paths/k_shortest.rs", "protocols/lia.rs", "protocols/"} <= {name for name, _ in rows}
    assert not [name for name, _ in rows if "tests" in name]
    assert contents.first_sentence("A: b, e.g. c.\nMore. And more.") == "A: b, e.g. c."


def test_works_are_cited_by_key_and_rfcs_by_number():
    assert cited_in("[danna2017, sec. 2] and [rfc6356, wischik2011], not [1] nor [danna2017](x)") == [
        "danna2017",
        "rfc6356",
        "wischik2011",
    ]
    assert linked("[rfc6356, sec. 3]", "{ref}") == "[{ref}`rfc6356 <ref-rfc6356>`, sec. 3]"
    report = "@techreport{x,\n author = {A and B},\n title = {T},\n type = {RFC},\n number = {1},\n"
    assert entry_text(report + " institution = {IETF},\n year = {2011}\n}") == "A and B. *T*. RFC 1, IETF, 2011."


def test_every_experiment_has_a_page_with_all_that_it_compares():
    made = experiments.pages()
    folders = [file.parent for file in (ROOT / "experiments").glob("*/experiment.toml")]
    assert len(made) == 1 + len(experiments.PAPERS) + len(folders)
    for folder in folders:
        experiment, expected = (
            tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in ("experiment", "expected")
        )
        paper, item = experiment["paper"], experiment["item"]
        page = made[f"experiments/{paper}/{item}.md"]
        assert f"anabranch reproduce {paper} {item}\n" in page
        compared = page.partition("\n## What is compared\n")[2].partition("\n## ")[0]
        assert len(re.findall(r"^\| ", compared, re.MULTILINE)) == 1 + len(expected["quantity"]), folder.name
        assert page.count("\n- **") >= len(experiment.get("figure", []))
        assert "README.md)" not in page
        assert f"[{item}]({paper}/{item}.md)" in made[f"experiments/{paper}.md"]


def test_what_runs_a_protocol_is_found():
    # Both write `defaults.connection.protocol=slbn` or `protocol = "slbn"`; `s-perc` is not `perc`.
    assert "[experiment-1a](../experiments/slbn/experiment-1a.md)" in experiments.uses("protocol", "slbn")
    assert "abc" not in experiments.uses("protocol", "no-such")
    assert "acceptance" in experiments.uses("discipline", "dualpi2")


def test_the_notebook_is_committed_without_outputs():
    notebook = json.loads((ROOT / "docs/notebook.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


def test_the_site_builds_without_warnings_and_the_notebook_runs(site):
    assert "ref-ludena2021" in (site / "upward-max-min.html").read_text(encoding="utf-8")
    ran = (site / "notebook.html").read_text(encoding="utf-8")
    for shown in ("certified at 1e-06", "map of the network", "granted rates over time"):
        assert shown in ran
    code = (site / "how-to/own-protocol.html").read_text(encoding="utf-8")
    assert "Coupling" in code
    assert "GAIMD: Reno with any increase" in re.sub(r"<[^>]*>", "", code)


def test_the_site_asks_nothing_of_the_net(site):
    loads = re.compile(r"""<(?:script|img|iframe|link)[^>]*?(?:src|href)=["'](?:https?:)?//""")
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text(encoding="utf-8")), page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", style.read_text(encoding="utf-8")), (
            style.name
        )


def test_pages_open_and_search_finds_in_a_browser(site, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    for name in ("index", "notebook", "comparison", "reference/protocols/d-slen", "reference/experiments/slbn"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.goto((site / "search.html").as_uri() + "?q=saturation")
    page.wait_for_selector("#search-results li")
    page.close()
    assert not said
    assert all(url.startswith(("file:", "data:")) for url in asked)
