"""The help of commands with many options: a section for each group of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHERS = "Other options"
"""The last section, of options that are in no group."""


def grouped(groups: Mapping[str, tuple[str, ...]]) -> type[TyperCommand]:
    """Return the class of a command whose help has a section for each group of options.

    Parameters
    ----------
    groups : mapping of str to tuple of str
        The names of the options in each group, as the command's function has them, by the heading of the section.
    """

    class GroupedCommand(TyperCommand):
        """A command whose help lists its options in groups."""

        def format_options(self, ctx: Any, formatter: Any) -> None:
            """Write the arguments, then a section for each group of options."""
            sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Arguments", *groups, OTHERS)}
            heading_of = {name: heading for heading, names in groups.items() for name in names}
            for parameter in self.get_params(ctx):
                is_argument = parameter.param_type_name == "argument"
                heading = "Arguments" if is_argument else heading_of.get(parameter.name or "", OTHERS)
                if (record := parameter.get_help_record(ctx)) is not None:
                    sections[heading].append(record)
            for heading, records in sections.items():
                if records:
                    with formatter.section(heading):
                        formatter.write_dl(records)

    return GroupedCommand
