"""The check of the options of `solve`, as far as it takes no problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from anabranch.errors import did_you_mean
from anabranch.solvers.fairness import BOTTLENECK_TOLERANCE, FAIRNESS
from anabranch.solvers.methods import METHODS, methods_for, takers_of
from anabranch.solvers.options import OPTIONS, Options

if TYPE_CHECKING:
    from anabranch.solvers.fairness import FairnessName
    from anabranch.solvers.method import Method


@dataclass(frozen=True)
class Request:
    """Checked options.

    Attributes
    ----------
    fairness : str
        The kind of fairness.
    method : Method or None
        The method that was named.
    general : dict
        The values of the options that every method accepts.
    given : dict
        The values that were given of the options that not every method accepts.
    """

    fairness: FairnessName
    method: Method | None
    general: dict[str, Any]
    given: dict[str, Any]

    def options_for(self, method: Method) -> dict[str, Any]:
        """Return the options for a method, with its defaults where none was given."""
        own = {name: self.given.get(name, default) for name, default in method.options.items()}
        return self.general | own


def check_options(**options: Unpack[Options]) -> Request:
    """Refuse options that cannot be right for any problem, and return the others.

    Raises
    ------
    TypeError
        An option that does not exist, or a value of a wrong type.
    ValueError
        A value out of its range, or an option that does not go with fairness and method.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if unknown := [name for name in options if name not in OPTIONS]:
        raise TypeError(f"solve() got an unexpected keyword argument '{unknown[0]}'")
    asked: FairnessName | None = given.pop("fairness", None)
    if asked is not None:
        asked = OPTIONS["fairness"].values.check("fairness", asked)
    method = _checked_method(given.pop("method", None), asked)
    fairness = _implied_fairness(method, has_alpha="alpha" in given) if asked is None else asked
    taker = f"the usual method for {fairness}" if method is None else method.name
    for name in given:
        if not OPTIONS[name].is_general and not _is_taken(name, fairness, method):
            raise ValueError(f"{name} was given, and {taker} takes none; {_remedy(name, asked)}")
    alpha = _checked_alpha(given.pop("alpha", None), fairness)
    checked = {name: OPTIONS[name].values.check(name, value) for name, value in given.items()}
    defaults = {name: option.default for name, option in OPTIONS.items() if option.is_general}
    settled = defaults | {"fairness": fairness, "alpha": alpha, "tolerance": _tolerance(fairness, method)} | checked
    return Request(
        fairness,
        method,
        general={name: settled[name] for name in defaults},
        given={name: value for name, value in checked.items() if name not in defaults},
    )


def _checked_method(name: str | None, asked: FairnessName | None) -> Method | None:
    """Return the method of a name, if it finds the kind of fairness that was asked for."""
    if name is None:
        return None
    if name not in METHODS:
        known = ", ".join(METHODS if asked is None else methods_for(asked))
        hint = did_you_mean(name, METHODS) if isinstance(name, str) and len(name) < 50 else ""
        raise ValueError(f'method is "{name}"{hint}; it must be one of {known}')
    method = METHODS[name]
    if asked is not None and asked not in method.fairness:
        raise ValueError(
            f"{name} finds {' and '.join(method.fairness)} fair rates, not {asked} fair ones; leave out the fairness,"
            f" or take one of the methods for {asked}: {', '.join(methods_for(asked))}"
        )
    return method


def _tolerance(fairness: FairnessName, method: Method | None) -> float:
    """Return the default tolerance; approximations are far from exact, whatever their kind of fairness."""
    is_exact = method is None or not method.is_approximation
    return FAIRNESS[fairness].tolerance if is_exact else BOTTLENECK_TOLERANCE


def _implied_fairness(method: Method | None, *, has_alpha: bool) -> FairnessName:
    """Return the kind of fairness where none is asked for: of those that the method finds, the usual one first."""
    kinds = tuple(FAIRNESS) if method is None else method.fairness
    if has_alpha and "alpha" in kinds:
        return "alpha"
    return next(kind for kind in FAIRNESS if kind in kinds)


def _is_taken(option: str, fairness: FairnessName, method: Method | None) -> bool:
    """Tell whether the method takes an option; where none is named, whether a usual one does."""
    takers = [METHODS[name] for name in takers_of(option)]
    # If the usual method turns out to be a single filling instead, a start does no harm.
    return method in takers if method is not None else any(fairness in taker.usual_for for taker in takers)


def _remedy(option: str, asked: FairnessName | None) -> str:
    """Say which methods take an option; if a kind of fairness was asked for, those that find it."""
    takers = takers_of(option)
    fitting = [name for name in takers if asked is None or asked in METHODS[name].fairness]
    if fitting:
        return f"leave it out, or name a method that takes it: {', '.join(fitting)}"
    return f"leave it out; it is for {', '.join(takers)}"


def _checked_alpha(alpha: Any, fairness: FairnessName) -> float | None:
    """Return the alpha of the fairness, None if it has none."""
    kind = FAIRNESS[fairness]
    if kind.alpha is not None:
        if alpha is not None and alpha != kind.alpha:
            raise ValueError(
                f'alpha is {alpha}; for {fairness} it is {kind.alpha:g}: leave it out, or take fairness "alpha"'
            )
        return kind.alpha
    if kind.takes_alpha == (alpha is None):
        wanted = "give one, such as alpha=2" if kind.takes_alpha else f"{fairness} takes none; leave it out"
        raise ValueError(f"alpha is {alpha}; {wanted}")
    return None if alpha is None else float(OPTIONS["alpha"].values.check("alpha", alpha))
