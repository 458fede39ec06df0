"""The examples that come with anabranch: copied whole, and never over what is there."""

import tomllib
from pathlib import Path

import pytest

from command import run

ROOT = Path(__file__).parents[1]


def texts(folder):
    return {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.toml")}


def test_the_copies_are_the_examples_of_the_repository(tmp_path):
    done = run("examples", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["scenarios", "sweeps"]
    for kind in ("scenarios", "sweeps"):
        assert texts(tmp_path / kind) == texts(ROOT / kind)


def test_copied_sweeps_find_their_scenarios(tmp_path):
    run("examples", tmp_path / "new")
    for sweep in (tmp_path / "new" / "sweeps").glob("*.toml"):
        assert (sweep.parent / tomllib.loads(sweep.read_text())["scenario"]).is_file()
        done = run("check", sweep)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["scenarios", "sweeps"])
def test_what_is_there_is_left_as_it_is(tmp_path, kind):
    (tmp_path / kind).mkdir()
    done = run("examples", tmp_path)
    assert done.returncode == 2
    assert f"{kind}: it exists already" in done.stderr
    assert list(tmp_path.rglob("*")) == [tmp_path / kind]
