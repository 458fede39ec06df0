"""READMEs of experiments, made from results: ``README.in`` with measured numbers in place of their names.

``README.md`` is ``README.in`` where ``{{...}}`` stands for a number::

    LIA brings {{lia mean-rate flow-2.1 @ 0 s..100 s}} Mbit/s      a number as rows name it, with a window
    {{100 x lgcc-2 mean-rate flow / optimal mean-rate flow | .1f}} %    a factor, and a format for the mean alone
    {{summary}}                                                 the summary of the item

Without a format a mean over seeds has its interval.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.reproduce.measures.evaluate import estimate_ratio
from anabranch.reproduce.rows import text_of
from anabranch.reproduce.spec.quantity import read_ratio
from anabranch.reproduce.spec.table import Table
from anabranch.reproduce.summary import summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.rows import Row

SOURCE, MADE = "README.in", "README.md"

NUMBER = re.compile(
    r"\{\{\s*(?:(?P<times>[\d.e+-]+) x )?(?P<what>[^@|{}]+?)\s*(?:@(?P<window>[^|{}]+))?(?:\|(?P<form>[^{}]+))?\}\}"
)


def readme(experiment: Experiment, outcomes: Outcomes, rows: Sequence[Row]) -> str | None:
    """Give the README of an experiment with its measured numbers; None if it has no source with their names.

    Raises
    ------
    ScenarioError
        A number that no run gives.
    """
    source = experiment.folder / SOURCE
    if not source.is_file():
        return None
    place = source

    def written(found: re.Match[str]) -> str:
        return _written(found, experiment, outcomes, rows, place)

    text = NUMBER.sub(written, source.read_text(encoding="utf-8"))
    if "{{" in text:
        excerpt = text[text.index("{{") :][:60]
        raise ScenarioError(f"{place}: `{excerpt}` is no number; write such as {{{{run measure subject}}}}")
    return text


def _written(found: re.Match[str], experiment: Experiment, outcomes: Outcomes, rows: Sequence[Row], place: Path) -> str:
    if found["what"] == "summary":
        # Of the counts alone: whether verdicts are on record is for the command to say.
        return "\n".join(f"- {line}." for line in summary(list(rows)).splitlines()[:-1])
    span = [text.strip() for text in (found["window"] or "").split("..")]
    table = Table(str(place), {"window": span} if found["window"] else {})
    ratio = read_ratio(table, found[0], found["what"], experiment.runs, table.window_s("window"))
    ours = estimate_ratio(outcomes, ratio, place) * float(found["times"] or 1.0)
    if not found["form"]:
        return str(ours)
    return format(ours.mean, found["form"].strip()) if math.isfinite(ours.mean) else text_of(ours.mean)
