"""The arguments of commands that take a scenario: its file, a seed, values to set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.errors import ScenarioError

MOST_SEED = 2**63 - 1
"""The greatest seed that an option takes."""


def refuse_topology(file: Path | None) -> Path | None:
    """Refuse a file that holds a network alone, where a scenario is needed, and say what takes it."""
    if file is None or file.suffix == ".toml" or not file.is_file():
        return file
    # Only now: a scenario needs no formats of networks, unless it names such a file.
    from anabranch.formats.detect import find_format
    from anabranch.formats.known import FORMATS
    from anabranch.formats.source import load

    try:
        kind = find_format(load(file), None, FORMATS)
    except ScenarioError:
        return file
    raise ScenarioError(
        f"{file}: it is a network ({kind.name}), not a scenario; divide its capacity with `anabranch solve {file}`, or"
        f' write a scenario with [network] and file = "{file.name}", and [[connection]]'
    )


Scenario = Annotated[Path, typer.Argument(help="Scenario file (TOML).", callback=refuse_topology)]
Seed = Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Seed of the run. Default: the scenario's seed.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a value of the scenario: connection.0.weight=2. Repeatable."),
]
