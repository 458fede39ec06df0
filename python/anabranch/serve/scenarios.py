"""The scenario files for new runs, and the check of scenarios."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anabranch
from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.as_toml import as_toml, value_text
from anabranch.formats.source import load
from anabranch.memory import ask_for_memory
from anabranch.runs.scenario import plan_facts, read_plan
from anabranch.serve.models import CheckAnswer, Problem, ScenarioFacts, ScenarioText
from anabranch.serve.names import address, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.runs.scenario import Plan
    from anabranch.serve.models import Checked, Edit, Source

DEEPEST = 3
MOST_FILES = 500
PLACE = re.compile(r"line (\d+), column (\d+)")
SENTENCE = re.compile(r"[.?!](?=\s|$)")
LONGEST_SENTENCE = 240


SHIPPED = Path(anabranch.__file__).parent / "runs" / "shipped"
"""The scenarios that come with anabranch."""

OF_SHIPPED = "~:"
"""What addresses of shipped scenarios begin with; no other address does."""


@dataclass(frozen=True)
class Scenarios:
    """The folder of scenarios, those that come with anabranch, and the folders that scenarios may read files from."""

    folder: Path | None
    within: tuple[Path, ...]
    shipped: Path | None = None

    def all(self) -> list[ScenarioFacts]:
        """Give the scenario files by their names, those of the folder first."""
        own = [] if self.folder is None else [self._facts(file, "") for file in sorted(_files(self.folder))]
        if self.shipped is None:
            return own
        return own + [self._facts(file, OF_SHIPPED) for file in sorted(_files(self.shipped))]

    def state(self, id: str) -> str | None:
        """Give a text that changes with a scenario file; nothing if there is none of that id."""
        file = self._file(id)
        if file is None:
            return None
        stat = file.stat()
        return f"{stat.st_mtime_ns} {stat.st_size}"

    def one(self, id: str) -> ScenarioText | None:
        """Give a scenario file with its text; nothing if there is none of that id.

        Raises
        ------
        ScenarioError
            It cannot be read.
        """
        file = self._file(id)
        if file is None:
            return None
        text = load(file, "a scenario").text
        start = OF_SHIPPED if id.startswith(OF_SHIPPED) else ""
        return ScenarioText(**self._facts(file, start).model_dump(), text=text, value=_plain(text))

    def plan(self, source: Source) -> Plan:
        """Read a scenario and draw all that a run of it depends on.

        Raises
        ------
        ScenarioError
            The first mistake.
        """
        # A text with a line break, so that it is never taken for the name of a file.
        text = source.scenario if isinstance(source.scenario, str) else as_toml(source.scenario).text
        folder = self.folder or self.within[-1]
        if source.origin is not None:
            file = self._file(source.origin)
            if file is None:
                raise ScenarioError("origin: there is no scenario file of that id; take one that the list has")
            folder = file.parent
        return read_plan(f"{text}\n", seed=source.seed, sets=source.sets, folder=folder, within=self.within)

    def check(self, source: Checked) -> CheckAnswer:
        """Check a scenario after its edits: give its facts, or its first mistake and where it is."""
        keys, text, value = None, None, None
        try:
            if not isinstance(source.scenario, str):
                lines = as_toml(source.scenario)
                keys, text = lines.keys, lines.text
            elif source.edits:
                text = edited(source.scenario, source.edits)
                source = source.model_copy(update={"scenario": text})
            value = _plain(source.scenario) if isinstance(source.scenario, str) else None
            plan = self.plan(source)
            ask_for_memory(plan.core.memory(), "a run of it")
            facts = plan_facts(plan)
        except ScenarioError as error:
            written = source.scenario if isinstance(source.scenario, str) else None
            return CheckAnswer(right=False, problem=problem_of(error, keys, written), text=text, value=value)
        return CheckAnswer(right=True, facts=facts, text=text, value=value)

    def _file(self, id: str) -> Path | None:
        root, own = (self.shipped, id.removeprefix(OF_SHIPPED)) if id.startswith(OF_SHIPPED) else (self.folder, id)
        file = place(root, own) if root is not None else None
        return file if file is not None and file.suffix == ".toml" and file.is_file() else None

    def _facts(self, file: Path, start: str) -> ScenarioFacts:
        folder = self.shipped if start else self.folder
        assert folder is not None, "the file was found in it"
        parts = file.relative_to(folder).parts
        title, description = _words(file)
        return ScenarioFacts(
            id=start + address(parts),
            file="/".join(map(_shown, parts)),
            title=title,
            description=description,
            shipped=bool(start),
        )


def scenarios_of(folder: Path | None, runs: Path) -> Scenarios:
    """Give the scenarios of a folder, if there is one, and those that come with anabranch, if they are others."""
    shipped = SHIPPED if SHIPPED.is_dir() and (folder is None or folder.resolve() != SHIPPED.resolve()) else None
    within = [own for own in (folder, shipped, runs) if own is not None]
    return Scenarios(folder, tuple(within), shipped)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Give a text with values set or removed in it; all else in it stays, comments too.

    Raises
    ------
    ScenarioError
        An edit that leads nowhere, or a value that TOML cannot hold.
    """
    changes = [(edit.path, None if edit.value is None else value_text(edit.value, tuple(edit.path))) for edit in edits]
    try:
        return _core.edit_toml(text, changes)
    except ValueError as error:
        raise ScenarioError(str(error)) from error


