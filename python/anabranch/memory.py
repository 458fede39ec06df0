"""Memory limits for long work: an estimate before it begins, and a watch while it goes on.

By default a run or a solver may take 70 % of the free memory: of the machine's memory, of what the control group of
the process may have, and of its addresses, whichever is least. Work that would take more is refused with a message;
work that takes more after all is ended before the system ends it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.number_labels import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Part = tuple[str, int, str]
    """A use of memory: its name, its bytes, and a way to make it less."""

try:
    import resource
except ImportError:  # pragma: no cover: there is none on Windows
    resource = None  # type: ignore[assignment]

SHARE = 0.7
"""The usable share of the free memory. The rest is for other programs and for errors of estimates."""

SMALL_BYTES = 1 << 26
"""Nobody is asked whether there is room for less."""

WORTH_NAMING = 0.1
"""A part that takes less than this of the whole is not named in a refusal."""

MOST_BYTES = 1 << 53
"""More cannot be allowed; texts of sizes end there, too."""

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
"""Where control groups are, and which of them the process is in."""

SECOND = ("memory.max", "memory.current", "inactive_file ")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
"""The files of a control group, of the second version and the first: the most, and what is taken; of these, files."""

FRESH_S = 1.0
"""The time in seconds for which a measurement of the free memory holds."""


class _Allowed:
    """The memory that the user allowed, and the time until which the limit in force need not be read again."""

    most_bytes: int | None = None
    fresh_until = 0.0


def allow_memory(most: str | float | None) -> None:
    """Set the memory that the process may use; `None` for the default, 70 % of what is free.

    Parameters
    ----------
    most : str or float or None
        Text with a unit, such as ``"12 GB"``, or bytes.

    Raises
    ------
    ValueError
        The text is not a size, or the size is not from 1 byte to `MOST_BYTES`.
    """
    _Allowed.most_bytes = None if most is None else memory_bytes(most)
    _Allowed.fresh_until = 0.0


def memory_bytes(most: str | float) -> int:
    """Give the memory to allow, in bytes.

    Raises
    ------
    ValueError
        The text is not a size, or the size is not from 1 byte to `MOST_BYTES`.
    """
    size = _core.parse_bytes(most) if isinstance(most, str) else most
    if not 1 <= size <= MOST_BYTES:
        raise ValueError(f"the memory to allow is {most}; it must be from 1 to 2^53 bytes")
    return int(size)


def room_bytes() -> int | None:
    """Give the memory that the process may still take; `None` where the system does not report it."""
    used = _core.memory_in_use()
    if used is None:
        return None
    if _Allowed.most_bytes is not None:
        return max(_Allowed.most_bytes - used[0], 0)
    free = [_free_of_machine(), *_free_of_groups(), _free_addresses(used[1])]
    known = [size for size in free if size is not None]
    return int(SHARE * max(min(known), 0)) if known else None


def ask_for_memory(parts: Sequence[Part] = (), what: str = "it") -> None:
    """Make sure that there is room for some work, and watch from now on that no work takes more than there is.

    Raises
    ------
    ScenarioError
        There is not; the message says what takes how much, and what would do.
    """
    need = sum(size for _, size, _ in parts)
    if need < SMALL_BYTES and time.monotonic() < _Allowed.fresh_until:
        return
    room, used = room_bytes(), _core.memory_in_use()
    if room is None or used is None:
        return
    _core.limit_memory(used[0] + room)
    _Allowed.fresh_until = time.monotonic() + FRESH_S
    if need > room and need >= SMALL_BYTES:
        named = sorted((part for part in parts if part[1] > WORTH_NAMING * need), key=lambda part: -part[1])
        why = "; ".join(f"{thing} take {bytes_text(size)}: {remedy}" for thing, size, remedy in named)
        most = bytes_text(int(1.2 * (used[0] + need)) + 1)
        raise ScenarioError(
            f"{what} would take some {bytes_text(need)} of memory, and may take {bytes_text(room)}; {why}; "
            f"or allow more, as by `--memory {most.replace(' ', '')}`"
        )


def _free_of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = (line.split() for line in lines if line.startswith("MemAvailable:"))
    return next((int(words[1]) * 1024 for words in found), None)


def _free_of_groups() -> Iterator[int | None]:
    """Give what each control group that the process is in may still have; files that it can drop count as free."""
    try:
        lines = OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, own = line.split(":", 2)
        if not controllers:
            yield from _free_above(GROUPS, own, SECOND)
        elif "memory" in controllers.split(","):
            yield from _free_above(GROUPS / "memory", own, FIRST)


def _free_above(root: Path, own: str, files: tuple[str, str, str]) -> Iterator[int | None]:
    """Give what a group, and each that it is in, may still have; where its own is not to be seen, that of the root."""
    place = root / own.lstrip("/")
    while place != root:
        yield _left(place, *files)
        place = place.parent
    yield _left(root, *files)


def _left(place: Path, most: str, current: str, cached: str) -> int | None:
    try:
        lines = (place / "memory.stat").read_text(encoding="ascii").splitlines()
        files = next((int(line.split()[1]) for line in lines if line.startswith(cached)), 0)
        limit, taken = ((place / name).read_text(encoding="ascii") for name in (most, current))
        return int(limit) - int(taken) + files
    except (OSError, ValueError):  # there is none, or its limit is "max"
        return None


def _free_addresses(used: int) -> int | None:
    if resource is None:  # pragma: no cover
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else most - used
