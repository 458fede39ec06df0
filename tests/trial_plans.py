"""What is drawn for a trial: a random network, random sessions, and what happens to them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import anabranch as ab
from agent_processes import Wish

HOUR_S = 3600

KINDS = ("agent", "application", "partition", "noise", "clock", "swapped", "expired")
LASTING = ("agent", "application", "partition", "expired")


@dataclass
class Happening:
    """Something that happens in a trial."""

    kind: str
    after_s: float
    """When it begins."""
    lasts_s: float
    what: int
    """Which agent, hop or application: a number that is taken modulo how many there are."""
    ahead_s: int = 0
    """How far the clock is moved."""
    restarts: bool = False
    """Whether the agent is killed and starts again, too."""


@dataclass
class Plan:
    """A trial before it runs."""

    seed: int
    protocol: str
    network: ab.Network
    wishes: list[Wish]
    happenings: list[Happening]
    last: Happening
    """What happens last: it lasts until rates are fair with it."""


def drawn(seed: int) -> Plan:
    """Draw a trial."""
    chance = random.Random(seed)
    protocol = chance.choice(["d-slen", "slbn"])
    count = chance.randint(5, 8)
    cables = {(chance.randrange(node), node) for node in range(1, count)}
    for _ in range(count // 2 + 1):
        a, b = sorted(chance.sample(range(count), 2))
        cables.add((a, b))
    links = [
        {"source": f"n{a}", "target": f"n{b}", "capacity": f"{chance.randint(5, 50)} Mbit/s", "two_way": True}
        for a, b in sorted(cables)
    ]
    network = ab.read_scenario(ab.scenario(links=links)).network
    wishes = [_wish(chance, f"s{number}", count, protocol) for number in range(chance.randint(5, 9))]
    happenings, begin = [], 0.0
    for _ in range(chance.randint(2, 5)):
        kind, lasts = chance.choice(KINDS), chance.uniform(0.3, 4.0)
        ahead, restarts = chance.randint(-2 * HOUR_S, 12 * HOUR_S), chance.random() < 0.5
        happenings.append(Happening(kind, begin, lasts, chance.randrange(1 << 16), ahead, restarts))
        # The next begins while this one lasts, or after it.
        begin += chance.uniform(0.3, lasts + 1.5)
    # Those who judge a certificate by a clock that was moved judge otherwise than it is expected here.
    kinds = LASTING[:-1] if any(own.kind == "clock" for own in happenings) else LASTING
    last = Happening(chance.choice(kinds), 0.0, 0.0, chance.randrange(1 << 16))
    return Plan(seed, protocol, network, wishes, happenings, last)


def _wish(chance: random.Random, name: str, count: int, protocol: str) -> Wish:
    source, target = chance.sample(range(count), 2)
    wish = Wish(name, f"n{source}", f"n{target}", is_application=chance.random() < 0.3)
    if chance.random() < 0.4:
        wish.demand_bps = chance.randint(1, 20) * 1e6
    if protocol == "d-slen":
        wish.paths = chance.randint(1, 3)
        wish.weight = chance.choice([1.0, 1.0, 2.0, 0.5])
        if chance.random() < 0.2:
            # All of them fit every link together.
            wish.reserved_bps = chance.randint(1, 5) * 1e5
    return wish
