"""``anabranch report``: one file with page and data, there whole or not at all."""

import base64
import json
import re
import sys
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import anabranch as ab
from anabranch.cli import app
from anabranch.errors import ScenarioError
from anabranch.page import report_html, result_content
from anabranch.page.content import read_series

JOIN = Path(__file__).parents[1] / "scenarios" / "join-and-leave.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "join"
    ab.run(JOIN).write(place)
    return place


def command(*arguments):
    """The outcome of ``anabranch report``."""
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def script(page, name):
    """The text of a script of the page, by its id."""
    return re.search(rf'<script type="[^"]+" id="{name}">(.*?)</script>', page, re.DOTALL).group(1)


def runs_of(page):
    """What the page reads of each run: header and arrays."""
    found = []
    while f'id="run-{len(found)}"' in page:
        header = json.loads(script(page, f"run-{len(found)}"))
        parts = [base64.b64decode(script(page, f"{name}-{len(found)}")) for name in ("blob", "rest")]
        blob = b"".join(map(zlib.decompress, parts))
        found.append((header, read_series(header, blob)))
    return found


def test_the_file_has_the_numbers_of_the_tables(folder, tmp_path):
    file = tmp_path / "join.html"
    done = command(folder, "--out", file)
    assert (done.exit_code, done.stdout) == (0, f"{file}\n")
    ((header, arrays),) = runs_of(file.read_text(encoding="utf-8"))
    series = ab.read_result(folder).series
    # The second connection joins at 1 s.
    rates = series["connections"].filter(connection="first")["granted_bps"]
    assert header["title"] == "Join and leave"
    np.testing.assert_allclose(arrays["connection", "granted_bps"][1], rates, rtol=1e-3)


def test_without_a_name_the_report_lies_beside_the_tables(folder):
    done = command(folder)
    assert done.exit_code == 0
    assert (folder / "report.html").is_file()
    # Once more takes its place, if that is asked for, and the folder can be read as before.
    assert command(folder, "--force").exit_code == 0
    assert ab.read_result(folder).meta["title"] == "Join and leave"


def test_several_runs_stand_in_one_file_by_the_names_of_their_folders(folder, tmp_path):
    other = tmp_path / "again"
    ab.read_result(folder).write(other)
    file = tmp_path / "both.html"
    assert command(folder, other, "--out", file).exit_code == 0
    names = [header["name"] for header, _ in runs_of(file.read_text(encoding="utf-8"))]
    assert names == ["join", "again"]


def test_the_file_asks_for_nothing_from_elsewhere(folder, tmp_path):
    file = tmp_path / "alone.html"
    command(folder, "--out", file)
    page = file.read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=[\"'](?!data:)", page)
    assert "@import" not in page


def test_names_cannot_leave_their_script(tmp_path):
    text = """
    title = "</script><script>alert(1)</script>"
    link = [{ name = "<!--", source = "a", target = "b", capacity = "1 Mbit/s", delay = "1 ms" }]
    connection = [{ name = "</SCRIPT>", source = "a", target = "b", protocol = "lia" }]
    run = { duration = "100 ms" }
    """
    file = tmp_path / "signs.toml"
    file.write_text(text, encoding="utf-8")
    page = report_html([result_content(ab.run(file))])
    ((header, _),) = runs_of(page)
    assert header["title"] == "</script><script>alert(1)</script>"
    assert header["connections"]["name"] == ["</SCRIPT>"]
    assert "alert(1)</script>" not in page


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    place = tmp_path_factory.mktemp("solved") / "two-paths"
    scenario = ab.read_scenario(JOIN.with_name("two-paths.toml"))
    ab.solve(scenario.network, scenario.demands, fairness="proportional").write(place)
    return place


def test_where_the_page_was_not_built_an_error_says_what_has_it(monkeypatch):
    monkeypatch.setattr(sys.modules["anabranch.page.report"], "TEMPLATE", "absent.html")
    with pytest.raises(ScenarioError, match=r"absent\.html: the page is not there; .*`make wheel`"):
        report_html([])


