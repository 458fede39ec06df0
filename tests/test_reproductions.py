"""The published experiments: verdicts are those on record, rows can fail, and READMEs have the numbers that are found.

A sample of the items is run here, those that take seconds; `anabranch reproduce --all --mutate` runs all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.spec.quantity import Claim

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"

PAPERS = read_papers(EXPERIMENTS)

ITEMS = [(name, item) for name, paper in PAPERS.items() for item in paper.items]

SAMPLE = [
    *(("upward-max-min", f"table-{i}") for i in range(7, 11)),
    *(("upward-max-min", f"figure-{i}") for i in range(1, 11)),
    ("upward-max-min", "tunnels"),
    ("slbn", "algorithm"),
    *(("wvegas", f"figure-{i}") for i in range(3, 6)),
    ("nmcc", "section-4"),
    *(("lgcc", f"figure-{i}") for i in (3, 4, 8, 9, 10, 18)),
    ("lgcc", "section-3"),
    ("lgcc", "equations"),
    ("lgcc", "definition-1"),
    *(("lgcc", f"theorem-8-{i}") for i in (2, 3, 4)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "item"), SAMPLE)
def test_verdicts_are_on_record_and_rows_can_fail(paper: str, item: str) -> None:
    rows = reproduce(paper, item, experiments=EXPERIMENTS, mutate=True)
    assert [(row.quantity, row.verdict, row.expected) for row in rows if row.is_changed] == []
    assert rows.unturned == []
    for file, text in rows.readmes.items():
        assert file.read_text(encoding="utf-8") == text, f"make {file} with `anabranch reproduce {paper} --readmes`"


@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_nothing_is_left_to_decide_in_the_files(paper: str, item: str) -> None:
    experiment = read_experiment(EXPERIMENTS / f"{paper}-{item}")
    for quantity in experiment.quantities:
        known = quantity.known
        assert "?" not in (known.cause, known.defect, known.common), quantity.name
        if isinstance(quantity, Claim) and quantity.published is not None:
            assert quantity.published != "(the same)", f"{quantity.name}: it quotes the paper"
    assert (experiment.folder / "README.md").is_file()
