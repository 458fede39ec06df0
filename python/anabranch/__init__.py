"""Fair sharing of network capacity over many paths.

Read or make a network (`read_network`, `generate`), say who wants what (`read_demands`, `gravity`, ...), and divide
the capacity: `solve` gives an `Allocation` that can prove itself. Simulate a scenario file: `run` gives a `Result` with
everything that was measured; `sweep` simulates it with many values. Move files between machines under the same
protocols: `share`, `send`, `fetch`.
"""

from typing import TYPE_CHECKING

from anabranch.lazy import loader

if TYPE_CHECKING:
    from anabranch import generate
    from anabranch.agents.session import AgentSession
    from anabranch.allocation.allocation import Allocation
    from anabranch.allocation.levelled import LevelledAllocation
    from anabranch.allocation.priced import PricedAllocation
    from anabranch.allocation.saved import read_allocation
    from anabranch.errors import (
        CertificateError,
        ConvergenceWarning,
        RunInterrupted,
        ScenarioError,
        SolveInterrupted,
        SolverError,
        StorageError,
    )
    from anabranch.figures import (
        draw_errors,
        draw_loads,
        draw_network,
        draw_queues,
        draw_rates,
        draw_round_trips,
        draw_windows,
    )
    from anabranch.formats.read import read_demands, read_network
    from anabranch.formats.write import write_network
    from anabranch.generate import gravity, hot_spots, random_pairs, uniform
    from anabranch.memory import allow_memory
    from anabranch.model.demands import Demands, demands
    from anabranch.model.filters import filters
    from anabranch.model.network import Network, from_networkx
    from anabranch.model.paths import Paths, find_paths, given_paths, groups
    from anabranch.model.problem import Problem, problem_of
    from anabranch.model.topology_manager import TopologyManager
    from anabranch.page.shown import report
    from anabranch.runs.live import live
    from anabranch.runs.result import Result, read_result
    from anabranch.runs.scenario import Scenario, read_scenario
    from anabranch.runs.scenario_text import ScenarioText, scenario
    from anabranch.runs.simulate import run
    from anabranch.solvers.allocator import Allocator
    from anabranch.solvers.case_table import summarise
    from anabranch.solvers.cases import Case, single_failures
    from anabranch.solvers.compare import compare
    from anabranch.solvers.many import Solved, solve_many
    from anabranch.solvers.solve import solve
    from anabranch.sweeps import Swept, read_sweep, sweep
    from anabranch.transfer.fetch import fetch, fetch_all
    from anabranch.transfer.fetched import Fetched, FetchState
    from anabranch.transfer.files import send, share

__all__ = [
    "AgentSession",
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
    "ScenarioText",
    "SolveInterrupted",
    "Solved",
    "SolverError",
    "StorageError",
    "Swept",
    "TopologyManager",
    "allow_memory",
    "compare",
    "demands",
    "draw_errors",
    "draw_loads",
    "draw_network",
    "draw_queues",
    "draw_rates",
    "draw_round_trips",
    "draw_windows",
    "fetch",
    "fetch_all",
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
    "report",
    "run",
    "scenario",
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


_NAMES = {
    "agents.session": ("AgentSession",),
    "allocation.allocation": ("Allocation",),
    "allocation.saved": ("read_allocation",),
    "solvers.allocator": ("Allocator",),
    "solvers.many": ("Solved", "solve_many"),
    "solvers.case_table": ("summarise",),
    "solvers.cases": ("Case", "single_failures"),
    "solvers.compare": ("compare",),
    "model.demands": ("Demands", "demands"),
    "errors": (
        "CertificateError",
        "ConvergenceWarning",
        "RunInterrupted",
        "ScenarioError",
        "SolveInterrupted",
        "SolverError",
        "StorageError",
    ),
    "figures": (
        "draw_errors",
        "draw_loads",
        "draw_network",
        "draw_queues",
        "draw_rates",
        "draw_round_trips",
        "draw_windows",
    ),
    "model.filters": ("filters",),
    "generate": ("gravity", "hot_spots", "random_pairs", "uniform"),
    "allocation.levelled": ("LevelledAllocation",),
    "runs.live": ("live",),
    "memory": ("allow_memory",),
    "model.network": ("Network", "from_networkx"),
    "model.paths": ("Paths", "find_paths", "given_paths", "groups"),
    "allocation.priced": ("PricedAllocation",),
    "model.problem": ("Problem", "problem_of"),
    "formats.read": ("read_demands", "read_network"),
    "page.shown": ("report",),
    "runs.result": ("Result", "read_result"),
    "runs.scenario": ("Scenario", "read_scenario"),
    "runs.scenario_text": ("ScenarioText", "scenario"),
    "runs.simulate": ("run",),
    "solvers.solve": ("solve",),
    "sweeps": ("Swept", "read_sweep", "sweep"),
    "model.topology_manager": ("TopologyManager",),
    "transfer.fetch": ("fetch", "fetch_all"),
    "transfer.fetched": ("Fetched", "FetchState"),
    "transfer.files": ("send", "share"),
    "formats.write": ("write_network",),
}
"""The public names of each module."""

__getattr__ = loader(__name__, _NAMES, modules=("generate",))


def __dir__() -> list[str]:
    """Give the names that are loaded when they are asked for, too."""
    return sorted({*globals(), *__all__})
