"""``anabranch check``: what a scenario has, or what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch import _core
from anabranch.commands.run import Seed, Sets
from anabranch.commands.text import printable, time_text
from anabranch.errors import ScenarioError
from anabranch.scenario import plan_facts, read_plan

HELP = """Check a scenario without running it: say what it has, or the first mistake. Exit code 2 for a mistake."""


def command(
    scenario: Annotated[Path | None, typer.Argument(help="Scenario file (TOML).")] = None,
    seed: Seed = None,
    sets: Sets = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of scenario files instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
) -> None:
    """Run `HELP`."""
    if schema:
        typer.echo(_core.Scenario.schema())
        return
    if scenario is None:
        raise ScenarioError("there is nothing to check; name a scenario file, or ask for --schema")
    facts = plan_facts(read_plan(scenario, seed=seed, sets=sets or ()))
    if as_json:
        typer.echo(json.dumps(facts, indent=1, ensure_ascii=False))
        return
    for name, value in facts.items():
        label = name.removesuffix("_s").replace("_", "-" if name == "warm_up_s" else " ")
        typer.echo(f"{label:<16}{_text(name, value)}")


def _text(name: str, value: Any) -> str:
    if name == "protocols":
        return ", ".join(f"{title} ({count})" for title, count in value.items()) or "none"
    if name.endswith("_s"):
        return time_text(value)
    return printable(str(value))
