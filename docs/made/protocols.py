"""The reference of protocols and queue disciplines: a page for each, from head comment and schema, and indices."""

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
        """The name, title, summary, family and module of the code of each."""
        return _core.protocols() if self.key == "protocol" else _core.disciplines()

    @property
    def modules(self) -> dict[str, str]:
        """The name in files of the protocol or discipline in each module of the code."""
        return {module: name for name, _, _, _, module in self.known}

    @property
    def families(self) -> dict[str, list[str]]:
        """The names of similar protocols or disciplines, by family."""
        titles = _core.protocol_families() if self.key == "protocol" else _core.discipline_families()
        return {title: [name for name, _, _, family, _ in self.known if family == title] for title in titles}


PROTOCOLS = Kind(
    "proto/src/protocols",
    "Protocol",
    "protocol",
    "Protocols",
    """A connection names its protocol: `protocol = "slbn"`, or, with parameters,
`protocol.slbn = { variant = "paper" }`. The table `[defaults.connection]` names one for all connections. Each page
shows the head comment of the protocol's file: the decisions of the protocol, its equations, and its differences from
the paper. "Reconstruction" and "-like" mark protocols whose original equations were not available.""",
)

DISCIPLINES = Kind(
    "queues/src",
    "QueueDiscipline",
    "discipline",
    "Queue disciplines",
    """A link names its queue discipline, which determines the order of waiting packets and which of
them are dropped or marked: `discipline = "codel"`, or, with parameters, `discipline.red = { min = 5, max = 15 }`. The
table `[defaults.link]` names one for all links; a link without one is first in, first out. With every discipline, the
limit on the packets that wait is the link's `queue`.""",
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
        parts.append("\n".join([f"## {family}", "", "| name | in files | summary |", "|---|---|---|", *rows]))
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
        parts += ["## Supported connections", _serves(name)]
    parts += ["## Parameters", _example(kind, name, types), _parameters(kind, name, types)]
    if items := uses(kind.key, name):
        parts += ["## Experiments", items]
    if cited_in(f"{does} {head}"):
        parts += ["## References", cited_works(" ".join([does, *said]))]
    where = file.relative_to(Path(__file__).parents[2]).as_posix()
    parts.append(f"The code is in `{where}`.")
    return "\n\n".join(parts) + "\n"


def _serves(name: str) -> str:
    """Describe the connections that a protocol supports."""
    capabilities = _core.protocol_capabilities(name)
    assert capabilities is not None
    rows = {
        "paths": _paths(capabilities),
        "claims": "rates are proportional to weight times qos, which must be 0.001 to 1000"
        if capabilities["weighted"]
        else "all connections are equal: weight times qos must be 1",
        "reserved parts": "come before shares" if capabilities["reserves"] else "none",
        "control of sources": _sources(capabilities),
        "demands": "a separate link of that capacity at the beginning of the path"
        if capabilities["demands_as_links"]
        else "enforced by the source",
        "changed capacity": "reported at once" if capabilities["hears_capacities"] else "noticed with the next packet",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {how} |" for what, how in rows.items())])


def _paths(capabilities: dict[str, bool]) -> str:
    if not capabilities["many_paths"]:
        return "one for each connection"
    if capabilities["is_joint"] and capabilities["usually_one_path"]:
        return "one or several for each connection; without `paths`, 4 if its subflows depend on each other, else 1"
    if capabilities["is_joint"]:
        return "one or several for each connection; 4 if `paths` is not written"
    return "one or several for each connection, each controlled by itself; 1 if `paths` is not written"


def _sources(capabilities: dict[str, bool]) -> str:
    if capabilities["has_headers"]:
        return "a window that links change in the headers of data packets; lost data are not sent again"
    if not capabilities["keeps_windows"]:
        return "the rates that control packets bring back; data are paced at them, and lost data are not sent again"
    told = "windows, with a transport that acknowledges data, detects losses and sends lost data again"
    if capabilities["hears_groups"]:
        told += "; the network reports which paths share links"
    return told + ("; packets are ECT(1)" if capabilities["is_scalable"] else "")


def rules_of(kind: Kind, name: str, types: dict) -> dict[str, dict]:
    """Give the rules of the schema for each parameter of a protocol or discipline."""
    own = next(one["properties"][name] for one in types[kind.schema]["oneOf"] if name in one.get("properties", {}))
    return types[own["$ref"].rpartition("/")[2]].get("properties", {})


def _example(kind: Kind, name: str, types: dict) -> str:
    """Write an example for a scenario file, with a parameter if one has a default."""
    table = "[defaults.connection]" if kind is PROTOCOLS else "[defaults.link]"
    given = [(key, rule["default"]) for key, rule in rules_of(kind, name, types).items() if "default" in rule]
    plain = f'{kind.key} = "{name}"'
    if given:
        plain += f"\n# or, with parameters:\n# {kind.key}.{name} = {{ {given[0][0]} = {json.dumps(given[0][1])} }}"
    return f"```toml\n{table}\n{plain}\n```"


def _parameters(kind: Kind, name: str, types: dict) -> str:
    rules = rules_of(kind, name, types)
    if not rules:
        return "There are no parameters."
    table = ["| parameter | values | default | meaning |", "|---|---|---|---|"]
    for parameter, rule in rules.items():
        means = " ".join(rule["description"].split())
        default = f"`{json.dumps(rule['default'])}`" if "default" in rule else "none"
        table.append(f"| `{parameter}` | {takes(rule, types)} | {default} | {means} |")
    note = """Times and rates are written as in the [scenario file](../../how-to/scenario-file.md), such as
`"20 ms"` and `"8 kbit/s"`."""
    return "\n".join([*table, "", note])


def takes(rule: dict, types: dict) -> str:
    """Describe the values of a parameter, by its rule in the schema."""
    own = rule.get("$ref", "").rpartition("/")[2]
    if own in {"Time", "Rate", "Size"}:
        return own.lower()
    if own and "examples" in types[own]:
        return "text such as " + " or ".join(f'`"{example}"`' for example in types[own]["examples"])
    if own:
        return ", ".join(f'`"{choice["const"]}"`' for choice in types[own]["oneOf"])
    if rule["type"] == "boolean":
        return "true or false"
    least = f"over {rule['exclusiveMinimum']:g}" if "exclusiveMinimum" in rule else f"{rule['minimum']:g}"
    if "maximum" not in rule:
        return f"{least} or more"
    most = f"{rule['maximum']:g}"
    return f"{least}, at most {most}" if "exclusiveMinimum" in rule else f"{least} to {most}"
