"""A scenario simulated for a published experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.reproduce.outcomes.simulation import Simulation
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.runs.simulate import Progress


def simulate(scenario: Path, sets: Sequence[str], seed: int | None, progress: Progress | None = None) -> Simulation:
    """Simulate a scenario file; `progress` is called as by `anabranch.run`.

    Raises
    ------
    ScenarioError
        The scenario has a mistake.
    """
    plan = read_plan(scenario, seed=seed, sets=sets)
    return Simulation(plan, run_plan(plan, progress=progress))


def capacities_times(scenario: Path, factor: float) -> tuple[str, ...]:
    """Give the values that multiply all capacities and demands that a scenario file prints by a factor."""
    if factor == 1.0:
        return ()
    table = _core.read_toml(scenario.read_text(encoding="utf-8"))
    kinds = (("link", "capacity"), ("connection", "demand"))
    return tuple(
        f"{kind}.{number}.{key}={factor * _core.parse_rate(own[key])!r} bit/s"
        for kind, key in kinds
        for number, own in enumerate(table.get(kind, []))
        if own.get(key, "unlimited") != "unlimited"
    )
