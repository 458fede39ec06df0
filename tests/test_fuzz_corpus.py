"""The kept corpora of the readers in Python: each file is read or refused as it should be, also without atheris."""

import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

from readers import TARGETS, once  # noqa: E402

MOST_BYTES = 1 << 20


@pytest.mark.parametrize("name", TARGETS)
def test_every_kept_file_is_read_or_refused(name):
    files = sorted((FUZZ / "corpus" / name).iterdir())
    assert files
    for file in files:
        once(TARGETS[name], file.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_a_corpus_has_files_that_are_read(name, tmp_path):
    target = TARGETS[name]
    for number, file in enumerate(sorted((FUZZ / "corpus" / name).iterdir())):
        content = file.read_bytes()
        path = tmp_path / str(number) / target.names[content[0] % len(target.names)]
        path.parent.mkdir()
        path.write_bytes(content[1:])
        try:
            target.read(path)
        except ValueError:
            continue
        return
    pytest.fail("all files are refused")


def test_every_target_has_a_corpus_and_all_are_small():
    rust = {path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs")}
    assert {path.name for path in (FUZZ / "corpus").iterdir()} == rust | set(TARGETS)
    assert sum(path.stat().st_size for path in (FUZZ / "corpus").rglob("*")) < MOST_BYTES
