"""Agents as programs, to which things happen: killed, cut off, with jumping clocks and false certificates.

A trial is a function of its seed. ``TRIALS=300`` runs as many of them, ``SEED=7`` begins with that one, and ``pytest
-n 3`` runs three at a time. What the machine takes of the time is in the limits.
"""

import os
import random
import sys
from pathlib import Path

import pytest

from agent_trial import Outcome, run
from anabranch import _core
from labs import ATTEMPTS
from trial_plans import drawn
from wall_clock import clock_preload

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="each agent has an address of its own on this machine"),
]

FIRST, COUNT = int(os.environ.get("SEED", "1")), int(os.environ.get("TRIALS", "4"))

LEASE_S = 2.0
"""What an agent or a hop leaves is free after about as long as what a program leaves that is gone."""

CYCLES_S = 0.2
"""Two cycles: control packets go every 20 ms, over some hops there and back; with a margin for the machine."""

ROUND_S, NEWS_S = 1.0, 1.0
"""An agent begins some renewals at once and then one a second, and news of a link pass once a second at most."""

OVERLOAD, OVERLOAD_S, OVERLOAD_AT_ONCE = 0.03, 0.3, 0.5
"""Agents may grant 97 % of a link. The link is granted no more than the first beyond that, which is all of its
capacity, for longer than the second, and never more than the third.
"""

HALT_S = 0.5
"""A look at all agents that takes longer than this shows that the machine was busy with something else."""


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The shared object that moves the clocks of agents; without a C compiler clocks stay."""
    return clock_preload(tmp_path_factory.mktemp("clock"))


def is_too_much(lasted_s: float, excess: float) -> bool:
    """Tell whether a link was granted too much beyond its part for a time."""
    return excess > OVERLOAD_AT_ONCE or (excess > OVERLOAD and lasted_s > OVERLOAD_S)


def faults(outcome: Outcome) -> list[str]:
    """Say what took too long, or was too much."""
    limit = LEASE_S + CYCLES_S + ROUND_S
    found = [f"more than a link has: {one}" for one in outcome.wrong]
    if outcome.regained_s > limit:
        found.append(f"what was lost was regained after {outcome.regained_s:.2f} s")
    if outcome.settled_s - outcome.held_off_s > limit + NEWS_S:
        found.append(f"rates were fair after {outcome.settled_s:.2f} s")
    if outcome.clear_s > LEASE_S + CYCLES_S:
        found.append(f"nothing was left after {outcome.clear_s:.2f} s")
    if any(is_too_much(lasted_s, excess) for _, _, lasted_s, excess in outcome.overloads):
        found.append(f"links were overloaded for {outcome.longest_overload_s:.2f} s: {outcome.overloads}")
    return found


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_whatever_happens_rates_are_fair_soon_after_and_nothing_stays_behind(
    seed: int, preload: Path | None, tmp_path: Path
) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        outcome = run(seed, tmp_path / str(attempt), preload)
        found = faults(outcome)
        print(outcome)
        if not found or outcome.late_s < HALT_S:
            break
    assert not found, outcome


def test_a_trial_is_a_function_of_its_seed() -> None:
    seed = random.randrange(1 << 30)
    one, other = drawn(seed), drawn(seed)
    assert (one.wishes, one.happenings, one.last) == (other.wishes, other.happenings, other.last)
    assert one.network.links.equals(other.network.links)
