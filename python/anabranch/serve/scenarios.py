"""The scenario files that a run may begin from, and whether a scenario is right."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.memory import ask_for_memory
from anabranch.runs.scenario import plan_facts, read_plan
from anabranch.serve.as_toml import as_toml
from anabranch.serve.models import CheckAnswer, Problem, ScenarioFacts, ScenarioText
from anabranch.serve.names import address, place

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.runs.scenario import Plan
    from anabranch.serve.models import Source

DEEPEST = 3
MOST_FILES = 500
PLACE = re.compile(r"line (\d+), column (\d+)")


@dataclass(frozen=True)
class Scenarios:
    """The folder of scenarios, and the folders that scenarios may read files from."""

    folder: Path | None
    within: tuple[Path, ...]

    def all(self) -> list[ScenarioFacts]:
        """Give the scenario files by their names."""
        if self.folder is None:
            return []
        return [self._facts(self.folder, file) for file in sorted(_files(self.folder))]

    def one(self, id: str) -> ScenarioText | None:
        """Give a scenario file with its text; nothing if there is none of that id.

        Raises
        ------
        ScenarioError
            It cannot be read.
        """
        file = self._file(id)
        if file is None or self.folder is None:
            return None
        text = load(file, "a scenario").text
        return ScenarioText(**self._facts(self.folder, file).model_dump(), text=text, value=_plain(text))

    def plan(self, source: Source) -> Plan:
        """Read a scenario and draw all that a run of it depends on.

        Raises
        ------
        ScenarioError
            The first mistake.
        """
        # A text with a line break, so that it is never taken for the name of a file.
        text = source.scenario if isinstance(source.scenario, str) else as_toml(source.scenario).text
        folder = self.folder or self.within[0]
        if source.origin is not None:
            file = self._file(source.origin)
            if file is None:
                raise ScenarioError("origin: there is no scenario file of that id; take one that the list has")
            folder = file.parent
        return read_plan(f"{text}\n", seed=source.seed, sets=source.sets, folder=folder, within=self.within)

    def check(self, source: Source) -> CheckAnswer:
        """Say what a scenario has, or what is wrong with it and where."""
        keys, text = None, None
        value = _plain(source.scenario) if isinstance(source.scenario, str) else None
        try:
            if not isinstance(source.scenario, str):
                lines = as_toml(source.scenario)
                keys, text = lines.keys, lines.text
            plan = self.plan(source)
            ask_for_memory(plan.core.memory(), "a run of it")
            facts = plan_facts(plan)
        except ScenarioError as error:
            return CheckAnswer(right=False, problem=problem_of(error, keys), text=text, value=value)
        return CheckAnswer(right=True, facts=facts, text=text, value=value)

    def _file(self, id: str) -> Path | None:
        file = place(self.folder, id) if self.folder is not None else None
        return file if file is not None and file.suffix == ".toml" and file.is_file() else None

    @staticmethod
    def _facts(folder: Path, file: Path) -> ScenarioFacts:
        parts = file.relative_to(folder).parts
        return ScenarioFacts(id=address(parts), file="/".join(map(_shown, parts)), title=_title(file))


def problem_of(error: Exception, keys: list[str] | None = None) -> Problem:
    """Say what is wrong with a scenario: with its place in the text, and its key where lines have keys."""
    message = _shown(str(error)).removeprefix("scenario: ")
    found = PLACE.search(message)
    if found is None:
        start = message.partition(":")[0]
        is_key = keys is None and re.fullmatch(r"[\w-]+(\.[\w-]+)*", start) is not None and "." in start
        return Problem(error=message, key=start if is_key else None)
    line, column = int(found[1]), int(found[2])
    key = keys[line - 1] if keys is not None and 0 < line <= len(keys) else None
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


def _title(file: Path) -> str:
    try:
        title = (_plain(load(file, "a scenario").text) or {}).get("title", "")
    except ScenarioError:
        return ""
    return title if isinstance(title, str) else ""


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
