"""The scenario file: network, connections, paths and run in one TOML text."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.read import read_demands, read_network
from anabranch.formats.source import excerpt, load
from anabranch.memory import ask_for_memory
from anabranch.model.demands import Demands
from anabranch.model.network import Network
from anabranch.model.paths import Paths

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Scenario:
    """A scenario for solvers: a network, and connections with their paths.

    Attributes
    ----------
    title : str
        For headings; may be empty.
    description : str
        What the scenario shows and what to look at; may be empty.
    network : Network
    demands : Demands
        With ``demands.paths``, the paths that the file gives or asks for.
    """

    title: str
    description: str
    network: Network
    demands: Demands


@dataclass(frozen=True)
class Plan:
    """The input of a run: everything in the scenario drawn, read and checked.

    Attributes
    ----------
    title : str
        For headings; may be empty.
    description : str
        What the scenario shows and what to look at; may be empty.
    network : Network
    core : object
        The plan as the compiled module has it.
    resolved : str
        The scenario as TOML with every default written out and nothing left in other files; reading it gives the same
        plan.
    files : tuple of Path
        What was read besides: of the network, of demands, of traces.
    """

    title: str
    description: str
    network: Network
    core: _core.Plan
    resolved: str
    files: tuple[Path, ...] = ()

    @property
    def protocols(self) -> list[str]:
        """The protocols in use, as people read their names."""
        return [title for _, title in self.core.protocols]


def read_scenario(scenario: str | os.PathLike[str], *, sets: Sequence[str] = ()) -> Scenario:
    """Read the part of a scenario file that solvers use; keys for runs are checked and then ignored.

    Parameters
    ----------
    scenario : path or str
        A TOML file, or its text if there is a line break in it; every key stands in the reference under "The scenario
        file".
    sets : sequence of str, optional
        Values that replace those of the file: ``connection.0.weight=2``, ``run.seed=3``.

    Raises
    ------
    ScenarioError
        The first mistake, with file, line, column, reason and remedy.
    """
    ask_for_memory()
    with _told(scenario):
        read = _load(scenario, sets)
        core_demands, paths = read.core.connections(read.network.core, read.extra)
        demands = Demands(read.network, core_demands)
        demands.paths = Paths(demands, paths)
    return Scenario(read.core.title, read.core.description, read.network, demands)


def read_plan(
    scenario: str | os.PathLike[str],
    *,
    seed: int | None = None,
    sets: Sequence[str] = (),
    folder: Path | None = None,
    within: Sequence[Path] | None = None,
    for_programs: bool = False,
) -> Plan:
    """Read a scenario file, and draw and check all that a run of it depends on.

    Parameters
    ----------
    scenario : path or str
        A TOML file, or its text if there is a line break in it.
    seed : int, optional
        Instead of the seed in the file; 0 to 2**63 - 1.
    sets : sequence of str, optional
        Values that replace those of the file: ``connection.0.weight=2``, ``defaults.link.queue=64 KiB``.
    folder : path, optional
        From where the files that the scenario names are seen. Its own folder if not given; the working folder for a
        text.
    within : sequence of path, optional
        Folders outside which no file may lie that the scenario names, wherever links lead; anywhere if not given.
    for_programs : bool
        Whether programs send over the network in place of its connections, which need no protocol then. Links without
        a queue get a limit by default.

    Raises
    ------
    ScenarioError
        The first mistake, with file, line, column, reason and remedy.
    """
    ask_for_memory()
    with _told(scenario):
        read = _load(scenario, sets, seed, folder, within, for_programs=for_programs)
        plan = read.core.plan(read.network.core, read.extra, read.text)
        resolved = read.core.resolved(plan, read.extra, read.text)
    return Plan(read.core.title, read.core.description, read.network, plan, resolved, tuple(dict.fromkeys(read.files)))


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Give what a scenario has, as plain values."""
    core = plan.core
    titles = [plan.protocols[number] for number in core.connection_protocol]
    return {
        "title": plan.title,
        "nodes": len(plan.network),
        "links": len(plan.network.core.link_names),
        "connections": len(titles),
        "subflows": len(core.paths().path_offsets) - 1,
        "protocols": dict(Counter(titles)),
        "duration_s": core.duration_s,
        "warm_up_s": core.warm_up_s,
        "sample_s": core.sample_s,
        "memory_bytes": sum(size for _, size, _ in core.memory()),
        "seed": core.seed,
        "warnings": core.warnings,
    }


