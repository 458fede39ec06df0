"""Files that commands write: whole or not at all, and no device is put aside for one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from anabranch.errors import ScenarioError
from anabranch.folder import put_file


def test_a_file_takes_the_place_of_another_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")
    put_file("new", target)
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    put_file("text", pipe)
    reader.join(timeout=10.0)
    assert read == ["text"]
    assert pipe.is_fifo()


def test_a_folder_is_refused_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ScenarioError, match="it cannot be written"):
        put_file("text", tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]
