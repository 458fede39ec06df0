"""Networks and demands from what the caller names: files, scenarios, and rules such as ``gravity:40Gbit/s``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import generate
from anabranch.errors import ScenarioError, did_you_mean
from anabranch.formats.detect import find_format
from anabranch.formats.known import FORMATS
from anabranch.formats.read import built, read_demands, read_draft
from anabranch.formats.source import load
from anabranch.model.network import Network
from anabranch.runs.scenario import read_scenario

if TYPE_CHECKING:
    from anabranch.model.demands import Demands
    from anabranch.model.network import Draft

RULES: dict[str, Callable[..., Demands]] = {
    "gravity": generate.gravity,
    "uniform": generate.uniform,
    "hot-spots": generate.hot_spots,
}
"""Rules that make demands from one rate and a seed."""

RULE_WORDS = {
    "gravity": "a demand for every ordered pair of nodes, in proportion to random masses of both; the rate is the sum",
    "uniform": "a demand for every ordered pair of nodes, drawn evenly from 0 to the rate",
    "hot-spots": "one node sends or receives half of all traffic; the rate is the sum",
}
"""What each rule makes, in a phrase."""

FIRST_SEED = 1
"""The seed of a rule where none is given."""


def is_scenario(path: Path) -> bool:
    """Tell whether a file is a scenario, by its name."""
    return path.suffix == ".toml"


def load_network(
    path: Path,
    capacity: str | float | None = None,
    delay: str | None = None,
    format: str | None = None,
    *,
    network_id: str | None = None,
    nodes: Path | None = None,
    sets: Sequence[str] = (),
    told: Callable[[str], None] | None = None,
) -> Network:
    """Read a network, from a topology file or a scenario.

    Parameters
    ----------
    told : callable, optional
        Called with a sentence if `capacity` or `delay` changes nothing.
    """
    if is_scenario(path):
        refuse_for_scenario(path, capacity, delay, format, network_id=network_id, nodes=nodes)
        return read_scenario(path, sets=sets).network
    _refuse_sets(path, sets)
    draft, source = read_draft(path, format=format, nodes=nodes, network_id=network_id)
    if told is not None:
        for sentence in _idle(path, draft, capacity, delay):
            told(sentence)
    return built(draft, source, capacity, delay)


def _idle(path: Path, draft: Draft, capacity: str | float | None, delay: str | None) -> list[str]:
    """Say which values fill nothing, since all links have theirs."""
    full = {
        "capacity": capacity not in (None, math.inf) and all(edge.capacity_bps is not None for edge in draft.edges),
        "delay": delay is not None and all(edge.delay_s is not None for edge in draft.edges),
    }
    return [
        f"{path}: --{what} changes nothing, since the file gives every link its {what}"
        for what, is_full in full.items()
        if is_full and draft.edges
    ]


def refuse_for_scenario(
    path: Path,
    capacity: str | float | None = None,
    delay: str | None = None,
    format: str | None = None,
    *,
    network_id: str | None = None,
    nodes: Path | None = None,
) -> None:
    """Refuse options about the topology beside a scenario, which says all that itself."""
    given: dict[str, object] = {"--capacity": capacity, "--delay": delay, "--format": format}
    given |= {"--network-id": network_id, "a file of nodes": nodes}
    for option, value in given.items():
        if value is not None and value != math.inf:
            raise ScenarioError(f"{path}: {option} does nothing for a scenario; write it into the file, or give --set")


def _refuse_sets(path: Path, sets: Sequence[str]) -> None:
    if sets:
        raise ScenarioError(f"{path}: --set is for scenarios (.toml); --link NAME=RATE changes a link of any network")


def load_demands(
    path: Path, network: Network, demands: str | None, seed: int | None = None, format: str | None = None
) -> Demands:
    """Read demands from a file, make them by a rule such as ``gravity:40Gbit/s``, or take those of the topology."""
    rule, _, rate = (demands or "").partition(":")
    if rule in RULES:
        if not rate:
            raise ScenarioError(f"--demands {demands}: the rule has no rate; write it like {rule}:40Gbit/s")
        return RULES[rule](network, rate, seed=FIRST_SEED if seed is None else seed)
    if seed is not None:
        raise ScenarioError(f"--seed {seed}: it is for demands by a rule, such as gravity:40Gbit/s; leave it out")
    if demands is None:
        return _own_demands(path, network, format)
    if rate and not Path(demands).exists():
        hint = did_you_mean(rule, RULES)
        raise ScenarioError(
            f"--demands {demands}: there is neither a file nor a rule of that name{hint}; rules are {', '.join(RULES)}"
        )
    return read_demands(demands, network)


def load_problem(
    input: Path,
    demands: str | None = None,
    seed: int | None = None,
    topology: dict[str, Any] | None = None,
    *,
    sets: Sequence[str] = (),
    told: Callable[[str], None] | None = None,
) -> tuple[Network, Demands]:
    """Read a network and who wants what of it; a scenario has both."""
    options = topology or {}
    if is_scenario(input) and demands is None:
        refuse_for_scenario(input, **options)
        scenario = read_scenario(input, sets=sets)
        if not len(scenario.demands):
            raise ScenarioError(f"{input}: it has no [[connection]]; add some, or give --demands")
        if seed is not None:
            raise ScenarioError(f"{input}: --seed is for demands by a rule; give --set run.seed={seed} instead")
        return scenario.network, scenario.demands
    network = load_network(input, **options, sets=sets, told=told)
    return network, load_demands(input, network, demands, seed, options.get("format"))


def _own_demands(path: Path, network: Network, format: str | None) -> Demands:
    kind = None if is_scenario(path) else find_format(load(path), format, FORMATS)
    own = read_demands(path, network, format=kind.name) if kind is not None and kind.has_own_demands else None
    if own is None or not len(own):
        raise ScenarioError(
            f"{path}: the file has no demands; give them with --demands FILE, or by a rule such as"
            " --demands gravity:40Gbit/s"
        )
    return own


def opened(network: object, demands: object) -> tuple[Any, Any]:
    """Read the network and the demands that are given as files, or as a rule; what is something else stays as it is."""
    is_file = isinstance(demands, (str, os.PathLike))
    rule = os.fspath(demands) if is_file else None  # type: ignore[call-overload]
    if isinstance(network, (str, os.PathLike)):
        place = Path(network)
        if demands is None or is_file:
            return load_problem(place, rule)
        return load_network(place), demands
    if is_file and isinstance(network, Network):
        return network, load_demands(Path(), network, rule)
    return network, demands
