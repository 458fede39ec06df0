"""How Sphinx makes the documentation: Markdown pages, docstrings, and the pages that `made` makes.

``reference/command-line.md`` is what ``--help`` prints; ``reference/protocols`` and ``reference/disciplines`` are what
the code says at its head and the schema of scenarios of parameters; ``reference/experiments`` is what the folders of
experiments say; ``reference/measures.md`` is the registry of measures; ``reference/samples.md`` is the table of columns
of samples; ``reference/contents.md`` is the first sentence of every file of the code; ``reference/references.md`` is
``references.bib`` in words.
A key in square brackets, as in ``[danna2017, sec. 2]``, becomes a link to its entry, in pages and in docstrings.
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
GENERATED = HERE / "reference"
sys.path.insert(0, str(HERE))

from made import contents, experiments, protocols  # noqa: E402
from made.command_line import command_line_page  # noqa: E402
from made.measures import measures_page  # noqa: E402
from made.not_reproduced import not_reproduced_page  # noqa: E402
from made.references import linked, references_page  # noqa: E402
from made.samples import samples_page  # noqa: E402

project = "anabranch"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
html_theme = "furo"
html_title = "anabranch"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"top_of_page_buttons": []}
templates_path = ["_templates"]
# Those of furo, with a link to the glossary on every page.
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "words.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# Summaries would have to be fetched, which browsers refuse where a site is opened from a folder.
html_show_search_summary = False

COLON, NO_BREAK = "\ue000", "\u00a0"
ATTRIBUTE_TYPE = re.compile(r"^:vartype ([^:]+): (.*)\n?", re.MULTILINE)


def made_pages() -> dict[str, str]:
    """Give all pages that are made here, by their files below ``reference``."""
    return {
        "command-line.md": command_line_page(),
        "measures.md": measures_page(),
        "contents.md": contents.contents_page(),
        "references.md": references_page(),
        "not-reproduced.md": not_reproduced_page(),
        "samples.md": samples_page(),
        **protocols.pages_of(protocols.PROTOCOLS),
        **protocols.pages_of(protocols.DISCIPLINES),
        **experiments.pages(),
    }


def make_pages(_app) -> None:
    """Write the pages that are made here, if they changed, and take away those that are no longer made."""
    os.environ["COLUMNS"] = "100"
    pages = made_pages()
    for name, text in pages.items():
        page = GENERATED / name
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for page in GENERATED.rglob("*.md"):
        if page.relative_to(GENERATED).as_posix() not in pages:
            page.unlink()


def link_page(_app, _name: str, source: list[str]) -> None:
    """Make links of the keys in a page, outside its fences."""
    pieces = re.split(r"(^```.*?^```$)", source[0], flags=re.MULTILINE | re.DOTALL)
    source[0] = "".join(piece if piece.startswith("```") else linked(piece, "{ref}") for piece in pieces)


def hide_colon(_app, what, _name, _object, _options, lines: list[str]) -> None:
    """Keep napoleon from taking "A row for each link: its name" for a type and its description."""
    if what in {"attribute", "property"} and lines:
        lines[0] = lines[0].replace(": ", f"{COLON} ")


def link_docstring(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Make links of the keys in a docstring, and plain text of the types of attributes."""
    text = "\n".join(lines).replace(COLON, ":")
    types = dict(ATTRIBUTE_TYPE.findall(text))
    text = ATTRIBUTE_TYPE.sub("", text)
    for name, type_text in types.items():
        # A name like "fairness, method" must be one word to Sphinx.
        text = text.replace(f":ivar {name}:", f":ivar {name.replace(' ', NO_BREAK)}: ({type_text})", 1)
    lines[:] = linked(text, ":ref:").splitlines()


def setup(app) -> None:
    """Tell Sphinx when to do all this."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", link_page)
    app.connect("autodoc-process-docstring", hide_colon, priority=100)
    app.connect("autodoc-process-docstring", link_docstring, priority=900)
