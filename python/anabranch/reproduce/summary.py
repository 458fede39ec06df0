"""The summary of a reproduction: how many published numbers and claims come out, under which reading, and why not.

Several rows may be off because of one defect or one choice that a paper does not print. The summary counts it once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anabranch.reproduce.rows import Rows, item_name, size_text
from anabranch.reproduce.spec.verdict import (
    BORNE_OUT,
    GOOD,
    NEAR,
    OFF,
    OPEN,
    REFUTED,
    SLIP,
    UNJUDGED,
    WITHIN,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anabranch.reproduce.rows import Row

LEAST_TRIED = 3
"""The least number of rows for which a reading is counted by itself."""

CAUSE_WORDS = {
    "paper": "the paper's own defect",
    "unprinted": "a choice that the paper does not print",
    "reconstruction": "a reconstructed rival",
    "ours": "a limit of ours",
    "open": "not known why",
}
"""Why a number is off or a claim is not borne out, by `anabranch.reproduce.spec.verdict.Cause`."""


def summary(rows: Iterable[Row]) -> str:
    """Give the lines of the summary: what is left out, published numbers, claims, other rows, changed verdicts."""
    own = list(rows)
    lines = _left_out(rows, own) if isinstance(rows, Rows) else []
    judged = [row for row in own if row.verdict != UNJUDGED]
    numbers = [row for row in judged if row.kind == "number"]
    claims = [row for row in judged if row.kind == "claim"]
    others = len(judged) - len(numbers) - len(claims)
    if numbers:
        lines.append(_counted("published number", numbers, (WITHIN, NEAR, SLIP, OPEN, OFF)))
    if claims:
        lines.append(_counted("claim", claims, (BORNE_OUT, OPEN, REFUTED)))
    if by_reading := _by_reading([*numbers, *claims]):
        lines.append(by_reading)
    if others:
        ours = "comparison or record" if others == 1 else "comparisons and records"
        lines.append(f"{others} {ours} of ours, which {'reproduces' if others == 1 else 'reproduce'} nothing")
    changed = sum(row.is_changed for row in own)
    lines.append(f"{_many(changed, 'verdict')} other than on record")
    if isinstance(rows, Rows) and rows.unturned is not None:
        lines.append(f"Mutation test: {_many(len(rows.unturned), 'row')} that wrong numbers do not turn")
        lines += [f"  {own.item}: {own.quantity} ({own.mutation})" for own in rows.unturned]
    return "\n".join(lines)


def _counted(name: str, rows: Sequence[Row], verdicts: Sequence[str]) -> str:
    parts = []
    for verdict in verdicts:
        found = [row for row in rows if row.verdict == verdict]
        if found:
            why = _readings(found) if verdict in (WITHIN, NEAR, SLIP, BORNE_OUT) else _causes(found)
            parts.append(f"{len(found)} {WORDS[verdict]}{why}")
    return f"{_many(len(rows), name)}: {', '.join(parts)}"


WORDS = {
    WITHIN: "within the margin",
    NEAR: "within 5 %",
    SLIP: "that the paper has wrong",
    OPEN: "open",
    OFF: "off",
    BORNE_OUT: "borne out",
    REFUTED: "not borne out",
}
"""Verdicts as the summary says them."""


def _readings(rows: Sequence[Row]) -> str:
    """Say how many hang on a reading of the paper, and on which."""
    found = Counter(row.reading for row in rows if not row.is_as_described)
    if not found:
        return ""
    named = ", ".join(f"{reading}: {count}" for reading, count in found.most_common(3))
    rest = len(found) - 3
    more = f" and {rest} more" if rest > 0 else ""
    return f" ({sum(found.values())} otherwise than described: {named}{more})"


def _by_reading(rows: Sequence[Row]) -> str:
    """Count under each reading how many rows come out: no single one need bear all of them out."""
    tried, good = Counter[str](), Counter[str]()
    for row in rows:
        for own in row.readings:
            tried[own.name] += 1
            good[own.name] += own.verdict in GOOD
    often = [name for name, count in tried.most_common() if count >= LEAST_TRIED]
    if len(often) < 2:
        return ""
    counts = ", ".join(f"{name}: {good[name]} of {tried[name]}" for name in often)
    return f"Rows that come out under each reading alone: {counts}"


def _causes(rows: Sequence[Row]) -> str:
    """Say why they are not as published, with what several have in common counted once."""
    parts = []
    for cause, words in CAUSE_WORDS.items():
        found = [row for row in rows if row.cause == cause]
        if found:
            matters = len({row.defect for row in found if row.defect}) + sum(not row.defect for row in found)
            once = f", {_many(matters, 'matter')}" if matters != len(found) else ""
            parts.append(f"{words}: {len(found)}{once}")
    unknown = sum(not row.cause for row in rows)
    if unknown:
        parts.append(f"new: {unknown}")
    mended = sum(row.is_mended for row in rows)
    if mended:
        parts.append(f"with our correction {mended} {'comes' if mended == 1 else 'come'} out")
    return f" ({'; '.join(parts)})"


def _left_out(rows: Rows, own: Sequence[Row]) -> list[str]:
    lines = [f"Not done yet: {', '.join(map(item_name, rows.not_done))}"] if rows.not_done else []
    unjudged = sum(row.verdict == UNJUDGED for row in own)
    if unjudged:
        size = size_text(rows.settings.scale)
        lines.append(f"{_many(unjudged, 'row')} not judged, because the networks are not of the paper's size: {size}")
    if rows.settings.text:
        lines.append(f"Run with other settings than the experiments' own: {rows.settings.text}")
    return [*lines, *rows.left_out]


def _many(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
