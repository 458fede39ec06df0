"""The JSON bodies of requests and answers."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from starlette.exceptions import HTTPException

MOST_SETS = 100
MOST_EDITS = 10_000
DEEPEST = 64
MOST_SEED = 2**63 - 1

DIGITS = r"[0-9]{1,19}"


def _whole(seed: object) -> object:
    return int(seed) if isinstance(seed, str) and re.fullmatch(DIGITS, seed) else seed


SEED_SCHEMA = {
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_SEED}, {"type": "string", "pattern": f"^{DIGITS}$"}]
}

Seed = Annotated[int, Field(ge=0, le=MOST_SEED), BeforeValidator(_whole), WithJsonSchema(SEED_SCHEMA)]
"""A whole number, or its digits as text: not all programs hold numbers over 2^53 in full."""

State = Literal["waiting", "running", "done", "stopped", "failed"]


class Strict(BaseModel):
    """The base of request bodies: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """A mistake: what is wrong, where, and what would be accepted."""

    error: str
    line: int | None = Field(default=None, description="In the scenario's text, from 1.")
    column: int | None = Field(default=None, description="In the scenario's text, from 1.")
    key: str | None = Field(default=None, description="The key of the scenario at fault: `link.0.capacity`.")


class RunFacts(BaseModel):
    """A run in the list, or an allocation, which has neither seed nor time."""

    id: str
    kind: Literal["run", "allocation"]
    folder: str = Field(description="Seen from the served folder.")
    title: str
    protocols: list[str] = Field(description="Of an allocation the method.")
    connections: int
    seed: int | None = None
    duration_s: float | None = None
    reached_s: float | None = None
    finished: bool = Field(description="False for a run that was stopped.")
    events: int | None = None
    warnings: int = Field(description="How many there are; an allocation that is not certified has one.")
    written: float = Field(description="When, in seconds since 1970.")
    description: str = Field(default="", description="The first sentence of what the scenario shows.")
    bytes: int = Field(description="The size of its files.")


class Unreadable(BaseModel):
    """A folder that cannot be shown, and why."""

    folder: str
    reason: str


class RunList(BaseModel):
    """All that was found in the served folder."""

    folder: str
    runs: list[RunFacts]
    unreadable: list[Unreadable]
    whole: bool = Field(description="False if there are more folders than are searched.")


class Changes(Strict):
    """Changes of a run; what is left out stays."""

    title: str | None = Field(default=None, max_length=300)
    folder: str | None = Field(default=None, max_length=200, description="The folder's new name; made safe and new.")


class Trashed(BaseModel):
    """A run in the trash."""

    id: str = Field(description="Its number in the trash.")
    folder: str = Field(description="Where it was, seen from the served folder.")
    bytes: int


class TrashList(BaseModel):
    """All runs in the trash."""

    runs: list[Trashed]


class ScenarioFacts(BaseModel):
    """A scenario file that a new run can start from."""

    id: str
    file: str = Field(description="Seen from the folder of scenarios.")
    title: str
    description: str = Field(default="", description="The first sentence of what it shows.")
    shipped: bool = Field(description="Whether it came with anabranch.")


class ScenarioText(ScenarioFacts):
    """A scenario file with what is in it."""

    text: str
    value: dict[str, Any] | None = Field(description="The same as JSON; null if it is no TOML.")


class Source(Strict):
    """A scenario, as text or as values."""

    scenario: str | dict[str, Any] = Field(description="TOML text, or the same as a JSON object.")
    seed: Seed | None = Field(default=None, description="Instead of that of the scenario; also as text of digits.")
    sets: list[Annotated[str, Field(max_length=10_000)]] = Field(
        default=[], max_length=MOST_SETS, description="Values set from outside: `connection.0.weight=2`."
    )
    origin: str | None = Field(
        default=None, max_length=2_000, description="Id of the scenario from whose folder files are seen."
    )

    @model_validator(mode="after")
    def _is_text(self) -> Source:
        """Refuse what no file can hold: halves of characters, and values within values without end."""
        waiting: list[tuple[object, int]] = [(self.model_dump(exclude={"scenario"}), 0), (self.scenario, 0)]
        while waiting:
            value, depth = waiting.pop()
            if depth > DEEPEST:
                raise ValueError(f"values lie more than {DEEPEST} deep within each other; a scenario has six levels")
            match value:
                case str():
                    _check_text(value)
                case dict():
                    waiting += [(inner, depth + 1) for pair in value.items() for inner in pair]
                case list():
                    waiting += [(inner, depth + 1) for inner in value]
        return self


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start].encode("unicode_escape").decode()
        raise HTTPException(400, f"a text holds `{half}`, which is half of a character; write the character") from error


class Edit(Strict):
    """A change of a scenario's text: a value that is set at a place, or removed there."""

    path: list[Annotated[str, Field(max_length=1_000)]] = Field(
        min_length=1, max_length=DEEPEST, description="Keys, and numbers of list entries: connection, 0, weight."
    )
    value: Any = Field(description="What stands there from now on; null removes what does.")


class Checked(Source):
    """A scenario to check, and changes to make in its text before."""

    edits: list[Edit] = Field(
        default=[], max_length=MOST_EDITS, description="Changes that keep comments and order; only of a TOML text."
    )


class NewJob(Source):
    """A scenario to run, and what its run shall be called."""

    name: str | None = Field(default=None, max_length=200, description="Of the run's folder; made safe and new.")


class CheckAnswer(BaseModel):
    """The outcome of the check of a scenario."""

    right: bool
    facts: dict[str, Any] | None = Field(default=None, description="What it has, if it is right.")
    problem: Problem | None = Field(default=None, description="The first mistake.")
    text: str | None = Field(
        default=None, description="The scenario as TOML, if it was sent as values or changed by edits."
    )
    value: dict[str, Any] | None = Field(default=None, description="The scenario as values, if it was sent as TOML.")


class JobFacts(BaseModel):
    """The progress of a job."""

    id: str
    name: str
    title: str
    state: State
    time_s: float = Field(description="Simulated until now.")
    duration_s: float
    events: int
    events_per_s: float
    wall_s: float = Field(description="Since it began to run.")
    left_s: float | None = Field(description="Until it is done, as far as one can tell.")
    samples: int = Field(description="How many there are until now.")
    run: str | None = Field(default=None, description="Id of the run that came of it.")
    error: str | None = None


class JobList(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobFacts]
    at_once: int = Field(description="Number of jobs that run at a time; others wait.")


class JobDetails(BaseModel):
    """A job, and the header of its run while that grows; null once it is over."""

    job: JobFacts
    header: dict[str, Any] | None
