"""Many problems that share a network and its paths: links that fail, and other demands."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

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


INTACT = "nothing"
"""The name of the case in which nothing fails."""


class Failures(Sequence[Case]):
    """Cases in which links fail, each made when it is taken.

    Parameters
    ----------
    whole : Case
        The case in which nothing fails.
    links : sequence of list of int
        The numbers of the links that fail, for each case.
    names : sequence of str
        The names of all links.
    reroute : bool
        Whether connections get other paths where theirs fail.
    """

    def __init__(self, whole: Case, links: Sequence[list[int]], names: Sequence[str], *, reroute: bool) -> None:
        self._whole = whole
        self.links = links
        self._reroute = reroute
        self.names = [", ".join(names[link] for link in own) or INTACT for own in links]

    def __len__(self) -> int:
        return len(self.links)

    @overload
    def __getitem__(self, index: int) -> Case: ...

    @overload
    def __getitem__(self, index: slice) -> list[Case]: ...

    def __getitem__(self, index: int | slice) -> Case | list[Case]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        failed, name = self.links[index], self.names[index]
        paths, problem = self._whole.paths, self._whole.problem
        if self._reroute and paths is not None and (found := paths.without_links(failed)) is not paths:
            paths, problem = found, problem_of(found)
        capacity = problem.capacity.copy()
        capacity[failed] = 0.0
        return Case(name, problem.changed(capacity=capacity), paths)


def single_failures(
    subject: Paths | Problem,
    *,
    each: Literal["cable", "link"] = "cable",
    reroute: bool | None = None,
    intact: bool = False,
) -> Failures:
    """Make the cases in which one cable or link fails.

    Connections whose paths are hit get other ones, found as before on the network that is left, as routers do. Paths
    that were given are kept, and so are all with ``reroute=False``: then traffic moves to those that remain.

    Parameters
    ----------
    subject : Paths or Problem
        The paths of demands on a network, or a problem of arrays.
    each : {"cable", "link"}
        The thing that fails: a link together with its twin, the way back, if it has one; or one direction alone. A
        problem of arrays has no cables, so each of its links fails alone.
    reroute : bool, optional
        Whether to find paths anew where a failure hits them; by default if a search found them.
    intact : bool
        Whether the case in which nothing fails comes first, under the name "nothing".

    Returns
    -------
    Failures
        A sequence of `Case` in the order of the links, each named by the links that fail.

    Raises
    ------
    ScenarioError
        A connection that no link and no demand limits.
    ValueError
        An unknown kind of failure, or `reroute` for paths that were given.
    """
    if each not in ("cable", "link"):
        raise ValueError(f'each is "{each}"; it must be "cable" or "link"')
    first: list[list[int]] = [[]] if intact else []
    if isinstance(subject, Problem):
        if reroute:
            raise ValueError("reroute is True, and a problem of arrays has no network to find paths in; leave it out")
        links, names = range(subject.core.links), [str(link) for link in range(subject.core.links)]
        return Failures(Case("", subject), [*first, *([link] for link in links)], names, reroute=False)
    if reroute and subject.search is None:
        raise ValueError("reroute is True, and the paths were given; find them by find_paths, or leave reroute out")
    core = subject.demands.network.core
    twin = core.twin if each == "cable" else np.full(len(core.twin), -1)
    cables = [[link, back] if back >= 0 else [link] for link, back in enumerate(twin.tolist()) if not 0 <= back < link]
    is_found = subject.search is not None
    whole = Case("", problem_of(subject), subject)
    return Failures(whole, [*first, *cables], core.link_names, reroute=is_found if reroute is None else reroute)


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
        return problem.changed(demand=core.demand_bps, weight=core.weight * core.qos, reserved=core.reserved_bps)
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
