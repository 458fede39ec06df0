"""Experiments at a smaller size: fewer random connections, over links of as much less capacity.

So each connection has the rate that it has at the paper's size, and what is congested there is congested here. Only
generated networks are made smaller so: small experiments are run as they are. differs: packets keep their size, so that
a queue of as many packets takes longer to send; and what a protocol takes from a link's capacity, such as the rate that
RCP starts with, is less by as much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.runs.scenario import read_plan

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.spec.experiment import Experiment

RULE = "network.generate.transit-stub"
"""Where the rule stands in scenarios by which large networks are generated."""

CAPACITIES = ("transit", "stub", "host")
"""The keys of that rule that are capacities."""

LEAST = {f"{RULE}.routers": 100, f"{RULE}.hosts": 1}
"""Of this size a network has the same capacities, and is made in no time."""


def sized(experiment: Experiment, scale: float) -> Experiment:
    """Give an experiment with so many times the random connections and the capacities, where its networks are large.

    It is the same object if there are none.
    """
    if scale == 1.0:
        return experiment
    smaller = {
        name: replace(run, sets=(*run.sets, *sets))
        for name, run in experiment.runs.items()
        if run.method == "simulate" and (sets := _smaller(run.scenario, scale))
    }
    return replace(experiment, runs=experiment.runs | smaller) if smaller else experiment


def _smaller(scenario: Path, scale: float) -> list[str]:
    """Give what makes a scenario smaller; nothing if its network is not of the rule."""
    table = _core.read_toml(scenario.read_text(encoding="utf-8"))
    if "transit-stub" not in table.get("network", {}).get("generate", {}):
        return []
    counts = [group["count"] for group in table.get("traffic", [])]
    fewer = [f"traffic.{n}.count={max(1, round(scale * count))}" for n, count in enumerate(counts)]
    rule = _rule(scenario, len(counts))
    limited = {key: rule[key] for key in CAPACITIES if rule[key] != "unlimited"}
    return fewer + [f"{RULE}.{key}={scale * _core.parse_rate(text)!r} bit/s" for key, text in limited.items()]


def _rule(scenario: Path, groups: int) -> dict[str, Any]:
    """Give the keys of the rule, with the capacities of its preset written out."""
    sets = [f"{key}={value}" for key, value in LEAST.items()] + [f"traffic.{n}.count=1" for n in range(groups)]
    resolved = _core.read_toml(read_plan(scenario, sets=sets).resolved)
    rule: dict[str, Any] = resolved["network"]["generate"]["transit-stub"]
    return rule
