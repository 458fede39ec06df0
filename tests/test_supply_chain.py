"""What anabranch is made of: locked with hashes, under licences that allow it, and named in the notices."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "licences"))

import notices  # noqa: E402

PIN = re.compile(
    r"^([A-Za-z0-9_.-]+)==[^ ]+(?: ; .+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def normal(name: str) -> str:
    """Write the name of a package as all its spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


LOCKS = {"constraints.txt": 100, "constraints-zig.txt": 1}
"""Files of pins, each with the fewest that it has."""


@pytest.mark.parametrize("file", LOCKS)
def test_every_pin_has_a_hash_and_nothing_names_an_index(file):
    locked = (ROOT / file).read_text()
    assert PIN.sub("", locked) == ""
    assert len(PIN.findall(locked)) >= LOCKS[file]
    assert "//" not in locked


def test_all_that_the_project_asks_for_is_locked():
    locked = "".join((ROOT / file).read_text() for file in LOCKS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"].values()
    asked = [
        *project["project"]["dependencies"],
        *(want for group in groups for want in group if isinstance(want, str)),
    ]
    names = {normal(re.split(r"[^A-Za-z0-9_.-]", want)[0]) for want in asked}
    assert names <= {normal(name) for name, _ in PIN.findall(locked)}


def test_documents_name_the_oldest_rust_that_compiles():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    wanted = workspace["package"]["rust-version"]
    assert tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())["package"]["rust-version"] == wanted
    for page in ("README.md", "docs/install.md"):
        assert re.findall(r"Rust \|? ?(\d\.\d+)", (ROOT / page).read_text())[0] == wanted, page


def test_the_notices_name_every_package_that_a_wheel_carries():
    written = notices.TARGET.read_text()
    assert notices.table(notices.crates()) in written, "crates have changed: `make notices` writes the file anew"
    assert notices.table(notices.modules()) in written, "modules have changed: `make notices` writes the file anew"


def test_a_wheel_carries_the_notices():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert notices.TARGET.name in project["license-files"]


@pytest.mark.parametrize(
    ("licence", "taken"),
    [
        ("MIT", {"MIT"}),
        ("MIT OR Apache-2.0", {"Apache-2.0"}),
        ("MIT/Apache-2.0", {"Apache-2.0"}),
        ("Apache-2.0 AND ISC", {"Apache-2.0", "ISC"}),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", {"Apache-2.0", "Unicode-3.0"}),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", {"Apache-2.0"}),
        ("Apache-2.0 WITH LLVM-exception", {"Apache-2.0 WITH LLVM-exception"}),
        ("Unlicense OR MIT", {"Unlicense"}),
    ],
)
def test_of_licences_to_choose_from_the_one_with_a_common_text_is_taken(licence, taken):
    assert notices.wanted(licence) == taken


def test_a_licence_that_is_not_read_to_its_end_is_refused():
    with pytest.raises(ValueError, match="is not read to its end"):
        notices.wanted("MIT Apache-2.0")


def test_licences_and_sources_of_all_crates_are_allowed():
    if shutil.which("cargo-deny") is None:
        pytest.skip("cargo-deny is not installed; `cargo install --locked cargo-deny` does that")
    call = ["cargo", "deny", "--offline", "check", "licenses", "bans", "sources"]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
