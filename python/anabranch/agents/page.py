"""The page that agents, proxies and exits show by HTTP."""

from __future__ import annotations

from importlib.resources import files

TEMPLATE = "page/template.html"
"""The page among the files of the package."""

PLACE = "<!-- runs -->"
"""Where in it stands what it shows."""

MARK = '<script type="application/json" id="{kind}">{{}}</script>'
"""What says what it shows."""


def live_page(kind: str) -> str | None:
    """Give the page of an `agent` or a `proxy`, which asks the program that sent it; None if the page was not built.

    It is read as it is, without the modules that make reports: these programs need neither tables nor figures.
    """
    template = files("anabranch") / TEMPLATE
    if not template.is_file():
        return None
    return template.read_text(encoding="utf-8").replace(PLACE, MARK.format(kind=kind), 1)
