"""A full disk is one sentence and exit code 1 in every command, and leaves nothing half-written."""

import errno
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from anabranch.errors import ScenarioError, StorageError
from anabranch.folder import new_folder, not_written, put_file, put_parquet
from labs import told
from served import JOIN, ran, served

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@contextmanager
def small_disk(place, size):
    place.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, check=False
        )
    except OSError:
        pytest.skip("there is no mount here to make a small disk with")
    if mounted.returncode:
        pytest.skip("a small disk can be made by root alone")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "16k") as place:
        yield place


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert told("run", SCENARIOS / "join-and-leave.toml", "--out", folder).returncode == 0
    return folder


COMMANDS = {
    "run": ["run", SCENARIOS / "join-and-leave.toml", "--out"],
    "solve": ["solve", SCENARIOS / "continent.toml", "--demands", "gravity:1Tbit/s", "--out"],
    "solve, many": [
        *("solve", SCENARIOS / "continent.toml", "--demands", "gravity:1Tbit/s", "--demands", "gravity:2Tbit/s"),
        "--out",
    ],
    "topology convert": ["topology", "convert", SCENARIOS / "continent.toml"],
    "solve, a figure": ["solve", SCENARIOS / "continent.toml", "--demands", "gravity:1Tbit/s", "--figure"],
}
NAMES = {"topology convert": "x.graphml", "solve, a figure": "x.svg"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_sentence_and_a_failure(disk, command):
    place = disk / NAMES.get(command, "x")
    failed = told(*COMMANDS[command], place)
    assert (failed.returncode, failed.stderr) == (
        1,
        f"anabranch: {place}: it cannot be written (No space left on device); make room, and do it again\n",
    )
    assert list(disk.iterdir()) == []


def test_a_report_that_does_not_fit_is_a_failure(disk, run_folder):
    failed = told("report", run_folder, "--out", disk / "x.html")
    assert (failed.returncode, "No space left on device" in failed.stderr) == (1, True)
    assert failed.stderr.count("\n") == 1
    assert list(disk.iterdir()) == []


def test_a_job_that_does_not_fit_has_failed_and_the_next_one_runs(tmp_path):
    with small_disk(tmp_path / "disk", "100k") as place, served(place) as client:
        (place / "ballast").write_bytes(b"1" * 90_000)
        job = ran(client, JOIN, name="full")
        assert (job["state"], "No space left on device" in job["error"]) == ("failed", True)
        assert [entry.name for entry in place.iterdir()] == ["ballast"]
        (place / "ballast").unlink()
        assert ran(client, JOIN, name="next")["state"] == "done"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_the_fault_of_a_disk_is_told_from_that_of_a_name(code):
    target = Path("x")
    assert isinstance(not_written(target, OSError(code, os.strerror(code)), "mend it"), StorageError)
    assert isinstance(not_written(target, OSError(errno.ENOTDIR, "Not a directory"), "mend it"), ScenarioError)


def test_a_full_disk_within_a_folder_is_told_of_the_folder(tmp_path):
    with (
        pytest.raises(
            StorageError, match=r"/x: it cannot be written \(No space left on device\); make room, and do it again$"
        ),
        new_folder(tmp_path / "x") as aside,
    ):
        raise not_written(aside / "y.svg", OSError(errno.ENOSPC, "No space left on device"), "")
    assert list(tmp_path.iterdir()) == []


def test_a_broken_disk_and_a_limit_of_files_have_remedies_of_their_own():
    broken, limited = (str(not_written(Path("x"), OSError(code, "no"), "")) for code in (errno.EIO, errno.EFBIG))
    assert broken == "x: it cannot be written (no); the disk may be broken, so name a place on another"
    assert limited.startswith("x: it cannot be written (no); raise the limit on the size of files (ulimit -f), or name")


def test_a_device_that_is_full_is_a_failure_too():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with pytest.raises(StorageError, match="No space left on device"):
        put_file("text", full)
    with pytest.raises(OSError, match="No space left on device"):
        put_parquet(pl.DataFrame({"a": [1]}), full)
