"""The page of what could not be reproduced, made from the verdicts on record of all experiments."""

from dataclasses import dataclass
from itertools import groupby

from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.papers import Paper
from anabranch.reproduce.rows import item_name
from anabranch.reproduce.spec.quantity import Claim, Number, PaperQuantity
from anabranch.reproduce.spec.verdict import CAUSES, GOOD, OPEN
from made.experiments import EXPERIMENTS, PAPERS

INTRODUCTION = """# What we could not reproduce, and why

This page is for the authors of the papers and for people who build on them. It lists every published number that ours
does not meet and every sentence that ours does not bear out. Each has a cause and a command that shows it. The page is
made from the experiments' files, which the tests hold to what the program finds.

A difference need not be a mistake of the paper. Papers leave out what results depend on: the length of queues, the
delay of links, which of two algorithms ran. We then try the readings that seem plausible, and say what each gives. Some
rivals are reconstructions, because their publications were not available to us. We would be glad of corrections: a
missing number or a line of code may turn a row.

The causes are:

- **The paper's own defect**: it contradicts itself, its equations or its pseudo-code.
- **A choice that the paper does not print**: under another choice the result may be as printed.
- **A reconstructed rival**: ours need not behave as the original does.
- **A limit of ours**: our program lacks something.
- **Not known**: we have not found out.

[How to reproduce](../how-to/reproduce.md) explains how rows are judged.
"""

CAUSE_NAMES = {
    "paper": "The paper's own defect",
    "unprinted": "A choice that the paper does not print",
    "reconstruction": "A reconstructed rival",
    "ours": "A limit of ours",
    "open": "Not known",
    "": "As described it does not hold",
}
"""The headings of causes; the last is of rows that come out under another reading."""


@dataclass(frozen=True)
class Failing:
    """A published number or claim that does not come out as the paper describes it."""

    item: str
    quantity: PaperQuantity

    @property
    def is_met_otherwise(self) -> bool:
        """Whether it comes out under another reading."""
        return self.quantity.expect in GOOD

    @property
    def order(self) -> tuple[bool, int, str]:
        """Failures first, by cause and defect."""
        known = self.quantity.known
        causes = [*CAUSES, ""]
        return self.is_met_otherwise, causes.index(known.cause), known.defect


def not_reproduced_page() -> str:
    """Give the page."""
    parts = [INTRODUCTION, _counts()]
    parts += [_of_paper(name, paper) for name, paper in PAPERS.items() if _failing(paper)]
    return "\n".join(parts)


def _failing(paper: Paper) -> list[Failing]:
    found = []
    for item in paper.items:
        for quantity in read_experiment(EXPERIMENTS / f"{paper.name}-{item}").quantities:
            if quantity.published is None:
                continue
            if quantity.expect not in GOOD or quantity.readings[0].expect not in GOOD:
                found.append(Failing(item, quantity))
    return sorted(found, key=lambda own: own.order)


def _counts() -> str:
    lines = [
        "| paper | published numbers | met | open | off | claims | borne out | open | not borne out |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for paper in PAPERS.values():
        found = [
            quantity
            for item in paper.items
            for quantity in read_experiment(EXPERIMENTS / f"{paper.name}-{item}").quantities
            if quantity.published is not None
        ]
        cells = [f"[{paper.title}](experiments/{paper.name}.md)"]
        for kind in (Number, Claim):
            own = [quantity.expect for quantity in found if isinstance(quantity, kind)]
            good, is_open = sum(verdict in GOOD for verdict in own), own.count(OPEN)
            cells += [str(count) for count in (len(own), good, is_open, len(own) - good - is_open)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _of_paper(name: str, paper: Paper) -> str:
    parts = [f"## {paper.title}", ""]
    for (is_met_otherwise, _, defect), own in groupby(_failing(paper), key=lambda one: one.order):
        group = list(own)
        cause = CAUSE_NAMES[group[0].quantity.known.cause]
        heading = f"{cause}: {defect}" if defect else cause
        if is_met_otherwise:
            heading += " (comes out otherwise than described)"
        parts += [f"### {heading}", ""]
        parts += [_entry(name, one) for one in group]
    return "\n".join(parts)


def _entry(name: str, failing: Failing) -> str:
    quantity = failing.quantity
    published = quantity.published
    said = f"“{published}”" if isinstance(quantity, Claim) else f"Published: {published:g}."
    words = [said, _verdicts(quantity)]
    if quantity.known.note:
        words.append(_sentence(quantity.known.note))
    where = f"[{item_name(failing.item)}](experiments/{name}/{failing.item}.md)"
    text = " ".join(map(_plain, words))
    command = f"`anabranch reproduce {name} {failing.item}`"
    return f"- **{_plain(quantity.name)}** ({where}). {text}\n  {command}\n"


def _verdicts(quantity: PaperQuantity) -> str:
    """Give the verdict on record, under each reading if there are several."""
    readings = quantity.readings
    if len(readings) == 1 and not readings[0].reading:
        return f"Ours: {readings[0].expect}."
    return "Ours: " + "; ".join(f"{own.reading}: {own.expect}" for own in readings) + "."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _plain(text: str) -> str:
    """Put text where Markdown is read."""
    return " ".join(text.split()).replace("*", "\\*").replace("<", "\\<").replace("$", "\\$").replace("_", "\\_")
