"""Documents, doc comments and help texts are plain English: no sentence leans on another, no riddles.

The test knows the crudest faults alone; reading aloud finds the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

BEGINNINGS = re.compile(
    r"(The same\b|That of\b|Those of\b|See `|Of (?:each|all|both|a|the)\b|Whose\b|Who\b|By (?:how|what)\b"
    r"|How (?:far|long|many|much|often|soon)\b|(?:From|Until) when\b|For so\b)"
)
PHRASES = re.compile(
    r"\b(whoever|so many|(?:of )?one's own|takes? leave|taken leave|to be had|in vain|what it is asked for|who asks"
    r"|bears? with|out of the question)\b",
    re.IGNORECASE,
)
HELPS = {"help", "description"}
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"``[^`]*``|`[^`\n]*`")
RUST_DOC = re.compile(r"^[ \t]*(//[/!]) ?(.*)$")
RUST_PUBLIC = re.compile(r"[ \t]*pub (?!\()")
RUST_ATTRIBUTE = re.compile(r"[ \t]*#\[")


class Text(NamedTuple):
    """A piece of text: where it begins, whether it is a doc comment, and its words."""

    line: int
    is_doc: bool
    words: str


def faults(text: Text) -> list[str]:
    """Say what is not plain in a text."""
    words = text.words.strip()
    found = []
    if text.is_doc and BEGINNINGS.match(words):
        found.append(f"line {text.line}: it begins with `{' '.join(words.split()[:2])}`")
    if text.is_doc and len(words.split()) == 1:
        found.append(f"line {text.line}: one word, `{words}`")
    without_fences = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text.words)
    for number, line in enumerate(CODE.sub("`x`", without_fences).splitlines(), text.line):
        found += [f"line {number}: `{match[0]}`" for match in PHRASES.finditer(line)]
    return found


def texts_of(file: Path) -> list[Text]:
    """Give all texts of a document, a Python file or a Rust file that readers meet."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return [Text(1, False, text)]
    return list(python_texts(text) if file.suffix in {".py", ".pyi"} else rust_texts(text))


def python_texts(text: str) -> Iterator[Text]:
    """Give the docstrings of public items, those of constants, and help texts."""
    tree = ast.parse(text)
    if (head := ast.get_docstring(tree)) is not None:
        yield Text(1, True, head)
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.startswith("_")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in HELPS and isinstance(node.value, ast.Constant):
            yield Text(node.value.lineno, False, str(node.value.value))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HELP":
            yield Text(node.lineno, False, ast.unparse(node.value).replace("\\n", "\n"))
        if isinstance(node, (ast.Module, ast.ClassDef)) and node not in hidden:
            for before, after in pairwise(node.body):
                is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if isinstance(before, (ast.Assign, ast.AnnAssign)) and is_text:
                    yield Text(after.lineno, True, ast.literal_eval(after.value))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node not in hidden:
            said = ast.get_docstring(node)
            if said is not None:
                yield Text(node.lineno, True, said)


def rust_texts(text: str) -> Iterator[Text]:
    """Give the head comment of a file and the doc comments of its public items."""
    block: list[str] = []
    begin = 0
    head = False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if match := RUST_DOC.match(line):
            begin = begin if block else number
            head = match[1] == "//!"
            block.append(match[2])
        elif not (block and RUST_ATTRIBUTE.match(line)):
            if block and (head or RUST_PUBLIC.match(line)):
                yield Text(begin, True, "\n".join(block))
            block = []


def files() -> list[Path]:
    """List all documents, and all files of code but tests."""
    made = {ROOT / "docs/_build", ROOT / "docs/reference"}
    documents = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")]
    documents += [page for page in (ROOT / "docs").rglob("*.md") if not made & set(page.parents)]
    code = [file for kind in ("*.py", "*.pyi") for file in (ROOT / "python/anabranch").rglob(kind)]
    crates = [file for source in (ROOT / "crates").glob("*/src") for file in source.rglob("*.rs")]
    crates = [file for file in crates if not re.search(r"tests\b|testing", file.relative_to(ROOT).as_posix())]
    return sorted([*documents, *code, *crates])


def found() -> dict[str, list[str]]:
    """Give the faults of every file that has some."""
    told = {file.relative_to(ROOT).as_posix(): [f for text in texts_of(file) for f in faults(text)] for file in files()}
    return {name: own for name, own in told.items() if own}


def test_documents_and_doc_comments_are_plain_english():
    assert found() == {}


@pytest.mark.parametrize(
    ("words", "is_doc"),
    [
        ("The same for links.", True),
        ("See `sent`.", True),
        ("When.", True),
        ("Of each path: the dearest link.", True),
        ("How far it is.", True),
        ("By how much they differ.", True),
        ("Whoever reads this may write.", False),
        ("It waits so many seconds.", False),
        ("The equations were not to be had.", False),
        ("More is out of the question.", False),
    ],
)
def test_what_is_not_plain_is_found(words, is_doc):
    assert faults(Text(1, is_doc, words))


def test_code_and_plain_words_are_not_held_against_a_text():
    assert not faults(Text(1, True, "The rate of a path, `whoever` in code.\n\n```text\nso many\n```"))
    assert not faults(Text(1, False, "See `sent`."))


def test_only_what_readers_meet_is_read():
    rust = "//! The head.\n\n/// A rate.\n#[must_use]\npub fn a() {}\n\n/// When.\nfn b() {}\n"
    assert [text.words for text in rust_texts(rust)] == ["The head.", "A rate."]
    python = '"""Head."""\ndef a():\n    """A."""\ndef _b():\n    """When."""\nc(help="Less")\nD = 1\n"""D."""\n'
    assert {text.words for text in python_texts(python)} == {"Head.", "A.", "Less", "D."}
