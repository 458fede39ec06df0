"""``anabranch check``: a summary of a scenario or a sweep file, or its first mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch import _core
from anabranch.commands.inputs import Memory
from anabranch.commands.of_scenario import Seed, Sets, refuse_topology
from anabranch.commands.tables.table import print_facts, print_text
from anabranch.commands.text import printable, time_text
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.memory import allow_memory, ask_for_memory
from anabranch.number_labels import bytes_text
from anabranch.runs.scenario import plan_facts, read_plan
from anabranch.sweeps.recognise import is_sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anabranch.sweeps import Tried

HELP = """Check a scenario or a sweep file without running it; print a summary, or the first mistake.

For a sweep file, every combination of values is tried in the scenario without a run, for some seconds at most; its
tables and figures are tried with the first run, which is simulated for a moment. The exit code is 2 if there is a
mistake.
"""


def command(
    scenario: Annotated[
        Path | None, typer.Argument(help="Scenario or sweep file (TOML).", callback=refuse_topology)
    ] = None,
    seed: Seed = None,
    sets: Sets = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of scenario files instead.")] = False,
    memory: Memory = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Run `HELP`."""
    allow_memory(memory)
    if schema:
        typer.echo(_core.Scenario.schema())
        return
    if scenario is None:
        raise ScenarioError("there is nothing to check; name a scenario file, or ask for --schema")
    facts, description = _sweep_facts(scenario, seed, sets) or _facts(scenario, seed, sets)
    if as_json:
        typer.echo(json.dumps(facts, indent=1, ensure_ascii=False))
        return
    notes = facts.pop("warnings", [])
    print_facts((_label(name), _text(name, value)) for name, value in facts.items())
    for note in notes:
        print_text(f"note: {printable(note)}")
    if description:
        typer.echo()
    for line in description.splitlines():
        print_text(printable(line))


def _facts(scenario: Path, seed: int | None, sets: list[str] | None) -> tuple[dict[str, Any], str]:
    """Give what a scenario has, if there is memory for a run of it, and its description."""
    plan = read_plan(scenario, seed=seed, sets=sets or ())
    try:
        ask_for_memory(plan.core.memory(), "a run of it")
    except ScenarioError as error:
        raise ScenarioError(f"{scenario}: {error}") from error
    return plan_facts(plan), plan.description


def _sweep_facts(file: Path, seed: int | None, sets: list[str] | None) -> tuple[dict[str, Any], str] | None:
    """Give what a sweep file has; None if it is a scenario."""
    if not file.is_file() or not is_sweep(load(file, "a scenario").text):
        return None
    if seed is not None or sets:
        raise ScenarioError(
            f"{file}: it is a sweep file; --seed and --set are for scenarios, so write them into the file"
        )
    # Only now: what makes tables of sweeps takes longer to load than a scenario to check.
    from anabranch.sweeps import check_sweep, try_columns, try_points

    checked = check_sweep(file)
    tried = try_points(checked)
    try_columns(checked, tried.first)
    own = checked.sweep.file
    varied = {name: len(axis) for axis in checked.axes for name in axis.at(0)[1]}
    facts = {
        "title": own.title,
        "scenario": str(checked.base.file),
        "varied": varied,
        "points": len(checked.points),
        **({} if own.repeat is None else {"seeds": f"{own.repeat.least} to {own.repeat.most} at each point"}),
        "tables": [plan.file for plan in own.table],
        "figures": [plan.file for plan in own.figure],
        "warnings": list(_notes(tried)),
    }
    return facts, ""


def _notes(tried: Tried) -> Iterator[str]:
    """Give what the trial of a sweep found, in sentences."""
    if tried.refused:
        count = f"{len(tried.refused)} of {tried.tried} combinations of values"
        yield f"{count} cannot run, such as {tried.refused[0]}; the sweep notes them as failed, or [[leave_out]] them"
    if tried.tried < tried.combinations:
        yield f"the other {tried.combinations - tried.tried} of {tried.combinations} combinations were not tried"


def _label(name: str) -> str:
    """Give the name of a fact without its unit, which stands beside the value."""
    return name.removesuffix("_s").removesuffix("_bytes").replace("_", "-" if name == "warm_up_s" else " ")


def _text(name: str, value: Any) -> str:
    if name == "protocols":
        return ", ".join(f"{title} ({count})" for title, count in value.items()) or "none"
    if name.endswith("_s"):
        return time_text(value)
    if name.endswith("_bytes"):
        return f"about {bytes_text(value)}"
    if name == "varied":
        return ", ".join(f"{title} ({count})" for title, count in value.items()) or "nothing"
    return printable((", ".join(value) or "none") if isinstance(value, list) else str(value))
