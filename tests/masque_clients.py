"""The client of proxies in ``masque_client``, a program in Go on another implementation of QUIC and HTTP/3."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from running_programs import LONG_S

SOURCES = Path(__file__).parent / "masque_client"

BUILD_S = 300
"""The longest that fetching the modules or compiling them takes."""


def build(folder: Path, sources: Path = SOURCES) -> Path:
    """Compile a client into a folder; skip the test where Go or the modules are absent."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:/usr/local/go/bin")
    if go is None:
        pytest.skip("the program go is missing, which compiles the client of others")
    # No other version of Go is fetched than the one that is there.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=readonly"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [go, *words]
        return subprocess.run(
            command, cwd=sources, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_S
        )

    try:
        fetched = run("mod", "download")
    except subprocess.TimeoutExpired:
        pytest.skip("the modules of the client of others do not come")
    if fetched.returncode != 0:
        pytest.skip(f"the modules of the client of others cannot be had: {fetched.stderr.strip()}")
    program = folder / sources.name
    built = run("build", "-o", str(program), ".")
    assert built.returncode == 0, built.stderr
    return program


def ask(program: Path, at: tuple[str, int], *words: str) -> Any:
    """Run the client against an exit; give what it prints."""
    command = [str(program), "-exit", f"{at[0]}:{at[1]}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * LONG_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
