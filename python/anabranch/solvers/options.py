"""The options of `solve`, each in one place: command line, docstrings and checks are made of this list."""

from __future__ import annotations

from typing import Annotated, TypedDict, get_args, get_type_hints

from numpy.typing import ArrayLike

from anabranch.solvers.fairness import BOTTLENECK_TOLERANCE, EXACT_TOLERANCE, USUAL, FairnessName
from anabranch.solvers.methods import METHODS, MethodName
from anabranch.solvers.option import Option
from anabranch.solvers.values import Alpha, Count, Number, OneOf, Portions, Rate


class Options(TypedDict, total=False):
    """The options of `solve` and `solve_many`; one that is missing or None takes its default.

    Here stand the name, the type and everything else that is known of each. A method lists the options that not every
    method takes, with its defaults.
    """

    fairness: Annotated[
        FairnessName | None,
        Option(
            "The kind of fairness.",
            OneOf(get_args(FairnessName)),
            unset=f"{USUAL}, or what the method finds",
            is_general=True,
        ),
    ]
    alpha: Annotated[
        float | None,
        Option(
            "The parameter of alpha fairness: 1 is proportional fairness, and a large alpha is close to max-min.",
            Alpha(),
            only_for="alpha fairness, which needs it",
            is_general=True,
        ),
    ]
    tolerance: Annotated[
        float | None,
        Option(
            "The relative tolerance within which every path must have a bottleneck, or prices and rates must be"
            " optimal.",
            Number(over=0.0, under=1.0),
            unset=f"{EXACT_TOLERANCE:g}, for upward max-min fairness and approximations {BOTTLENECK_TOLERANCE:g}",
            is_general=True,
        ),
    ]
    method: Annotated[
        MethodName | None,
        Option(
            "The method that computes the rates.",
            OneOf(tuple(METHODS)),
            unset="the usual one for the fairness and the paths",
            is_general=True,
        ),
    ]
    max_passes: Annotated[
        int | None,
        Option(
            "The greatest number of passes. A solver that has not converged by then stops, and its answer says so.",
            Count(),
        ),
    ]
    stop_change: Annotated[
        float | str | None,
        Option(
            "The solver stops when no rate changes by more than this in a pass.",
            Rate(),
            details="This is the rule of [ludena2021]; it may stop far from a fair allocation. Whatever the change is,"
            " a solver also stops when every path has a bottleneck to the tolerance.",
            unset="2 % of the unit for iewf, none for c-slen",
        ),
    ]
    start: Annotated[
        str | float | ArrayLike | None,
        Option(
            "The starting portions of paths: equal, or the ratio of geometric ones.",
            Portions(),
            details="Geometric portions are ``ratio ** rank``, which favours the shortest path. An array has a portion"
            " for each path. Upward max-min fair allocations are not unique, and the start decides which one is found;"
            " [ludena2021] starts from equal portions.",
        ),
    ]
    unit: Annotated[
        float | str | None,
        Option(
            "The rate that a step adds to a connection of weight 1.",
            Rate(),
            unset="the rate at which the first step adds at most 5 % of its capacity to any link",
        ),
    ]
    ratio: Annotated[
        float | None,
        Option("The ratio of a level, or a geometric bin, to the one before.", Number(over=1.0)),
    ]
    first_level: Annotated[
        float | str | None,
        Option(
            "The first level, or the end of the first geometric bin, as a rate divided by claim.",
            Rate(),
            unset="a level that all connections can have at once",
        ),
    ]
    bins: Annotated[int | None, Option("The number of bins of connections.", Count())]
    iterations: Annotated[
        int | None,
        Option(
            "The passes of the water-filler.",
            Count(),
            details="The equi-depth binner takes the order of connections from it.",
        ),
    ]
    last_worth: Annotated[
        float | None,
        Option(
            "The value of a unit of rate in the last bin, relative to the first bin. Smaller values give fairer rates.",
            Number(over=0.0, most=1.0),
            details="With a small value, less is carried in total.",
        ),
    ]


def _declared() -> dict[str, Option]:
    hints = get_type_hints(Options, include_extras=True)
    return {name: next(part for part in get_args(hint) if isinstance(part, Option)) for name, hint in hints.items()}


OPTIONS: dict[str, Option] = _declared()
"""The options by name, in the order of lists."""
