"""Rows, their readings, their READMEs and their mutation test, on an experiment small enough to work by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anabranch.errors import ScenarioError
from anabranch.reproduce import reproduce
from anabranch.reproduce.summary import summary

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.rows import Rows

# c1 and c2 share l1 of 10 Mbit/s; c2 alone crosses l2 of 2 Mbit/s: fair are 8 and 2. Given are 5 and 5.
SCENARIO = """
[[link]]
name = "l1"
source = "a"
target = "b"
capacity = "10 Mbit/s"

[[link]]
name = "l2"
source = "b"
target = "c"
capacity = "2 Mbit/s"

[[connection]]
name = "c1"
source = "a"
target = "b"
paths = 1

[[connection]]
name = "c2"
source = "a"
target = "c"
paths = 1
"""

EXPERIMENT = """
paper = "mine"
item = "table-1"
title = "t"
rates_in = "Mbit/s"
scenario = "scenario.toml"

[[run]]
name = "fair"
method = "progressive-filling"

[[run]]
name = "equal"
method = "given"
path_rates = [5.0, 5.0]
"""


def made(folder: Path, expected: str, experiment: str = EXPERIMENT, **named: object) -> Rows:
    own = folder / "mine-table-1"
    own.mkdir(exist_ok=True)
    (own / "scenario.toml").write_text(SCENARIO)
    (own / "experiment.toml").write_text(experiment)
    (own / "expected.toml").write_text(expected)
    return reproduce("mine", experiments=folder, **named)


def unturned(folder: Path, expected: str) -> list[tuple[str, str]]:
    rows = made(folder, expected, mutate=True)
    assert rows.unturned is not None
    return [(own.quantity, own.mutation) for own in rows.unturned]


def test_a_row_of_a_number_turns_with_the_number_and_with_the_rival(tmp_path: Path) -> None:
    assert unturned(tmp_path, '[[quantity]]\nname = "fair rate c1"\npublished = 8.0\n') == []


def test_a_row_that_a_rival_meets_as_well_is_told(tmp_path: Path) -> None:
    # Both runs load l1 with 10 Mbit/s.
    row = '[[quantity]]\nname = "fair load l1"\npublished = 10.0\n'
    assert unturned(tmp_path, row) == [("fair load l1, Mbit/s", "exchanged")]
    assert unturned(tmp_path, row + 'common = "both fill the link"\n') == []
    # The paper prints it for the rival too.
    assert unturned(tmp_path, row + '[[quantity]]\nname = "equal load l1"\npublished = 10.0\n') == []


def test_a_row_that_a_rival_roughly_meets_is_told(tmp_path: Path) -> None:
    # 7.8 is not 8.00, and within 5 % of it.
    near = EXPERIMENT.replace("[5.0, 5.0]", "[7.8, 2.0]")
    rows = made(tmp_path, '[[quantity]]\nname = "fair rate c1"\npublished = 8.0\n', near, mutate=True)
    assert [own.mutation for own in rows.unturned or []] == ["exchanged"]


def test_a_bound_far_from_the_number_is_told(tmp_path: Path) -> None:
    claim = '[[quantity]]\nname = "it is small"\npublished = "small"\ncheck = "fair rate c2 < {}"\n'
    # 2 is below 3, and not below 0.3; 5 of the rival is not below 3 either.
    assert unturned(tmp_path, claim.format("3")) == []
    assert unturned(tmp_path, claim.format("1000")) == [("it is small", "moved"), ("it is small", "exchanged")]


def test_a_number_off_has_a_cause_on_record(tmp_path: Path) -> None:
    row = '[[quantity]]\nname = "fair rate c1"\npublished = 7.0\nexpect = "off"\n'
    with pytest.raises(ScenarioError, match=r"`expect`: it is `off`, without a cause; add cause: paper, unprinted"):
        made(tmp_path, row)
    (own,) = made(tmp_path, row + 'cause = "unprinted"\n')
    assert (own.verdict, own.expected, own.is_changed, own.difference) == ("off", "off", False, 1.0)
    (own,) = made(tmp_path, '[[quantity]]\nname = "fair rate c1"\npublished = 7.0\n')
    assert (own.verdict, own.expected, own.is_changed) == ("off", "within margin", True)


def test_no_margin_is_over_five_percent_without_a_reason(tmp_path: Path) -> None:
    row = '[[quantity]]\nname = "fair rate c1"\npublished = 8.2\nmargin = 0.5\n'
    with pytest.raises(ScenarioError, match=r"`margin`: 0.5 is over 5 % of 8.2; say why in `margin_why`"):
        made(tmp_path, row)
    (own,) = made(tmp_path, row + 'margin_why = "read off an axis in steps of 0.5"\n')
    assert (own.verdict, own.note) == ("within margin", "margin: read off an axis in steps of 0.5")
    row = '[[quantity]]\nname = "fair rate c1"\nrecorded = 8.2\ntolerance = 0.5\n'
    with pytest.raises(ScenarioError, match=r"`tolerance`: 0.5 is over 5 % of 8.2; say why in `tolerance_why`"):
        made(tmp_path, row)
    row = '[[quantity]]\nname = "fair rate c1"\nagainst = "equal rate c1"\ntolerance = 3.5\n'
    with pytest.raises(ScenarioError, match=r"`tolerance`: 3.5 is over 5 % of 5; say why in `tolerance_why`"):
        made(tmp_path, row)


def test_what_a_number_is_compared_with_does_not_decide(tmp_path: Path) -> None:
    row = '[[quantity]]\nname = "fair rate c1"\npublished = 8.0\nagainst = "equal rate c1"\nexpect_beside = "differs"\n'
    (own,) = made(tmp_path, row)
    assert (own.kind, own.verdict, own.against, own.beside, own.is_changed) == (
        "number",
        "within margin",
        5.0,
        "differs",
        False,
    )
    (own,) = made(tmp_path, '[[quantity]]\nname = "fair rate c1"\nagainst = 8.0\n')
    assert (own.kind, own.published, own.verdict) == ("comparison", None, "agrees")


READINGS = """
[[quantity]]
name = "c1 has more than c2"
published = "c1 gets more"

