"""The progress of a fetch, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

WEAK = {"md5", "sha1"}
"""Hash functions for which somebody can make two files with one hash: they show damage, but not malice."""


@dataclass(frozen=True)
class FetchState:
    """The progress of a fetch.

    ``sources`` has a row for each: ``source``, its address; ``standing``, one of awaited, preparing, waiting for what
    others have, sending, lost and refused; ``why`` of the last two; ``is_mirror``, whether it is a web server, and
    ``takes_ranges``, whether that sends parts of files;
    ``brought_bytes``; ``silence_s``, the time for which nothing came although it was asked; ``losses``, the number of
    times that it was lost; and ``paths``, a row for each: ``path``, ``is_open``, ``received_bytes`` (from sharers with
    all that is sent beside the file), ``rtt_s``. ``agree_in_size_alone`` says whether web servers whose parts are put
    together agree in nothing but the size of the file, so that nothing proves that they have the same one.
    """

    time_s: float
    size_bytes: int | None
    was_there_bytes: int
    sources: list[dict[str, Any]]
    agree_in_size_alone: bool = False

    @property
    def brought_bytes(self) -> int:
        """The bytes of the file that arrived and, where chunks can be verified, were verified."""
        brought: int = sum(source["brought_bytes"] for source in self.sources)
        return brought

    @property
    def there_bytes(self) -> int:
        """The bytes of the file that are on the disk."""
        return self.was_there_bytes + self.brought_bytes


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched, with the state at the end.

    ``hash`` is the hash that ``b3sum`` prints; ``hashes`` has the known hashes of the file by their hash functions.
    ``proof`` says what shows that the file is right: ``"tree"`` (each chunk, by the BLAKE3 hash of a sharer),
    ``"pieces"`` (each piece, by a Metalink file), ``"whole"`` (the whole file, by the hashes in ``given``) or
    ``"nothing"``.
    """

    path: Path
    hashes: dict[str, str]
    proof: str
    size_bytes: int
    was_there_bytes: int
    state: FetchState
    given: list[str] = field(default_factory=list)

    @property
    def hash(self) -> str:
        """The BLAKE3 hash of the file."""
        return self.hashes["blake3"]

    @property
    def is_verified(self) -> bool:
        """Whether anything showed that the file is right."""
        return self.proof != "nothing"

    @property
    def rate_bps(self) -> float:
        """The throughput of the missing part, in bits of the file per second."""
        return 8 * (self.size_bytes - self.was_there_bytes) / max(self.state.time_s, 1e-9)
