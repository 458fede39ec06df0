"""The data of a folder for the page: a run or an allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.allocation.saved import holds_allocation, read_allocation
from anabranch.errors import ScenarioError
from anabranch.page.of_allocation import allocation_content
from anabranch.page.of_result import result_content
from anabranch.runs.result import Result, read_result

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.allocation.allocation import Allocation
    from anabranch.page.content import Content


def read_folder(folder: Path) -> Result | Allocation:
    """Read the run or the allocation in a folder.

    Raises
    ------
    ScenarioError
        Neither a run nor an allocation of a network, or a broken one.
    """
    if holds_allocation(folder):
        return read_allocation(folder)
    if (folder / "scenario.toml").is_file():
        return read_result(folder)
    if not folder.exists():
        reason = "there is no such folder"
    elif not folder.is_dir():
        reason = "it is a file"
    elif (folder / "subflows.parquet").is_file():
        reason = "it has an allocation without its paths.parquet: it is of bare numbers, or older than that file"
    elif (folder / "cases.parquet").is_file():
        raise ScenarioError(f"{folder}: it holds many cases, which have a page of their own; name this folder alone")
    elif (folder / "methods.parquet").is_file():
        raise ScenarioError(
            f"{folder}: it holds a comparison of methods, and a page shows one; methods.parquet has a row for each. For"
            " a page solve by one --method, with --report page.html"
        )
    else:
        reason = "it holds neither a run nor an allocation"
    hint = "name a folder that `anabranch run --out` or `anabranch solve --out` has written"
    raise ScenarioError(f"{folder}: {reason}; {hint}")


def title_of(shown: Result | Allocation) -> str:
    """Give the title; empty if there is none."""
    if isinstance(shown, Result):
        return str(shown.meta["title"])
    network = shown.paths.demands.network.name if shown.paths else ""
    return f"{network}, {shown.fairness}" if network else ""


def shown_content(shown: Result | Allocation, *, name: str = "") -> Content:
    """Give the data for the page, under this name."""
    return result_content(shown, name=name) if isinstance(shown, Result) else allocation_content(shown, name=name)
