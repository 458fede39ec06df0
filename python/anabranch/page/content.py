"""The data of a run for the page: a header in JSON, and a blob with all samples.

The header has columns: ``nodes``, ``links``, ``connections`` and ``subflows`` are lists of equal length by name, and
refer to each other by number. ``series`` says of each array in the blob ``of`` what it is, its ``name`` (that of the
column, with its unit), its ``rows`` (a thing each, in the header's order), its ``columns`` (a sample each) and at which
byte it starts. A header may say that the ``first_bytes`` are enough to open the page; the rest may come later.

An array is of little-endian float32, rounded to a part in 8,192: with all bits the file would be half as large again,
and the page shows three or four digits. A value that is not there is not a number. An array lies in the blob as planes:
the lowest bytes of all values, then the next ones. Before that each value is combined with the one before it in its row
by exclusive or, so that what stays the same is 0. Both make it deflate well, and cost the reader next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

VALUE_BYTES = 4

DROPPED_BITS = 11
"""The number of low bits, of the 23 of the mantissa, that are rounded away."""

NOTHING = 0x7FC00000
"""The bits of the one value that is not a number."""


@dataclass
class Content:
    """The data of a finished run for the page.

    Attributes
    ----------
    header : dict
        Plain values, to be written as JSON.
    planes : list of ndarray of uint8
        The blob, in pieces.
    """

    header: dict[str, Any]
    planes: list[NDArray[np.uint8]] = field(default_factory=list)
    size: int = 0

    def __post_init__(self) -> None:
        self.header.setdefault("series", [])

    def add(self, of: str, name: str, values: ArrayLike) -> None:
        """Add the samples of all things of a kind: a row for each thing, a column for each sample."""
        table = np.atleast_2d(np.asarray(values, dtype="<f4"))
        place = {"of": of, "name": name, "rows": table.shape[0], "columns": table.shape[1], "start": self.size}
        self.header["series"].append(place)
        self.planes.append(_planes(table))
        self.size += table.size * VALUE_BYTES

    def blob(self) -> bytes:
        """Give all arrays, one after the other."""
        return b"".join(plane.tobytes() for plane in self.planes)


def read_series(header: dict[str, Any], blob: bytes) -> dict[tuple[str, str], NDArray[np.float32]]:
    """Give the arrays of a blob by kind of thing and name, as the page reads them."""
    arrays = {}
    for place in header["series"]:
        rows, columns = place["rows"], place["columns"]
        size = rows * columns
        planes = np.frombuffer(blob, np.uint8, size * VALUE_BYTES, place["start"]).reshape(VALUE_BYTES, size)
        bits = np.ascontiguousarray(planes.T).view("<u4").reshape(rows, columns)
        arrays[place["of"], place["name"]] = np.bitwise_xor.accumulate(bits, axis=1).view("<f4")
    return arrays


def _planes(table: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Give the bytes of an array, each value combined with the one before it, by their rank in the values."""
    bits = _rounded(table)
    changes = bits.copy()
    changes[:, 1:] ^= bits[:, :-1]
    return np.ascontiguousarray(changes.reshape(-1, 1).view(np.uint8).T)


def _rounded(table: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Give the bits of an array's values, rounded to nearest."""
    bits = np.ascontiguousarray(table).view("<u4")
    kept = (bits + np.uint32(1 << (DROPPED_BITS - 1))) >> np.uint32(DROPPED_BITS) << np.uint32(DROPPED_BITS)
    return np.where(np.isnan(table), np.uint32(NOTHING), kept)
