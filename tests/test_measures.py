"""The registry of measures: what its rows say is what the reader, units and dispatch go by."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.measures.distributions import DISTRIBUTIONS, PARTS
from anabranch.reproduce.measures.rates_on_paths import total
from anabranch.reproduce.measures.registry import MEASURES, AnotherRun, measure
from anabranch.reproduce.outcomes.groups import FLUID, ON_PATHS, SIMULATED, SOLVED
from anabranch.reproduce.outcomes.kinds import OnPaths
from anabranch.reproduce.spec.quantity import Number

SCENARIO = """
[[link]]
name = "l"
source = "a"
target = "b"
capacity = "10 Mbit/s"

[[connection]]
name = "c"
source = "a"
target = "b"
paths = 1
"""

EXPERIMENT = """
paper = "mine"
item = "table-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"
[[run]]
name = "solved"
method = "c-slen"
[[run]]
name = "optimal"
method = "proportional"
"""


def quantities_of(folder: Path, *names: str):
    folder = folder / "mine-table-1"
    folder.mkdir()
    texts = {"scenario": SCENARIO, "experiment": EXPERIMENT}
    texts["expected"] = "\n".join(
        f'[[quantity]]\nname = "{name}"\nwindow = ["1 s", "2 s"]\nagainst = 1.0' for name in names
    )
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return read_experiment(folder)


def test_a_function_takes_the_run_then_what_its_number_belongs_to_then_the_window() -> None:
    percentiles = {f"{part}-{name}" for name in DISTRIBUTIONS for part in (*PARTS, "most")}
    for name, row in MEASURES.items():
        wanted = 1 + (row.of is not None) + row.windowed
        if name not in percentiles:
            assert len(inspect.signature(row.function).parameters) == wanted, name


def test_every_measure_says_in_words_what_it_is() -> None:
    for name, row in MEASURES.items():
        assert len(row.words) > 10, name
        assert not row.words.startswith("Give"), name


def test_the_page_of_measures_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "docs")
    measures_page = importlib.import_module("made.measures").measures_page
    rows = [line for line in measures_page().splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(MEASURES)


def test_a_window_counts_for_measures_that_say_so_and_for_no_others(tmp_path: Path) -> None:
    found = quantities_of(tmp_path, "optimal mean-rate c", "optimal rate c").quantities
    windows = [own.readings[0].ratio.top.window_s for own in found if isinstance(own, Number)]
    assert windows == [(1.0, 2.0), None]


def test_the_unit_of_a_rate_is_that_of_the_experiment(tmp_path: Path) -> None:
    found = quantities_of(tmp_path, "optimal mean-rate c", "solved passes")
    units = [found.unit_of(own.readings[0].ratio.top) for own in found.quantities if isinstance(own, Number)]
    assert units == ["Mbit/s", "passes"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("optimal passes", "the method of run `optimal` is proportional; `passes` is of runs that are solved"),
        ("solved steps-to optimal", '`steps-to` is of runs that are with method = "weight-allocation"'),
        ("solved mean-rate c", "`mean-rate` is of runs that are simulated or proportional"),
        ("solved distance other", "there is no run `other`"),
        ("solved total c", "leave `c` out"),
    ],
)
def test_a_measure_of_another_kind_of_run_is_refused_when_it_is_read(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        quantities_of(tmp_path, name)


def test_a_registered_function_is_a_measure_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @measure("half-total", unit="rate", runs=ON_PATHS)
    def half_total(run: OnPaths) -> float:
        """Give half of the sum of the rates of all connections."""
        return float(run.connection_rates.sum()) / 2.0

    try:
        (own,) = quantities_of(tmp_path, "solved half-total").quantities
        assert isinstance(own, Number)
        assert str(own.readings[0].ratio) == "solved half-total"
        assert MEASURES["half-total"].words == "half of the sum of the rates of all connections"
    finally:
        del MEASURES["half-total"]


def test_two_measures_cannot_have_one_name() -> None:
    with pytest.raises(AssertionError, match="there are two measures `total`"):
        measure("total", unit="rate", runs=ON_PATHS)(total)


def test_measures_that_compare_runs_say_which_runs_they_compare_with() -> None:
    others = {name: row.of.runs for name, row in MEASURES.items() if isinstance(row.of, AnotherRun)}
    assert others["agreeing"] is SIMULATED
    assert others["distance"] is ON_PATHS
    assert MEASURES["passes"].runs is SOLVED
    assert MEASURES["gamma"].runs is FLUID
