"""A run of a published experiment, as its table says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from anabranch.reproduce.outcomes.kinds import Followed, FromStarts, Optimal, Simulated, Solved, WeightAllocated
from anabranch.reproduce.spec.fluid import read_fluid
from anabranch.reproduce.spec.starts import read_starts
from anabranch.reproduce.spec.traces import read_followed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.outcomes.groups import Runs
    from anabranch.reproduce.outcomes.kinds import Outcome
    from anabranch.reproduce.spec.fluid import FluidPlan
    from anabranch.reproduce.spec.starts import Starts
    from anabranch.reproduce.spec.table import Table
    from anabranch.reproduce.spec.traces import TracePlan

Method = Literal[
    "c-slen",
    "iewf",
    "lp",
    "progressive-filling",
    "pseudo-code",
    "given",
    "weight-allocation",
    "random-starts",
    "proportional",
    "simulate",
    "fluid",
]

OTHER_KINDS: dict[Method, type[Outcome]] = {
    "weight-allocation": WeightAllocated,
    "random-starts": FromStarts,
    "proportional": Optimal,
    "simulate": Simulated,
    "fluid": Followed,
}
"""The kinds of run that methods give; those not named here give rates that are `Solved`."""

OVER_TIME: tuple[Method, ...] = ("simulate", "proportional")
"""Methods that give rates over time, and take values in place of those in the scenario."""

_FOR_OVER_TIME = f"it is for methods {' and '.join(OVER_TIME)}"


@dataclass(frozen=True)
class Margin:
    """The rule by which a run is simulated with more seeds until its numbers are sure.

    Attributes
    ----------
    share : float
        The greatest half-width of a 95 % interval, relative to its mean.
    most : int
        The greatest number of seeds.
    """

    share: float
    most: int


@dataclass(frozen=True)
class LivePlan:
    """The changes with which a simulated run fits a laboratory of real packets.

    Attributes
    ----------
    sets : tuple of str
        Values in place of those in the scenario, after those of the run: the duration, slower links.
    """

    sets: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One computation: a solve, the paper's pseudo-code, rates given to be checked, simulations, or a fluid model."""

    name: str
    method: Method
    scenario: Path
    stop_change_bps: float | None
    unit_bps: float | None
    tolerance: float
    passes: int
    reading: str
    path_rates: tuple[float, ...]
    capacities_times: float = 1.0
    sets: tuple[str, ...] = ()
    seed: int | None = None
    seeds: tuple[int, ...] = ()
    """The seeds that it is simulated with, each once; numbers are means over them."""
    margin: Margin | None = None
    """The rule for more seeds, which `anabranch.reproduce.repeat` follows."""
    followed: tuple[tuple[tuple[str, TracePlan], ...], ...] = ()
    """For each simulation the links with their traces; numbers are means over the simulations."""
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fluid: FluidPlan | None = None
    """The fluid model, for method fluid, which has no scenario."""
    live: LivePlan | None = None
    """The changes with which it also runs live; None if it does not."""
    starts: Starts | None = None
    """The iteration and its starts, for method random-starts."""
    corrected: bool = False
    """Whether the protocol is one of a paper as we corrected it: what it gives is no reading of the paper."""
    rivals: tuple[str, ...] = ()
    """The runs that take its place in the mutation test, which must turn rows; found by themselves if not given."""

    def is_of(self, runs: Runs[object]) -> bool:
        """Tell whether its outcome is of one of these kinds."""
        return issubclass(OTHER_KINDS.get(self.method, Solved), runs.kinds)


