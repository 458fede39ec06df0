"""What pages of reports have in common: the frame with its style, tables, text from Markdown."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


SENTENCES = ("quantity", "note", "shows", "paper")
"""Columns of words, which must not become too narrow."""


def framed(title: str, body: str) -> str:
    """Give a whole page that needs no other file but its pictures, and asks no server."""
    style = (files("anabranch.site") / "style.css").read_text(encoding="utf-8")
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
    return f'<td{_side(heading, right)} data-name="{escape(heading)}">{text}</td>'


def from_markdown(text: str, links: str = "") -> tuple[str, str]:
    """Give the heading of a Markdown text as plain text, and the rest as HTML, its headings a level lower.

    Links to other experiments' READMEs lead to the pages below `links`; other relative ones are left out.
    """
    heading, _, rest = text.partition("\n")
    lower = re.sub(r"^#", "##", rest, flags=re.MULTILINE)
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(lower)
    html = re.sub(
        r'<a href="\.\./([a-z-]+?)-((?:figure|table|experiment|section|theorem|a\d|red)[a-z0-9-]*)/README\.md">',
        lambda found: f'<a href="{links}{found[1]}/index.html#{found[2]}">',
        html,
    )
    return heading.removeprefix("# "), re.sub(r'<a href="(?!http|#|\.\./)[^"]*">(.*?)</a>', r"\1", html)


def _side(heading: str, right: Sequence[str]) -> str:
    if heading in right:
        return ' class="number"'
    return ' class="sentence"' if heading in SENTENCES else ""
