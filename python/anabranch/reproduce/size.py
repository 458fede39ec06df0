"""Experiments at a smaller size: fewer random connections and hosts, over links of less capacity in proportion.

Each connection has the rate that it has at the paper's size, as many share the link of a host, and the same kinds of
link are congested. Only generated networks become smaller in this way: small experiments are run as they are. differs:
packets keep their size, so that a queue of as many packets takes longer to send; and a number that a protocol takes
from a link's capacity, such as the rate that RCP starts with, is smaller in proportion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.runs.scenario import read_plan

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.experiment import Experiment

RULE = "network.generate.transit-stub"
"""The place in scenarios of the rule that generates large networks."""

CAPACITIES = ("transit", "stub", "host")
"""The keys of the rule that are capacities."""

LEAST = {f"{RULE}.routers": 100, f"{RULE}.hosts": 1}
"""A size at which a network has the same capacities and is made at once."""


def sized(experiment: Experiment, scale: float) -> Experiment:
    """Give an experiment with `scale` times the connections, hosts and capacities, where its networks are large.

    An experiment without large networks is given as it is.
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
    """Give the values that make a scenario smaller; none if the rule does not generate its network."""
    table = _core.read_toml(scenario.read_text(encoding="utf-8"))
    given = table.get("network", {}).get("generate", {}).get("transit-stub")
    if given is None:
        return []
    counts = [group["count"] for group in table.get("traffic", [])]
    fewer = [f"traffic.{n}.count={max(1, round(scale * count))}" for n, count in enumerate(counts)]
    if hosts := given.get("hosts", 0):
        fewer.append(f"{RULE}.hosts={max(1, round(scale * hosts))}")
    rule = _rule(scenario, len(counts))
    limited = {key: rule[key] for key in CAPACITIES if rule[key] != "unlimited"}
    return fewer + [f"{RULE}.{key}={scale * _core.parse_rate(text)!r} bit/s" for key, text in limited.items()]


def _rule(scenario: Path, groups: int) -> dict[str, Any]:
    """Give the keys of the rule, with the capacities of its preset written out."""
    sets = [f"{key}={value}" for key, value in LEAST.items()] + [f"traffic.{n}.count=1" for n in range(groups)]
    resolved = _core.read_toml(read_plan(scenario, sets=sets).resolved)
    rule: dict[str, Any] = resolved["network"]["generate"]["transit-stub"]
    return rule
