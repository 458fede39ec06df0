"""Rows of a reproduction from measured numbers: each quantity with its verdict, under each reading of the paper."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.estimate import Estimate, estimate
from anabranch.reproduce.measures.address import Address, Ratio
from anabranch.reproduce.measures.evaluate import estimate_ratio, seeds_of, values
from anabranch.reproduce.repeat import missed
from anabranch.reproduce.rows import Reading, Row, text_of
from anabranch.reproduce.spec.quantity import Claim, of_paper
from anabranch.reproduce.spec.verdict import (
    AGREES,
    BORNE_OUT,
    CHANGED,
    DIFFERS,
    KEPT,
    OF_CLAIMS,
    OF_NUMBERS,
    OPEN,
    SHARE,
    SLIP,
    WITHIN,
    judge_check,
    judge_number,
    worst,
)

if TYPE_CHECKING:
    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.spec.quantity import Beside, Check, Decided, Measured, Number, PaperQuantity, Printed


def row_of(experiment: Experiment, quantity: PaperQuantity, outcomes: Outcomes) -> Row:
    """Measure a number or claim, and judge it.

    Raises
    ------
    ScenarioError
        Something that is not there, such as a link; a tolerance over 5 % of a measured number without a reason.
    """
    if isinstance(quantity, Claim):
        return _claim(experiment, quantity, outcomes)
    return _number(experiment, quantity, outcomes)


def _claim(experiment: Experiment, claim: Claim, outcomes: Outcomes) -> Row:
    readings = [_decided(experiment, claim, own, outcomes) for own in claim.readings]
    order = [BORNE_OUT, OPEN] if claim.published else [KEPT]
    chosen = _best(readings, order)
    several = len(readings) > 1
    return Row(
        item=experiment.item,
        quantity=claim.name,
        kind="claim" if claim.published is not None else "record",
        published=claim.published,
        ours=chosen.ours,
        verdict=chosen.verdict,
        expected=claim.expect,
        is_changed=any(own.verdict != own.expected for own in readings),
        reading=chosen.name,
        readings=tuple(readings) if several else (),
        seeds=chosen.seeds,
        cause=claim.known.cause,
        defect=claim.known.defect,
        note=claim.known.note,
    )


def _decided(experiment: Experiment, claim: Claim, decided: Decided, outcomes: Outcomes) -> Reading:
    place = experiment.folder / "expected.toml"
    found = [_judge(experiment, check, outcomes) for check in decided.checks]
    verdict = worst([own for own, _, _ in found], OF_CLAIMS)
    if claim.published is None:
        verdict = KEPT if verdict == BORNE_OUT else CHANGED
    shown = [f"{estimate_ratio(outcomes, r, place)} {_label(experiment, r)}" for r in decided.show]
    seeds = max((count for _, _, count in found), default=1)
    words = "; ".join([*(words for _, words, _ in found), *shown])
    return Reading(
        decided.reading, words, verdict, decided.expect, seeds=_several(seeds), is_corrected=decided.is_corrected
    )


def _judge(experiment: Experiment, check: Check, outcomes: Outcomes) -> tuple[str, str, int]:
    """Judge a comparison; give the verdict, the comparison in words, and the number of seeds."""
    place = experiment.folder / "expected.toml"
    count = seeds_of(outcomes, check.ratios)
    left = values(outcomes, check.left, place, count)
    given = check.right
    right = values(outcomes, given, place, count) if isinstance(given, Ratio) else [given] * count
    verdict = judge_check(left, check.comparison, right)
    signs = {BORNE_OUT: check.comparison, OPEN: f"perhaps {check.comparison}"}
    sign = signs.get(verdict, f"not {check.comparison}")
    named = f" {given}" if isinstance(given, Ratio) else ""
    shown = estimate(right) if isinstance(given, Ratio) else text_of(given)
    words = f"{estimate(left)} {check.left} {sign} {shown}{named}"
    if count > 1 and isinstance(given, Ratio):
        words += f" (difference {_difference(left, right)})"
    return verdict, words, count


def _difference(left: list[float], right: list[float]) -> Estimate:
    return estimate([0.0 if a == b else a - b for a, b in zip(left, right, strict=True)])


def _number(experiment: Experiment, number: Number, outcomes: Outcomes) -> Row:
    readings = [_measured(experiment, number, own, outcomes) for own in number.readings]
    beside, against = number.beside, None
    compared = ""
    chosen = readings[0] if number.aim is None else _best(readings, OF_NUMBERS)
    if beside is not None:
        against, compared = _compare(experiment, number, beside, chosen, outcomes)
    ours = Estimate(float(chosen.ours), chosen.half_width, chosen.seeds or 1)
    row = Row(
        item=experiment.item,
        quantity=_name(experiment, number),
        kind="record" if beside is not None and beside.is_record else "comparison",
        published=None,
        ours=ours.mean if math.isfinite(ours.mean) else text_of(ours.mean),
        verdict=compared,
        expected=number.expect,
        is_changed=beside is not None and compared != beside.expect,
        margin=None if beside is None else beside.tolerance,
        against=against,
        half_width=ours.half_width,
        seeds=chosen.seeds,
        difference=_off(number.aim, ours, against),
        cause=number.known.cause,
        defect=number.known.defect,
        note=_notes(experiment, number, outcomes),
    )
    if number.aim is None:
        return row
    return replace(
        row,
        kind="number",
        published=_shown(number.aim),
        verdict=chosen.verdict,
        is_changed=row.is_changed or any(own.verdict != own.expected for own in readings),
        reading=chosen.name,
        readings=tuple(readings) if len(readings) > 1 else (),
        margin=number.aim.margin,
        beside=compared,
    )


def _measured(experiment: Experiment, number: Number, own: Measured, outcomes: Outcomes) -> Reading:
    place = experiment.folder / "expected.toml"
    found = estimate_ratio(outcomes, own.ratio, place) * own.times
    verdict = "" if number.aim is None else _verdict(number.aim, found)
    seeds = _several(found.count)
    return Reading(own.reading, found.mean, verdict, own.expect, found.half_width, seeds, own.is_corrected)


def _verdict(aim: Printed, found: Estimate) -> str:
    wide = bool(aim.margin_why)
    verdict = judge_number(found, aim.number, aim.margin, may_be_wide=wide)
    return SLIP if verdict == WITHIN and aim.right is not None else verdict


def _compare(
    experiment: Experiment, number: Number, beside: Beside, found: Reading, outcomes: Outcomes
) -> tuple[float, str]:
    """Give the number that ours is compared with, and the verdict."""
    place = experiment.folder / "expected.toml"
    given = beside.number
    aim = estimate_ratio(outcomes, given, place).mean if isinstance(given, Ratio) else given
    if isinstance(given, Ratio) and beside.tolerance > SHARE * abs(aim) and not beside.tolerance_why:
        share = f"{beside.tolerance:g} is over 5 % of {aim:g}"
        raise ScenarioError(f"{place}: `{number.name}`: `tolerance`: {share}; say why in `tolerance_why`")
    is_near = abs(float(found.ours) - aim) <= beside.tolerance
    if beside.is_record:
        return aim, KEPT if is_near else CHANGED
    return aim, AGREES if is_near else DIFFERS


def _best(readings: list[Reading], order: list[str] | tuple[str, ...]) -> Reading:
    """Give the first reading of the paper with the best verdict."""
    ranks = {verdict: rank for rank, verdict in enumerate(order)}
    return min(of_paper(readings), key=lambda own: ranks.get(own.verdict, len(ranks)))


def _shown(aim: Printed | None) -> float | str | None:
    if aim is None:
        return None
    if aim.right is None:
        return aim.published
    return f"{text_of(aim.published)} (a slip for {text_of(round(aim.right, 6))})"


def _off(aim: Printed | None, ours: Estimate, against: float | None) -> float | None:
    """Give how far ours is from the number that decides."""
    by = against if aim is None else aim.number
    return ours.mean - by if by is not None and math.isfinite(ours.mean) else None


def _notes(experiment: Experiment, number: Number, outcomes: Outcomes) -> str:
    place = experiment.folder / "expected.toml"
    aim, beside = number.aim, number.beside
    own = number.readings[0]
    notes = [
        f"the paper's slip: {aim.why}" if aim is not None and aim.why else "",
        f"margin: {aim.margin_why}" if aim is not None and aim.margin_why else "",
        f"tolerance: {beside.tolerance_why}" if beside is not None and beside.tolerance_why else "",
        number.known.note,
        missed(experiment.runs, own.ratio, estimate_ratio(outcomes, own.ratio, place)),
    ]
    return "; ".join(note for note in notes if note)


def _several(count: int) -> int | None:
    return count if count > 1 else None


def _name(experiment: Experiment, number: Number) -> str:
    """Give the name of a number, with its factor and its unit."""
    own = number.readings[0]
    unit = "" if own.ratio.bottom is not None else _unit(experiment, own.ratio.top)
    if len(number.readings) > 1 or number.name not in (str(own.ratio), str(own.ratio).split(" from ")[0]):
        return f"{number.name}, {unit}" if unit else number.name
    name = str(own.ratio) if own.times == 1.0 else f"{own.times:.4g} x {own.ratio}"
    return f"{name}, {unit}" if unit else name


def _label(experiment: Experiment, ratio: Ratio) -> str:
    unit = "" if ratio.bottom is not None else _unit(experiment, ratio.top)
    return f"{ratio} ({unit})" if unit else str(ratio)


def _unit(experiment: Experiment, address: Address) -> str:
    """Give the unit of a measured number; nothing if the measure's name says it."""
    unit = experiment.unit_of(address)
    return "" if unit in address.measure.split("-") else unit
