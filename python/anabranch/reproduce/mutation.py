"""Mutation test of rows: each row that comes out is judged again with numbers that are wrong, and must turn.

Two mutations try each row. *Moved*: a number is taken larger, and smaller, by a tenth or by enough to leave its
margin; both must turn the row. The bound of a claim is taken ten times as large and as small, or the two sides of a
claim or of its quotient change places; one of these must turn it. *Exchanged*: the outcome of a run is that of a
rival, a run of the same item that differs in the protocol or the method; one rival must turn the row. A row has
turned if its verdict is bad: ``open`` is not enough. A row that does not turn could not have failed. ``common`` in
its file says why a row need not tell protocols apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.reproduce.judge import row_of
from anabranch.reproduce.measures.address import Ratio
from anabranch.reproduce.measures.evaluate import values
from anabranch.reproduce.measures.registry import AnotherRun
from anabranch.reproduce.spec.quantity import Claim, Number
from anabranch.reproduce.spec.verdict import GOOD, OPEN, SHARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.measures.address import Address
    from anabranch.reproduce.measures.evaluate import Outcomes
    from anabranch.reproduce.rows import Row
    from anabranch.reproduce.spec.quantity import Check, Decided, PaperQuantity
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.verdict import Comparison

SHIFT = 0.1
"""The least share by which a number is moved."""

FACTOR = 10.0
"""The factor by which the bound of a claim is moved."""

CONTRARY: dict[Comparison, Comparison] = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
"""The comparison of inverse numbers."""

TINY = 1e-6
"""The largest bound that stands for 0."""


@dataclass(frozen=True)
class Unturned:
    """A row that stays as it is although its numbers are wrong.

    Attributes
    ----------
    item, quantity : str
    mutation : str
        ``moved`` or ``exchanged``.
    """

    item: str
    quantity: str
    mutation: str


def unturned(experiment: Experiment, outcomes: Outcomes, rows: Iterable[Row]) -> list[Unturned]:
    """Give the good rows of an item that a mutation should have turned, and did not.

    Parameters
    ----------
    rows : iterable of Row
        A row for each quantity of the experiment.
    """
    found = []
    for quantity, row in zip(experiment.quantities, rows, strict=True):
        if row.verdict not in GOOD:
            continue
        alone = _alone(quantity, row)
        turned = [_turns(experiment, moved, outcomes) for moved in _moved(alone, row)]
        is_moved = all(turned) if isinstance(alone, Number) else any(turned)
        if not is_moved and not _is_fixed(experiment, alone, outcomes):
            found.append(Unturned(row.item, row.quantity, "moved"))
        if not quantity.known.common and not _is_exchangeable(experiment, alone, outcomes):
            found.append(Unturned(row.item, row.quantity, "exchanged"))
    return found


def _alone(quantity: PaperQuantity, row: Row) -> PaperQuantity:
    """Give a quantity with the reading alone that its verdict hangs on."""
    if not row.readings:
        return quantity
    if isinstance(quantity, Claim):
        return replace(quantity, readings=tuple(own for own in quantity.readings if own.reading == row.reading))
    return replace(quantity, readings=tuple(one for one in quantity.readings if one.reading == row.reading))


def _turns(experiment: Experiment, mutant: PaperQuantity, outcomes: Outcomes) -> bool:
    return row_of(experiment, mutant, outcomes).verdict not in (*GOOD, OPEN)


def _moved(quantity: PaperQuantity, row: Row) -> Iterator[PaperQuantity]:
    if isinstance(quantity, Number):
        yield from _moved_numbers(quantity, row)
        return
    for at, decided in enumerate(quantity.readings):
        for number in range(len(decided.checks)):
            for check in _moved_checks(decided.checks[number]):
                yield replace(quantity, readings=_with(quantity.readings, at, decided, number, check))


def _moved_numbers(number: Number, row: Row) -> Iterator[Number]:
    """Give a number with the measured one out of its margin, above and below; where one is 0 the aim is moved."""
    aim, beside = number.aim, number.beside
    if aim is not None:
        by, margin = aim.number, max(aim.margin, SHARE * abs(aim.number)) + (row.half_width or 0.0)
    else:
        assert beside is not None, "read_quantity gives it one of them"
        by, margin = row.against or 0.0, beside.tolerance
    ours = float(row.ours)
    if by and ours:
        least = SHIFT * abs(ours)
        for moved in (max(by + 2.0 * margin, ours + least), min(by - 2.0 * margin, ours - least)):
            own = tuple(replace(reading, times=reading.times * moved / ours) for reading in number.readings)
            yield replace(number, readings=own)
        return
    for moved in (by + 3.0 * margin, by - 3.0 * margin):
        if aim is not None:
            yield replace(number, aim=replace(aim, published=moved, right=None, why=""))
        elif beside is not None:
            yield replace(number, beside=replace(beside, number=moved))


def _is_fixed(experiment: Experiment, quantity: PaperQuantity, outcomes: Outcomes) -> bool:
    """Tell whether a measured side of a claim is 0, or infinite as a time that never comes is: no factor moves it."""
    if isinstance(quantity, Number):
        return False
    place = experiment.folder / "expected.toml"
    sides = [check.left for decided in quantity.readings for check in decided.checks]
    return any(math.isinf(value) or value == 0.0 for side in sides for value in values(outcomes, side, place))


def _with(readings: tuple[Decided, ...], at: int, decided: Decided, number: int, check: Check) -> tuple[Decided, ...]:
    """Give readings with another check in one of them."""
    checks = (*decided.checks[:number], check, *decided.checks[number + 1 :])
    return (*readings[:at], replace(decided, checks=checks), *readings[at + 1 :])


def _moved_checks(check: Check) -> Iterator[Check]:
    bound = None if isinstance(check.right, Ratio) or check.right <= 0.0 else check.right
    if check.left.bottom is not None and bound is not None and check.comparison != "=":
        # The quotient the other way round, at most so much, is this one, at least one by so much.
        yield replace(check, comparison=CONTRARY[check.comparison], right=1.0 / bound)
    if isinstance(check.right, Ratio):
        if check.comparison != "=":
            yield replace(check, left=check.right, right=check.left)
            # Where both are equal, their exchange changes nothing.
            strict: dict[Comparison, Comparison] = {"<=": "<", ">=": ">"}
            yield replace(check, comparison=strict.get(check.comparison, check.comparison))
        else:
            yield replace(check, comparison="<")
            yield replace(check, comparison=">")
    elif abs(check.right) > TINY:
        yield replace(check, right=check.right * FACTOR)
        yield replace(check, right=check.right / FACTOR)
    else:
        # No factor moves 0.
        yield replace(check, right=1.0)
        yield replace(check, right=-1.0)


def _is_exchangeable(experiment: Experiment, quantity: PaperQuantity, outcomes: Outcomes) -> bool:
    """Tell whether the row turns with some rival in the place of a run, or the paper has the same for the rival."""
    names = {name for ratio in quantity.ratios for address in ratio.addresses for name in address.runs}
    for name in names:
        for rival in rivals(experiment, name):
            if not _fits(experiment, quantity, name, rival):
                continue
            if _has_same_aim(experiment, quantity, name, rival):
                return True
            try:
                turns = _turns(experiment, quantity, {**outcomes, name: outcomes[rival]})
            except ScenarioError:
                # The rival has no such connection or measure.
                continue
            if turns:
                return True
    return False


def _fits(experiment: Experiment, quantity: PaperQuantity, name: str, rival: str) -> bool:
    """Tell whether a rival has all that is measured of a run."""
    addresses = [address for ratio in quantity.ratios for address in ratio.addresses if name in address.runs]
    for address in addresses:
        of = address.row.of
        kinds = [address.row.runs] if address.run == name else []
        kinds += [of.runs] if isinstance(of, AnotherRun) and address.subject == name else []
        if not all(experiment.runs[rival].is_of(kind) for kind in kinds):
            return False
    return True


def rivals(experiment: Experiment, name: str) -> list[str]:
    """Give the rivals of a run: those that it names, those that differ in protocol or method alone, or all others."""
    own = experiment.runs[name]
    if own.rivals:
        return list(own.rivals)
    others = [other for other in experiment.runs if other != name]
    alike = [other for other in others if _workload(experiment.runs[other]) == _workload(own)]
    return alike or others


def _workload(run: Run) -> tuple[object, ...]:
    """Give what a run is of, without the protocol and the method."""
    sets = tuple(sorted(one for one in run.sets if "protocol" not in one.split("=")[0]))
    return run.scenario, sets, run.followed, run.capacities_times, type(run.fluid)


def _has_same_aim(experiment: Experiment, quantity: PaperQuantity, name: str, rival: str) -> bool:
    """Tell whether the paper prints the same number for a rival, so that the row cannot tell them apart."""
    if not isinstance(quantity, Number) or quantity.aim is None:
        return False
    wanted = [_renamed(address, name, rival) for address in quantity.readings[0].ratio.addresses]
    for other in experiment.quantities:
        if isinstance(other, Number) and other.aim is not None and other.readings[0].ratio.addresses == wanted:
            aims = [quantity.aim.number, other.aim.number]
            return abs(aims[0] - aims[1]) <= quantity.aim.margin
    return False


def _renamed(address: Address, name: str, rival: str) -> Address:
    return replace(address, run=rival) if address.run == name else address
