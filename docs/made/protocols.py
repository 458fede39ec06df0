"""The reference of protocols and queue disciplines: a page for each, of head comment and schema; indices by family."""

import json
from dataclasses import dataclass
from pathlib import Path

from anabranch import _core
from made import head_comment
from made.experiments import uses
from made.references import cited_in, cited_works


@dataclass(frozen=True)
class Kind:
    """Protocols or disciplines: where they are in the code, in the schema, in the scenario file and in the site."""

    folder: str
    schema: str
    key: str
    title: str
    intro: str

    @property
    def known(self) -> list[tuple[str, str, str, str, str]]:
        """Name, title, what it does, family and module of the code, of each."""
        return _core.protocols() if self.key == "protocol" else _core.disciplines()

    @property
    def modules(self) -> dict[str, str]:
        """For each module of the code, the name in files of what it holds."""
        return {module: name for name, _, _, _, module in self.known}

    @property
    def families(self) -> dict[str, list[str]]:
        """Those that are alike, under the name of what they have in common."""
        titles = _core.protocol_families() if self.key == "protocol" else _core.discipline_families()
        return {title: [name for name, _, _, family, _ in self.known if family == title] for title in titles}


PROTOCOLS = Kind(
    "proto/src/protocols",
    "Protocol",
    "protocol",
    "Protocols",
    """A connection names its protocol: `protocol = "slbn"`, or, with parameters,
`protocol.slbn = { variant = "paper" }`. So does `[defaults.connection]` for all. Each page has what the protocol's file
says at its head: what it decides and how, and where it differs from its paper. "Reconstruction" and "-like" stand where
the equations of the original were not to be had.""",
)

DISCIPLINES = Kind(
    "queues/src",
    "QueueDiscipline",
    "discipline",
    "Queue disciplines",
    """A link names what waits at it in which order, and what is dropped or marked: `discipline = "codel"`,
or, with parameters, `discipline.red = { min = 5, max = 15 }`. So does `[defaults.link]` for all; a link that names none
is first in, first out. The most that may wait is its `queue`, as ever.""",
)


def pages_of(kind: Kind) -> dict[str, str]:
    """Give the pages of a kind by their files: one for each, and the index."""
    index = "disciplines" if kind is DISCIPLINES else "protocols"
    types = json.loads(_core.Scenario.schema())["$defs"]
    pages = {
        f"{index}/{name}.md": _page(kind, name, title, does, module, types)
        for name, title, does, _, module in kind.known
    }
    return {f"{index}.md": _index(kind, index)} | pages


def _index(kind: Kind, folder: str) -> str:
    about = {name: (title, does) for name, title, does, *_ in kind.known}
    parts = [f"# {kind.title}", kind.intro]
    for family, names in kind.families.items():
        rows = [f"| [{about[name][0]}]({folder}/{name}.md) | `{name}` | {about[name][1]} |" for name in names]
        parts.append("\n".join([f"## {family}", "", "| | in files | what it does |", "|---|---|---|", *rows]))
    listed = "\n".join(f"{folder}/{name}" for names in kind.families.values() for name in names)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def _page(kind: Kind, name: str, title: str, does: str, module: str, types: dict) -> str:
    file = head_comment.source_of(module, kind.folder)
    head = head_comment.as_markdown(head_comment.head_of(file))
    head, shared = head_comment.shared_parts(head, kind.folder, kind.modules)
    said = [head]
    for other, text in shared:
        said.append(f"## From `{other}`\n\n{head_comment.as_markdown(text)}")
    parts = [f"# {title}", f"`{name}`: {does}.", *said]
    if kind is PROTOCOLS:
        parts += ["## Connections it serves", _serves(name)]
    parts += ["## Parameters", _example(kind, name, types), _parameters(kind, name, types)]
    if items := uses(kind.key, name):
        parts += ["## Experiments with it", items]
    if cited_in(f"{does} {head}"):
        parts += ["## Works it cites", cited_works(" ".join([does, *said]))]
    where = file.relative_to(Path(__file__).parents[2]).as_posix()
    parts.append(f"The code is in `{where}`.")
    return "\n\n".join(parts) + "\n"


def _serves(name: str) -> str:
    """Say what a protocol can serve."""
    capabilities = _core.protocol_capabilities(name)
    assert capabilities is not None
    rows = {
        "paths": "one or several for each connection" if capabilities["many_paths"] else "one for each connection",
        "claims": "rates follow weight times qos, which must be 0.001 to 1000"
        if capabilities["weighted"]
        else "all share equally: weight times qos must be 1",
        "what tells sources how much to send": _sources(capabilities),
        "demands": "a link of their own, of that capacity, at the beginning of the path"
        if capabilities["demands_as_links"]
        else "looked after by the source",
        "a capacity that changes": "told at once" if capabilities["hears_capacities"] else "seen with the next packet",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {how} |" for what, how in rows.items())])


def _sources(capabilities: dict[str, bool]) -> str:
    if capabilities["has_headers"]:
        return "a window that links change in the headers of data packets; what is lost is not sent again"
    if not capabilities["keeps_windows"]:
        return "the rates that control packets bring back; data are paced at these, and not sent again"
    told = "windows, over the transport: acknowledgements, losses found, lost data sent again"
    if capabilities["hears_groups"]:
        told += "; the network tells which paths share links"
    return told + ("; packets are ECT(1)" if capabilities["is_scalable"] else "")


def rules_of(kind: Kind, name: str, types: dict) -> dict[str, dict]:
    """Give what the schema says of each parameter of a protocol or discipline."""
    own = next(one["properties"][name] for one in types[kind.schema]["oneOf"] if name in one.get("properties", {}))
    return types[own["$ref"].rpartition("/")[2]].get("properties", {})


def _example(kind: Kind, name: str, types: dict) -> str:
    """Write it down as a scenario has it, with a parameter if it has one with a default."""
    table = "[defaults.connection]" if kind is PROTOCOLS else "[defaults.link]"
    given = [(key, rule["default"]) for key, rule in rules_of(kind, name, types).items() if "default" in rule]
    plain = f'{kind.key} = "{name}"'
    if given:
        plain += f"\n# or, with parameters:\n# {kind.key}.{name} = {{ {given[0][0]} = {json.dumps(given[0][1])} }}"
    return f"```toml\n{table}\n{plain}\n```"


def _parameters(kind: Kind, name: str, types: dict) -> str:
    rules = rules_of(kind, name, types)
    if not rules:
        return "It has no parameters."
    table = ["| parameter | takes | default | means |", "|---|---|---|---|"]
    for parameter, rule in rules.items():
        means = " ".join(rule["description"].split())
        default = f"`{json.dumps(rule['default'])}`" if "default" in rule else "none"
        table.append(f"| `{parameter}` | {takes(rule, types)} | {default} | {means} |")
    note = """What is no number is written as in the [scenario file](../../how-to/scenario-file.md): a time as
`"20 ms"`, a rate as `"8 kbit/s"`."""
    return "\n".join([*table, "", note])


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
