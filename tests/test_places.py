"""Old output under --force: it goes when the new output is there, and not before."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from anabranch.commands.places import replaced
from anabranch.errors import StorageError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give the place of a file of output, with old output in it."""
    found = tmp_path / "runs" / "rates.svg"
    found.parent.mkdir()
    found.write_text("old")
    return found


def write_in_vain() -> None:
    raise StorageError("the disk is full")


def test_old_output_goes_when_the_new_is_there(place: Path) -> None:
    with replaced(place, force=True):
        assert not place.exists()
        place.write_text("new")
    assert place.read_text() == "new"
    assert os.listdir(place.parent) == ["rates.svg"]


def test_old_output_is_put_back_if_there_is_no_new(place: Path) -> None:
    with pytest.raises(StorageError, match="the disk is full"), replaced(place, force=True):
        write_in_vain()
    assert place.read_text() == "old"
    assert os.listdir(place.parent) == ["rates.svg"]


def test_old_output_stays_beside_its_place_if_it_cannot_be_put_back(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if target == place:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    # What is reported is why there is no new output.
    with pytest.raises(StorageError, match="the disk is full"), replaced(place, force=True):
        write_in_vain()
    assert not place.exists()
    (kept,) = place.parent.rglob("old")
    assert kept.read_text() == "old"


def test_old_output_outlives_a_folder_that_is_moved_away_meanwhile(place: Path, tmp_path: Path) -> None:
    def move_and_fail() -> None:
        place.parent.rename(tmp_path / "moved")
        write_in_vain()

    with pytest.raises(StorageError, match="the disk is full"), replaced(place, force=True):
        move_and_fail()
    (kept,) = (tmp_path / "moved").rglob("old")
    assert kept.read_text() == "old"
