"""What pages of reports have in common: the frame with its style, tables, text from Markdown."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markdown_it.token import Token

OTHER = re.compile(r"\.\./([\w-]+)/README\.md")
"""A link to the README of another experiment."""


SENTENCES = ("quantity", "note", "shows", "paper")
"""Columns of words, which must not become too narrow."""


def framed(title: str, body: str) -> str:
    """Give a whole page that needs no other file but its pictures, and asks no server."""
    style = (files("anabranch.reproduce.report") / "style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def table(headings: Sequence[str], rows: Iterable[str], right: Sequence[str] = ()) -> str:
    """Give a table that scrolls by itself where it is too wide, of rows as HTML; some columns stand to the right."""
    heads = "".join(f'<th scope="col"{_side(name, right)}>{escape(name)}</th>' for name in headings)
    body = "\n".join(rows)
    return f'<div class="scroll"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def cell(text: str, heading: str, right: Sequence[str] = ()) -> str:
    """Give a cell of the column with this heading, which it shows itself where the screen is narrow."""
    inner = f"<div>{text}</div>" if text else ""
    return f'<td{_side(heading, right)} data-name="{escape(heading)}">{inner}</td>'


def from_markdown(text: str, places: Mapping[str, str]) -> tuple[str, str]:
    """Give the heading of a README as plain text, and the rest as HTML, its headings a level lower.

    Links to the READMEs of experiments lead to their places on the page, if they have one, by the names of their
    folders; what else is relative is no link.
    """
    heading, _, rest = text.partition("\n")
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(rest)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) + 1}"
        token.children = None if token.children is None else list(_linked(token.children, places))
    return heading.removeprefix("# "), reader.renderer.render(tokens, reader.options, {})


def _linked(tokens: Iterable[Token], places: Mapping[str, str]) -> Iterator[Token]:
    """Give the parts of a text with links that lead somewhere."""
    is_link = True
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrs["href"])
            other = OTHER.fullmatch(target)
            if other and other[1] in places:
                token.attrs["href"] = f"#{places[other[1]]}"
            is_link = target.startswith("http") or bool(other and other[1] in places)
        if is_link or token.type not in ("link_open", "link_close"):
            yield token


def _side(heading: str, right: Sequence[str]) -> str:
    if heading in right:
        return ' class="number"'
    return ' class="sentence"' if heading in SENTENCES else ""
