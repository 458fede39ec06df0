"""The options of solvers on the command line, made of those that `anabranch.solve` takes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from anabranch.solvers.describe import help_of
from anabranch.solvers.methods import METHODS
from anabranch.solvers.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATED = ("method",)
"""The options that may be given several times: each value is solved for, and the answers are compared."""

Command = TypeVar("Command", bound="Callable[..., None]")


def with_solver_options(command: Command) -> Command:
    """Give the function of a command, which takes ``**options``, a signature with every option of solvers."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    signature = signature.replace(parameters=own + [_parameter(name) for name in OPTIONS])
    command.__signature__ = signature  # type: ignore[attr-defined]
    return command


def _parameter(name: str) -> inspect.Parameter:
    """Return an option as a parameter that typer understands; its range is left to the check of solvers."""
    option = OPTIONS[name]
    kind = option.values.text_type
    if name in REPEATED:
        # typer knows no lists of a few names; the check of solvers refuses others.
        kind = list[str]
    if option.default is None:
        kind = kind | None
    more = " Repeatable: several are compared." if name in REPEATED else ""
    declared = typer.Option(
        metavar=option.values.metavar,
        help=help_of(name) + more,
        show_default=False,
        autocompletion=_methods if name == "method" else None,
    )
    annotation = Annotated[kind, declared]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)


def _methods(incomplete: str) -> list[str]:
    """Give the methods whose names begin like this, for completion in a shell."""
    return [name for name in METHODS if name.startswith(incomplete)]


def solver_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of solvers as `anabranch.solve` takes them, but for those that are given several times."""
    return {name: OPTIONS[name].values.from_text(name, value) for name, value in given.items() if name not in REPEATED}
