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


MOST_NAMED = 5
"""The folders that a message names."""


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
    elif within := _shown_within(folder):
        raise ScenarioError(_of_many(folder, within))
    else:
        reason = "it holds neither a run nor an allocation"
    hint = "name a folder that `anabranch run --out` or `anabranch solve --out` has written"
    raise ScenarioError(f"{folder}: {reason}; {hint}")


def _shown_within(folder: Path) -> list[Path]:
    """Give the folders within a folder that hold a run or an allocation: its own, or else those one level deeper."""
    for pattern in ("*/", "*/*/"):
        inner = sorted(one for one in folder.glob(pattern) if not one.name.startswith("."))
        if found := [one for one in inner if holds_allocation(one) or (one / "scenario.toml").is_file()]:
            return found
    return []


def _of_many(folder: Path, within: list[Path]) -> str:
    """Say that a folder is no run itself, and which folders within it are."""
    names = ", ".join(f"`{one.relative_to(folder)}`" for one in within[:MOST_NAMED])
    more = f" and {len(within) - MOST_NAMED} more" if len(within) > MOST_NAMED else ""
    has = "a folder that is one" if len(within) == 1 else f"{len(within)} folders that are"
    return (
        f"{folder}: it is no run or allocation itself but holds {has}: {names}{more}; name those to show, such as"
        f" `{within[0]}`, or show all in the browser by `anabranch serve {folder}`"
    )


def title_of(shown: Result | Allocation) -> str:
    """Give the title; empty if there is none."""
    if isinstance(shown, Result):
        return str(shown.meta["title"])
    network = shown.paths.demands.network.name if shown.paths else ""
    return f"{network}, {shown.fairness}" if network else ""


def shown_content(shown: Result | Allocation, *, name: str = "") -> Content:
    """Give the data for the page, under this name."""
    return result_content(shown, name=name) if isinstance(shown, Result) else allocation_content(shown, name=name)
