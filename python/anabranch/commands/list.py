"""``anabranch list``: everything that commands and files can name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.commands.subcommands import SubCommands
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anabranch.commands.tables.column import Column

app = typer.Typer(
    cls=SubCommands,
    help="List names that commands and files take.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

PIPED = 160
"""The columns within which texts are broken where the output is no terminal."""


@app.callback()
def options() -> None:
    """List names that commands and files take."""


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
Network = Annotated[Path, typer.Argument(metavar="NETWORK", help="Topology (GraphML, GML, ...) or scenario (TOML).")]


@app.command()
def protocols(as_json: AsJson = False) -> None:
    """List the protocols: name in a scenario, title, family, what they do."""
    from anabranch import _core

    _show_kinds(_core.protocols(), as_json=as_json)


@app.command()
def controls(as_json: AsJson = False) -> None:
    """List the congestion controls that `perf`, `fetch` and `live` run with real packets."""
    from anabranch import _core
    from anabranch.errors import NoLivePartError

    if not _core.HAS_LIVE:
        raise NoLivePartError
    live = set(_core.live_controls())
    _show_kinds([row for row in _core.protocols() if row[0] in live], as_json=as_json)


@app.command()
def disciplines(as_json: AsJson = False) -> None:
    """List the queue disciplines of links: name in a scenario, title, family, what they do."""
    from anabranch import _core

    _show_kinds(_core.disciplines(), as_json=as_json)


def _show_kinds(found: Sequence[tuple[str, str, str, str, str]], *, as_json: bool) -> None:
    keys = ("name", "title", "does", "family", "module")
    rows = [dict(zip(keys, row, strict=True)) for row in found]
    _show(rows, ("name", "title", "family", "does"), as_json=as_json, leaving=("title", "family"))


@app.command()
def methods(as_json: AsJson = False) -> None:
    """List the methods of `solve --method`, with the kinds of fairness that they find."""
    from anabranch.solvers.methods import METHODS

    rows = [
        {
            "name": one.name,
            "fairness": list(one.fairness),
            "approximate": one.is_approximation,
            "does": one.does,
            "options": list(one.options),
        }
        for one in METHODS.values()
    ]
    _show(rows, ("name", "fairness", "does"), as_json=as_json)


@app.command()
def rules(as_json: AsJson = False) -> None:
    """List the rules of `--demands` that make demands."""
    from anabranch.solvers.problem_files import RULE_WORDS

    rows = [{"name": name, "example": f"{name}:40Gbit/s", "does": does} for name, does in RULE_WORDS.items()]
    _show(rows, ("name", "example", "does"), as_json=as_json)


@app.command()
def generators(as_json: AsJson = False) -> None:
    """List the rules of `topology generate` that make networks."""
    from anabranch.commands.topology import made

    found = [(one.name or one.callback.__name__, one.callback) for one in made.registered_commands if one.callback]
    _show([{"name": name, "does": _first_line(made)} for name, made in found], ("name", "does"), as_json=as_json)


@app.command()
def formats(as_json: AsJson = False) -> None:
    """List the formats of networks and demands."""
    from anabranch.formats.known import FORMATS

    rows = [
        {
            "name": one.name,
            "file": one.description,
            "network": ", ".join(["read"] * one.has_network + ["written"] * (one.write is not None)),
            "demands": "read" if one.read_demands is not None else "",
        }
        for one in FORMATS.values()
    ]
    _show(rows, ("name", "file", "network", "demands"), as_json=as_json)


@app.command()
def papers(
    experiments: Annotated[
        Path | None, typer.Option(help="Folder of experiments. Default: ./experiments, or that of the source checkout.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the papers that `reproduce` takes, with their tables and figures."""
    from anabranch.reproduce.experiment import find_experiments
    from anabranch.reproduce.papers import read_papers

    found = read_papers(find_experiments(experiments)).values()
    keys = ("name", "title", "published", "items")
    rows = [dict(zip(keys, (one.name, one.title, one.published, list(one.items)), strict=True)) for one in found]
    _show(rows, ("name", "title", "items"), as_json=as_json, leaving=("title",))


