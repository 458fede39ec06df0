"""Published results: every printed number is there, ours are beside it, and mistakes in the files are told."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ScenarioError
from anabranch.model.problem import Problem
from anabranch.reproduce.execute import execute
from anabranch.reproduce.execute.pseudo_code import run_pseudo_code
from anabranch.reproduce.execute.simulate import simulate
from anabranch.reproduce.experiment import find_experiments, list_experiments, read_experiment
from anabranch.reproduce.measures.evaluate import quotient
from anabranch.reproduce.measures.pattern import is_like
from anabranch.reproduce.report import report
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.rows import Row, Rows
from anabranch.reproduce.spec.quantity import Claim, Number
from anabranch.runs.scenario import read_plan

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
PAPER = "upward-max-min"
SLBN = [f"experiment-{number}" for number in ("1a", "1b", "2a", "2b")]
SLBN_ITEMS = ["algorithm", "draws", *SLBN, "rivals"]
QUICK = ["table-7", "table-8", "table-9", "table-10", *(f"figure-{i}" for i in range(1, 11))]
"""The items that are run here; figures 11 to 15 and the items beyond the paper take minutes."""

ITEMS = [*QUICK[:4], "d-slen", *(f"figure-{i}" for i in range(1, 16)), "growth", "tunnels"]
ACCEPTANCE = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "red-threshold"]
NMCC = ["table-1", "figure-3a", "figure-3b", "figure-4", "figure-5", "figure-6", "queues", "section-4"]
LGCC = [
    *("beyond", "definition-1", "deployment", "equations"),
    *(f"figure-{i}" for i in (2, 3, 4, 8, 9, 10, *range(12, 19))),
    *("section-3", "theorem-8-1", "theorem-8-2", "theorem-8-3", "theorem-8-4"),
]
WVEGAS = ["table-2", *(f"figure-{i}" for i in range(3, 9)), "iterations", "limits", "variants"]

SUBFLOWS_1 = (
    "rate c1,rate c2,rate c3,subflow c1.1,subflow c1.2,subflow c1.3,subflow c2.1,subflow c3.1,subflow c3.2,total"
)
SUBFLOWS_2 = (
    "rate c1,rate c2,rate c3,rate c4,subflow c1.1,subflow c1.2,subflow c2.1,subflow c2.2,subflow c3.1,subflow c3.2,"
    "subflow c4.1,subflow c4.2,total"
)
LOADS_1 = ",".join(f"load l{i}" for i in range(1, 11))
LOADS_2 = ",".join(f"load l{i}" for i in range(1, 6))

PRINTED = {
    # Table, run: what, and the printed cells, with the overlined decimals rounded.
    ("table-7", "gmmf"): (SUBFLOWS_1, "1.33 1.67 1.33 0.67 0.00 0.67 1.67 0.33 1.00 4.33"),
    ("table-7", "c-slen"): (SUBFLOWS_1, "1.20 1.80 1.20 0.40 0.40 0.40 1.80 0.20 1.00 4.20"),
    ("table-7", "iewf"): (SUBFLOWS_1, "1.20 1.75 1.25 0.40 0.40 0.40 1.75 0.23 1.02 4.20"),
    ("table-8", "c-slen"): (LOADS_1, "0.80 0.40 1.00 0.60 0.80 1.00 0.80 3.00 0.20 1.00"),
    ("table-8", "iewf"): (LOADS_1, "0.80 0.40 1.03 0.63 0.80 1.03 0.80 3.00 0.23 1.02"),
    ("table-8", "c-slen "): (LOADS_1.replace("load", "capacity"), "1 1 1 1 1 1 1 3 1 1"),
    ("table-9", "gmmf"): ("rate c1,rate c2,rate c3,rate c4,total", "8.00 8.00 8.00 8.00 32.00"),
    ("table-9", "c-slen"): (SUBFLOWS_2, "8.01 8.00 7.99 7.99 6.00 2.01 6.99 1.01 3.99 4.00 2.99 5.00 32.00"),
    ("table-9", "iewf"): (SUBFLOWS_2, "8.15 8.10 7.95 7.95 6.03 2.12 6.90 1.20 3.90 4.05 2.93 5.02 32.15"),
    ("table-10", "c-slen"): (LOADS_2, "6.00 9.00 8.00 4.00 5.00"),
    ("table-10", "iewf"): (LOADS_2, "6.03 9.02 8.03 4.05 5.02"),
    ("table-10", "c-slen "): (LOADS_2.replace("load", "capacity"), "6 9 8 4 5"),
}

SLIPS = {
    ("table-7", "gmmf subflow c1.1"): 0.0,
    ("table-7", "gmmf subflow c1.2"): 2 / 3,
    ("table-8", "c-slen load l5"): 0.40,
    ("table-8", "iewf load l5"): 0.40,
}
"""Cells that the paper has wrong, and what is right."""

DOCS = EXPERIMENTS.parent / "docs"

BARE = re.compile(r"vo[-_]le[-_]tran(?!\s\(reconstruction\)|-reconstruction)", re.IGNORECASE)
"""A name of the protocol that does not say what ours is."""

REFERENCE = re.compile(r"protocol[=.]vo-le-tran|vo_le_tran\.rs|fluid(?:\.|::)vo_le_tran|\*\*Vo-Le-Tran\*\* \[vo2019\]")
"""The word for it in scenarios, its file, its function, and the original with its source."""


@pytest.fixture(scope="module")
def rows() -> Rows:
    found = Rows()
    for item in QUICK:
        own = reproduce(PAPER, item, experiments=EXPERIMENTS)
        found += own
        found.figures += own.figures
        found.experiments += own.experiments
    return found


def test_no_verdict_is_other_than_on_record(rows: Rows) -> None:
    assert [f"{row.item}: {row.quantity}" for row in rows if row.is_changed] == []
    assert list(dict.fromkeys(row.item for row in rows)) == QUICK


@pytest.mark.parametrize(("item", "run"), PRINTED)
def test_every_printed_cell_is_expected_as_printed(item: str, run: str) -> None:
    names, cells = PRINTED[item, run]
    expected = {q.name: q for q in read_experiment(EXPERIMENTS / f"{PAPER}-{item}").quantities}
    for name, cell in zip(names.split(","), cells.split(), strict=True):
        quantity = expected[f"{run.strip()} {name}"]
        assert isinstance(quantity.published, float)
        assert f"{quantity.published:.2f}" == f"{float(cell):.2f}", quantity.name
        assert isinstance(quantity, Number)
        assert quantity.aim is not None
        assert quantity.aim.right == pytest.approx(SLIPS.get((item, quantity.name)), abs=1e-6)


@pytest.mark.parametrize(("item", "run"), PRINTED)
def test_every_printed_cell_is_met_to_the_printed_digit(rows: Rows, item: str, run: str) -> None:
    names, cells = PRINTED[item, run]
    ours = {row.quantity: row.ours for row in rows if row.item == item}
    for name, cell in zip(names.split(","), cells.split(), strict=True):
        quantity = f"{run.strip()} {name}"
        aim = SLIPS.get((item, quantity), float(cell))
        assert f"{ours[f'{quantity}, Mbit/s']:.2f}" == f"{aim:.2f}", quantity


def test_slips_are_shown_as_printed_and_as_right(rows: Rows) -> None:
    shown = {(r.item, r.quantity.removesuffix(", Mbit/s")): r for r in rows if "slip for" in str(r.published)}
    assert set(shown) == set(SLIPS)
    assert shown["table-8", "c-slen load l5"].published == "0.8 (a slip for 0.4)"
    assert {row.verdict for row in shown.values()} == {"slip"}
    assert all("the paper's slip" in row.note for row in shown.values())


def test_a_claim_is_judged_as_printed_before_it_is_judged_as_corrected(rows: Rows) -> None:
    row = next(row for row in rows if row.item == "figure-9" and "oscillates slightly once" in str(row.published))
    assert [(own.name, own.verdict) for own in row.readings] == [
        ("as printed", "borne out"),
        ("corrected", "not borne out"),
    ]
    assert (row.verdict, row.reading, row.is_as_described) == ("borne out", "as printed", True)


def test_a_unit_stands_once(rows: Rows) -> None:
    names = {row.quantity for row in rows}
    assert {"c-slen passes", "iewf steps"} <= names
    assert not any("steps (steps)" in str(row.ours) for row in rows)


def test_turns_of_a_quantity_with_a_window_are_those_of_that_time(rows: Rows) -> None:
    row = next(row for row in rows if row.item == "figure-9")
    assert "from 0 to 0.5 s" in str(row.ours)


def test_rows_are_plain_data(rows: Rows) -> None:
    found = json.loads(json.dumps([asdict(row) for row in rows]))
    assert set(found[0]) == set(Row.__dataclass_fields__)
    assert rows.frame.height == len(rows)


def test_no_timing_decides_anything() -> None:
    for item in ITEMS:
        for quantity in read_experiment(EXPERIMENTS / f"{PAPER}-{item}").quantities:
            shown = [ratio for own in quantity.readings for ratio in own.show] if isinstance(quantity, Claim) else []
            judged = [own for ratio in quantity.ratios if ratio not in shown for own in ratio.addresses]
            assert not {address.measure for address in judged} & {"time", "wall"}, quantity.name


@pytest.mark.slow
def test_a_report_has_rows_table_and_figures(rows: Rows, tmp_path: Path) -> None:
    some = Rows()
    some += rows
    some.figures = [figure for figure in rows.figures if figure.item in {"figure-1", "figure-7", "figure-10"}]
    report(some, tmp_path / "report")
    names = {p.name for p in (tmp_path / "report").iterdir()}
    files = ("figure-1", "figure-7", "figure-10", "figure-10-over-time")
    figures = {f"{file}{suffix}" for file in files for suffix in (".svg", ".png", ".pdf", ".csv")}
    assert names == {"rows.json", "report.md", "index.html", *figures}
    text = (tmp_path / "report" / "report.md").read_text()
    assert "0 verdicts other than on record." in text
    assert text.count("| **not borne out** |") == sum(row.verdict == "not borne out" for row in rows)
    assert "passes, passes" not in text
    assert "| iewf rate c1, Mbit/s | 8.15 | 8.15 | 0 |" in text
    assert "](figure-10-over-time.svg)" in text
    with pytest.raises(ScenarioError, match="exists already"):
        report(rows, tmp_path / "report")


def test_curves_end_at_the_rates_of_the_tables(rows: Rows) -> None:
    curve = next(f for f in rows.figures if f.item == "figure-1").frame
    last = curve.filter(curve["run"] == "c-slen").group_by("connection", maintain_order=True).last()
    assert last["rate"].round(2).to_list() == [1.20, 1.80, 1.20]
    assert (curve["time_us"] > 0).all()


def test_every_figure_of_the_paper_is_drawn(rows: Rows) -> None:
    assert list(dict.fromkeys(figure.item for figure in rows.figures)) == QUICK[4:]
    files = [figure.file for figure in rows.figures]
    assert len(set(files)) == len(files)


def test_vo_le_tran_is_called_a_reconstruction_wherever_we_speak_of_it(rows: Rows) -> None:
    ours = [text for row in rows for text in (row.quantity, str(row.ours), row.note)]
    ours += [text for figure in rows.figures for text in (figure.title, figure.caption.partition("Published:")[0])]
    ours += [re.sub(r'"[^"]*"', "", p.read_text()) for p in EXPERIMENTS.glob("*/README.md")]
    ours += [p.read_text() for p in (*DOCS.glob("*.md"), DOCS / "how-to" / "reproduce.md")]
    for text in ours:
        assert BARE.search(REFERENCE.sub("", text)) is None, text


def test_a_simulation_serves_all_figures_of_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(execute, "simulate", lambda *key: made.append(key) or simulate(*key))
    copy = tmp_path / "experiments"
    for name in ("scenario-1", "figure-3", "figure-4"):
        shutil.copytree(EXPERIMENTS / f"{PAPER}-{name}", copy / f"{PAPER}-{name}")
    reproduce(PAPER, experiments=copy)
    found = [sets for _, sets, *_ in made]
    assert len(found) == len(set(found)) > 2


@pytest.mark.parametrize("item", SLBN)
def test_large_experiments_can_be_read_and_their_scenarios_are_right(item: str) -> None:
    experiment = read_experiment(EXPERIMENTS / f"slbn-{item}")
    for run in experiment.runs.values():
        # The rules alone: the networks have hundreds of thousands of hosts.
        small = (*run.sets, "network.generate.transit-stub.routers=100", "network.generate.transit-stub.hosts=2")
        few = tuple(f"traffic.{n}.count=20" for n in range(run.scenario.read_text().count("[[traffic]]")))
        plan = read_plan(run.scenario, sets=(*small, *few))
        (protocol,) = [name for name, _ in plan.core.protocols]
        assert run.name.startswith(protocol)


def small(tmp_path: Path, item: str) -> Path:
    """Copy an experiment with a network of 100 routers and 192 hosts."""
    copy = tmp_path / "experiments"
    shutil.copytree(EXPERIMENTS / f"slbn-{item}", copy / f"slbn-{item}")
    file = copy / f"slbn-{item}" / "scenario.toml"
    text = re.sub(r"routers = 110{2,3}\b", "routers = 100", file.read_text().replace("hosts = 200", "hosts = 2"))
    assert "routers = 100\n" in text
    file.write_text(text)
    return copy


@pytest.mark.parametrize("item", SLBN)
def test_every_quantity_of_a_large_experiment_can_be_measured(item: str, tmp_path: Path) -> None:
    # Of ten sessions or so: nothing is said of the numbers but that they are some.
    rows = reproduce("slbn", item, scale=0.0002, experiments=small(tmp_path, item))
    assert len(rows) == len(read_experiment(EXPERIMENTS / f"slbn-{item}").quantities)
    assert all(re.match(r"-?[\d.]+|never", str(row.ours)) for row in rows), [row.ours for row in rows]


@pytest.mark.slow
def test_a_small_part_of_an_experiment_is_simulated_and_drawn(tmp_path: Path) -> None:
    copy = small(tmp_path, "experiment-1b")
    scenario = copy / "slbn-experiment-1b" / "scenario.toml"
    # A fifth of a percent of these are the paper's capacities.
    wide = 'transit = "2500 Gbit/s"\nstub = "500 Gbit/s"\nhost = "50 Gbit/s"\n'
    scenario.write_text(scenario.read_text().replace("hosts = 2\n", f"hosts = 1000\n{wide}"))
    rows = reproduce("slbn", "experiment-1b", scale=0.002, experiments=copy)
    assert len(rows) == 23
    assert all(row.verdict == "not judged" for row in rows)
    # A fifth of a percent of the sessions are 100: under SLBN all are done soon.
    assert "100 erica completed" in str(next(row.ours for row in rows if "ERICA and SLBN complete" in row.quantity))
    report(rows, tmp_path / "report")
    assert [made.run for made in rows.made] == [
        *("slbn-printed", "slbn-corrected", "bfyz-reconstruction", "erica", "rcp", "rcp-start-1-percent"),
        *("piqi-rcp-like", "cobb-like"),
    ]
    assert "| experiment-1b | slbn-printed | 6 s |" in (tmp_path / "report" / "report.md").read_text()
    drawn = sorted(path.name for path in (tmp_path / "report").glob("*.svg"))
    assert drawn == ["figure-5.svg", "figure-6.svg"]
    with pytest.raises(ValueError, match="scale is 2; it must be over 0 and at most 1"):
        reproduce("slbn", scale=2, experiments=copy)


def test_the_pseudo_code_as_printed_oversaturates_at_once() -> None:
    # Link 0 of capacity 2 has a path of c1 alone; link 1 of capacity 1 is shared by the other path of c1 and by c2.
    problem = Problem([2.0, 1.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1])
    meant = run_pseudo_code(problem, reading="as-meant", stop_change=1e-3, most=1)
    printed = run_pseudo_code(problem, reading="as-printed", stop_change=1e-3, most=1)
    # First round, portions 1/2, 1/2 and 1: link 1 saturates at level 2/3 with 1/3 + 2/3. The first path has 1/3 by
    # then; as meant it gets what is left of link 0, 5/3 more; as printed it gets the whole capacity of 2 more.
    np.testing.assert_allclose(meant.path_rates, [2.0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(printed.path_rates, [2.0 + 1 / 3, 1 / 3, 2 / 3])


def test_a_quotient_of_nothing_is_a_number_too() -> None:
    pairs = ((6, 3), (0, 0), (2, 0), (-2, 0), (np.inf, np.inf))
    assert [quotient(*pair) for pair in pairs] == [2, 1, np.inf, -np.inf, 1]


def test_experiments_are_found_and_ordered_by_number() -> None:
    papers = {"acceptance": ACCEPTANCE, "lgcc": LGCC, "nmcc": NMCC, "slbn": SLBN_ITEMS, PAPER: ITEMS, "wvegas": WVEGAS}
    assert list_experiments(EXPERIMENTS) == papers


def test_experiments_are_found_beside_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_experiments() == EXPERIMENTS
    (tmp_path / "experiments").mkdir()
    assert find_experiments() == EXPERIMENTS, "a folder without experiments is passed over"
    shutil.copytree(EXPERIMENTS, tmp_path / "experiments", dirs_exist_ok=True)
    assert find_experiments() == Path("experiments")
    with pytest.raises(ScenarioError, match=r"there are no experiments in .*nowhere"):
        find_experiments(tmp_path / "nowhere")


def test_an_unknown_paper_or_item_lists_what_there_is() -> None:
    with pytest.raises(
        ScenarioError, match=r"no paper `upward`.*there is acceptance, lgcc, nmcc, slbn, upward-max-min, wvegas"
    ):
        reproduce("upward", experiments=EXPERIMENTS)
    with pytest.raises(
        ScenarioError, match=r"no `table-70` of .* \(did you mean `table-7`\?\); there is table-7, table-8"
    ):
        reproduce(PAPER, "table-70", experiments=EXPERIMENTS)


def changed(tmp_path: Path, file: str, old: str, new: str, item: str = "table-8") -> Path:
    """Copy an experiment with its scenarios and change something in one of its files."""
    copy = tmp_path / "experiments"
    for folder in (*EXPERIMENTS.glob("*-scenario-*"), EXPERIMENTS / f"{PAPER}-{item}"):
        shutil.copytree(folder, copy / folder.name)
    place = copy / f"{PAPER}-{item}" / file
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new, 1))
    return copy


MISTAKES = [
    (
        "expected.toml",
        "published = 1.0",
        "publihsed = 1.0",
        r"`published`: nothing judges the number; give the printed number",
    ),
    ("expected.toml", "published = 1.0", 'published = "1.0"', r"`published`: it is text, and there is no check"),
    ("expected.toml", "published = 1.0", "published = nan", r"`published`: it is a number; it must be a finite number"),
    (
        "expected.toml",
        "published = 1.0",
        "published = 1.0\nnotes = 'x'",
        r"`notes`: there is no such key; did you mean",
    ),
    ("expected.toml", "published = 1.0", "published = 1.0\nnote = 3", r"`note`: it is a whole number; it must be text"),
    ("expected.toml", "published = 1.0", "published = 1.0\nmargin = -1", r"`margin`: it is -1; it must be over 0"),
    ("expected.toml", "published = 1.0", "published = 1.0\ntolerance = 1", r"`tolerance`: there is no such key"),
    ("expected.toml", "right = 0.40\n", "", r"quantity 15 \(`c-slen load l5`\): `right`: a slip has both"),
    (
        "expected.toml",
        '"c-slen load l1"',
        '"cslen load l1"',
        r"there is no run `cslen`; begin with one of c-slen, iewf",
    ),
    ("expected.toml", '"c-slen load l1"', '"c-slen loads l1"', r"no measure `loads`; the second word must be one of"),
    ("expected.toml", '"c-slen load l1"', '"c-slen load"', r"does not say what it must; say whose it is"),
    ("expected.toml", '"c-slen load l1"', '"c-slen load l11"', r"there is no link `l11`; did you mean `l1`"),
    ("expected.toml", '"c-slen load l1"', '"c-slen rate c9"', r"there is no connection `c9`"),
    ("expected.toml", '"c-slen load l1"', '"c-slen subflow c1.4"', r"there is no such subflow; `c1` has 1 to 3"),
    (
        "expected.toml",
        '"c-slen load l1"',
        '"c-slen steps"',
        r"`c-slen steps`: the run does not give this; steps",
    ),
    ("expected.toml", "overload <= 1e-9", "overload", r"`check`: `c-slen overload` compares nothing"),
    ("expected.toml", "digits = 2", "digits = 2.5", r"expected.toml: `digits`: it is a number 2.5; it must be a whole"),
    ("expected.toml", "digits = 2", "digits = = 2", r"expected.toml: it is not TOML: line 3"),
    ("experiment.toml", 'method = "iewf"', 'method = "ieuf"', r"run 2: `method`: it is `ieuf`; it must be one of"),
    ("experiment.toml", 'name = "iewf"', 'name = "c-slen"', r"run 2: `name`: there are two runs `c-slen`"),
    (
        "experiment.toml",
        'item = "table-8"',
        'item = "table-80"',
        r"the folder is called `upward-max-min-table-8`; call",
    ),
    ("experiment.toml", 'unit = "0.05 Mbit/s"', "unit = 0.05", r"run 2: `unit`: it is a number; it must be text"),
    ("experiment.toml", 'unit = "0.05 Mbit/s"', 'unit = "0.05 Mb"', r"run 2: `unit`: `0.05 Mb` is not a rate"),
    ("experiment.toml", 'rates_in = "Mbit/s"', 'rates_in = "furlong"', r"`rates_in`: `1 furlong` is not a rate"),
    ("experiment.toml", 'method = "iewf"', 'method = "given"', r"`path_rates`: the method is given; give path_rates"),
    ("experiment.toml", 'unit = "0.05 Mbit/s"', "passes = 0", r"`passes`: it is a whole number 0; it must be"),
    ("expected.toml", "published = 1.0", 'published = 1.0\nexpect = "of"', r"`expect`: it is `of`; it must be one of"),
    (
        "expected.toml",
        "published = 1.0",
        'published = 1.0\ncause = "paper"',
        r"`cause`: the verdict on record is `within",
    ),
    (
        "experiment.toml",
        'unit = "0.05 Mbit/s"',
        "capacities_times = 0",
        r"`capacities_times`: it is 0; it must be over 0",
    ),
    ("experiment.toml", "scenario-1/scenario.toml", "scenario-7/scenario.toml", r"there is no such file"),
]


@pytest.mark.parametrize(("file", "old", "new", "message"), MISTAKES)
def test_a_mistake_in_a_file_is_told(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    copy = changed(tmp_path, file, old, new)
    item = "table-80" if "table-80" in new else "table-8"
    with pytest.raises(ScenarioError, match=message):
        read_experiment(copy / f"{PAPER}-table-8") if item == "table-80" else reproduce(PAPER, item, experiments=copy)


SIMULATED_MISTAKES = [
    (
        "expected.toml",
        "figure-5",
        '"d-slen-printed largest-queue"',
        '"d-slen-printed steps"',
        r"`steps` is of runs that are",
    ),
    (
        "expected.toml",
        "figure-1",
        '"iewf steps"',
        '"iewf largest-queue"',
        r"`largest-queue` is of runs that are simulated",
    ),
    (
        "expected.toml",
        "figure-5",
        '"d-slen-printed largest-queue"',
        '"d-slen-printed queue l11"',
        r"there is no link `l11`",
    ),
    (
        "expected.toml",
        "figure-9",
        'window = ["0 s", "0.5 s"]',
        'window = ["0.5 s", "0 s"]',
        r"`window`: it is not from one time to a later",
    ),
    ("expected.toml", "figure-9", "turns c3.1", "turns c3.3", r"no such subflow; `c3` has 1 to 2"),
    ("expected.toml", "figure-9", "turns c3.1", "turns c5", r"there is no connection `c5`; did you mean"),
    (
        "expected.toml",
        "figure-9",
        "turns c3.1",
        "agreeing c-slen",
        r"there is no simulated run `c-slen`",
    ),
    (
        "experiment.toml",
        "figure-1",
        'stop_change = "0.001',
        'set = ["a=1"]\nstop_change = "0.001',
        r"`set`: the method is",
    ),
    (
        "experiment.toml",
        "figure-5",
        'method = "simulate"',
        'method = "simulate"\nseed = -1',
        r"`seed`: it is a whole number -1",
    ),
    (
        "experiment.toml",
        "figure-5",
        "protocol=vo-le-tran",
        "protocol=vo-le-tra",
        r"no protocol `vo-le-tra` \(did you mean",
    ),
    ("experiment.toml", "figure-3", "[[figure]]", '[[figure]]\nlast = "3 s"', r"`last`: it is the end of the stay"),
    ("experiment.toml", "figure-5", "[[figure]]", '[[figure]]\nlast = "3 s"', r"`last`: there is no such key"),
    ("experiment.toml", "figure-7", '"0.5 s"', '"0 s"', r"`window`: it is not from one time to a later one"),
    ("experiment.toml", "figure-7", '"0.5 s"', '"0.5"', r"`window`: `0.5` "),
    (
        "experiment.toml",
        "figure-7",
        'draw = "rates"',
        'draw = "convergence"\ntarget = "d-slen-printed"',
        r"cannot be timed pass by",
    ),
    (
        "experiment.toml",
        "figure-1",
        'runs = ["c-slen", "iewf"]',
        'draw = "rates"\nruns = ["iewf"]',
        r"`iewf` is not simulated",
    ),
]


@pytest.mark.parametrize(("file", "item", "old", "new", "message"), SIMULATED_MISTAKES)
def test_a_mistake_about_a_simulation_is_told(
    tmp_path: Path, file: str, item: str, old: str, new: str, message: str
) -> None:
    copy = changed(tmp_path, file, old, new, item)
    with pytest.raises(ScenarioError, match=message):
        reproduce(PAPER, item, experiments=copy)


def test_a_number_outside_its_band_is_told(tmp_path: Path) -> None:
    # The first of these is that of l3.
    copy = changed(tmp_path, "expected.toml", "published = 1.03\n", "published = 1.05\n")
    outside = [row for row in reproduce(PAPER, "table-8", experiments=copy) if row.is_changed]
    assert [row.quantity for row in outside] == ["iewf load l3, Mbit/s"]
    assert outside[0].verdict == "within 5 %"


def test_a_claim_that_fails_is_told(tmp_path: Path) -> None:
    copy = changed(tmp_path, "expected.toml", "c-slen overload <= 1e-9", "iewf overload <= 1e-9")
    outside = [row for row in reproduce(PAPER, "table-8", experiments=copy) if row.is_changed]
    assert [row.quantity for row in outside] == ["c-SLEN never oversaturates a link"]
    assert "not <=" in str(outside[0].ours)


def test_an_experiment_needs_no_registration(tmp_path: Path) -> None:
    # Two connections share a link of 10 Mbit/s: 5 each.
    folder = tmp_path / "mine-table-1"
    folder.mkdir()
    (folder / "scenario.toml").write_text(
        '[[link]]\nname = "l"\nsource = "a"\ntarget = "b"\ncapacity = "10 Mbit/s"\n'
        + "".join(f'[[connection]]\nname = "c{i}"\nsource = "a"\ntarget = "b"\npaths = 1\n' for i in (1, 2))
    )
    (folder / "experiment.toml").write_text(
        'paper = "mine"\nitem = "table-1"\ntitle = "t"\nrates_in = "Mbit/s"\nscenario = "scenario.toml"\n'
        '[[run]]\nname = "fair"\nmethod = "progressive-filling"\n'
    )
    (folder / "expected.toml").write_text('[[quantity]]\nname = "fair rate c2"\npublished = 5.0\n')
    (row,) = reproduce("mine", experiments=tmp_path)
    assert (row.ours, row.verdict) == (5.0, "within margin")
    report([row], tmp_path / "report")
    assert {p.name for p in (tmp_path / "report").iterdir()} == {"rows.json", "report.md", "index.html"}


@pytest.mark.parametrize(
    ("pattern", "like", "unlike"),
    [
        ("c1", ["c1"], ["c", "c11", "C1"]),
        ("*", ["", "c"], []),
        ("c*", ["c", "c1", "c*"], ["1c", ""]),
        ("*1", ["1", "c1"], ["1c"]),
        ("a*b*c", ["abc", "a-b-c", "abcbc"], ["acb", "ab", "bc", "abcd"]),
        ("ab*ba", ["abba", "ab-ba"], ["aba", "ab"]),
        ("a.b*", ["a.b"], ["axb"]),
        ("a**b", ["ab", "a b"], ["a"]),
    ],
)
def test_patterns_match_as_a_star_says(pattern, like, unlike):
    assert all(is_like(name, pattern) for name in like)
    assert not any(is_like(name, pattern) for name in unlike)


def test_many_stars_take_no_time():
    assert not is_like("a" * 100_000, "*a" * 1000 + "*b")
