"""The sweep file: a scenario, what is varied in it, and what tables and figures come of the runs.

::

    scenario = "two-links.toml"

    [sweep]                                   # crossed: every value with every other
    connection.0.protocol = ["lia", "wvegas"]
    link.1.delay = { first = "5 ms", last = "50 ms", count = 4 }
    seed = "1..30"

    [[together]]                              # hand in hand, the first with the first
    link.0.capacity = ["10 Mbit/s", "100 Mbit/s"]
    link.0.queue = ["64 KiB", "640 KiB"]

    [names]                                   # columns of the tables
    "connection.0.protocol" = "protocol"

    [[table]]
    file = "goodput"
    of = "connections"
    value = "mean_rate_bps / 1e6"
    by = ["protocol"]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.sweeps.quantity import SweepFigure, SweepQuantity, SweepTable

if TYPE_CHECKING:
    import os

    from pydantic_core import ErrorDetails

MOST_SAMPLES = 1_000_000
MOST_SEED = 2**63 - 1


class Strict(BaseModel):
    """A table of the file: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Sample(BaseModel):
    """Values drawn at random: the keys beside these are paths of the scenario, each with from what to draw."""

    model_config = ConfigDict(extra="allow", frozen=True)

    count: int = Field(ge=1, le=MOST_SAMPLES)
    """The number of sets of values."""
    seed: int = Field(default=1, ge=0, le=MOST_SEED)
    """The seed of the draws."""
    design: Literal["random", "latin-hypercube"] = "latin-hypercube"
    """Independent draws, or such that each value's draws are spread evenly."""


class Repeat(Strict):
    """The rule by which runs are repeated with more seeds until intervals are small enough."""

    margin: float = Field(default=0.01, gt=0.0, lt=1.0)
    """The most that the half-width of a 95 % interval may be of its mean."""
    least: int = Field(default=10, ge=2, le=1_000_000)
    most: int = Field(default=100, ge=2, le=1_000_000)
    """Seeds at each point."""
    step: int = Field(default=5, ge=1)
    """The number of seeds that are added at a time."""
    of: tuple[SweepQuantity, ...] = ()
    """The quantities whose intervals must be small; the numbers of all tables if not given."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Repeat:
        if self.least > self.most:
            raise ValueError(f"least is {self.least} and most {self.most}; most is to be no less")
        return self


class SweepFile(Strict):
    """The contents of a sweep file."""

    title: str = ""
    scenario: str
    sets: tuple[str, ...] = Field(default=(), alias="set")
    """For all runs, as `anabranch run --set` takes them."""
    sweep: dict[str, Any] = {}
    together: tuple[dict[str, Any], ...] = ()
    sample: tuple[Sample, ...] = ()
    leave_out: tuple[dict[str, Any], ...] = ()
    names: dict[str, str] = {}
    repeat: Repeat | None = None
    table: tuple[SweepTable, ...] = ()
    figure: tuple[SweepFigure, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """A sweep file, read.

    Attributes
    ----------
    place : Path
        The file.
    text : str
        What stands in it.
    file : SweepFile
    scenario : Path
        The scenario that is varied.
    """

    place: Path
    text: str
    file: SweepFile
    scenario: Path

    def error(self, words: str) -> ScenarioError:
        """Say where something is wrong."""
        return ScenarioError(f"{self.place}: {words}")


def read_file(file: str | os.PathLike[str]) -> Sweep:
    """Read a sweep file; the scenario is not yet looked at.

    Raises
    ------
    ScenarioError
        The first mistake, with its place and what would do.
    """
    place = Path(file)
    text = load(place, "a sweep").text
    try:
        data = _core.read_toml(text)
    except ValueError as error:
        raise ScenarioError(f"{place}: it is not TOML: {error}; see https://toml.io") from error
    try:
        own = SweepFile.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(f"{place}: {_words(error.errors()[0], data)}") from error
    if own.repeat is not None and not own.repeat.of and not own.table:
        raise ScenarioError(f"{place}: `repeat` has no number to be sure of; add `of` to it, or a [[table]]")
    # Some file systems take small and large letters for the same.
    files = [plan.file.lower() for plan in own.table] + [plan.file.lower() for plan in own.figure]
    twice = next((name for name in files if files.count(name) > 1), None)
    if twice is not None:
        raise ScenarioError(f"{place}: two tables or figures have the file `{twice}`; give each a name of its own")
    return Sweep(place, text, own, place.parent / own.scenario)


def _words(mistake: ErrorDetails, data: object) -> str:
    """Say what is wrong: where, what, and what would do."""
    way = mistake["loc"]
    where = ".".join(map(str, way))
    if mistake["type"] == "extra_forbidden":
        known = _keys_at(SweepFile, way[:-1])
        near = _core.nearest_name(str(way[-1]), known)
        hint = f" (did you mean `{near}`?)" if near else ""
        return f"`{where}`: there is no such key{hint}; there is {', '.join(known)}"
    if mistake["type"] == "missing":
        return f"`{where}` is missing; add it"
    reason = mistake["msg"].removeprefix("Value error, ")
    return f"`{where}`: {reason[:1].lower()}{reason[1:]}" if where else reason


def _keys_at(model: type[BaseModel], way: tuple[int | str, ...]) -> list[str]:
    """Give the keys of the table that a way leads to."""
    for step in way:
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == step), None)
        inner = None if field is None else _model_in(field.annotation)
        model = inner or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(own) for own in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)