def test_folders_without_a_run_are_told_apart_and_leave_nothing(folder, solved, tmp_path):
    bare = tmp_path / "bare"
    ab.solve(ab.Problem([1.0], [0, 1], [0], [0])).write(bare)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    reasons = {
        "none": "there is no such folder",
        "file": "it is a file",
        "empty": "it holds neither a run nor an allocation",
        "bare": "it has an allocation without its paths.parquet: it is of bare numbers, or older than that file",
    }
    for name, reason in reasons.items():
        done = command(folder, solved, tmp_path / name, "--out", tmp_path / "x.html")
        assert isinstance(done.exception, ScenarioError)
        assert f"{tmp_path / name}: {reason}" in str(done.exception)
        assert "name a folder that `anabranch run --out` or `anabranch solve --out` has written" in str(done.exception)
    assert not (tmp_path / "x.html").exists()


def test_a_folder_of_runs_is_told_by_the_runs_within_it(folder, solved, tmp_path):
    runs = tmp_path / "runs"
    for name in ("a", "b"):
        ab.read_result(folder).write(runs / name)
    (runs / "notes").mkdir()
    said = str(command(runs).exception)
    assert (
        f"{runs}: it is no run or allocation itself but holds 2 folders that are: `a`, `b`; name those to show" in said
    )
    assert f"such as `{runs / 'a'}`, or show all in the browser by `anabranch serve {runs}`" in said
    # Without runs of its own, the folders within its folders count.
    assert "holds 2 folders that are: `runs/a`, `runs/b`" in str(command(tmp_path).exception)
    with pytest.raises(ScenarioError, match="holds 2 folders that are"):
        ab.report(runs, tmp_path / "x.html")


def test_of_many_runs_within_a_folder_five_are_named(tmp_path):
    for name in range(7):
        (tmp_path / f"{name}").mkdir()
        (tmp_path / f"{name}" / "scenario.toml").write_text("", encoding="utf-8")
    assert "holds 7 folders that are: `0`, `1`, `2`, `3`, `4` and 2 more; name" in str(command(tmp_path).exception)


def test_runs_and_allocations_stand_in_one_report(folder, solved, tmp_path):
    file = tmp_path / "mixed.html"
    assert command(folder, solved, "--out", file).exit_code == 0
    (run, _), (allocation, arrays) = runs_of(file.read_text(encoding="utf-8"))
    assert (run["kind"], allocation["kind"]) == ("run", "allocation")
    rates = pl.read_parquet(solved / "connections.parquet")["rate_bps"]
    np.testing.assert_allclose(arrays["connection", "granted_bps"][:, 0], rates, rtol=1.3e-4)


def test_a_place_that_cannot_be_is_refused(folder, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = command(folder, "--out", tmp_path / "file" / "x.html")
    assert isinstance(done.exception, ScenarioError)
    assert "it cannot be put there" in str(done.exception)


def test_an_allocation_is_solved_into_a_report(tmp_path):
    file = tmp_path / "pages" / "solved.html"
    done = CliRunner().invoke(app, ["solve", str(JOIN.with_name("two-paths.toml")), "--report", str(file)])
    assert done.exit_code == 0
    ((header, arrays),) = runs_of(file.read_text(encoding="utf-8"))
    assert header["summary"]["certified"] is True
    # 18 Mbit/s for three connections, all level at 6.
    np.testing.assert_allclose(arrays["connection", "granted_bps"], np.full((3, 1), 6e6), rtol=1e-2)


def test_python_makes_the_page_that_the_command_makes(solved, tmp_path):
    ab.report(ab.read_allocation(solved), tmp_path / "object.html")
    ab.report(solved, tmp_path / "folder.html")
    assert command(solved, "--out", tmp_path / "command.html").exit_code == 0
    pages = [(tmp_path / f"{name}.html").read_bytes() for name in ("object", "folder", "command")]
    assert pages[0] == pages[1] == pages[2]
    with pytest.raises(ValueError, match="there is nothing to show"):
        ab.report([], tmp_path / "none.html")
    with pytest.raises(ab.ScenarioError, match="there is no such folder"):
        ab.report("nowhere", tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()
