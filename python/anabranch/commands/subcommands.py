"""The help of commands that have commands of their own."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

LONGEST = 1000
"""More letters than the first sentence of any help has."""


class SubCommands(TyperGroup):
    """A command whose help has the first sentence of each of its commands, on as many lines as it takes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the section of the commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, own.get_short_help_str(LONGEST)) for name, own in found if own is not None and not own.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
