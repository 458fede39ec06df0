"""The items of NMCC: the same readings everywhere, in the same order, so that figures give each the same colour."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.figures.bars import Bars

EXPERIMENTS = Path(__file__).parents[1] / "experiments"

READINGS = ("drop-tail", "drop-tail, fast access", "short queue", "short queue, fast access", "RED", "in step")

ITEMS = ("table-1", "figure-3a", "figure-3b", "figure-4", "figure-5")


@pytest.mark.parametrize("item", ITEMS)
def test_every_published_row_has_all_readings(item: str) -> None:
    published = [own for own in read_experiment(EXPERIMENTS / f"nmcc-{item}").quantities if own.published is not None]
    assert published
    for own in published:
        names = tuple(reading.reading for reading in own.readings)
        # Nothing is lost where queues mark, so that a row about losses lacks the last.
        assert names in (READINGS, READINGS[:-1])


@pytest.mark.parametrize("item", ITEMS)
def test_bars_of_readings_are_in_one_order(item: str) -> None:
    figures = [own for own in read_experiment(EXPERIMENTS / f"nmcc-{item}").figures if isinstance(own, Bars)]
    for figure in figures:
        readings = tuple(name for name in figure.bars if name in READINGS)
        assert readings in ((), READINGS, READINGS[:-1])


def test_the_margin_is_that_of_the_paper() -> None:
    for item in ITEMS:
        text = (EXPERIMENTS / f"nmcc-{item}" / "expected.toml").read_text(encoding="utf-8")
        assert "\nmargin = 0.01\n" in text
