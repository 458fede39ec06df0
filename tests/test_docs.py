"""The documentation does what it says: commands and code run, links lead somewhere, cited works are listed."""

import contextlib
import io
import math
import re
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from command import run

ROOT = Path(__file__).parents[1]
GENERATED = ROOT / "docs/reference"
"""Where docs/conf.py writes pages; whether they are there is for Sphinx to find out."""

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"Save this as `([^`]+)`:\s*\Z")
LINK = re.compile(r"\]\(([^)\s]+)\)")
KEY = re.compile(r"\[((?:[a-z]+(?:19|20)|rfc\d\d)\d\d)\b((?:, (?:[a-z]+(?:19|20)|rfc\d\d)\d\d\b)*)")
RATE = re.compile(r"(-?\d+(?:\.\d+)?) ([kMGT]?)bit/s")
PREFIXES = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\d.])")


def pages() -> list[Path]:
    unwritten = {ROOT / "docs/_build", GENERATED}
    written = [page for page in (ROOT / "docs").rglob("*.md") if not unwritten & set(page.parents)]
    return [*sorted(ROOT.glob("*.md")), *sorted(written)]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass
class Fence:
    """A block of a page: its kind, its text, where it begins, and the file that it is to be saved as."""

    kind: str
    text: str
    line: int
    file: str | None


def fences(page: Path) -> list[Fence]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        file = FILE.search(before)
        found.append(Fence(match[1], match[2], before.count("\n") + 2, file and file[1]))
    return found


def commands(fence: Fence) -> list[tuple[list[str], str, int]]:
    """Give the commands of a console block: words, the output shown, the exit code shown (0 if none is)."""
    found: list[tuple[list[str], str, int]] = []
    for block in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
        line, _, shown = block.partition("\n")
        if line == "echo $?":
            words, output, _ = found.pop()
            found.append((words, output, int(shown)))
        else:
            found.append((shlex.split(line), shown, 0))
    return found


def assert_alike(shown: str, printed: str, place: str) -> None:
    """Compare output with what the page shows: the same words, numbers within 5 %; a line ``...`` skips lines."""
    rest = [line for line in printed.splitlines() if line.strip()]
    skipping = False
    for line in (line for line in shown.splitlines() if line.strip()):
        if line == "...":
            skipping = True
            continue
        while skipping and rest and not is_alike(line, rest[0]):
            rest.pop(0)
        skipping = False
        next_line = rest.pop(0) if rest else "(nothing)"
        assert is_alike(line, next_line), f"{place}: the page shows\n{line}\nand printed is\n{next_line}"
    assert skipping or not rest, f"{place}: the page does not show {rest[:3]}"


def is_alike(shown: str, printed: str) -> bool:
    shown, printed = (RATE.sub(lambda m: f"{m[1]}e{PREFIXES[m[2]]} bit/s", line) for line in (shown, printed))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)), strict=True)
    # Below 0.05 are residuals and overloads, which vary.
    return all(abs(a - b) <= 0.05 * max(abs(a), abs(b)) or max(abs(a), abs(b)) < 0.05 for a, b in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in pages() if fences(p)], ids=name_of)
def test_every_command_and_all_python_of_a_page_runs(page, tmp_path, monkeypatch):
    for folder in ("scenarios", "experiments", "sweeps"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    # On a busy machine a page would have lines of progress besides.
    for module in ("progress", "sweep"):
        monkeypatch.setattr(f"anabranch.commands.{module}.LINE_EVERY_S", math.inf)
    namespace: dict[str, object] = {}
    said = None
    for fence in fences(page):
        place = f"{name_of(page)}, line {fence.line}"
        if fence.file is not None:
            Path(fence.file).write_text(fence.text, encoding="utf-8")
        elif fence.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, place, "exec"), namespace)
            said = printed.getvalue()
            continue
        elif fence.kind == "text" and said is not None:
            assert_alike(fence.text, said, place)
        elif fence.kind == "console":
            for words, shown, expected in commands(fence):
                assert words[0] == "anabranch", f"{place}: only anabranch is run here"
                done = run(*words[1:])
                printed_text = done.stdout + done.stderr
                assert done.returncode == expected, f"{place}: {' '.join(words)}\n{printed_text}"
                if shown.strip():
                    assert_alike(shown, printed_text, place)
        elif fence.kind == "toml":
            tomllib.loads(fence.text)
        said = None


def cited() -> dict[str, str]:
    """Give every key that is cited, and a place where it is."""
    sources = [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "python").rglob("*.py"), *pages()]
    sources += [p for p in (ROOT / "experiments").rglob("*") if p.suffix in {".toml", ".md"}]
    found = {}
    for source in sources:
        for match in KEY.finditer(source.read_text(encoding="utf-8")):
            for key in (match[1], *match[2].split(", ")[1:]):
                found[key] = name_of(source)
    return found


def test_every_cited_work_is_listed():
    listed = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.MULTILINE))
    missing = {key: place for key, place in cited().items() if key not in listed}
    assert not missing
    assert "ludena2021" in listed


@pytest.mark.parametrize("page", [*pages(), *sorted((ROOT / "experiments").glob("*/README.md"))], ids=name_of)
def test_local_links_lead_somewhere(page):
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, heading = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if "://" in target or there.is_relative_to(GENERATED):
            continue
        assert there.exists(), f"{name_of(page)}: {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, target
