"""A report of runs and allocations, from objects or their folders, in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.allocation.allocation import Allocation
from anabranch.page.of_cases import holds_cases, write_cases_page
from anabranch.page.of_folder import read_folder, shown_content, title_of
from anabranch.page.report import write_report
from anabranch.runs.result import Result

if TYPE_CHECKING:
    Shown = Result | Allocation | str | os.PathLike[str]


def report(shown: Shown | Sequence[Shown], file: str | os.PathLike[str]) -> None:
    """Write one HTML file of runs or allocations, which opens anywhere, without a server.

    Parameters
    ----------
    shown : Result, Allocation or path, or a sequence of these
        What to show, several side by side. A path is a folder that `Result.write` or `Allocation.write` has written, or
        alone one of many cases that ``anabranch solve --out`` has.
    file : path
        The HTML file; an existing one is replaced.

    Raises
    ------
    ScenarioError
        A folder holds nothing to show, or the file cannot be written.
    """
    several = shown if isinstance(shown, Sequence) and not isinstance(shown, str) else [shown]
    if not several:
        raise ValueError("there is nothing to show; give a result, an allocation or a folder")
    first = several[0]
    if len(several) == 1 and not isinstance(first, (Result, Allocation)) and holds_cases(Path(first)):
        write_cases_page(Path(first), Path(file))
        return
    found = [one if isinstance(one, (Result, Allocation)) else read_folder(Path(one)) for one in several]
    titles = [title_of(one) for one in found]
    names = titles if all(titles) and len(set(titles)) == len(titles) else [f"{i + 1}" for i in range(len(found))]
    contents = [shown_content(one, name=name) for one, name in zip(found, names, strict=True)]
    write_report(contents, Path(file))
