"""How Sphinx makes the documentation: Markdown pages, docstrings, and three pages made here.

``reference/command-line.md`` is what ``--help`` prints; ``reference/protocols.md`` is what the schema of scenarios says
of protocols and their parameters; ``reference/references.md`` is ``references.bib`` in words.
A key in square brackets, as in ``[danna2017, sec. 2]``, becomes a link to its entry, in pages and in docstrings.
"""

import json
import os
import re
import unicodedata
from pathlib import Path

import typer
from typer.testing import CliRunner

from anabranch import _core
from anabranch.cli import app as commands

HERE = Path(__file__).parent
GENERATED = HERE / "reference"

project = "anabranch"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
html_theme = "alabaster"
html_theme_options = {"description": "Fair sharing of network capacity over many paths", "page_width": "1100px"}
html_show_copyright = False
html_show_sphinx = False

ACCENTS = {"'": "\u0301", "`": "\u0300", "~": "\u0303", '"': "\u0308", "^": "\u0302"}
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)
CITED = re.compile(r"\[([a-z]+(?:19|20)\d\d\b[^\]]*)\](?!\()")
KEY = re.compile(r"\b[a-z]+(?:19|20)\d\d\b")
COLON, NO_BREAK = "\ue000", "\u00a0"
ATTRIBUTE_TYPE = re.compile(r"^:vartype ([^:]+): (.*)\n?", re.MULTILINE)


def plain(tex: str) -> str:
    """Turn the little TeX that a bibliography needs into plain text."""
    accented = re.sub(r"""\{?\\(['`~"^])\{?\\?(\w)\}?\}?""", lambda m: m[2] + ACCENTS[m[1]], tex)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", accented)).replace("--", "\u2013")


def entry_text(entry: str) -> str:
    """Write one entry of the bibliography as a paragraph with a label."""
    key = entry.partition("{")[2].partition(",")[0]
    has = {name: plain(text) for name, text in FIELD.findall(entry)}
    people = (has.get("author") or has["editor"]).split(" and ")
    authors = people[0] if len(people) == 1 else ", ".join(people[:-1]) + " and " + people[-1]
    place = has.get("journal") or has.get("booktitle") or has.get("publisher", "")
    if "series" in has:
        place += f", {has['series']}"
    if "volume" in has:
        place += f" {has['volume']}" + (f"({has['number']})" if "number" in has else "")
    pages = f", {has['pages']}" if "pages" in has else ""
    doi = f". doi:{has['doi']}" if "doi" in has else ""
    return f"(ref-{key})=\n**{key}**. {authors}. *{has['title']}*. {place}{pages}, {has['year']}{doi}.\n"


def references_page() -> str:
    """Give the bibliography as a page, by key."""
    entries = re.split(r"\n(?=@)", (HERE / "references.bib").read_text(encoding="utf-8").strip())
    entries.sort(key=lambda entry: entry.partition("{")[2])
    return "# References\n\n" + "\n".join(entry_text(entry) for entry in entries)


