"""What a fetch says at its end: what came from where, how fast, and what shows that the file is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from anabranch.commands.fetch_progress import SILENT_S
from anabranch.commands.text import printable, rate_text
from anabranch.number_labels import bytes_text
from anabranch.transfer.fetched import WEAK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.transfer.fetched import Fetched

NOTHING = {
    "awaited": "it had not answered by then",
    "preparing": "it was still reading the file",
    "waiting": "it was not asked for anything",
    "sending": "the others were faster",
}
"""The reason why a source has brought nothing, by how it stood at the end."""


def print_summary(fetched: Fetched) -> None:
    """Print what came from where, how fast, and the hashes of the file."""
    typer.echo(f"{fetched.path}: {amount(fetched)}")
    for source in fetched.state.sources:
        reason = remark(source)
        why = f" ({printable(reason)})" if reason else ""
        typer.echo(f"  {source['source']}: {bytes_text(source['brought_bytes'])}{why}")
        for path in source["paths"]:
            where = "from the file" if source["is_mirror"] else "on the wire"
            carried = f"{bytes_text(path['received_bytes'])} {where}, rtt {1e3 * path['rtt_s']:.1f} ms"
            typer.echo(f"    {path['path']}: {carried}")
    for line in proof(fetched):
        typer.echo(f"  {line}")


def print_line(fetched: Fetched) -> None:
    """Print one line on a file of several."""
    typer.echo(f"{fetched.path}: {amount(fetched)}")


def print_total(all_fetched: Sequence[Fetched], time_s: float) -> None:
    """Print the sum of several files."""
    size = sum(fetched.size_bytes for fetched in all_fetched)
    came = size - sum(fetched.was_there_bytes for fetched in all_fetched)
    files = "1 file" if len(all_fetched) == 1 else f"{len(all_fetched)} files"
    rate = rate_text(8 * came / max(time_s, 1e-9))
    typer.echo(f"{files}, {bytes_text(size)}; {bytes_text(came)} came in {time_s:.2f} s, {rate}")


def amount(fetched: Fetched) -> str:
    """Give the size of a file, what of it came, and how fast."""
    came = fetched.size_bytes - fetched.was_there_bytes
    there = f", {bytes_text(fetched.was_there_bytes)} of it were there" if fetched.was_there_bytes else ""
    rate = f"{bytes_text(came)} in {fetched.state.time_s:.2f} s, {rate_text(fetched.rate_bps)}"
    return f"{bytes_text(fetched.size_bytes)}{there}; {rate}"


def remark(source: dict[str, Any]) -> str:
    """Say what was wrong with a source; nothing if nothing was."""
    whole = source["takes_ranges"] is False and source["brought_bytes"] > 0
    parts = [
        "it sends no parts of files: the whole file comes from one mirror" if whole else "",
        _loss(source),
    ]
    return "; ".join(part for part in parts if part)


def _loss(source: dict[str, Any]) -> str:
    """Say whether and why a source was lost, or brought nothing."""
    if source["why"]:
        return f"{source['standing']}: {source['why']}"
    if source["standing"] == "sending" and source["silence_s"] >= SILENT_S:
        return f"silent for the last {source['silence_s']:.1f} s"
    if not source["brought_bytes"]:
        return NOTHING.get(source["standing"], "")
    times = "once" if source["losses"] == 1 else f"{source['losses']} times"
    return f"lost {times}, and connected again" if source["losses"] else ""


def proof(fetched: Fetched) -> list[str]:
    """Say what shows that the file is right, and its hashes."""
    lines = [f"{name} {digits}" for name, digits in fetched.hashes.items()]
    given = {hash_.partition(":")[0] for hash_ in fetched.given}
    if fetched.proof == "nothing":
        return [*lines, "not verified: no hash was given; compare these with one that you trust"]
    if given and given <= WEAK and fetched.proof == "whole":
        weak = " and ".join(sorted(given))
        return [*lines, f"verified by {weak} alone, which shows damage, but not malice"]
    parts = {"tree": ["each chunk by blake3"], "pieces": ["each piece by the Metalink file"], "whole": []}[
        fetched.proof
    ]
    beside = given - ({"blake3"} if fetched.proof == "tree" else set())
    if beside:
        parts.append(f"the whole by {' and '.join(sorted(beside))}")
    return [*lines, f"verified: {', '.join(parts)}"]
