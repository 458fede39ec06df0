"""The registry of measures: a measure is a function with its row above it.

::

    @measure("mean-rate", of=SUBFLOWS, unit="rate", runs=OVER_TIME, windowed=True)
    def mean_rate(run: Simulated | Optimal, paths: Sequence[int], window_s: Window) -> float:
        \"\"\"Give the rate that was delivered, as a mean over the window.\"\"\"

The row says what the name is, what the number belongs to (nothing if it belongs to the run), its unit, and the kinds of
run that it can be measured of. With ``windowed=True`` a window of a quantity limits it to a part of the time. The
reader of ``expected.toml``, units, and the table of measures in the documentation follow from the rows; the table
prints the docstrings, without the verb ``Give``. A type checker compares each function with its row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.outcomes.groups import Runs

Window = tuple[float, float]

EVER: Window = (0.0, math.inf)
"""The window that leaves nothing out."""

R = TypeVar("R")
S = TypeVar("S")
R_contra = TypeVar("R_contra", contravariant=True)
S_co = TypeVar("S_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


class UnmeasuredError(ScenarioError):
    """The run does not give this number: it is not recorded, or nothing happened in the window."""


@dataclass(frozen=True)
class Subject(Generic[R_contra, S_co]):
    """The thing within a run that a number belongs to, such as a link.

    Attributes
    ----------
    words : str
        The words for it, as in "the name of a ...".
    find : callable
        Finds it in a run by the name that an experiment's files give; raises a ScenarioError if it is not there.
    """

    words: str
    find: Callable[[R_contra, str], S_co]


@dataclass(frozen=True)
class AnotherRun(Generic[S_co]):
    """Another run of the experiment, with which a run is compared."""

    runs: Runs[S_co]
    words: str = "run"

    def names(self, text: str) -> list[str]:
        """Give the names of the other runs."""
        return [text]

    def find(self, outcomes: Mapping[str, Any], text: str) -> Any:
        """Give the outcome of the other run."""
        return outcomes[text]


@dataclass(frozen=True)
class Among(Generic[S]):
    """Things that all of several runs have, such as connections, and the outcomes of the other runs.

    Attributes
    ----------
    words : tuple of str
        The names or patterns of the things.
    others : tuple
        The outcomes of the runs after ``with``.
    """

    words: tuple[str, ...]
    others: tuple[S, ...]


@dataclass(frozen=True)
class OtherRuns(AnotherRun[S_co]):
    """Things within a run, and further runs of the experiment that have them too: ``c1 c2 with run-2 run-3``."""

    words: str = "connection or pattern, one or more, then `with` and the names of other runs"

    def names(self, text: str) -> list[str]:
        """Give the names of the other runs."""
        return text.partition(" with ")[2].split()

    def find(self, outcomes: Mapping[str, Any], text: str) -> Among[S_co]:
        """Give the words before ``with``, and the outcomes of the runs after it."""
        words = text.partition(" with ")[0].split()
        return Among(tuple(words), tuple(outcomes[name] for name in self.names(text)))


def other_runs(runs: Runs[S]) -> AnotherRun[Among[S]]:
    """Give the subject of a measure over several runs of these kinds."""
    return cast("AnotherRun[Among[S]]", OtherRuns(runs))


@dataclass(frozen=True)
class Measure:
    """The row of a measure, and its function.

    Attributes
    ----------
    name : str
        The second word of a quantity.
    of : Subject, AnotherRun or None
        What the number belongs to; None if it belongs to the run as a whole.
    unit : str
        ``rate`` for the experiment's unit of rates.
    runs : Runs
        The kinds of run that it can be measured of.
    windowed : bool
        Whether a window limits it to a part of the time.
    function : callable
        Takes the outcome of a run, then what the number belongs to, then the window.
    words : str
        What the number is, for the documentation.
    module : str
        The module that it is in.
    """

    name: str
    of: Subject[Any, Any] | AnotherRun[Any] | None
    unit: str
    runs: Runs[Any]
    windowed: bool
    function: Callable[..., float]
    words: str
    module: str


MEASURES: dict[str, Measure] = {}
"""All measures by their names."""


@overload
def measure(
    name: str, *, unit: str, runs: Runs[R], of: None = None, windowed: Literal[False] = False
) -> Callable[[Callable[[R], float]], Callable[[R], float]]: ...
@overload
def measure(
    name: str, *, unit: str, runs: Runs[R], of: None = None, windowed: Literal[True]
) -> Callable[[Callable[[R, Window], float]], Callable[[R, Window], float]]: ...
@overload
def measure(
    name: str, *, unit: str, runs: Runs[R], of: Subject[R, S] | AnotherRun[S], windowed: Literal[False] = False
) -> Callable[[Callable[[R, S], float]], Callable[[R, S], float]]: ...
@overload
def measure(
    name: str, *, unit: str, runs: Runs[R], of: Subject[R, S] | AnotherRun[S], windowed: Literal[True]
) -> Callable[[Callable[[R, S, Window], float]], Callable[[R, S, Window], float]]: ...
def measure(
    name: str,
    *,
    unit: str,
    runs: Runs[Any],
    of: Subject[Any, Any] | AnotherRun[Any] | None = None,
    windowed: bool = False,
) -> Callable[[F], F]:
    """Register a function as a measure; `Measure` explains the parameters."""

    def register(function: F) -> F:
        add(Measure(name, of, unit, runs, windowed, function, words_of(function), function.__module__))
        return function

    return register


def add(row: Measure) -> None:
    """Add a row to the registry."""
    if row.name in MEASURES:
        raise AssertionError(f"there are two measures `{row.name}`")
    MEASURES[row.name] = row


def words_of(function: Callable[..., Any]) -> str:
    """Give what a function gives in one line: its docstring without the verb."""
    words = " ".join((function.__doc__ or "").split()).removeprefix("Give ").removesuffix(".")
    if not words:
        raise AssertionError(f"`{function.__name__}` has no docstring; say what the number is")
    return words
