"""``anabranch examples``: the scenarios and sweeps that come with anabranch, to run and to change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

import anabranch
from anabranch.folder import check_new, new_folder

HELP = """Copy the example scenarios and sweeps that come with anabranch into a folder.

The copies are in its folders `scenarios` and `sweeps`, which must not exist yet. The commands of the tutorial use them.
"""

SHIPPED = {
    kind: Path(anabranch.__file__).parent / package / "shipped"
    for kind, package in (("scenarios", "runs"), ("sweeps", "sweeps"))
}
"""The folders that come with anabranch, by the names of their copies: sweeps name scenarios by these."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the copies go.")] = Path(),
) -> None:
    """Run `HELP`."""
    for kind in SHIPPED:
        check_new(folder / kind)
    for kind, shipped in SHIPPED.items():
        with new_folder(folder / kind) as aside:
            shutil.copytree(shipped, aside, dirs_exist_ok=True, ignore=_but_examples)
        typer.echo(folder / kind)


def _but_examples(folder: str, names: list[str]) -> list[str]:
    """Name what is neither an example nor a folder, such as the remains of an editor."""
    return [name for name in names if not name.endswith(".toml") and not (Path(folder) / name).is_dir()]
