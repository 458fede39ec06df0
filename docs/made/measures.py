"""The page of measures: a table for each module of measures, made of the rows of the registry."""

import importlib
from itertools import groupby

from anabranch.reproduce.measures.distributions import DISTRIBUTIONS
from anabranch.reproduce.measures.registry import MEASURES, Measure

INTRO = """# Measures

A quantity of a [published experiment](../how-to/reproduce.md) names a run, a measure and, for some measures, the item
that is measured: `c-slen load l3`, `d-slen turns c1.2`, `lia mean-rate c*`. In a pattern, `*` stands for any text, so
that `c*` means all connections whose names match. The subflow `c1.2` is the second of connection `c1`.

The column "runs" lists the kinds of run that have the measure, by their method. The window of a quantity limits
measures with "yes" in the column "window" to a part of the time. The unit "rate" is the experiment's `rates_in`."""

HEADINGS = "| measure | of | unit | runs | window | meaning |\n|---|---|---|---|---|---|"


def measures_page() -> str:
    """Give the page, with the measures of a module under its head."""
    parts = [INTRO]
    rows = sorted(MEASURES.values(), key=lambda row: row.module)
    for module, own in groupby(rows, key=lambda row: row.module):
        head = (importlib.import_module(module).__doc__ or "").strip()
        first, _, rest = head.partition("\n\n")
        title = " ".join(first.split()).rstrip(".").removeprefix("Measures of ")
        parts.append("\n".join([f"## {title[:1].upper()}{title[1:]}", "", *([rest, ""] if rest else []), HEADINGS]))
        parts[-1] += "\n" + "\n".join(_rows(list(own)))
    return "\n\n".join(parts) + "\n"


def _rows(measures: list[Measure]) -> list[str]:
    """Give a row for each measure; the percentiles of a distribution share a row."""
    distribution = {name: key for key, own in DISTRIBUTIONS.items() for name in own.measures}
    rows = []
    for key, same in groupby(measures, key=lambda row: distribution.get(row.name, row.name)):
        own = list(same)
        words = f"percentiles of {DISTRIBUTIONS[key].words}" if own[0].name in distribution else own[0].words
        rows.append(_row(own[0], ", ".join(f"`{row.name}`" for row in own), words))
    return rows


def _row(row: Measure, names: str, words: str) -> str:
    cells = (
        names,
        "" if row.of is None else f"another {row.of.words}" if row.of.words == "run" else row.of.words,
        row.unit,
        row.runs.which,
        "yes" if row.windowed else "",
        words,
    )
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"
