"""Many problems that share a network and its paths: links that fail, and other demands."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from anabranch.errors import ScenarioError, SolverError
from anabranch.model.paths import Paths
from anabranch.model.problem import Problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anabranch.model.demands import Demands


@dataclass(frozen=True)
class Case:
    """One of many problems, with a name.

    Attributes
    ----------
    name : str
        The name of the case, such as the links that fail.
    problem : Problem
        The capacities, paths and demands; `Problem.changed` gives one with the paths of another.
    paths : Paths or None
        The network's paths, if the problem is of a network.
    """

    name: str
    problem: Problem
    paths: Paths | None = None


def single_failures(subject: Paths | Problem, *, each: Literal["cable", "link"] = "cable") -> list[Case]:
    """Make the cases in which one cable or link fails; traffic moves to those of its paths that remain.

    Parameters
    ----------
    subject : Paths or Problem
        The paths of demands on a network, or a problem of arrays.
    each : {"cable", "link"}
        The thing that fails: a link together with its twin, the way back, if it has one; or one direction alone. A
        problem of arrays has no cables, so each of its links fails alone.

    Returns
    -------
    list of Case
        The cases in the order of the links, each named by the links that fail.

    Raises
    ------
    ScenarioError
        A connection that no link and no demand limits.
    ValueError
        An unknown kind of failure.
    """
    if each not in ("cable", "link"):
        raise ValueError(f'each is "{each}"; it must be "cable" or "link"')
    if isinstance(subject, Problem):
        names = [str(link) for link in range(subject.core.links)]
        return [_without(Case("", subject), [link], names) for link in range(subject.core.links)]
    core = subject.demands.network.core
    whole = Case("", problem_of(subject), subject)
    twin = core.twin if each == "cable" else np.full(len(core.twin), -1)
    cables = [[link, back] if back >= 0 else [link] for link, back in enumerate(twin.tolist()) if not 0 <= back < link]
    return [_without(whole, cable, core.link_names) for cable in cables]


def _without(whole: Case, links: list[int], names: list[str]) -> Case:
    """Give the case in which these links fail."""
    capacity = whole.problem.capacity.copy()
    capacity[links] = 0.0
    return Case(", ".join(names[link] for link in links), whole.problem.changed(capacity=capacity), whole.paths)


def cases_of(
    matrices: Iterable[tuple[str, Demands]], paths: Callable[[Demands, Paths | None], Paths]
) -> Iterator[Case]:
    """Make a case of each of many demands on a network, with these names.

    `paths` gives those of some demands, if it can the ones before: then all but the numbers is shared.
    """
    problem, latest = None, None
    for name, demands in matrices:
        with named(name):
            found = paths(demands, latest)
            is_shared = problem is not None and latest is not None and found.core is latest.core
            problem = _with_demands(problem, demands) if problem is not None and is_shared else problem_of(found)
            latest = found
        yield Case(name, problem, found)


def _with_demands(problem: Problem, demands: Demands) -> Problem:
    core = demands.core
    try:
        return problem.changed(demand=core.demand_bps, weight=core.weight * core.qos)
    except ValueError as error:
        raise ScenarioError(str(error)) from error


@contextmanager
def named(case: str) -> Iterator[None]:
    """Put the name of the case into errors."""
    try:
        yield
    except (ScenarioError, SolverError) as error:
        raise type(error)(f"case `{case}`: {error}") from error
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"case `{case}`: {error}") from error
