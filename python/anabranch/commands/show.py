"""``anabranch show``: the lines and flows of a proxy, a relay or an exit that runs."""

from __future__ import annotations

import json
import time
from http.client import HTTPException
from typing import TYPE_CHECKING, Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import typer

from anabranch import _core
from anabranch.commands.tables.column import Column, counts, labels, names, rates, shares, times
from anabranch.commands.tables.table import print_table
from anabranch.commands.text import printable
from anabranch.errors import ScenarioError
from anabranch.number_labels import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterable

HELP = """Show the lines and flows of a proxy, a relay or an exit that runs.

It was started with --watch ADDRESS:PORT. Rates are means of the time of --seconds.
"""

PATIENCE_S = 5.0
"""The longest wait for an answer."""

MOST_BYTES = 32 << 20
"""An answer is no longer."""

BITS = 8
"""Bits of a byte."""

NOT_FOUND = 404


def command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS:PORT", help="The address of --watch.")],
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="Time over which rates are measured.")] = 1.0,
    flows: Annotated[int, typer.Option(min=1, max=10_000, help="The most flows that are shown.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, without rates.")] = False,
) -> None:
    """Run `HELP`."""
    before = asked(address, "status")
    if as_json:
        typer.echo(json.dumps(before | asked(address, f"flows?limit={flows}"), ensure_ascii=False))
        return
    time.sleep(seconds)
    now, opened = asked(address, "status"), asked(address, f"flows?limit={flows}")
    word = "to" if now["kind"] == "proxy" else "at"
    typer.echo(printable(f"{now['kind']} {word} {now['url']}, {now['control']}"))
    show_peers(before, now)
    show_flows(opened)


def asked(address: str, what: str) -> dict[str, Any]:
    """Ask a program."""
    url = f"http://{address.removeprefix('http://').rstrip('/')}/api/v1/{what}"
    try:
        # A proxy that programs are told to use is not asked: it may be this one.
        with build_opener(ProxyHandler({})).open(url, timeout=PATIENCE_S) as answer:
            text = answer.read(MOST_BYTES)
    except HTTPError as error:
        raise ScenarioError(f"{url} refuses: {problem(error)}") from error
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        said = f"nobody answers at {url}: {printable(str(reason))}; was it started with --watch {address}?"
        raise ScenarioError(said) from error
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ScenarioError(f"{url} does not answer as a proxy or an exit does")
    return found


def problem(error: HTTPError) -> str:
    """Say what is wrong with a question, as the program says it."""
    try:
        detail = json.loads(error.read(MOST_BYTES))["detail"]
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        detail = None
    if error.code == NOT_FOUND or not isinstance(detail, str):
        return "it is no proxy, relay or exit; `anabranch agent show` asks an agent"
    return printable(detail)


def show_peers(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Show the lines of all peers, and the clients without lines."""
    span_s = now["time_s"] - before["time_s"]
    old = {(peer["peer"], line["line"]): line for peer in before["peers"] for line in peer["lines"]}
    rows = [(peer, line) for peer in now["peers"] for line in peer["lines"]]

    def rate(peer: dict[str, Any], line: dict[str, Any], of: str) -> float | None:
        if line["state"] == "down":
            return None
        last = old.get((peer["peer"], line["line"]), line)[of]
        # What was opened again counts from nothing.
        return float(BITS * (line[of] - last if line[of] >= last else line[of]) / span_s)

    if rows:
        typer.echo()
        is_proxy = now["kind"] == "proxy"
        print_table(
            [
                *([] if is_proxy else [names("peer", [peer["peer"] for peer, _ in rows])]),
                names("path", [line["path"] + _terms(line) for _, line in rows]),
                labels("state", [line["state"] for _, line in rows]),
                rates("receives", [rate(peer, line, "received_bytes") for peer, line in rows]),
                rates("sends", [rate(peer, line, "sent_bytes") for peer, line in rows]),
                times("round trip", [line["rtt_s"] if line["state"] != "down" else None for _, line in rows]),
                sizes("window", [line["window_bytes"] or None for _, line in rows], leaves=2),
                shares("lost", [lost(line) for _, line in rows], leaves=1),
                counts("opened", [line["openings"] for _, line in rows], leaves=3),
            ]
        )
    others = [peer for peer in now["peers"] if not peer["lines"]]
    if others:
        typer.echo()
        print_table(
            [
                names("client", [peer["peer"] for peer in others]),
                labels("token", ["shown" if peer["is_known"] else "not shown" for peer in others]),
                counts("flows", [peer["open_flows"] for peer in others]),
            ]
        )
    for reason in sorted({line["reason"] for _, line in rows if "reason" in line}):
        typer.echo(f"down: {printable(reason)}", err=True)


def sizes(heading: str, values: Iterable[int | None], *, leaves: int = 0) -> Column:
    """Give a column of sizes, each with its unit, None for an empty cell."""
    cells = ["" if value is None else bytes_text(value) for value in values]
    return labels(heading, cells, is_right=True, leaves=leaves)


def lost(line: dict[str, Any]) -> float | None:
    """Give the part of packets that was lost."""
    sent, lost = int(line["sent_packets"]), int(line["lost_packets"])
    return lost / sent if sent else None


def show_flows(opened: dict[str, Any]) -> None:
    """Show flows that are open."""
    rows = opened["flows"]
    if not rows:
        typer.echo("\nno flow is open")
        return
    typer.echo()
    print_table(
        [
            names("target", [row["target"] for row in rows]),
            labels("kind", [row["kind"] for row in rows]),
            sizes("to target", [row["to_target_bytes"] for row in rows]),
            sizes("from target", [row["from_target_bytes"] for row in rows]),
            sizes("waiting", [row["waiting_bytes"] for row in rows], leaves=1),
            times("age", [max(0, round(opened["time_s"] - row["begun_s"])) for row in rows], leaves=2),
            labels("lines", [",".join(map(str, sorted(set(row["lines"])))) for row in rows], leaves=3),
        ]
    )
    if opened["count"] > len(rows):
        typer.echo(f"and {opened['count'] - len(rows)} more; --flows shows more")


def _terms(line: dict[str, Any]) -> str:
    """Say what of a line is not as it is with others."""
    said = [
        "backup" if line["is_backup"] else None,
        None if line.get("weight", 1) == 1 else f"weight {line['weight']:g}",
        None if line.get("group", 0) == 0 else f"group {line['group']}",
        f"at most {_core.format_rate(line['most_bps'])}" if "most_bps" in line else None,
    ]
    return "".join(f", {text}" for text in said if text is not None)
