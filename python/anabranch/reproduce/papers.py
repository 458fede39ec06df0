"""What the experiments reproduce: papers, by the names that folders of experiments begin with.

``papers.toml`` in the folder of experiments has a table for each, in the order of reports::

    [nmcc]
    title = "Multi-Flow Congestion Control with Network Assistance"
    authors = "Yannis Thomas, ..."
    published = "IFIP Networking, 2016"     where and when
    cite = "thomas2016"                     its key in docs/references.bib; empty for what is no single paper
    shows = "table I and figures 3 to 6"    what of it is reproduced
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.reproduce.spec.experiment import list_experiments
from anabranch.reproduce.spec.table import read_toml

if TYPE_CHECKING:
    from pathlib import Path


MAY_LACK = ("authors", "published", "cite", "shows")
"""Keys that a table need not have."""


@dataclass(frozen=True)
class Paper:
    """A paper, and its tables and figures that there are experiments of."""

    name: str
    items: tuple[str, ...]
    title: str
    authors: str = ""
    published: str = ""
    cite: str = ""
    shows: str = ""


def read_papers(folder: Path) -> dict[str, Paper]:
    """Give the papers of a folder of experiments, in the order of its ``papers.toml``; then those not named there.

    Raises
    ------
    ScenarioError
        A mistake in a file, with file, key and remedy.
    """
    items = {name: tuple(own) for name, own in list_experiments(folder).items()}
    papers = {}
    if (folder / "papers.toml").is_file():
        table = read_toml(folder / "papers.toml")
        for name in list(table.data):
            own = table.table(name)
            assert own is not None, "it is there"
            words = {"title": own.text("title")} | {key: own.text(key, "") for key in MAY_LACK}
            own.finish()
            if name in items:
                papers[name] = Paper(name, items[name], **words)
    return papers | {name: Paper(name, own, title=name) for name, own in items.items() if name not in papers}
