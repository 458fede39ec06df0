"""``anabranch reproduce``: the numbers of papers, compared with ours."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.commands.exit_codes import DOES_NOT_HOLD, INTERRUPTED
from anabranch.commands.figures import Font, Width, figure_choice
from anabranch.commands.places import Force, check_output, replaced
from anabranch.commands.progress import runs_bar
from anabranch.commands.reproduced import print_rows
from anabranch.errors import ScenarioError
from anabranch.folder import put_file
from anabranch.reproduce.experiment import find_experiments
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.report import reproduce_all, reproduce_to
from anabranch.reproduce.reproduction import reproduce_with
from anabranch.reproduce.rows import ReproductionInterrupted, Row, Rows
from anabranch.reproduce.settings import Settings

HELP = """Reproduce a published result: compare every printed number and claim with ours.

A number is judged by the published one, with the paper's own margin; a claim is tested as the paper states it. The
verdict of each row is on record in the experiment. The exit code is 3 if one has changed. The summary counts what comes
out, under which reading of the paper, and what does not, with the cause. --mutate judges each row again with wrong
numbers and with those of a rival; the exit code is 3 if a row that comes out does not turn.

--set and --seeds run the simulations of all items with other values or seeds than the experiments' own. With --scale
below 1 large networks are smaller, with fewer random connections and hosts over slower links; such numbers are shown
but not judged, since the paper's networks have another size.

--live also runs with real packets, one after the other in real time, the runs that fit a laboratory, as
`anabranch live` does. A column has the number, that of a simulation of the same network, the verdict, and whether
packets were on time. No such verdict is on record, since laboratories vary.

--report writes a page to look at (index.html), the same as Markdown and JSON, and the figures. --all reproduces all
papers, one after the other. The report has each table or figure as soon as it is done. Ctrl-C ends the command: what is
done is printed, and is in the report; both say what is not. Exit code 130.
"""


def command(
    name: Annotated[str | None, typer.Argument(help="Paper, such as upward-max-min.")] = None,
    item: Annotated[str | None, typer.Argument(help="Table or figure, such as table-7. Default: all.")] = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="Print readings, causes and notes of the rows below each table.")
    ] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Print the summary alone.")] = False,
    all_papers: Annotated[bool, typer.Option("--all", help="Reproduce all papers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON instead.")] = False,
    out: Annotated[Path | None, typer.Option("--report", help="New folder for a report with the figures.")] = None,
    figure_width: Width = None,
    figure_font: Font = None,
    force: Force = False,
    scale: Annotated[
        float,
        typer.Option(help="Factor for the size of large networks, for a quick look; rows are not judged."),
    ] = 1.0,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Value in place of that in all simulated scenarios."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Run each simulation with seeds 1 to N, in place of the experiment's own.")
    ] = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Also judge each row with wrong numbers, and list rows that do not turn.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Also run with real packets, and judge, what fits a lab. Needs root.")
    ] = False,
    readmes: Annotated[
        bool, typer.Option("--readmes", help="Write README.md of experiments from README.in, with the numbers found.")
    ] = False,
    experiments: Annotated[
        Path | None, typer.Option(help="Folder of experiments. Default: ./experiments, or that of the source checkout.")
    ] = None,
) -> None:
    """Run `HELP`."""
    if all_papers != (name is None):
        raise ScenarioError("say what to reproduce: name a paper, such as upward-max-min, or give --all instead")
    if readmes and (sets or seeds is not None or scale != 1.0):
        raise ScenarioError(
            "READMEs have the numbers of the experiments' own settings; leave out --set, --seeds, --scale"
        )
    check_output(out, force=force)
    choice = figure_choice(None, figure_width, figure_font, without="--report FOLDER" if out is None else None)
    settings = Settings(scale, tuple(sets or ()), seeds, mutate=mutate, live=live)
    with replaced(out, force=force), choice.drawn():
        found, stopped = _run(name, item, out, settings=settings, experiments=experiments)
    if as_json:
        typer.echo(json.dumps([_plain(rows, row) for rows in found for row in rows.with_rest], indent=1))
    else:
        for rows in found:
            print_rows(rows, with_paper=name is None, with_notes=notes, is_brief=brief)
    if readmes:
        for rows in found:
            for file, text in rows.readmes.items():
                put_file(text, file)
    if stopped is not None:
        there = f"; their report is in {out}" if out is not None and out.exists() else ""
        typer.echo(f"anabranch: {stopped}{there}", err=True)
        raise typer.Exit(INTERRUPTED)
    is_other = not settings.text and any(row.is_changed for rows in found for row in rows)
    if is_other or any(rows.unturned for rows in found):
        raise typer.Exit(DOES_NOT_HOLD)


def _run(
    name: str | None, item: str | None, out: Path | None, *, settings: Settings, experiments: Path | None
) -> tuple[list[Rows], ReproductionInterrupted | None]:
    """Reproduce a paper, or all; give what was found, and what is to be said if Ctrl-C came."""
    found: list[Rows] = []
    try:
        with runs_bar() as tell:
            if name is None:
                found.extend(reproduce_all(out, settings=settings, experiments=experiments, progress=tell))
            elif out is not None:
                found.append(reproduce_to(out, name, item, settings=settings, experiments=experiments, progress=tell))
            else:
                found.append(
                    reproduce_with(settings, name, item, experiments=experiments, progress=tell, each_item=_forget)
                )
    except ReproductionInterrupted as stopped:
        later = [] if name is not None else _not_begun([*found, stopped.rows], experiments)
        return [*found, stopped.rows, *later], stopped
    except KeyboardInterrupt:
        if name is not None:
            raise
        # It came between two papers.
        first, *later = _not_begun(found, experiments) or [Rows()]
        return [*found, first, *later], ReproductionInterrupted(first)
    return found, None


def _forget(*_: object) -> None:
    """Take what figures are drawn from, and keep nothing of it."""


def _not_begun(found: list[Rows], experiments: Path | None) -> list[Rows]:
    """Give the papers that were not begun, with all that is to be done of them."""
    begun = [rows.paper for rows in found]
    later = [Rows(paper=paper) for paper in read_papers(find_experiments(experiments)).values() if paper not in begun]
    for rows in later:
        assert rows.paper is not None, "it was given"
        rows.not_done = list(rows.paper.items)
    return later


def _plain(rows: Rows, row: Row) -> dict[str, Any]:
    """Give a row as plain data, with the paper that it is of."""
    return {"paper": rows.paper.name if rows.paper else "", **asdict(row)}
