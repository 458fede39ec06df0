"""Groups of kinds of run: a measure belongs to one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from anabranch.reproduce.outcomes.kinds import (
    Followed,
    FromStarts,
    OnPaths,
    Optimal,
    Simulated,
    Solved,
    WeightAllocated,
)

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Runs(Generic[R_co]):
    """Kinds of run that a measure can be taken of.

    Attributes
    ----------
    kinds : tuple of type
        The classes of their outcomes.
    which : str
        The words that complete "runs that are ...".
    one : str
        The words for one of them.
    """

    kinds: tuple[type[R_co], ...]
    which: str
    one: str = "run"


ON_PATHS = Runs[OnPaths]((OnPaths,), "not fluid")
SOLVED = Runs[Solved]((Solved,), "solved")
WEIGHT_ALLOCATED = Runs[WeightAllocated]((WeightAllocated,), 'with method = "weight-allocation"')
FROM_STARTS = Runs[FromStarts]((FromStarts,), 'with method = "random-starts"')
SIMULATED = Runs[Simulated]((Simulated,), "simulated", "simulated run")
OVER_TIME = Runs[Simulated | Optimal]((Simulated, Optimal), "simulated or proportional", "run over time")
FLUID = Runs[Followed]((Followed,), "fluid")
