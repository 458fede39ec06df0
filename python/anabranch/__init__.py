"""Fair sharing of network capacity over many paths.

Read or make a network (`read_network`, `generate`), say who wants what (`read_demands`, `gravity`, ...), and divide
the capacity: `solve` gives an `Allocation` that can prove itself. Simulate a scenario file: `run` gives a `Result` with
everything that was measured; `sweep` simulates it with many values. Move files between machines under the same
protocols: `share`, `send`, `fetch`.
"""

from typing import TYPE_CHECKING, Any

from anabranch import generate
from anabranch.allocation import Allocation
from anabranch.allocation_folder import read_allocation
from anabranch.allocator import Allocator
from anabranch.batch import Solved, solve_many
from anabranch.case_table import summarise
from anabranch.cases import Case, single_failures
from anabranch.demands import Demands, demands
from anabranch.errors import (
    CertificateError,
    ConvergenceWarning,
    RunInterrupted,
    ScenarioError,
    SolveInterrupted,
    SolverError,
    StorageError,
)
from anabranch.filters import filters
from anabranch.generate import gravity, hot_spots, random_pairs, uniform
from anabranch.levelled import LevelledAllocation
from anabranch.live_run import live
from anabranch.memory import allow_memory
from anabranch.network import Network, from_networkx
from anabranch.paths import Paths, find_paths, given_paths, groups
from anabranch.priced import PricedAllocation
from anabranch.problem import Problem, problem_of
from anabranch.read import read_demands, read_network
from anabranch.result import Result, read_result
from anabranch.scenario import Scenario, read_scenario
from anabranch.simulate import run
from anabranch.solve import solve
from anabranch.topology_manager import TopologyManager
from anabranch.transfer import Fetched, FetchState, fetch, send, share
from anabranch.write import write_network

if TYPE_CHECKING:
    from anabranch.figures import draw_errors, draw_loads, draw_network, draw_queues, draw_rates
    from anabranch.sweeps import Swept, read_sweep, sweep

__all__ = [
    "Allocation",
    "Allocator",
    "Case",
    "CertificateError",
    "ConvergenceWarning",
    "Demands",
    "FetchState",
    "Fetched",
    "LevelledAllocation",
    "Network",
    "Paths",
    "PricedAllocation",
    "Problem",
    "Result",
    "RunInterrupted",
    "Scenario",
    "ScenarioError",
    "SolveInterrupted",
    "Solved",
    "SolverError",
    "StorageError",
    "Swept",
    "TopologyManager",
    "allow_memory",
    "demands",
    "draw_errors",
    "draw_loads",
    "draw_network",
    "draw_queues",
    "draw_rates",
    "fetch",
    "filters",
    "find_paths",
    "from_networkx",
    "generate",
    "given_paths",
    "gravity",
    "groups",
    "hot_spots",
    "live",
    "problem_of",
    "random_pairs",
    "read_allocation",
    "read_demands",
    "read_network",
    "read_result",
    "read_scenario",
    "read_sweep",
    "run",
    "send",
    "share",
    "single_failures",
    "solve",
    "solve_many",
    "summarise",
    "sweep",
    "uniform",
    "write_network",
]


def __getattr__(name: str) -> Any:
    """Load figures and sweeps when they are first asked for: they take as long to load as all the rest."""
    if name.startswith("draw_") and name in __all__:
        from anabranch import figures

        return getattr(figures, name)
    if name in ("Swept", "read_sweep", "sweep"):
        from anabranch import sweeps

        return getattr(sweeps, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
