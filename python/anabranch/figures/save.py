"""Save a figure, so that the same data give the same bytes."""

from __future__ import annotations

import os
import tempfile
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from anabranch.errors import ScenarioError
from anabranch.folder import not_written
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

WITHOUT_DATE = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}
"""Formats by suffix, and what would tell when and by what the file was made."""


def check_suffix(file: str | os.PathLike[str]) -> Path:
    """Give the file as a path, if its suffix is one that can be drawn.

    Raises
    ------
    ScenarioError
        The suffix is neither ``.svg`` nor ``.png``.
    """
    target = Path(file)
    if target.suffix.lower() not in WITHOUT_DATE:
        reason = f"there is no picture format `{excerpt(target.suffix)}`"
        raise ScenarioError(f"{target}: {reason}; end the name with {' or '.join(WITHOUT_DATE)}")
    return target


def save(figure: Figure, file: str | os.PathLike[str], *, dpi: float = 150.0) -> None:
    """Write a figure as SVG or PNG, by suffix: aside first, then in place.

    Raises
    ------
    ScenarioError
        Another suffix, or a file that cannot be written.
    StorageError
        It cannot be written to its end, as on a full disk.
    """
    target = check_suffix(file)
    suffix = target.suffix.lower()
    aside: str | None = None
    try:
        handle, aside = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
        with os.fdopen(handle, "wb") as stream, mpl.rc_context({"svg.hashsalt": "anabranch"}), any_glyph():
            figure.savefig(stream, format=suffix[1:], dpi=dpi, metadata=WITHOUT_DATE[suffix])
        mask = os.umask(0o022)
        os.umask(mask)
        os.chmod(aside, 0o666 & ~mask)
        os.replace(aside, target)
    except OSError as error:
        raise not_written(target, error, "check the folder and the rights") from error
    except ValueError as error:
        raise ScenarioError(f"{target}: it cannot be written ({error}); check the name") from error
    finally:
        if aside is not None:
            with suppress(OSError):
                os.unlink(aside)


@contextmanager
def any_glyph() -> Iterator[None]:
    """Draw a letter that the font lacks as a box, without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield
