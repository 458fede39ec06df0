"""The values that an option may have: what is checked, and the words for it in messages and in help."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.model.problem import Problem
from anabranch.model.quantities import rate_bps

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_COUNT = 2**62
"""The greatest count that an option takes; compiled code counts to twice that."""


MOST_LISTED = 5
"""The number of names up to which they are listed in place of a type."""


class Values(ABC):
    """The values of an option; each subclass is a kind of value."""

    @property
    def type_words(self) -> str:
        """The type in a docstring."""
        return "str"

    @property
    def range_words(self) -> str:
        """The range in a sentence such as "it must be over 1 and finite"; empty if there is no range."""
        return ""

    @property
    def metavar(self) -> str | None:
        """The word for a value on the command line; None for the name of its type."""
        return None

    @property
    def text_type(self) -> Any:
        """The type to which the command line converts a text."""
        return str

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """Return the value as solvers take it, or raise TypeError or ValueError."""

    def from_text(self, name: str, given: Any) -> Any:
        """Return what the command line was given as `check` takes it."""
        return given


@dataclass(frozen=True)
class Number(Values):
    """A real number, above `over` and at most `most` or below `under`; one that has no upper limit must be finite."""

    over: float
    most: float | None = None
    under: float | None = None
    type_words = "float"

    @property
    def range_words(self) -> str:
        """The range in words."""
        if self.most is not None:
            return f"over {self.over:g} and at most {self.most:g}"
        return f"over {self.over:g} and " + ("finite" if self.under is None else f"under {self.under:g}")

    @property
    def text_type(self) -> Any:
        """The type to which the command line converts a text."""
        return float

    def check(self, name: str, value: Any) -> float:
        """Return the number if it is in the range."""
        if not isinstance(value, Real):
            raise TypeError(f"{name} is {value!r}; it must be a number")
        number = float(value)
        under = math.inf if self.under is None else self.under
        is_in_range = self.over < number <= self.most if self.most is not None else self.over < number < under
        if not is_in_range:
            raise ValueError(f"{name} is {value}; it must be {self.range_words}")
        return number


@dataclass(frozen=True)
class Alpha(Values):
    """The alpha of alpha fairness; compiled code checks its range."""

    type_words = "float"
    range_words = "0.1 to 100"

    @property
    def text_type(self) -> Any:
        """The type to which the command line converts a text."""
        return float

    def check(self, name: str, value: Any) -> float:
        """Return the number if it is in the range, even where there is nothing to share."""
        if not isinstance(value, Real):
            raise TypeError(f"{name} is {value!r}; it must be a number")
        _core.alpha_fair(Problem([], [0], [], []).core, float(value))
        return float(value)


@dataclass(frozen=True)
class Count(Values):
    """A whole number of 1 or more."""

    type_words = "int"
    range_words = "1 or more"

    @property
    def text_type(self) -> Any:
        """The type to which the command line converts a text."""
        return int

    def check(self, name: str, value: Any) -> int:
        """Return the number if it counts something."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}; it must be a whole number")
        count = int(value)
        if count < 1:
            raise ValueError(f"{name} is {value}; it must be {self.range_words}")
        if count > MOST_COUNT:
            raise ValueError(f"{name} is {value}; it must be at most {MOST_COUNT}")
        return count


@dataclass(frozen=True)
class Rate(Values):
    """A rate: a number in the unit of the problem, or text with a unit where the problem comes from a network."""

    type_words = "float or str"
    metavar = "RATE"

    def check(self, name: str, value: Any) -> float | str:
        """Return the rate as it was given; only the problem says whether a text will do."""
        rate_of(value, name)
        checked: float | str = value
        return checked


@dataclass(frozen=True)
class OneOf(Values):
    """One of some names."""

    names: tuple[str, ...]

    @property
    def metavar(self) -> str | None:
        """The word for a value on the command line; a few names are listed instead."""
        return None if len(self.names) <= MOST_LISTED else "NAME"

    @property
    def type_words(self) -> str:
        """The type in a docstring: a few names are listed."""
        if len(self.names) > MOST_LISTED:
            return "str"
        return "{" + ", ".join(f'"{name}"' for name in self.names) + "}"

    @property
    def text_type(self) -> Any:
        """The type to which the command line converts a text."""
        return Literal[self.names]

    def check(self, name: str, value: Any) -> str:
        """Return the name if it is one of these."""
        if value not in self.names:
            raise ValueError(f'{name} is "{value}"; it must be one of {", ".join(self.names)}')
        return str(value)


@dataclass(frozen=True)
class Portions(Values):
    """The starting portions of paths: equal ones, the ratio of geometric ones, or one for each path."""

    type_words = '{"equal"}, float or array_like'
    metavar = "equal|RATIO"

    def check(self, name: str, value: Any) -> str | float | NDArray[np.float64]:
        """Return "equal", a ratio, or an array of portions; only the problem says how many there must be."""
        if isinstance(value, str):
            if value != "equal":
                raise ValueError(f'{name} is "{value}"; it must be "equal", a ratio, or a portion for each path')
            return value
        given = np.ascontiguousarray(value, dtype=float)
        if np.ndim(value) > 1:
            raise ValueError(f"{name} has {given.ndim} axes; it must be a ratio, or one portion for each path")
        if np.ndim(value) == 0:
            ratio = float(given.item())
            if not 0.0 < ratio <= 1.0:
                raise ValueError(f"the ratio of the starting portions is {ratio:g}; it must be over 0 and at most 1")
            return ratio
        if len(bad := np.flatnonzero(~(np.isfinite(given) & (given > 0)))):
            portion = given[bad[0]]
            raise ValueError(f"path {bad[0]}: its starting portion is {portion:g}; it must be positive and finite")
        return given

    def from_text(self, name: str, given: Any) -> Any:
        """Return a text as a ratio, unless it is "equal"."""
        if given is None or given == "equal":
            return given
        try:
            return float(given)
        except ValueError:
            raise ScenarioError(f"--{name} {given}: it must be equal, or a ratio over 0 and at most 1") from None


def rate_of(given: float | str | None, name: str, *, has_own_unit: bool = False) -> float | None:
    """Return a rate in the unit of the problem, None if none is given.

    Parameters
    ----------
    has_own_unit : bool
        Whether the problem is one of arrays, whose unit is unknown, so that text with a unit cannot be converted. The
        unit of a network's problem is bit/s.

    Raises
    ------
    ValueError
        The rate is not positive and finite, or it is text and cannot be converted.
    """
    if given is None:
        return None
    if isinstance(given, str) and has_own_unit:
        raise ValueError(f'{name} is "{given}", and the problem has a unit of its own; give a number in that unit')
    rate = rate_bps(given, name)
    if not 0.0 < rate < math.inf:
        raise ValueError(f"{name} is {given}; it must be positive and finite")
    return rate
