"""The points of a sweep: every combination of values, as what is set in the scenario and as columns of tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.sweeps.values import Column, column, drawn, is_range, listed, toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anabranch.sweeps.file import Sweep

SEED = "run.seed"
"""The path of what is called ``seed`` for short."""

MOST_POINTS = 1_000_000

RESERVED = ("", "run", "key", "point", "error")
"""Names that no column may have."""

BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "over": lambda value, bound: value > bound,
    "under": lambda value, bound: value < bound,
    "at_least": lambda value, bound: value >= bound,
    "at_most": lambda value, bound: value <= bound,
}
"""How numbers are compared by what is left out."""


@dataclass(frozen=True)
class Point:
    """One combination of values.

    Attributes
    ----------
    sets : tuple of str
        What is set in the scenario, as by `anabranch.run`.
    values : dict
        By column: numbers, or text.
    """

    sets: tuple[str, ...]
    values: dict[str, float | int | str]

    def with_seed(self, seed: int) -> Point:
        """Give the point with this seed."""
        return Point((*self.sets, f"{SEED}={seed}"), {**self.values, "seed": seed})


@dataclass(frozen=True)
class Varied:
    """Something in the scenario, and its value in each step of an axis."""

    path: str
    given: list[Any]
    column: Column


@dataclass(frozen=True)
class Axis:
    """The values of a sweep that are varied together; axes are crossed."""

    varied: tuple[Varied, ...]

    def __len__(self) -> int:
        return len(self.varied[0].given)

    def at(self, step: int) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Give what is set at a step, and the values."""
        sets = tuple(f"{own.path}={toml(own.given[step])}" for own in self.varied)
        return sets, {own.column.name: own.column.values[step] for own in self.varied}


def axes_of(sweep: Sweep) -> list[Axis]:
    """Give the axes of a sweep, in the order of the file: what changes last stands last.

    Raises
    ------
    ScenarioError
        A mistake in the values, or a path or a column that is there twice.
    """
    file = sweep.file
    axes = [Axis((_varied(sweep, "sweep", path, listed, given),)) for path, given in _flat(file.sweep)]
    for number, table in enumerate(file.together):
        own = tuple(_varied(sweep, f"together.{number}", path, listed, given) for path, given in _flat(table))
        axes.append(_hand_in_hand(sweep, f"together.{number}", own))
    for number, sample in enumerate(file.sample):
        place, paths = f"sample.{number}", list(_flat(sample.model_extra or {}))
        if not paths:
            raise sweep.error(f"`{place}`: nothing is drawn; name a path of the scenario, and from what to draw")
        shares = _shares(sample.count, len(paths), sample.seed, sample.design)
        own = tuple(
            _varied(sweep, place, path, partial(drawn, shares=row), given)
            for (path, given), row in zip(paths, shares.tolist(), strict=True)
        )
        axes.append(Axis(own))
    _check_once(sweep, axes)
    if math.prod(len(axis) for axis in axes) > MOST_POINTS:
        count = math.prod(len(axis) for axis in axes)
        raise sweep.error(f"it has {count:,} points; at most {MOST_POINTS:,} will do, so leave out values")
    return axes


def _flat(table: Mapping[str, Any], way: str = "") -> Iterator[tuple[str, Any]]:
    """Give each path in nested tables, ``a.b.c``, with its values."""
    for key, given in table.items():
        path = f"{way}{key}"
        is_way = isinstance(given, Mapping) and not is_range(given) and not set(given) & {"between", "among"}
        if is_way and given:
            yield from _flat(given, f"{path}.")
        else:
            yield path, given


def _varied(sweep: Sweep, place: str, path: str, values: Callable[[object], list[Any]], given: object) -> Varied:
    try:
        own = values(given)
        toml(own)
    except ValueError as error:
        raise sweep.error(f"`{place}.{path}`: {error}") from error
    own_path = SEED if path == "seed" else path
    name = sweep.file.names.get(path) or ("seed" if own_path == SEED else path)
    return Varied(own_path, own, column(name, own))


def _hand_in_hand(sweep: Sweep, place: str, own: tuple[Varied, ...]) -> Axis:
    if not own:
        raise sweep.error(f"`{place}`: it is empty; name paths of the scenario, each with its values")
    counts = {varied.path: len(varied.given) for varied in own}
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{count} of `{path}`" for path, count in counts.items())
        raise sweep.error(f"`{place}`: values go together one by one, but there are {words}; give as many of each")
    return Axis(own)


def _shares(count: int, dimensions: int, seed: int, design: str) -> np.ndarray:
    """Give numbers from 0 to 1: a row for each dimension, a column for each draw."""
    if design == "random":
        return np.random.default_rng(seed).random((count, dimensions)).T
    # Only now: scipy takes a while to load.
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(count)).T