[[quantity.readings]]
name = "equal shares"
check = "equal rate c1 > equal rate c2"
expect = "not borne out"

[[quantity.readings]]
name = "fair shares"
check = ["fair rate c1 > fair rate c2", "fair rate c1 < 9"]
"""


def test_a_claim_is_borne_out_under_a_reading_that_the_row_names(tmp_path: Path) -> None:
    rows = made(tmp_path, READINGS)
    (own,) = rows
    assert (own.verdict, own.reading, own.is_changed) == ("borne out", "fair shares", False)
    assert [(one.name, one.verdict) for one in own.readings] == [
        ("equal shares", "not borne out"),
        ("fair shares", "borne out"),
    ]
    under = "1 borne out (1 otherwise than described: fair shares: 1)"
    assert summary(rows) == f"1 claim: {under}\n0 verdicts other than on record"
    (own,) = made(tmp_path, READINGS.replace('expect = "not borne out"\n', ""))
    assert own.is_changed, "a reading that turns is told, though another bears the claim out"


def test_a_protocol_that_we_corrected_bears_no_claim_of_the_paper_out(tmp_path: Path) -> None:
    corrected = EXPERIMENT.replace('method = "progressive-filling"', 'method = "progressive-filling"\ncorrected = true')
    with pytest.raises(ScenarioError, match="it is `not borne out`, without a cause"):
        made(tmp_path, READINGS, corrected)
    alone = '[[quantity]]\nname = "a"\npublished = "more"\ncheck = "fair rate c1 > equal rate c1"\n'
    with pytest.raises(ScenarioError, match="only a protocol that we corrected decides it; add a reading with the"):
        made(tmp_path, alone, corrected)
    why = '[[quantity]]\ncause = "paper"'
    rows = made(tmp_path, READINGS.replace("[[quantity]]", why, 1), corrected)
    (own,) = rows
    assert (own.verdict, own.reading, own.is_changed) == ("not borne out", "equal shares", False)
    because = "the paper's own defect: 1; with our correction 1 comes out"
    assert summary(rows) == f"1 claim: 1 not borne out ({because})\n0 verdicts other than on record"


def test_one_defect_counts_once(tmp_path: Path) -> None:
    bad = 'published = "{}"\ncheck = "fair rate c1 < fair rate c2"\nexpect = "not borne out"\ncause = "paper"\n'
    text = "".join(
        f'[[quantity]]\nname = "{n}"\n{bad.format(n)}defect = "{d}"\n' for n, d in (("a", "x"), ("b", "x"), ("c", "y"))
    )
    rows = made(tmp_path, text)
    why = "the paper's own defect: 3, 2 matters"
    assert summary(rows).splitlines()[0] == f"3 claims: 3 not borne out ({why})"


def test_a_readme_has_the_numbers_that_were_found(tmp_path: Path) -> None:
    made(tmp_path, '[[quantity]]\nname = "fair rate c1"\npublished = 8.0\n')
    source = tmp_path / "mine-table-1" / "README.in"
    source.write_text(
        "c1 has {{fair rate c1}} Mbit/s, {{100 x fair rate c1 / equal rate c1 | .0f}} %.\n\n{{summary}}\n"
    )
    rows = reproduce("mine", experiments=tmp_path)
    (text,) = rows.readmes.values()
    counted = "- 1 published number: 1 within the margin."
    assert text == f"c1 has 8 Mbit/s, 160 %.\n\n{counted}\n"
    for wrong, message in (("{{fair rates c1}}", "no measure `rates`"), ("{{fair", "is no number; write such as")):
        source.write_text(wrong)
        with pytest.raises(ScenarioError, match=message):
            reproduce("mine", experiments=tmp_path)


def test_other_settings_are_told(tmp_path: Path) -> None:
    rows = made(tmp_path, '[[quantity]]\nname = "fair rate c1"\npublished = 8.0\n', sets=["run.seed=3"], seeds=2)
    assert "Run with other settings than the experiments' own: set run.seed=3, 2 seeds" in summary(rows)
    with pytest.raises(ValueError, match="seeds is 0; it must be a whole number, 1 or more"):
        made(tmp_path, "", seeds=0)
