"""``anabranch paths``: the paths of connections, which of them may share a bottleneck, and their filters."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import polars as pl
import typer

from anabranch.commands.inputs import (
    Delay,
    Format,
    Input,
    InputNodes,
    NetworkId,
    PathCount,
    PathKind,
    PathMetric,
    load_network,
    load_problem,
)
from anabranch.commands.of_scenario import MOST_SEED
from anabranch.commands.progress import PathCounter, progress_bar
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table, print_text
from anabranch.commands.text import more_text, printable
from anabranch.errors import ScenarioError, did_you_mean
from anabranch.model.demands import demands as make_demands
from anabranch.model.filters import filters
from anabranch.model.paths import DEFAULT_PATHS, Paths, find_paths, groups
from anabranch.model.search import Kind, Metric
from anabranch.solvers.problem_files import FIRST_SEED, RULES

if TYPE_CHECKING:
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network

HELP = """Find the paths of connections, and say which of them may share a bottleneck.

Prints a row for each path: its connection, its number of links, and its nodes. Paths of one group share links, directly
or through other paths of the group; a congestion control must couple them.

Connections are those of --demands, of the input, or with --sources and --target one from each source to one receiver:
these are numbered together, as in a topology manager's answer to a request for an item that several sources have.
"""

DEFAULT_ROWS = 20


def command(
    input: Input,
    demands: Annotated[
        str | None,
        typer.Option(metavar="FILE|RULE", help="CSV, SNDlib, or a rule: gravity:RATE, uniform:RATE, hot-spots:RATE."),
    ] = None,
    sources: Annotated[
        str | None,
        typer.Option(metavar="NODES", help="Instead of --demands: nodes that have the data, separated by commas."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NODE", help="With --sources: the node that receives the data.")
    ] = None,
    delay: Delay = None,
    format: Format = None,
    network_id: NetworkId = None,
    nodes: InputNodes = None,
    paths: PathCount = None,
    path_kind: PathKind = None,
    metric: PathMetric = None,
    with_groups: Annotated[
        bool, typer.Option("--groups", help="Number the groups of paths that share links; implied by --sources.")
    ] = False,
    sharing: Annotated[
        Literal["links", "nodes"] | None,
        typer.Option(help="What paths of a group share: links, or also nodes on the way. With --groups."),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(metavar="LINKS", help="Links that do not count as shared, separated by commas. With --groups."),
    ] = None,
    with_filters: Annotated[
        bool, typer.Option("--filters", help="Make LIPSIN filters: print fill, expected and actual stray links.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MOST_SEED,
            help="Seed of demands made by a rule, and of the identities of links for --filters; 1 if not given.",
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=0, help="Rows to print; 0 for all.")] = DEFAULT_ROWS,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON instead.")] = False,
) -> None:
    """Run `HELP`."""
    # Capacities make no difference to paths, so a network without them will do.
    topology = {"capacity": math.inf, "delay": delay, "format": format, "network_id": network_id, "nodes": nodes}
    if not (with_groups or sources is not None) and (sharing is not None or without is not None):
        raise ScenarioError("--sharing and --without say what makes a group; give --groups too")
    # With filters the seed is of their identities too, so there is always something that it changes.
    of_demands = seed if not with_filters or _is_rule(demands) else None
    network, wanted = _read(input, demands, sources, target, of_demands, topology)
    found = _find(wanted, paths, path_kind, metric)
    grouped = None
    if with_groups or sources is not None:
        names = _names("--without", without) if without is not None else []
        _refuse_unknown_links(network, names)
        grouped = groups(found, sharing=sharing or "links", without=names, together=sources is not None)
    table = _table(found, grouped, (FIRST_SEED if seed is None else seed) if with_filters else None)
    if as_json:
        typer.echo(_json(network, found, table))
    else:
        _print(found, table, rows)


def _is_rule(demands: str | None) -> bool:
    return (demands or "").partition(":")[0] in RULES


def _read(
    input: Any, demands: str | None, sources: str | None, target: str | None, seed: int | None, topology: dict[str, Any]
) -> tuple[Network, Demands]:
    if sources is None and target is None:
        return load_problem(input, demands, seed, topology)
    if sources is None or target is None:
        raise ScenarioError("--sources and --target name the ends of paths; give both")
    if seed is not None:
        raise ScenarioError(f"--seed {seed}: it is for demands by a rule and for --filters; leave it out")
    if demands is not None:
        raise ScenarioError("--demands and --sources both say which connections there are; give one of them")
    network = load_network(input, **topology)
    names = _names("--sources", sources)
    if target in names:
        raise ScenarioError(f"--target {target}: it is one of the sources, where no path is needed; leave it out there")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ScenarioError(f"--sources {sources}: `{twice[0]}` stands there twice; name each node once")
    return network, make_demands(network, names, [target] * len(names))


def _names(option: str, text: str) -> list[str]:
    """Take names apart that stand with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise ScenarioError(f"{option} {text}: a name is empty; write names with single commas between them")
    return names


