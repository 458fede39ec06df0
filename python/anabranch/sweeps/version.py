"""Which code results are of: the version, and a digest of what they go through."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from anabranch import _core, measured, result, simulate

NAME_BYTES = 10
"""Of the hash that names a run, written in twice as many digits."""


@cache
def code_version() -> str:
    """Give the version with a digest of the code that makes results: ``0.1.0+1f2e3d4c``.

    Of the compiled module, and of the Python modules that make its tables. So results of a changed protocol are told
    from those before, though the version is the same.
    """
    digest = blake2b(_core.SOURCES.encode(), digest_size=4)
    for module in (measured, result, simulate):
        assert module.__file__ is not None, "it is a file"
        digest.update(Path(module.__file__).read_bytes().replace(b"\r\n", b"\n"))
    return f"{version('anabranch')}+{digest.hexdigest()}"


def run_name(resolved: str) -> str:
    """Give the name of the run of a scenario that is resolved, by this code."""
    return blake2b(f"{code_version()}\n{resolved}".encode(), digest_size=NAME_BYTES).hexdigest()
