"""``anabranch agent``: the agent of a node, which grants rates to its applications."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from anabranch import _core
from anabranch.agents.files import issue_application, make_network
from anabranch.commands.exit_codes import FAILED
from anabranch.commands.inputs import Capacity, Delay, Format, Input, load_network
from anabranch.commands.subcommands import SubCommands
from anabranch.commands.tables.column import counts, labels, names, numbers, rates
from anabranch.commands.tables.table import print_table
from anabranch.errors import NoLivePartError, ScenarioError

app = typer.Typer(
    cls=SubCommands,
    help="""Run the agent of a node, which grants rates to its applications.

    An agent acts for the links that leave its node. The agents of a network speak to each other, and find the rates
    that are fair under d-SLEN or SLBN. The file of --config says what the agent acts for, where its neighbours are, and
    who may ask.
    """,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)

LOOK_S = 0.2
"""The time after which an interruption is noticed."""

Config = Annotated[Path, typer.Option("--config", help="The file of the agent.")]


@app.callback()
def run(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="The file of the agent that is to run.")] = None,
) -> None:
    """Run an agent, if no other command is named."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise typer.BadParameter("name the file of the agent, such as --config agent.toml")
    node, protocol, _, neighbours, sessions = read(config)
    agent = _core.Agent(config)
    typer.echo(f"the agent of {node} runs under {protocol}, with {counted(neighbours, 'neighbour')}", err=True)
    if sessions:
        typer.echo(f"{counted(sessions, 'session')} always there: {', '.join(sessions)}", err=True)
    try:
        while not agent.wait(LOOK_S):
            pass
    except KeyboardInterrupt:
        typer.echo("the agent ends", err=True)
    finally:
        agent.stop()


@app.command()
def init(
    input: Input,
    out: Annotated[Path, typer.Option(help="New folder for the files.")],
    address: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE=IP[:PORT]", help="Address at which neighbours call a node. For each node."),
    ] = None,
    protocol: Annotated[str, typer.Option(help="d-slen or slbn.")] = "d-slen",
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the certificates of agents last.")] = 365,
    capacity: Capacity = None,
    delay: Delay = None,
    format: Format = None,
) -> None:
    """Make the files and certificates of all agents of a network."""
    network = load_network(input, capacity, delay, format)
    folders = make_network(network, out, dict(map(named, address or [])), protocol=protocol, days=days)
    for folder in folders:
        typer.echo(out / folder)
    typer.echo(f"copy each folder to its node; keep {out / 'authority-key.pem'} where nobody else reads it", err=True)


@app.command()
def issue(
    folder: Annotated[Path, typer.Argument(help="The folder that `anabranch agent init` wrote.")],
    name: Annotated[str, typer.Argument(help="The name of the application.")],
    out: Annotated[Path, typer.Option(help="New file for the certificate and its key.")],
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the certificate lasts.")] = 365,
) -> None:
    """Issue a certificate for an application."""
    issue_application(folder, name, out, days=days)
    typer.echo(out)


@app.command()
def check(config: Config) -> None:
    """Check the file of an agent without running it."""
    node, protocol, _, neighbours, sessions = read(config)
    typer.echo(f"{node}: {protocol}, {counted(neighbours, 'neighbour')}, {counted(sessions, 'session')}")


@app.command()
def show(
    config: Config,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the neighbours, sessions and links of an agent that runs on this machine."""
    _, _, state, _, _ = read(config)
    try:
        answer = _core.ask_agent(state, "show")
    except OSError as error:
        typer.echo(f"anabranch: {error}; does the agent run?", err=True)
        raise typer.Exit(FAILED) from error
    if as_json:
        typer.echo(answer)
        return
    shown = json.loads(answer)
    neighbours, sessions = shown["neighbours"], shown["sessions"]
    print_table(
        [
            names("neighbour", [row["node"] for row in neighbours]),
            labels("state", [row["state"] for row in neighbours]),
            counts("messages waiting", [row["waiting"] for row in neighbours]),
        ]
    )
    if sessions:
        typer.echo()
        print_table(
            [
                counts("session", [row["number"] for row in sessions]),
                labels("state", [row["state"] for row in sessions]),
                numbers("weight", [row["weight"] for row in sessions], leaves=1),
                rates("demand", [row["demand_bps"] for row in sessions]),
                rates("rate", [row["rate_bps"] for row in sessions]),
                labels("paths", [working(row["paths_bps"]) for row in sessions], is_right=True),
            ]
        )


def working(paths_bps: list[float | None]) -> str:
    """Say how many of the paths work."""
    return f"{sum(path is not None for path in paths_bps)} of {len(paths_bps)}"


def read(config: Path) -> tuple[str, str, Path, list[str], list[str]]:
    """Read the file of an agent."""
    try:
        return _core.agent_config(config)
    except ValueError as error:
        raise ScenarioError(str(error)) from error


def named(text: str) -> tuple[str, str]:
    """Take NODE=ADDRESS apart."""
    node, sign, address = text.rpartition("=")
    if not sign or not node or not address:
        raise typer.BadParameter(f"{text}: it must be NODE=IP or NODE=IP:PORT, such as 'Paris=192.0.2.7'")
    return node, address


def counted(items: list[str], noun: str) -> str:
    """Give a number with its noun."""
    return f"1 {noun}" if len(items) == 1 else f"{len(items)} {noun}s"