def first_sentence(text: str) -> str:
    """Give the first sentence of a description, as one line."""
    lines = text.strip().partition("\n\n")[0]
    flat = " ".join(lines.split())
    end = SENTENCE.search(flat)
    sentence = flat if end is None else flat[: end.end()].strip()
    return sentence if len(sentence) <= LONGEST_SENTENCE else f"{sentence[: LONGEST_SENTENCE - 1]}…"


def problem_of(error: Exception, keys: list[str] | None = None, text: str | None = None) -> Problem:
    """Describe the mistake of a scenario: its place in the text, and its key, by those of lines or by the text."""
    message = _shown(str(error)).removeprefix("scenario: ")
    found = PLACE.search(message)
    if found is None:
        start = message.partition(":")[0]
        is_key = keys is None and re.fullmatch(r"[\w-]+(\.[\w-]+)*", start) is not None and "." in start
        return Problem(error=message, key=start if is_key else None)
    line, column = int(found[1]), int(found[2])
    key = keys[line - 1] if keys is not None and 0 < line <= len(keys) else None
    if text is not None and (path := _core.key_at(text, line, column)) is not None:
        key = ".".join(path)
    return Problem(error=message, line=line, column=column, key=key)


def _files(folder: Path) -> list[Path]:
    """Find scenario files to a depth; no links, nothing hidden."""
    found: list[Path] = []
    waiting = [(folder, 0)]
    while waiting and len(found) < MOST_FILES:
        own, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(own), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir() and depth < DEEPEST:
                waiting.append((own / entry.name, depth + 1))
            elif entry.is_file() and entry.name.endswith(".toml"):
                found.append(own / entry.name)
    return found[:MOST_FILES]


def _words(file: Path) -> tuple[str, str]:
    """Give the title of a scenario file, and the first sentence of its description."""
    try:
        values = _plain(load(file, "a scenario").text) or {}
    except ScenarioError:
        return "", ""
    title, description = (values.get(key, "") for key in ("title", "description"))
    sentence = first_sentence(description) if isinstance(description, str) else ""
    return title if isinstance(title, str) else "", sentence


def _plain(text: str) -> dict[str, Any] | None:
    """Give what a TOML text holds, if JSON can hold that too."""
    try:
        value = _core.read_toml(text)
        as_toml(value)
    except ValueError:
        return None
    return value


def _shown(text: str) -> str:
    """Give a text that can be sent: names of files may have bytes that are no letters."""
    return text.encode("utf-8", "replace").decode()
