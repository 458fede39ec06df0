"""A run of a published experiment carried out with real packets, and its simulation in the same network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.reproduce.outcomes.kinds import Simulated, simulated
from anabranch.reproduce.outcomes.simulation import Simulation
from anabranch.runs.live import check_live, live_plan
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan

if TYPE_CHECKING:
    from anabranch.reproduce.spec.run import Run
    from anabranch.runs.simulate import Progress


@dataclass(frozen=True)
class Lived:
    """A run with real packets, and beside it the simulation of the same network and duration.

    Attributes
    ----------
    live, simulated : Simulated
        Outcomes that measures take alike.
    is_valid : bool
        Whether the packets of the live run were on time.
    """

    live: Simulated
    simulated: Simulated
    is_valid: bool


def go_live(run: Run, unit_bps: float, progress: Progress | None = None) -> Lived | str:
    """Carry out a run with real packets; give the reason instead if its scenario cannot run live.

    Raises
    ------
    OSError
        The machine refuses all live runs: the system, the rights, or the build.
    """
    assert run.live is not None, "only runs that say how are carried out live"
    plan = read_plan(run.scenario, seed=run.seed or 1, sets=(*run.sets, *run.live.sets))
    try:
        check_live(plan)
    except ScenarioError as error:
        return str(error)
    result = live_plan(plan, progress=progress)
    alike = Simulation(plan, run_plan(plan))
    return Lived(
        simulated(Simulation(plan, result), unit_bps, run.tolerance),
        simulated(alike, unit_bps, run.tolerance),
        bool(result.meta["valid"]),
    )