def read_run(table: Table, folder: Path, scenario: Path | None, traces: Mapping[str, TracePlan]) -> Run:
    """Read a ``[[run]]``; `scenario` is that of the experiment, if it has one, and `traces` are its own.

    Raises
    ------
    ScenarioError
        A wrong key or value, or one that the method does not take.
    """
    name, method = table.text("name"), table.choice("method", get_args(Method))
    if not re.fullmatch(r"\S+", name):
        raise table.error("name", f"`{name}` has a blank or is empty", "quantities begin with it, so make it one word")
    own_scenario = table.text("scenario", "")
    own_fluid, own_starts = table.table("fluid"), table.table("starts")
    if (method == "fluid") != (own_fluid is not None):
        raise table.error("fluid", f"the method is {method}", 'give the model with method = "fluid", and only so')
    if (method == "random-starts") != (own_starts is not None):
        raise table.error("starts", f"the method is {method}", 'give it with method = "random-starts", and only so')
    if scenario is None and not own_scenario and method != "fluid":
        raise table.error("scenario", "it is missing", "add it here, or to the experiment for all runs")
    seeds, margin = _seeds(table)
    run = Run(
        name=name,
        method=method,
        scenario=folder / own_scenario if own_scenario else scenario or folder,
        stop_change_bps=table.rate_bps("stop_change"),
        unit_bps=table.rate_bps("unit"),
        tolerance=table.positive("tolerance", 1e-3),
        passes=table.whole("passes", 10_000, least=1),
        reading=table.choice("reading", ("as-printed", "as-meant"), "as-meant"),
        path_rates=tuple(table.numbers("path_rates")),
        capacities_times=table.positive("capacities_times", 1.0),
        sets=tuple(table.texts("set")),
        seed=table.optional_whole("seed"),
        seeds=seeds,
        margin=margin,
        followed=read_followed(table, traces),
        weights=table.lists_of_numbers("weights"),
        fluid=None if own_fluid is None else read_fluid(own_fluid),
        live=_live(table, method),
        starts=None if own_starts is None else read_starts(own_starts),
        corrected=table.flag("corrected", default=False),
        rivals=tuple(table.texts("rivals")),
    )
    _refuse_seeds(table, run)
    if run.weights and method != "weight-allocation":
        raise table.error("weights", f"the method is {method}", 'leave it out; it is for method = "weight-allocation"')
    if (method == "given") != bool(run.path_rates):
        raise table.error("path_rates", f"the method is {method}", 'give path_rates with method = "given", and only so')
    if method == "pseudo-code" and run.stop_change_bps is None:
        raise table.error("stop_change", "it is missing", "the pseudo-code stops by it; give the paper's")
    if run.sets and method not in OVER_TIME:
        raise table.error("set", f"the method is {method}", f"leave it out; {_FOR_OVER_TIME}")
    table.finish()
    return run


def _live(table: Table, method: str) -> LivePlan | None:
    """Take the changes with which a run fits a laboratory."""
    own = table.table("live")
    if own is None:
        return None
    if method != "simulate":
        raise table.error("live", f"the method is {method}", 'leave it out; it is for method = "simulate"')
    duration_s, sets = own.span_s("duration"), tuple(own.texts("set"))
    own.finish()
    return LivePlan(sets if duration_s is None else (*sets, f"run.duration={duration_s:g} s"))


def _seeds(table: Table) -> tuple[tuple[int, ...], Margin | None]:
    """Take the seeds to begin with, and until when there are to be more."""
    own = table.table("seeds") if isinstance(table.data.get("seeds"), dict) else None
    if own is None:
        return table.seeds("seeds"), None
    least = own.whole("least", 10, least=2)
    margin = Margin(own.positive("margin", 0.01), own.whole("most", 100, least=least))
    own.finish()
    return tuple(range(1, least + 1)), margin


def _refuse_seeds(table: Table, run: Run) -> None:
    """Refuse seeds of what draws nothing, and one seed beside several."""
    key = "seeds" if run.seeds else "seed"
    if run.method not in OVER_TIME and run.followed:
        raise table.error("traces", f"the method is {run.method}", f"leave it out; {_FOR_OVER_TIME}")
    if run.followed and run.margin is not None:
        raise table.error("traces", "there are as many `seeds` as a margin takes", "give a number of them, or none")
    if run.method != "simulate" and (run.seeds or run.seed is not None):
        raise table.error(key, f"the method is {run.method}", 'leave it out; it is for method = "simulate"')
    if run.seeds and run.seed is not None:
        raise table.error("seeds", "there is a `seed` besides", "give one of them")
