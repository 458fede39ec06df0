"""The head comment of a Rust file as Markdown: its words, its formulas, its links."""

import re
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"

DOCUMENTED = ("proto", "queues")
"""Crates whose files have pages, or are named in head comments."""

HEAD = re.compile(r"\A(?://!.*\n)+")
DOC_LINK = re.compile(r"\[(`[^`\]]+`)\](?:\([^)]*\))?")
FILE = re.compile(r"`(\w+)\.rs`")
CODE = re.compile(r"(`[^`]*`)")
DIFFERS = re.compile(r"^differs:", re.MULTILINE)


def source_of(module: str, folder: str) -> Path:
    """Give the file of a module: ``x.rs``, or ``x/mod.rs`` if it has submodules."""
    alone = CRATES / folder / f"{module}.rs"
    return alone if alone.exists() else CRATES / folder / module / "mod.rs"


def head_of(file: Path) -> str:
    """Give the head comment of a file, without its slashes."""
    found = HEAD.match(file.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{file} has no head comment; describe there what it is, how it works, and its paper")
    return "\n".join(line[3:].removeprefix(" ") for line in found[0].splitlines())


def as_markdown(head: str) -> str:
    """Turn a head comment into Markdown: fences stay, and characters that would be markup elsewhere are escaped."""
    pieces = re.split(r"(^```.*?^```$)", head, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if piece.startswith("```") else _words(piece) for piece in pieces)


def _words(text: str) -> str:
    text = DIFFERS.sub("**Differs from the paper:**", DOC_LINK.sub(r"\1", text))
    pieces = CODE.split(text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"(?<!\*)([*<])(?!\*)", r"\\\1", piece) for piece in pieces
    )


def shared_parts(head: str, folder: str, known: dict[str, str]) -> tuple[str, list[tuple[str, str]]]:
    """Turn the files that a head comment names into links, and give the heads of files without a page.

    Parameters
    ----------
    known : dict
        For each module that has a page, the name of the page.

    Returns
    -------
    tuple of str and list
        The comment; the name and the head of each file without a page.
    """
    others: dict[str, str] = {}

    def link(found: re.Match[str]) -> str:
        module = found[1]
        if module in known:
            return f"[{known[module]}]({known[module]}.md)"
        places = [
            source_of(module, folder),
            *(place for crate in DOCUMENTED for place in (CRATES / crate).rglob(f"{module}.rs")),
        ]
        others[f"{module}.rs"] = head_of(next(place for place in places if place.exists()))
        return f"[`{module}.rs`](#from-{module}rs)"

    return FILE.sub(link, head), list(others.items())
