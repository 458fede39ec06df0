"""The page that an agent shows by HTTP."""

from __future__ import annotations

from importlib.resources import files

TEMPLATE = "page/template.html"
"""The page among the files of the package."""

PLACE = "<!-- runs -->"
"""Where in it stands what it shows."""

MARK = '<script type="application/json" id="agent">{}</script>'
"""What says that it shows an agent."""


def live_page() -> str | None:
    """Give the page, which asks the agent that sent it for all data; None if the page was not built.

    It is read as it is, without the modules that make reports: an agent needs neither tables nor figures in its memory.
    """
    template = files("anabranch") / TEMPLATE
    return template.read_text(encoding="utf-8").replace(PLACE, MARK, 1) if template.is_file() else None
