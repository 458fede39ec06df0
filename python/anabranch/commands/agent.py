"""``anabranch agent``: the agent of a node, which grants rates to its applications."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch import _core
from anabranch.agents import running
from anabranch.agents.files import door_of, issue_certificate, make_network, write_client
from anabranch.agents.unit import unit
from anabranch.commands import agent_asked
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

for command in (agent_asked.paths, agent_asked.find, agent_asked.publish):
    app.command()(command)

Config = Annotated[Path, typer.Option("--config", help="The file of the agent.")]


@app.callback()
def run(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="The file of the agent that is to run.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands that would keep traffic to rates; change nothing.")
    ] = False,
) -> None:
    """Run an agent, if no other command is named."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise typer.BadParameter("name the file of the agent, such as --config agent.toml")
    node, protocol, _, neighbours, sessions = read(config)
    if dry_run and _core.agent_enforces(config) is None:
        reason = "it keeps no traffic to rates, so there is nothing to print; write a table [enforce]"
        raise ScenarioError(f"{config}: {reason}")
    about = f"the agent of {node} runs under {protocol}, with {counted(neighbours, 'neighbour')}"
    always = f"; {counted(sessions, 'session')} always there: {', '.join(sessions)}" if sessions else ""
    try:
        end = running.run(config, about + always, dry=dry_run)
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    if end is not None:
        typer.echo(f"anabranch: {end}", err=True)
        raise typer.Exit(FAILED)


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
    name: Annotated[str, typer.Argument(help="The name of the application, or of the node with --agent.")],
    out: Annotated[Path, typer.Option(help="New file for the certificate and its key.")],
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the certificate lasts.")] = 365,
    agent: Annotated[bool, typer.Option("--agent", help="Issue it for the agent of a node.")] = False,
    client_of: Annotated[
        str | None,
        typer.Option(metavar="NODE", help="Write the file by which its holder asks the agent of a node, too."),
    ] = None,
) -> None:
    """Issue a certificate for an application, or a new one for an agent."""
    if agent and client_of is not None:
        raise ScenarioError("--agent and --client-of do not go together: agents are no clients")
    if client_of is not None:
        door_of(folder, client_of)
    issue_certificate(folder, name, out, days=days, is_agent=agent)
    typer.echo(out)
    if client_of is not None:
        file, address = write_client(folder, client_of, out)
        typer.echo(file)
        if address.startswith("127."):
            said = f"the agent of {client_of} hears applications of its own machine alone, at {address}"
            typer.echo(f"anabranch: {said}; change `applications` in its file, and `address` in {file}", err=True)


@app.command()
def check(config: Config) -> None:
    """Check the file of an agent without running it."""
    node, protocol, _, neighbours, sessions = read(config)
    for warning in _core.agent_warnings(config):
        typer.echo(f"anabranch: warning: {warning}", err=True)
    typer.echo(f"{node}: {protocol}, {counted(neighbours, 'neighbour')}, {counted(sessions, 'session')}")


@app.command()
def show(
    config: Config,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the neighbours, sessions and links of an agent that runs on this machine."""
    answer = ask(config, "show")
    if as_json:
        typer.echo(json.dumps(answer, ensure_ascii=False))
        return
    neighbours, sessions = answer["neighbours"], answer["sessions"]
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
                names("session", [called(row) for row in sessions]),
                names("to", [row["to"] for row in sessions]),
                labels("state", [row["state"] for row in sessions]),
                numbers("weight", [row["weight"] for row in sessions], leaves=1),
                rates("demand", [row.get("demand_bps") for row in sessions]),
                rates("rate", [row["rate_bps"] for row in sessions]),
                labels("paths", [working(row["paths"]) for row in sessions], is_right=True),
                names("limited by", [limits(row["paths"]) for row in sessions]),
            ]
        )
    asked = answer["asked_for"]
    if any(asked.values()):
        counted_items = f"{asked['items']} items of {asked['sources']} sources"
        typer.echo(
            f"\n{counted_items} published; {asked['finders']} programs find items, {asked['paths']} ask for paths"
        )
    if "enforcement" in answer:
        show_measured(answer["enforcement"], sessions)


def show_measured(enforcement: dict[str, Any], sessions: list[dict[str, Any]]) -> None:
    """Show what is measured beside what is granted, for each path of a session whose traffic is kept to rates."""
    rows = [(session, path) for session in sessions for path in session["paths"] if "measured" in path]
    if rows:
        typer.echo()
        measured = [path["measured"] for _, path in rows]
        print_table(
            [
                names("session", [called(session) for session, _ in rows]),
                names("path", [", ".join(path["links"]) for _, path in rows]),
                rates("granted", [path["rate_bps"] for _, path in rows]),
                rates("measured", [row["rate_bps"] for row in measured]),
                counts("waiting", [row["waiting_bytes"] for row in measured], unit="bytes"),
                counts("dropped", [row["drops"] for row in measured], unit="packets"),
            ]
        )
    if "problem" in enforcement:
        typer.echo(f"anabranch: traffic is not kept to rates as it should be: {enforcement['problem']}", err=True)


@app.command()
def reload(config: Config) -> None:
    """Let an agent that runs on this machine read its file again."""
    ask(config, "reload")


@app.command()
def drain(
    config: Config,
    wait: Annotated[float, typer.Option(min=0, max=600, help="Seconds to wait for all sessions to leave.")] = 10.0,
) -> None:
    """Make an agent ready to end: others avoid its links, and its sessions leave.

    The agent runs on, and takes no sessions; end it then with Ctrl-C or SIGTERM.
    """
    if not ask(config, f"drain {wait}", wait + 5):
        typer.echo(f"anabranch: there are still sessions after {wait:g} s; the agent goes on to drain", err=True)
        raise typer.Exit(FAILED)


@app.command("unit")
def print_unit(
    config: Config,
    user: Annotated[
        str | None, typer.Option(help="User as whom the agent runs; default: root, without its rights.")
    ] = None,
) -> None:
    """Print a unit of systemd that runs an agent."""
    if user is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", user):
        raise ValueError(f"--user: `{user}` is no name of a user")
    node, _, state, _, _ = read(config)
    enforces = _core.agent_enforces(config) == "kernel"
    typer.echo(unit(node, config, state, enforces=enforces, user=user), nl=False)


def ask(config: Path, question: str, seconds: float = 5.0) -> Any:
    """Ask the agent that runs with a file."""
    _, _, state, _, _ = read(config)
    try:
        answer = json.loads(_core.ask_agent(state, question, seconds))
    except OSError as error:
        typer.echo(f"anabranch: {error}; does the agent run?", err=True)
        raise typer.Exit(FAILED) from error
    if "error" in answer:
        typer.echo(f"anabranch: {answer['error']}", err=True)
        raise typer.Exit(FAILED)
    return answer["answer"]


def called(session: dict[str, Any]) -> str:
    """Give the name of a session with that of its application, or its number."""
    return f"{session.get('application', '')} {session.get('name', session['number'])}".strip()


def working(paths: list[dict[str, Any]]) -> str:
    """Say how many of the paths work."""
    return f"{sum(path['works'] for path in paths)} of {len(paths)}"


def limits(paths: list[dict[str, Any]]) -> str:
    """Name what limits the paths that work, each once."""
    found = [path.get("limit") for path in paths if path["works"]]
    named = ["demand" if limit == "demand" else limit["link"] for limit in found if limit is not None]
    return ", ".join(dict.fromkeys(named)) or "-"


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
