"""The arguments of commands that take a scenario: its file, a seed, values to set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST_SEED = 2**63 - 1
"""The greatest seed that an option takes."""

Scenario = Annotated[Path, typer.Argument(help="Scenario file (TOML).")]
Seed = Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Seed of the run. Default: the scenario's seed.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a value of the scenario: connection.0.weight=2. Repeatable."),
]