def _refuse_unknown_links(network: Network, names: list[str]) -> None:
    known = network.core.link_names
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ScenarioError(f"--without {name}: there is no link `{name}`{hint}; `anabranch list links` names all")


def _find(wanted: Demands, count: int | None, kind: Kind | None, metric: Metric | None) -> Paths:
    """Give the paths of the input, unless an option asks for others."""
    if wanted.paths is not None and count is None and kind is None and metric is None:
        return wanted.paths
    with progress_bar() as tell:
        done = PathCounter(tell, len(wanted))
        return find_paths(
            wanted, count or DEFAULT_PATHS, kind=kind or "shortest", metric=metric or "hops", progress=done
        )


def _table(paths: Paths, grouped: np.ndarray[Any, np.dtype[np.uint32]] | None, seed: int | None) -> pl.DataFrame:
    """Give a row for each path, with its group if `grouped` and what is known of its filter if `seed` is given."""
    names = np.array(paths.demands.core.names, dtype=object)
    columns: dict[str, Any] = {
        "connection": pl.Series(names[paths.connection].tolist(), dtype=pl.String),
        "links": np.diff(paths.path_offsets),
    }
    if grouped is not None:
        columns["group"] = grouped
    table = pl.DataFrame(columns)
    if seed is not None:
        table = pl.concat([table, filters(paths, seed=seed)], how="horizontal")
    return table.with_columns(paths.nodes())


def _json(network: Network, paths: Paths, table: pl.DataFrame) -> str:
    links = network.core.link_names
    rows = table.drop("path").rename({"links": "link_count"}).to_dicts()
    for number, row in enumerate(rows):
        own = paths.path_links[paths.path_offsets[number] : paths.path_offsets[number + 1]]
        row["links"] = [links[link] for link in own]
    names = paths.demands.core.names
    return json.dumps({"paths": rows, "without_path": [names[c] for c in paths.without]}, indent=1)


def _print(paths: Paths, table: pl.DataFrame, rows: int) -> None:
    shown = table.head(rows) if rows else table
    columns = [column.names("connection", shown["connection"])]
    if "group" in table.columns:
        columns.append(column.counts("group", shown["group"]))
    columns.append(column.counts("links", shown["links"], leaves=1))
    if "strays" in table.columns:
        columns += [
            column.numbers("fill", shown["fill"], leaves=2),
            column.numbers("strays expected", shown["expected_strays"], digits=2, leaves=3),
            column.counts("taken", shown["strays"]),
        ]
    columns.append(column.words("path", shown["path"]))
    print_table(columns)
    if left := len(table) - len(shown):
        typer.echo(more_text(left))
    typer.echo()
    for line in _summary(paths, table):
        print_text(line)


def _summary(paths: Paths, table: pl.DataFrame) -> list[str]:
    connections = len(paths.demands)
    lines = [f"{_count(len(table), 'path')} of {_count(connections, 'connection')}"]
    if "strays" in table.columns:
        strays, links = int(table["strays"].sum()), int(table["links"].sum())
        lines.append(f"a packet on each path takes {_count(links, 'link')} of paths and {strays} beside them")
        if too_long := table["strays"].null_count():
            lines.append(f"{_count(too_long, 'path')} too long for a filter")
    if len(paths.without):
        names = [printable(paths.demands.core.names[c]) for c in paths.without[:3]]
        more = ", ..." if len(paths.without) > 3 else ""
        lines.append(f"{_count(len(paths.without), 'connection')} without a path: {', '.join(names)}{more}")
    return lines


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
