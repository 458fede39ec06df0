"""How slow this machine is now, for tests that bound the processor time of a piece of work."""

import time

LOOP_S = 0.037
"""What the loop takes on the machine whose limits the tests state, when nothing else runs there."""


def slowness() -> float:
    """How many times as long as there the loop takes here and now; at least 1."""
    return max(1.0, _loop_s() / LOOP_S)


def _loop_s() -> float:
    begin = time.process_time()
    total, kept = 0, {}
    for number in range(400_000):
        kept[number & 1023] = total
        total += number ^ 5
    return time.process_time() - begin


def least_s(work, limit_s: float, tries: int = 3) -> float:
    """Processor time of a piece of work, in seconds of the stated machine.

    The least of a few tries counts: neighbours on a shared machine halt a program for a moment now and then.
    """
    least = float("inf")
    for _ in range(tries):
        least = min(least, work() / slowness())
        if least < limit_s:
            break
    return least
