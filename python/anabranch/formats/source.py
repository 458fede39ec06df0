"""Files: opened, unpacked and decoded, with places in them for messages."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    import os

MOST_BYTES = 1 << 28
"""No file is read beyond this size, packed or unpacked; the largest known network file has some 4 MB."""

CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a"))
"""Bytes that text never holds."""

BEGINNING = 20_000
"""The number of characters in which a format is recognised."""

BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Place:
    """A place in a file, for messages."""

    words: str

    def error(self, reason: str, remedy: str) -> ScenarioError:
        """Say where, what is wrong, and what would do."""
        return ScenarioError(f"{self.words}: {reason}; {remedy}")


@dataclass(frozen=True)
class Source:
    """A file's name and text."""

    path: Path
    text: str

    @property
    def whole(self) -> Place:
        """The file as a place."""
        return Place(str(self.path))

    def line(self, number: int) -> Place:
        """Give the place of a line, counted from 1."""
        return Place(f"{self.path}, line {number}")

    def element(self, words: str) -> Place:
        """Give the place of something that has a name but no line."""
        return Place(f"{self.path}, {words}")

    @property
    def beginning(self) -> str:
        """The first characters of the text, without a mark or blanks before them."""
        return self.text[:BEGINNING].lstrip("\ufeff \t\r\n")

    @property
    def suffix(self) -> str:
        """The ending of the name, in lower case, without ``.gz``."""
        return Path(_unzipped_name(self.path)).suffix.lower()

    @property
    def stem(self) -> str:
        """The name without folder and endings, as a title."""
        return Path(_unzipped_name(self.path)).stem


def load(path: str | os.PathLike[str], holds: str = "a network or demands") -> Source:
    """Read a text file, packed with gzip or not, in UTF-8 (UTF-16 with a mark), else Latin-1.

    Parameters
    ----------
    holds : str
        The content that the caller needs, for messages.

    Raises
    ------
    ScenarioError
        No such file, not a file, not readable, too large, binary, or empty.
    """
    try:
        file = Path(path)
        place = Place(str(file))
        if not file.exists():
            raise place.error("there is no such file", "check the name and the folder")
        if not file.is_file():
            kind = "a folder" if file.is_dir() else "not an ordinary file"
            raise place.error(f"it is {kind}", f"name a file that holds {holds}")
        with file.open("rb") as stream:
            packed = stream.read(MOST_BYTES + 1)
    except (OSError, TypeError, UnicodeError) as error:
        raise ScenarioError(f"{excerpt(path)}: it cannot be opened ({error}); check the name and the rights") from error
    except ValueError as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(f"{excerpt(path)}: this cannot be a file's name ({error}); check it") from error
    unpacked = _unpack(packed, file, place)
    if len(unpacked) > MOST_BYTES:
        raise place.error(f"it holds more than {MOST_BYTES >> 20} MiB", "split it, or check that it is the right file")
    text = _decode(unpacked, place)
    if not text.strip():
        raise place.error("it is empty", "check that it was written to its end")
    return Source(file, text)


def excerpt(value: object, most: int = 60) -> str:
    """Quote the beginning of something that may be long, on one line and free of what a terminal would act on."""
    text = str(value)
    short = text if len(text) <= most else text[: most - 3] + "..."
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


def _unzipped_name(path: Path) -> str:
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def _unpack(packed: bytes, file: Path, place: Place) -> bytes:
    named = file.name.lower().endswith(".gz")
    if not packed or not (named or packed.startswith(b"\x1f\x8b")):
        return packed
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(packed)).read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        remedy = "fetch it again, or drop .gz from its name if it is not packed"
        raise place.error(f"it cannot be unpacked as gzip ({error})", remedy) from error


def _decode(data: bytes, place: Place) -> str:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeError as error:
                raise place.error(f"it begins as {encoding} but is not ({error})", "save it as UTF-8") from error
    if data.translate(None, CONTROL_BYTES) != data:
        raise place.error("it is binary, not text", "name a text file in one of the known formats")
    try:
        return data.decode("utf-8")
    except UnicodeError:
        return data.decode("latin-1")