def command_names(command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List a command and all below it."""
    below = getattr(command, "commands", {})
    return [path, *(name for own, sub in below.items() for name in command_names(sub, (*path, own)))]


def command_line_page() -> str:
    """Give what ``--help`` says of every command."""
    parts = ["# The command line", "What `--help` prints, command by command.", EXIT_CODES]
    for path in command_names(typer.main.get_command(commands)):
        printed = CliRunner().invoke(commands, [*path, "--help"], prog_name="anabranch").output.strip()
        heading = "## " if len(path) < 2 else "### "
        parts.append(f"{heading}`{' '.join(('anabranch', *path))}`\n\n```text\n{printed}\n```")
    return "\n\n".join(parts) + "\n"


EXIT_CODES = """| exit code | means |
|---|---|
| 0 | done |
| 1 | it failed: the solver did not converge within `--max-passes`, the disk is full, memory ran out |
| 2 | the input or an option is wrong |
| 3 | a reproduced number is outside its band |
| 130 | stopped by Ctrl-C; `run` leaves in `--out` what there is until then |
| 141 | nobody reads the output any more, as with `\\| head` |"""


def takes(rule: dict, types: dict) -> str:
    """Say what a parameter may be, by its rule in the schema."""
    own = rule.get("$ref", "").rpartition("/")[2]
    if own in {"Time", "Rate", "Size"}:
        return own.lower()
    if own:
        return ", ".join(f'`"{choice["const"]}"`' for choice in types[own]["oneOf"])
    if rule["type"] == "boolean":
        return "true or false"
    least = f"over {rule['exclusiveMinimum']:g}" if "exclusiveMinimum" in rule else f"{rule['minimum']:g}"
    if "maximum" not in rule:
        return f"{least} or more"
    most = f"{rule['maximum']:g}"
    return f"{least}, at most {most}" if "exclusiveMinimum" in rule else f"{least} to {most}"


def section(kind: str, name: str, title: str, does: str, types: dict) -> str:
    """Give what there is to know of a protocol or a queue discipline, with a row for each parameter."""
    own = next(one["properties"][name] for one in types[kind]["oneOf"] if name in one.get("properties", {}))
    rules = types[own["$ref"].rpartition("/")[2]].get("properties", {})
    table = ["| parameter | takes | default | means |", "|---|---|---|---|"] if rules else ["It has no parameters."]
    for parameter, rule in rules.items():
        means = " ".join(rule["description"].split())
        default = f"`{json.dumps(rule['default'])}`" if "default" in rule else "none"
        table.append(f"| `{parameter}` | {takes(rule, types)} | {default} | {means} |")
    return "\n".join([f"## {title}", "", f"`{name}`: {does}.", "", *table])


def protocols_page() -> str:
    """Give all protocols with their parameters, by the schema of the scenario file."""
    types = json.loads(_core.Scenario.schema())["$defs"]
    sections = [section("Protocol", *protocol, types) for protocol in _core.protocols()]
    return "\n\n".join(["# Protocols", PROTOCOLS, *sections]) + "\n"


def disciplines_page() -> str:
    """Give all queue disciplines with their parameters, by the schema of the scenario file."""
    types = json.loads(_core.Scenario.schema())["$defs"]
    sections = [section("QueueDiscipline", *discipline, types) for discipline in _core.disciplines()]
    return "\n\n".join(["# Queue disciplines", DISCIPLINES, *sections]) + "\n"


PROTOCOLS = """A connection names its protocol: `protocol = "slbn"`, or, with parameters,
`protocol.slbn = { variant = "paper" }`. So does `[defaults.connection]` for all. What is no number is written as in the
[scenario file](../how-to/scenario-file.md): a time as `"20 ms"`, a rate as `"8 kbit/s"`."""

DISCIPLINES = """A link names what waits at it in which order, and what is dropped or marked: `discipline = "codel"`,
or, with parameters, `discipline.red = { min = 5, max = 15 }`. So does `[defaults.link]` for all; a link that names none
is first in, first out. The most that may wait is its `queue`, as ever."""


def make_pages(_app) -> None:
    """Write the generated pages, if they changed."""
    os.environ["COLUMNS"] = "100"
    GENERATED.mkdir(exist_ok=True)
    pages = {
        "command-line.md": command_line_page(),
        "disciplines.md": disciplines_page(),
        "protocols.md": protocols_page(),
        "references.md": references_page(),
    }
    for name, text in pages.items():
        page = GENERATED / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def linked(text: str, role: str) -> str:
    """Make links of the keys in square brackets, except in code."""

    def link(found: re.Match[str]) -> str:
        return "[" + KEY.sub(lambda key: f"{role}`{key[0]} <ref-{key[0]}>`", found[1]) + "]"

    return CITED.sub(link, text)


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