def _check_once(sweep: Sweep, axes: Sequence[Axis]) -> None:
    paths = [own.path for axis in axes for own in axis.varied]
    columns = [own.column.name for axis in axes for own in axis.varied]
    for what, all_names in (("path", paths), ("column", columns)):
        twice = next((name for name in all_names if all_names.count(name) > 1), None)
        if twice is not None:
            raise sweep.error(f"the {what} `{twice}` is varied twice; vary it in one place")
    reserved = next((name for name in columns if name in RESERVED), None)
    if reserved is not None:
        raise sweep.error(f"`names`: tables have a column `{reserved}` of their own; choose another name")
    if sweep.file.repeat is not None and SEED in paths:
        raise sweep.error("`repeat` takes seeds as it needs them, so `seed` cannot be varied too; leave one out")
    if "seed" in columns and (SEED not in paths or sweep.file.repeat is not None):
        raise sweep.error("`names`: `seed` is the column of the seed; choose another name")
    for path in sweep.file.names:
        if (SEED if path == "seed" else path) not in paths:
            near = _core.nearest_name(path, paths)
            hint = f" (did you mean `{near}`?)" if near else ""
            raise sweep.error(f"`names`: `{path}` is not varied{hint}; name a path under [sweep] or beside it")


def points_of(sweep: Sweep, axes: Sequence[Axis]) -> list[Point]:
    """Give all combinations but those that are left out.

    Raises
    ------
    ScenarioError
        A mistake in what is left out, or nothing is left.
    """
    is_left_out = _left_out(sweep, axes)
    points: dict[tuple[Any, ...], Point] = {}
    for parts in itertools.product(*([axis.at(step) for step in range(len(axis))] for axis in axes)):
        values = {name: value for _, own in parts for name, value in own.items()}
        if not is_left_out(values):
            sets = (*sweep.file.sets, *itertools.chain.from_iterable(own for own, _ in parts))
            # The same values once more, as from a draw, are the same point.
            points.setdefault(tuple(values.values()), Point(sets, values))
    if not points:
        raise sweep.error("`leave_out` leaves out every point; leave out fewer")
    return list(points.values())


def _left_out(sweep: Sweep, axes: Sequence[Axis]) -> Callable[[Mapping[str, Any]], bool]:
    """Give what tells whether a point is left out: all conditions of one entry hold."""
    varied = {name: own for axis in axes for own in axis.varied for name in (own.path, own.column.name)}
    varied |= {"seed": varied[SEED]} if SEED in varied else {}
    entries = []
    for number, entry in enumerate(sweep.file.leave_out):
        conditions = []
        for path, given in _flat_conditions(entry):
            if path not in varied:
                near = _core.nearest_name(path, list(varied))
                hint = f" (did you mean `{near}`?)" if near else ""
                raise sweep.error(f"`leave_out.{number}.{path}`: it is not varied{hint}; name what is")
            try:
                conditions.append((varied[path].column.name, _condition(varied[path].column, given)))
            except ValueError as error:
                raise sweep.error(f"`leave_out.{number}.{path}`: {error}") from error
        if not conditions:
            raise sweep.error(f"`leave_out.{number}`: it is empty; name what is varied, and the values to leave out")
        entries.append(conditions)
    return lambda values: any(all(holds(values[name]) for name, holds in own) for own in entries)


def _flat_conditions(table: Mapping[str, Any], way: str = "") -> Iterator[tuple[str, Any]]:
    for key, given in table.items():
        path = f"{way}{key}"
        if isinstance(given, Mapping) and not set(given) <= set(BOUNDS):
            yield from _flat_conditions(given, f"{path}.")
        else:
            yield path, given


def _condition(own: Column, given: object) -> Callable[[Any], bool]:
    """Give what tells whether a value of a column is meant: it is one of these, or within these bounds."""
    if isinstance(given, Mapping):
        bounds = [(BOUNDS[name], _as_in(own, bound)) for name, bound in given.items()]
        if not bounds or isinstance(own.values[0], str):
            words = ", ".join(BOUNDS)
            raise ValueError(f"its values are text; name them, since {words} compare numbers" if bounds else words)
        return lambda value: all(compare(value, bound) for compare, bound in bounds)
    wanted = [_as_in(own, value) for value in (given if isinstance(given, list) else [given])]
    unknown = next((n for n, value in enumerate(wanted) if not any(_same(value, has) for has in own.values)), None)
    if unknown is not None:
        value = given[unknown] if isinstance(given, list) else given
        raise ValueError(f"{toml(value)} is none of its values; name some of those")
    return lambda value: any(_same(value, own) for own in wanted)


def _as_in(own: Column, given: object) -> Any:
    """Give a value as it would be in a column."""
    alone = column(own.name, [given])
    if alone.name != own.name or isinstance(alone.values[0], str) != isinstance(own.values[0], str):
        raise ValueError(f"{toml(given)} is of another kind than its values, such as {own.values[0]}")
    return alone.values[0]


def _same(a: object, b: object) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    assert isinstance(a, (int, float))
    assert isinstance(b, (int, float))
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=0.0)


def column_of_seed(sweep: Sweep) -> str:
    """Give what the column of the seed is called."""
    return sweep.file.names.get("seed") or sweep.file.names.get(SEED) or "seed"


def frame_of(points: Sequence[Point]) -> pl.DataFrame:
    """Give the values of points as a table: a row for each."""
    names = list(points[0].values) if points else []
    return pl.DataFrame({name: [point.values[name] for point in points] for name in names}, strict=False)