@app.command()
def scenarios(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of scenario files.")] = Path("scenarios"),
    as_json: AsJson = False,
) -> None:
    """List the scenario files of a folder and of those within it, with their titles."""
    from anabranch.errors import ScenarioError

    if not folder.is_dir():
        raise ScenarioError(f"{folder}: there is no such folder; name one that has scenario files")
    rows = [row for file in sorted(folder.rglob("*.toml")) if (row := _titles(file)) is not None]
    _show(rows, ("file", "title"), as_json=as_json)


def _titles(file: Path) -> dict[str, str] | None:
    """Give what a scenario file says of itself; None for a file that is none, such as a sweep file."""
    from anabranch import _core

    try:
        own = _core.read_toml(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if "scenario" in own:
        return None
    return {"file": str(file), "title": str(own.get("title", "")), "description": str(own.get("description", ""))}


@app.command()
def nodes(network: Network, as_json: AsJson = False) -> None:
    """List the nodes of a network."""
    own = _read(network)
    core = own.core
    links = [0] * len(own)
    for node in core.link_source.tolist():
        links[node] += 1
    places = [place or (None, None) for place in core.positions]
    if as_json:
        rows = zip(core.node_names, links, places, strict=True)
        keys = ("name", "links", "longitude", "latitude")
        _echo([dict(zip(keys, (name, count, *place), strict=True)) for name, count, place in rows])
        return
    columns = [column.names("node", core.node_names), column.counts("links", links)]
    if any(place is not None for place in core.positions):
        columns += [
            column.labels(name, _degrees(place[at] for place in places), is_right=True, leaves=1 + at)
            for at, name in enumerate(("longitude", "latitude"))
        ]
    print_table(columns)


def _degrees(values: Iterable[float | None]) -> list[str]:
    return ["" if value is None else f"{value:.2f}" for value in values]


@app.command()
def links(network: Network, as_json: AsJson = False) -> None:
    """List the links of a network, with their ends, capacities and delays."""
    core = _read(network).core
    ends = [[core.node_names[end] for end in own.tolist()] for own in (core.link_source, core.link_target)]
    capacities = [None if math.isinf(bps) else bps for bps in core.capacity_bps.tolist()]
    delays = core.delay_s.tolist()
    if as_json:
        keys = ("name", "source", "target", "capacity_bps", "delay_s")
        _echo(
            [dict(zip(keys, row, strict=True)) for row in zip(core.link_names, *ends, capacities, delays, strict=True)]
        )
        return
    columns = [
        column.names("link", core.link_names),
        column.names("from", ends[0], leaves=3),
        column.names("to", ends[1], leaves=2),
        column.rates("capacity", capacities),
    ]
    print_table([*columns, column.times("delay", delays, leaves=1)] if any(delays) else columns)


def _read(file: Path) -> Any:
    from anabranch.commands.inputs import load_network

    # Links without a capacity are listed too.
    return load_network(file, math.inf, None, None)


def _first_line(function: Any) -> str:
    """Give the first sentence of what a function does, as a table has it."""
    return str(function.__doc__).partition("\n")[0].rstrip(".")


def _show(rows: Sequence[dict[str, Any]], shown: Sequence[str], *, as_json: bool, leaving: Sequence[str] = ()) -> None:
    """Print rows as JSON, or some of their keys as a table: names whole, other texts broken where room is little."""
    if as_json:
        _echo(rows)
        return
    columns: list[Column] = []
    for key in shown:
        texts = [", ".join(value) if isinstance(value := row[key], list) else str(value) for row in rows]
        leaves = leaving.index(key) + 1 if key in leaving else 0
        make = column.labels if key == shown[0] else column.words
        columns.append(make(key, texts, leaves=leaves))
    print_table(columns, most=PIPED)


def _echo(rows: Sequence[dict[str, Any]]) -> None:
    typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
