"""What must hold of the experiments on upward max-min fairness: no sentence may take our d-SLEN for the paper's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anabranch.reproduce.experiment import Experiment, read_experiment
from anabranch.reproduce.spec.quantity import Claim

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"

FOLDERS = sorted(file.parent for file in EXPERIMENTS.glob("upward-max-min-*/experiment.toml"))

PRINTED, CORRECTED = "d-slen-printed", "d-slen-corrected"

BARE = re.compile(r"d-slen(?! \((?:as printed|corrected)\))(?!-printed|-corrected)(?!\.rs|_|\.variant)", re.IGNORECASE)
"""The name without the words that say whose form of the protocol is meant."""

QUOTED = re.compile(r'"[^"]*"|`[^`]*`|\{\{[^}]*\}\}', re.DOTALL)


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def experiment(request: pytest.FixtureRequest) -> Experiment:
    return read_experiment(request.param)


def test_runs_say_which_form_of_d_slen_they_are(experiment: Experiment) -> None:
    for run in experiment.runs.values():
        if run.method != "simulate":
            continue
        sets = " ".join(run.sets)
        if "vo-le-tran" in sets:
            assert run.name.startswith("vo-le-tran-reconstruction"), run.name
        else:
            assert run.name.startswith(PRINTED if "variant=paper" in sets else CORRECTED), run.name


def test_captions_and_titles_say_which_form_of_d_slen_they_show(experiment: Experiment) -> None:
    for figure in experiment.figures:
        text = f"{figure.heading.title} {figure.heading.caption}"
        if experiment.item != "d-slen":
            assert BARE.search(QUOTED.sub("", text)) is None, text


def test_readmes_say_which_form_of_d_slen_they_mean(experiment: Experiment) -> None:
    text = (experiment.folder / "README.md").read_text(encoding="utf-8")
    for line in QUOTED.sub("", text).splitlines():
        if not line.startswith(("# ", "- ")):
            assert BARE.search(line) is None, line


def test_claims_about_d_slen_are_judged_as_printed_first_and_as_corrected(experiment: Experiment) -> None:
    for claim in experiment.quantities:
        if not isinstance(claim, Claim) or claim.published is None:
            continue
        forms = [{name for name in (PRINTED, CORRECTED) if f"{name}" in str(own.ratios)} for own in claim.readings]
        of_d_slen = [form for form in forms if form]
        if of_d_slen and not (len(of_d_slen) == len(forms) and all(form == {PRINTED, CORRECTED} for form in forms)):
            # Either each reading needs both forms, or there are readings of each, the paper's own form first.
            assert {PRINTED} in forms or PRINTED in str(claim.ratios), claim.name
            assert any(CORRECTED in form for form in forms), claim.name
            assert claim.readings[0].reading.startswith(("as printed", "price")), claim.name
