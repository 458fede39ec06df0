"""A report: the page and the data of some runs in one HTML file, which opens anywhere without a server."""

from __future__ import annotations

import base64
import json
import zlib
from importlib.resources import files
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.folder import check_place, put_file
from anabranch.page.palette import palette

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.page.content import Content

TEMPLATE = "template.html"
PLACE = "<!-- runs -->"
"""Where in the template the data go."""

LEVEL = 6
"""The level of compression; a higher level takes several times as long and saves a few per cent."""


def page_template() -> str:
    """Give the page without data.

    Raises
    ------
    ScenarioError
        The page was not built.
    """
    template = files("anabranch.page") / TEMPLATE
    if not template.is_file():
        raise ScenarioError(
            f"{template}: the page is not there; in a checkout `make install` builds it, with Node; "
            "elsewhere install a wheel made by `make wheel`, which has it"
        )
    return template.read_text(encoding="utf-8")


def report_html(contents: Sequence[Content]) -> str:
    """Give the page with the data of these runs in it.

    Raises
    ------
    ScenarioError
        The page was not built.
    """
    page = page_template()
    data = [_script("application/json", "palette", json.dumps(palette()))]
    for number, content in enumerate(contents):
        header = json.dumps(content.header, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        data += [_script("application/json", f"run-{number}", _harmless(header))]
        blob = content.blob()
        first = content.header.get("first_bytes", len(blob))
        for name, part in (("blob", blob[:first]), ("rest", blob[first:])):
            text = base64.b64encode(zlib.compress(part, LEVEL)).decode("ascii")
            data += [_script("application/octet-stream", f"{name}-{number}", text)]
    before, _, after = page.partition(PLACE)
    return before + "\n".join(data) + after


def write_report(contents: Sequence[Content], file: Path) -> None:
    """Write a report, completely or not at all; an existing one is replaced.

    Raises
    ------
    ScenarioError
        It cannot be written there, or the page was not built.
    """
    check_place(file)
    text = report_html(contents)
    file.parent.mkdir(parents=True, exist_ok=True)
    put_file(text, file)


def _script(kind: str, name: str, text: str) -> str:
    return f'<script type="{kind}" id="{name}">{text}</script>'


def _harmless(header: str) -> str:
    """Give the same JSON without what could end a script: names come from files of any kind."""
    return header.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
