"""Fair sharing of network capacity over many paths.

Read or make a network (`read_network`, `generate`), say who wants what (`read_demands`, `gravity`, ...), and divide
the capacity: `solve` gives an `Allocation` that can prove itself. Simulate a scenario file: `run` gives a `Result` with
everything that was measured; `sweep` simulates it with many values. Move files between machines under the same
protocols: `share`, `send`, `fetch`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from anabranch.figures import draw_errors, draw_loads, draw_network, draw_queues, draw_rates
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
    from anabranch.sweeps import Swept, read_sweep, sweep
    from anabranch.topology_manager import TopologyManager
    from anabranch.transfer import Fetched, FetchState, fetch, send, share
    from anabranch.write import write_network

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


_NAMES = {
    "allocation": ("Allocation",),
    "allocation_folder": ("read_allocation",),
    "allocator": ("Allocator",),
    "batch": ("Solved", "solve_many"),
    "case_table": ("summarise",),
    "cases": ("Case", "single_failures"),
    "demands": ("Demands", "demands"),
    "errors": (
        "CertificateError",
        "ConvergenceWarning",
        "RunInterrupted",
        "ScenarioError",
        "SolveInterrupted",
        "SolverError",
        "StorageError",
    ),
    "figures": ("draw_errors", "draw_loads", "draw_network", "draw_queues", "draw_rates"),
    "filters": ("filters",),
    "generate": ("gravity", "hot_spots", "random_pairs", "uniform"),
    "levelled": ("LevelledAllocation",),
    "live_run": ("live",),
    "memory": ("allow_memory",),
    "network": ("Network", "from_networkx"),
    "paths": ("Paths", "find_paths", "given_paths", "groups"),
    "priced": ("PricedAllocation",),
    "problem": ("Problem", "problem_of"),
    "read": ("read_demands", "read_network"),
    "result": ("Result", "read_result"),
    "scenario": ("Scenario", "read_scenario"),
    "simulate": ("run",),
    "solve": ("solve",),
    "sweeps": ("Swept", "read_sweep", "sweep"),
    "topology_manager": ("TopologyManager",),
    "transfer": ("Fetched", "FetchState", "fetch", "send", "share"),
    "write": ("write_network",),
}
"""What each module has of these; `generate` is one itself."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for: tables and figures take longer to load than most commands take to run."""
    if name == "generate":
        return import_module("anabranch.generate")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"anabranch.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Give the names that are loaded when they are asked for, too."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A package whose functions keep their names where a module is called the same, as `solve`."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, unless Python would put a module that it has loaded in the place of a function."""
        if not (isinstance(value, ModuleType) and name in _MODULES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
