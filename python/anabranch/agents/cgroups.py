"""A control group for one program, by which the kernel tells its packets from others (Linux, cgroup v2)."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
"""The command of a shell that enters a group and becomes another program."""


ROOT = Path("/sys/fs/cgroup")
"""The folder from which programs name groups."""


def _mount() -> Path | None:
    """Return where the hierarchy of cgroup v2 is mounted, if it is."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[2] == "cgroup2" and Path(words[1]).is_relative_to(ROOT):
            return Path(words[1])
    return None


@contextmanager
def group(name: str) -> Iterator[tuple[Path, str] | None]:
    """Make a group below that of this process: its folder, and its path as the file of an agent names it.

    None is given where the kernel has no such groups, or this process may make none.
    """
    root = _mount()
    own = next(
        (line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), None
    )
    if root is None or own is None:
        yield None
        return
    folder = root / own.strip("/") / name
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        yield folder, str(folder.relative_to(ROOT))
    finally:
        # What the program left running keeps the group.
        with suppress(OSError):
            folder.rmdir()


def entering(folder: Path, command: list[str]) -> list[str]:
    """Return the command that enters a group and then is another."""
    return ["/bin/sh", "-c", ENTER, os.fspath(folder), *command]
