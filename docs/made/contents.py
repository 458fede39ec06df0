"""The table of contents of the code: every file of crates, package and page, with the first sentence at its head."""

import ast
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from made.head_comment import as_markdown, head_of

ROOT = Path(__file__).parents[2]
CRATES = ROOT / "crates"
PACKAGE = ROOT / "python/anabranch"
PAGE = ROOT / "ui/src"

FOLDER_FILES = {"mod.rs", "__init__.py"}
"""Files whose heads describe their folder."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\[0-9])|\n\s*\n")
SCRIPT_HEAD = re.compile(r"\A/\*\*(.*?)\*/", re.DOTALL)

INTRO = """# Where everything is

This page lists the files of the crates, of the Python package and of the web page, each with the first sentence of its
head comment. It is made from these comments. `ARCHITECTURE.md`, at the top of the repository, gives an overview."""


def contents_page() -> str:
    """Give the page: a section for each of crates, package and page, a list for each folder in it."""
    parts = [INTRO, "## Crates"]
    for crate in sorted(CRATES.iterdir()):
        if (crate / "src/lib.rs").exists():
            parts += _section(crate.name, crate / "src", "lib.rs", rust_files(crate / "src"), rust_head)
    parts.append("## The Python package")
    modules = python_files(PACKAGE)
    at_top = [file for file in modules if file.parent == PACKAGE]
    parts += _section("anabranch", PACKAGE, "__init__.py", at_top, python_head)
    for folder in sorted({file.relative_to(PACKAGE).parts[0] for file in modules if file.parent != PACKAGE}):
        own = [file for file in modules if file.is_relative_to(PACKAGE / folder)]
        parts += _section(folder, PACKAGE / folder, "__init__.py", own, python_head)
    parts.append("## The page")
    parts += _section("ui", PAGE, "main.tsx", script_files(PAGE), script_head)
    return "\n\n".join(parts) + "\n"


def rust_files(folder: Path) -> list[Path]:
    """List the files of a crate that are not tests."""
    return [
        file
        for file in _sorted(folder.rglob("*.rs"))
        if "tests" not in file.parts and file.stem != "testing" and not re.search(r"(^|_)tests$", file.stem)
    ]


def python_files(folder: Path) -> list[Path]:
    """List the modules of the package."""
    return _sorted(folder.rglob("*.py"))


def script_files(folder: Path) -> list[Path]:
    """List the scripts of the page that are not tests."""
    return _sorted(file for kind in ("*.ts", "*.tsx") for file in folder.rglob(kind) if ".test." not in file.name)


def rust_head(file: Path) -> str:
    """Give the first sentence at the head of a Rust file."""
    return first_sentence(as_markdown(head_of(file)))


def python_head(file: Path) -> str:
    """Give the first sentence of a module's docstring."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if said is None:
        raise ValueError(f"{file} has no docstring; describe there what the module does")
    return first_sentence(as_markdown(said.replace("``", "`")))


def script_head(file: Path) -> str:
    """Give the first sentence at the head of a script of the page."""
    found = SCRIPT_HEAD.match(file.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{file} has no head comment; say there what it shows or computes")
    return first_sentence(re.sub(r"^ ?\* ?", "", found[1].strip(), flags=re.MULTILINE))


def first_sentence(text: str) -> str:
    """Give the first sentence of a text on one line."""
    sentence = SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    return " ".join(sentence.split())


def _sorted(files: Iterable[Path]) -> list[Path]:
    """Sort files so that a folder's own file stands before the others of the folder."""
    return sorted(files, key=lambda file: (*file.parent.parts, "" if file.name in FOLDER_FILES else file.name))


def _section(title: str, folder: Path, root: str, files: list[Path], head: Callable[[Path], str]) -> list[str]:
    """Give a heading, the first sentence of the root file, and a list of the other files."""
    rows = []
    for file in files:
        if file != folder / root:
            name = file.relative_to(folder).as_posix()
            name = name.removesuffix(file.name) if file.name in FOLDER_FILES else name
            rows.append(f"- `{name}`: {head(file)}")
    return [f"### `{title}`", head(folder / root), "\n".join(rows)]
