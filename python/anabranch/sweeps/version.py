"""The version of the code that made results: the release, and a digest of its sources."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import anabranch
from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

MODULES = (
    *("formats/*.py", "model/demands.py", "model/network.py", "model/paths.py"),
    *("runs/columns.py", "runs/derived.py", "runs/result.py", "runs/scenario.py", "runs/series.py"),
    *("runs/simulate.py", "runs/table_files.py", "runs/tables.py"),
)
"""The files that determine results, besides the compiled module."""

NAME_BYTES = 10
"""The bytes of the hash that names a run, which is written in twice as many digits."""


@cache
def code_version() -> str:
    """Give the version with a digest of the code that makes results: ``0.1.0+1f2e3d4c``.

    Of the compiled module, and of the Python modules that plan runs and make their tables. So results of a changed
    protocol are told from those before, though the version is the same.
    """
    digest = blake2b(_core.SOURCES.encode(), digest_size=4)
    assert anabranch.__file__ is not None, "it is a file"
    package = Path(anabranch.__file__).parent
    for file in modules(package, MODULES):
        digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return f"{version('anabranch')}+{digest.hexdigest()}"


def modules(package: Path, patterns: Iterable[str]) -> list[Path]:
    """Give the files of a package that patterns name; a pattern without a file would hide that code has changed."""
    found = {pattern: list(package.glob(pattern)) for pattern in patterns}
    missing = [pattern for pattern, files in found.items() if not files]
    assert not missing, f"no module is called {' or '.join(missing)}: mend the patterns of sweeps/version.py"
    return sorted(file for files in found.values() for file in files)


def run_name(resolved: str) -> str:
    """Give the name of the run of a scenario that is resolved, by this code."""
    return blake2b(f"{code_version()}\n{resolved}".encode(), digest_size=NAME_BYTES).hexdigest()
