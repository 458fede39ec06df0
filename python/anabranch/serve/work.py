"""The work of child processes: check a scenario, prepare it, run it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import RunInterrupted
from anabranch.memory import ask_for_memory
from anabranch.page import plan_header
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from anabranch.serve.child import Teller
    from anabranch.serve.models import CheckAnswer, Checked, Source
    from anabranch.serve.scenarios import Scenarios


LEVEL = 1
"""The level of compression of data that are kept while a job waits."""


@dataclass(frozen=True)
class Prepared:
    """A scenario that can be run, and what the page shows of it before.

    Attributes
    ----------
    title : str
    scenario : bytes
        All of it in one text, packed.
    duration_s : float
    packed_header : bytes
        Of the growing run, still without a name, as JSON, packed: it may have a row for each of a million connections.
    capacity_bps : ndarray of float64, shape (links,)
    has_data : bool
        Whether data packets are sent.
    """

    title: str
    scenario: bytes
    duration_s: float
    packed_header: bytes
    capacity_bps: NDArray[np.float64]
    has_data: bool

    def header(self) -> dict[str, Any]:
        """Give the header of the growing run, still without a name."""
        return dict(json.loads(zlib.decompress(self.packed_header)))


def check(_teller: Teller, scenarios: Scenarios, source: Checked) -> CheckAnswer:
    """Check a scenario: give its facts, or its first mistake and where it is."""
    return scenarios.check(source)


def prepare(_teller: Teller, scenarios: Scenarios, source: Source) -> Prepared:
    """Prepare a scenario for a run.

    Raises
    ------
    ScenarioError
        The first mistake, or it would take more memory than there is.
    """
    plan = scenarios.plan(source)
    ask_for_memory(plan.core.memory(), "a run of it")
    return Prepared(
        plan.title,
        zlib.compress(plan.resolved.encode(), LEVEL),
        plan.core.duration_s,
        zlib.compress(json.dumps(plan_header(plan), allow_nan=False).encode(), LEVEL),
        plan.network.core.capacity_bps,
        plan.core.has_data,
    )


def run(teller: Teller, scenario: bytes, place: Path, threads: int | None) -> dict[str, Any]:
    """Run a scenario: report progress and samples, write the result to a new folder, and give its facts.

    It tells that it has begun once the scenario is read. When it is told to stop, what there is until then is written.
    """
    plan = read_plan(zlib.decompress(scenario).decode() + "\n")
    teller.tell("begun")
    try:
        result = run_plan(
            plan,
            threads=threads,
            progress=lambda time_s, _duration_s, events: teller.tell("progress", (time_s, events)),
            samples=lambda new: teller.tell("samples", new),
        )
        state = "done"
    except RunInterrupted as error:
        result, state = error.result, "stopped"
    result.write(place)
    return {"state": state, "time_s": result.meta["reached_s"], "events": result.meta["events"]}
