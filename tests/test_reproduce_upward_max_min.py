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
    for paragraph in text.split("\n\n"):
        words = " ".join(QUOTED.sub("", paragraph).split())
        if not words.startswith(("# ", "- ")):
            assert BARE.search(words) is None, words


def test_claims_about_d_slen_are_judged_as_printed_first_and_as_corrected(experiment: Experiment) -> None:
    for claim in experiment.quantities:
        if not isinstance(claim, Claim) or claim.published is None:
            continue
        addresses = [str(ratio) for ratio in claim.ratios]
        if any("d-slen-" in text for text in addresses):
            assert any(PRINTED in text for text in addresses), claim.name
            assert any(CORRECTED in text for text in addresses), claim.name
            assert any(PRINTED in str(ratio) for ratio in claim.readings[0].ratios), claim.name
