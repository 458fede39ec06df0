"""Fluid models as runs of experiments: the paper's numbers, the figures, and mistakes in the files."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from anabranch.errors import ScenarioError
from anabranch.figures import draw_fluid
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.report import report
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.rows import Rows, item_name

pytestmark = pytest.mark.slow

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
ITEMS = ["figure-4", "figure-8", "figure-9", "figure-10", "section-3", "theorem-8-2"]

PRINTED = {
    ("figure-4", "lgc after x1 149"): 0.2,
    ("figure-4", "lgc after p1 149"): 0.8,
    ("figure-8", "dual after x1 400"): 0.5,
    ("figure-9", "primal-dual after x1 200"): 0.03125,
    ("figure-9", "primal-dual after p3 200"): 0.5,
    ("section-3", "abc after w2 50"): 40.0,
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    fluid = tmp_path_factory.mktemp("experiments")
    for item in ITEMS:
        shutil.copytree(EXPERIMENTS / f"lgcc-{item}", fluid / f"lgcc-{item}")
    return reproduce("lgcc", experiments=fluid)


def test_no_verdict_is_other_than_on_record(rows: Rows) -> None:
    assert [f"{row.item}: {row.quantity}" for row in rows if row.is_changed] == []
    assert list(dict.fromkeys(row.item for row in rows)) == ITEMS


@pytest.mark.parametrize(("item", "name"), PRINTED)
def test_printed_numbers_are_expected_as_printed(item: str, name: str) -> None:
    expected = {q.name: q.published for q in read_experiment(EXPERIMENTS / f"lgcc-{item}").quantities}
    assert expected[name] == PRINTED[item, name]


def test_the_report_has_a_figure_of_each_item_with_its_numbers(rows: Rows, tmp_path: Path) -> None:
    report(rows, tmp_path / "report")
    for item in [*ITEMS, "figure-9-printed", "figure-10-scaled", "figure-10-printed", "theorem-8-2-eigenvalues"]:
        for suffix in (".svg", ".png", ".csv"):
            assert (tmp_path / "report" / f"{item}{suffix}").stat().st_size > 1000
    numbers = (tmp_path / "report/figure-4.csv").read_text(encoding="utf-8").splitlines()
    assert numbers[0] == "run,at,name,value"
    # Two runs of 251 states with five rates and a price.
    assert len(numbers) == 1 + 2 * 251 * 6
    assert "## Theorem 8.2" in (tmp_path / "report/report.md").read_text(encoding="utf-8")


def followed(*names: str) -> pl.DataFrame:
    values = {"run": ["one"] * 6, "at": [float(step) for step in range(6)], "value": [1.0] * 6}
    return pl.concat(pl.DataFrame(values | {"name": [name] * 6}) for name in names)


@pytest.mark.parametrize(
    ("names", "entries", "colours"),
    [
        (("x1", "x2", "p1", "p2"), ["x1, p1", "x2, p2"], 2),
        (("x1", "x2", "w1", "w2", "p1"), ["x1, w1", "x2, w2", "p1"], 3),
    ],
)
def test_a_legend_has_an_entry_for_each_colour(names: tuple[str, ...], entries: list[str], colours: int) -> None:
    figure = draw_fluid(followed(*names), title="t")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == entries
    drawn = [line.get_color() for axes in figure.axes for line in axes.get_lines()]
    assert (len(drawn), len(set(drawn))) == (len(names), colours)


def test_windows_stand_side_by_side() -> None:
    figure = draw_fluid(followed("x1", "p1"), title="t", windows=[(0.0, 2.0), (3.0, 5.0)])
    above = figure.axes[:2]
    assert [axes.get_xlim() for axes in above] == [(0.0, 2.0), (3.0, 5.0)]
    assert [axes.get_lines()[0].get_xdata().tolist() for axes in above] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert [axes.get_title("left") for axes in above] == ["one", ""]


def test_an_item_is_written_as_people_write_it() -> None:
    assert [item_name(item) for item in ("theorem-8-2", "figure-10", "table-1", "d-slen")] == [
        "Theorem 8.2",
        "Figure 10",
        "Table 1",
        "d-SLEN",
    ]


MISTAKES = [
    (
        "experiment",
        "figure-4",
        'sender = "logistic"',
        'sender = "logistik"',
        r"`sender`: it is `logistik`; it must be one",
    ),
    ("experiment", "figure-4", "steps = [250]", "steps = [2.5]", r"`steps`: .* whole numbers"),
    ("experiment", "figure-4", "steps = [250]", "steps = [250]\nfactors = [1.0, 2.0]", r"1, and 2 factors; give one"),
    ("experiment", "figure-4", "steps = [250]", "step = [250]", r"`steps`: there are 0"),
    ("experiment", "figure-4", "steps = [250]", "steps = [250]\ncolour = 1", r"`colour`: there is no such key"),
    ("experiment", "figure-4", "phi = [10.0, 2.0]", "phi = [10.0]", r"`phi`: it has 1 numbers; give two bases"),
    (
        "experiment",
        "figure-4",
        "phi = [10.0, 2.0]",
        "phi = [10.0, 1.0]",
        r"run `deflated`: phi_2 has 1; it must be over 1",
    ),
    ("experiment", "figure-4", "joins = [0, 20, 40, 60, 80]", "joins = [0]", r"run `lgc`: joins has 1 steps"),
    ("experiment", "figure-4", "sharing = 5", "sharing = 5\ngammas = [0.1, 0.2]", r"leave joins and leaves out"),
    ("experiment", "figure-4", "sharing = 5", "sharing = 5\nbetas = [-1.0]", r"a step size is 0 or less"),
    ("experiment", "figure-4", 'method = "fluid"', 'method = "lp"', r"`fluid`: the method is lp; give the model"),
    ("experiment", "figure-4", 'draw = "fluid"', 'draw = "rates"', r"run `lgc` is not simulated"),
    (
        "experiment",
        "theorem-8-2",
        "times = [0.1, 1000.0]",
        "times = [9.0, 1.0]",
        r"`times`: it is \[9.0, 1.0\]; give two",
    ),
    ("experiment", "theorem-8-2", 'draw = "eigenvalues"', 'draw = "fluid"', r"run `zeta-2` is of another model; draw"),
    (
        "experiment",
        "figure-8",
        "span = 20",
        "span = 0",
        r"and the span 0.0; give both",
    ),
    ("experiment", "section-3", "fluid = { model", "wave = { model", r"`fluid`: the method is fluid; give the model"),
    ("experiment", "section-3", "starts = [198.0, 2.0], steps", "starts = [1.0], steps", r"run `abc`: packets is 1"),
    ("expected", "figure-4", "lgc after x1 19", "lgc after x9 19", r"there is no series `x9`; name one of x1"),
    ("expected", "figure-4", "lgc after x1 19", "lgc after x1 900", r"the last step is 250"),
    ("expected", "figure-4", "lgc after x1 19", "lgc after x1", r"it must name a series and a step"),
    ("expected", "figure-4", "lgc after x1 19", "lgc rate x1", r"`rate` is of runs that are not fluid"),
    ("expected", "figure-8", "dual settling 200", "dual settling 7", r"does not give this; it has 0, 200, 400"),
    ("expected", "section-3", "abc after w1 1", "abc real-part", r"the model of the run does not give this"),
]


@pytest.mark.parametrize(("file", "item", "old", "new", "message"), MISTAKES)
def test_a_mistake_in_a_file_is_told(tmp_path: Path, file: str, item: str, old: str, new: str, message: str) -> None:
    folder = tmp_path / f"lgcc-{item}"
    shutil.copytree(EXPERIMENTS / folder.name, folder)
    text = (folder / f"{file}.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / f"{file}.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ScenarioError, match=message):
        reproduce("lgcc", item, experiments=tmp_path)


def test_a_run_that_is_no_fluid_model_needs_a_scenario(tmp_path: Path) -> None:
    folder = tmp_path / "lgcc-figure-4"
    shutil.copytree(EXPERIMENTS / folder.name, folder)
    with (folder / "experiment.toml").open("a", encoding="utf-8") as file:
        file.write('\n[[run]]\nname = "c-slen"\nmethod = "c-slen"\n')
    with pytest.raises(ScenarioError, match="`scenario`: it is missing; add it here, or to the experiment"):
        read_experiment(folder)
