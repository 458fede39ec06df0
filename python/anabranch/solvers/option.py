"""An option of `solve`, in one place: meaning, values, default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.solvers.values import Values


@dataclass(frozen=True)
class Option:
    """An option of `solve`; command line, docstrings and checks are made of this.

    Attributes
    ----------
    means : str
        What the option is, in one sentence.
    values : Values
        The values that it may have.
    details : str
        What else a docstring says; the command line leaves this out.
    default : object
        The value if none is given, where that is the same for all methods; otherwise methods have their own.
    unset : str
        What happens if none is given, where no single value tells that: a phrase after "default:".
    only_for : str
        What the option is for, where that is no list of methods: a phrase after "for".
    is_general : bool
        Whether every method accepts the option; otherwise a method lists it among its own.
    """

    means: str
    values: Values
    details: str = ""
    default: Any = None
    unset: str = ""
    only_for: str = ""
    is_general: bool = False
