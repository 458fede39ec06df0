"""Save a figure, so that the same data give the same bytes."""

from __future__ import annotations

import os
import tempfile
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from anabranch.errors import ScenarioError
from anabranch.folder import not_written
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

WITHOUT_DATE: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Formats by suffix, and what would tell when and by what the file was made."""

SETTINGS: Any = {"svg.hashsalt": "anabranch", "pdf.fonttype": 42}
"""Names in SVG that do not depend on chance, and letters in PDF as TrueType, which publishers ask for."""


def check_suffix(file: str | os.PathLike[str]) -> Path:
    """Give the file as a path, if its suffix is one that can be drawn.

    Raises
    ------
    ScenarioError
        The suffix is none of ``.svg``, ``.png`` and ``.pdf``.
    """
    target = Path(file)
    if target.suffix.lower() not in WITHOUT_DATE:
        reason = f"there is no picture format `{excerpt(target.suffix)}`"
        raise ScenarioError(f"{target}: {reason}; end the name with .svg, .png or .pdf")
    return target


def save(figure: Figure, file: str | os.PathLike[str], *, dpi: float = 150.0) -> None:
    """Write a figure as SVG, PNG or PDF, by suffix: aside first, then in place.

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
        with os.fdopen(handle, "wb") as stream, mpl.rc_context(SETTINGS), any_glyph():
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
