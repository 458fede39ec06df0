"""The options of `solve` in words: for the command line, and for the docstrings of functions that take them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from anabranch.solvers.fairness import FAIRNESS
from anabranch.solvers.methods import METHODS, methods_for, takers_of
from anabranch.solvers.options import OPTIONS, Options

Function = TypeVar("Function", bound=Callable[..., Any])

WIDTH = 120
INDENT = " " * 4


def help_of(name: str) -> str:
    """Return what ``--help`` says of an option."""
    option = OPTIONS[name]
    text = f"{option.means} {methods_in_words()}" if name == "method" else option.means
    notes = [option.values.range_words, _prefixed("default: ", default_of(name)), _prefixed("for ", purpose_of(name))]
    told = "; ".join(note for note in notes if note)
    return f"{text}  [{told}]" if told else text


def default_of(name: str) -> str:
    """Return the default of an option in words; it may depend on the method."""
    option = OPTIONS[name]
    if option.unset or option.default is not None:
        return option.unset or f"{option.default}"
    by_default = _takers_by_default(name)
    if len(by_default) <= 1:
        return "".join(by_default)
    return ", ".join(f"{default} for {' and '.join(takers)}" for default, takers in by_default.items())


def purpose_of(name: str) -> str:
    """Return what an option is for, such as methods; nothing if it is for all, or if the default names the methods."""
    takers = () if len(_takers_by_default(name)) > 1 else takers_of(name)
    return OPTIONS[name].only_for or ", ".join(takers)


def _takers_by_default(name: str) -> dict[str, list[str]]:
    """Return the methods that take an option, by their default in words; without those that have none."""
    found: dict[str, list[str]] = {}
    for taker in takers_of(name):
        default = METHODS[taker].options[name]
        if default is not None:
            found.setdefault(default if isinstance(default, str) else f"{default:g}", []).append(taker)
    return found


def methods_in_words() -> str:
    """Return the methods by the kind of fairness that they find."""
    by_methods: dict[tuple[str, ...], list[str]] = {}
    for fairness in FAIRNESS:
        by_methods.setdefault(methods_for(fairness), []).append(fairness)
    parts = []
    for methods, kinds in by_methods.items():
        exact = [name for name in methods if not METHODS[name].is_approximation]
        rest = [name for name in methods if METHODS[name].is_approximation]
        approximations = f"; approximations: {', '.join(rest)}" if rest else ""
        parts.append(f"For {' and '.join(kinds)}: {', '.join(exact)}{approximations}.")
    return " ".join(parts)


def documented(function: Function) -> Function:
    """Write the options into the docstring and the signature of a function that takes them as ``**options``.

    In the docstring they take the place of the parameter ``**options``.
    """
    # Before Python 3.13 a docstring has the indentation of its function.
    before, found, after = inspect.cleandoc(function.__doc__ or "").partition("**options")
    assert found, "the docstring has a parameter **options"
    # The parameter's own description ends where a line is indented less.
    lines = after.splitlines(keepends=True)[1:]
    end = next((i for i, line in enumerate(lines) if not line.startswith(INDENT)), len(lines))
    function.__doc__ = before + "".join(map(entry_of, OPTIONS)) + "".join(lines[end:])
    function.__signature__ = _signature(function)  # type: ignore[attr-defined]
    return function


def entry_of(name: str) -> str:
    """Return the entry of an option among the parameters of a docstring."""
    option = OPTIONS[name]
    optional = "" if option.default is not None else ", optional"
    sentences = [option.means, option.details, *_listed(name)]
    if option.values.range_words:
        sentences.append(f"It must be {option.values.range_words}.")
    sentences.append(_prefixed("Default: ", default_of(name), "."))
    sentences.append(_prefixed("For ", purpose_of(name), "."))
    text = " ".join(sentence for sentence in sentences if sentence)
    body = textwrap.wrap(text, WIDTH - len(2 * INDENT), break_long_words=False, break_on_hyphens=False)
    lines = [f"{name} : {option.values.type_words}{optional}", *(INDENT + line for line in body)]
    return "".join(f"{line}\n" for line in lines)


def _listed(name: str) -> list[str]:
    """Return what the values of an option mean, if they are the names of kinds of fairness or methods."""
    if name == "fairness":
        return [f'``"{kind}"``: {fairness.means}' for kind, fairness in FAIRNESS.items()]
    if name == "method":
        return [f'``"{name}"``: {method.does}.' for name, method in METHODS.items()]
    return []


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function with every option in place of ``**options``."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    kinds = get_type_hints(Options)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=kinds[name])
        for name, option in OPTIONS.items()
    ]
    return signature.replace(parameters=own + options)


def _prefixed(before: str, text: str, after: str = "") -> str:
    return f"{before}{text}{after}" if text else ""