@dataclass(frozen=True)
class _Read:
    """A scenario with what it names: its network, the connections that stand in a file of demands, the files read."""

    core: _core.Scenario
    place: Callable[[str], Path]
    network: Network
    extra: _core.Demands | None
    files: list[Path]

    def text(self, file: str) -> str:
        """Give the text of a trace."""
        return load(self.place(file)).text


def _load(
    scenario: str | os.PathLike[str],
    sets: Sequence[str],
    seed: int | None = None,
    folder: Path | None = None,
    within: Sequence[Path] | None = None,
    *,
    for_programs: bool = False,
) -> _Read:
    if isinstance(sets, str):
        raise ValueError(f"sets is one text; give a list of them, such as [{sets!r}]")  # noqa: TRY004
    values = [_set(value) for value in (sets if seed is None else [*sets, f"run.seed={seed}"])]
    is_text = _is_text(scenario)
    if not is_text and Path(scenario).is_dir():
        raise ValueError("it is a folder; name a scenario file")
    own = folder or (Path() if is_text else Path(scenario).parent)

    files: list[Path] = []

    def place(file: str) -> Path:
        files.append(own / file if within is None else _inside(own / file, within))
        return files[-1]

    core = _core.Scenario(str(scenario) if is_text else load(scenario).text, values, for_programs)
    with _placed(core.network_file_error):
        network = _network(core, place)
    file = core.demands_file
    with _placed(core.demands_file_error):
        extra = None if file is None else read_demands(place(file), network).core
    return _Read(core, place, network, extra, files)


def _inside(file: Path, folders: Sequence[Path]) -> Path:
    """Give where a file really is, if that is in one of the folders."""
    try:
        real = file.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ScenarioError(f"{excerpt(file)}: this cannot be a file's name; check it") from error
    if any(real.is_relative_to(folder.resolve()) for folder in folders):
        return real
    allowed = " or ".join(str(folder) for folder in folders)
    raise ScenarioError(f"{excerpt(file)}: it lies elsewhere, and may not be read from here; put it in {allowed}")


def _is_text(scenario: str | os.PathLike[str]) -> bool:
    return isinstance(scenario, str) and "\n" in scenario


def _set(value: str) -> tuple[str, str]:
    path, equals, text = value.partition("=")
    if not equals:
        raise ValueError(f"`{value}` sets nothing; write it like `connection.0.weight=2`")
    return path.strip(), text.strip()


def _network(core: _core.Scenario, place: Callable[[str], Path]) -> Network:
    inline = core.network()
    if inline is not None:
        return Network(inline, core.title)
    apart = core.network_file()
    if apart is None:
        raise ValueError("it has no network; add [[link]] tables or a [network] with a file or a rule")
    file, capacity_bps, delay = apart
    return read_network(place(file), capacity=capacity_bps, delay=delay)


@contextmanager
def _told(scenario: str | os.PathLike[str]) -> Iterator[None]:
    """Say in whose scenario a mistake is."""
    try:
        yield
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{_name(scenario)}: {error}") from error


@contextmanager
def _placed(error_at: Callable[[str], str]) -> Iterator[None]:
    """Say where in the scenario a file is named in which there is a mistake."""
    try:
        yield
    except ScenarioError as error:
        raise ValueError(error_at(str(error))) from error


def _name(scenario: str | os.PathLike[str]) -> str:
    return "scenario" if _is_text(scenario) else str(scenario)
