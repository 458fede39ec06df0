"""The report of a reproduction: a folder with a page, its rows as Markdown and JSON, and figures with their numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import StorageError
from anabranch.folder import check_new, check_place, new_folder, not_written, put_file
from anabranch.reproduce.report.paper import paper_page
from anabranch.reproduce.report.table import RIGHT, cell_text, columns, seeds_note
from anabranch.reproduce.reproduction import reproduce_with
from anabranch.reproduce.rows import Rows, item_name
from anabranch.reproduce.settings import Settings
from anabranch.reproduce.spec.verdict import GOOD
from anabranch.reproduce.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anabranch.reproduce.figures.kind import GatheredFigure
    from anabranch.reproduce.reproduction import Progress
    from anabranch.reproduce.rows import Row, SimulationCost


def report(rows: Iterable[Row], folder: str | Path) -> None:
    """Write rows and figures to a new folder.

    ``index.html`` is a page to look at, ``report.md`` has its contents as Markdown, ``rows.json`` the rows as data.
    Each figure is there as SVG and PNG, with its numbers as CSV.

    Parameters
    ----------
    rows : Rows or iterable of Row
        From `anabranch.reproduce.reproduce`; a plain list gives no figures.

    Raises
    ------
    ScenarioError
        The folder exists or cannot be made.
    """
    own = rows if isinstance(rows, Rows) else Rows(rows)
    with new_folder(folder) as aside:
        for figure in own.figures:
            figure.write(aside)
        _write_pages(own, aside)


def reproduce_to(
    folder: str | Path,
    name: str,
    item: str | None = None,
    *,
    settings: Settings | None = None,
    experiments: str | Path | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Reproduce a paper, or a table or figure of it, and write its report, as `report` does.

    The report grows with each table or figure, and keeps these if a later one fails or is stopped. Its pages name the
    items that are not done.

    Parameters
    ----------
    folder : path
        A new folder, made when the first table or figure is done.
    settings : Settings, optional
        Smaller networks, other values, other seeds than the experiments' own.
    name, item, experiments, progress
        As for `anabranch.reproduce.reproduce`.

    Raises
    ------
    ScenarioError
        The folder exists or cannot be made; an unknown paper or item; a mistake in an experiment's files.
    StorageError
        The report cannot be written; the parts written before stay.
    ReproductionInterrupted
        Ctrl-C; a KeyboardInterrupt with the rows of the tables and figures that are done.
    """
    place = Path(folder)
    check_new(place)
    check_place(place)

    def put(rows: Rows, figures: list[GatheredFigure]) -> None:
        try:
            place.mkdir(parents=True, exist_ok=True)
            for figure in figures:
                figure.write(place)
            _write_pages(rows, place)
        except OSError as error:
            told = not_written(place, error, "check the folder and the rights")
            raise StorageError(f"{told}; what was written before is there", error) from error

    given = settings or Settings()
    return reproduce_with(given, name, item, experiments=experiments, progress=progress, each_item=put)


def _write_pages(rows: Rows, folder: Path) -> None:
    text = json.dumps([asdict(row) for row in rows.with_rest], indent=1, ensure_ascii=False)
    put_file(text + "\n", folder / "rows.json")
    put_file(_markdown(rows), folder / "report.md")
    put_file(paper_page(rows), folder / "index.html")


def _markdown(rows: Rows) -> str:
    lines = ["# Published and ours", "", "\n\n".join(f"{line}." for line in summary(rows).splitlines())]
    for item in dict.fromkeys(row.item for row in rows):
        lines += ["", f"## {item_name(item)}", "", *_table([r for r in rows if r.item == item])]
        for figure in (f for f in rows.figures if f.item == item):
            lines += _figure(figure)
    return "\n".join([*lines, *_made(rows.made)]) + "\n"


def _table(rows: Sequence[Row]) -> list[str]:
    named = columns(rows)
    lines = ["| " + " | ".join(name for name, _ in named) + " |"]
    lines.append("|" + "|".join("---:" if name in RIGHT else "---" for name, _ in named) + "|")
    for cells in zip(*(values for _, values in named), strict=True):
        own = {name: cell_text(c).replace("|", "\\|") for (name, _), c in zip(named, cells, strict=True)}
        if own["verdict"] not in GOOD:
            own["verdict"] = f"**{own['verdict']}**"
        lines.append("| " + " | ".join(own.values()) + " |")
    note = seeds_note(rows)
    return [*lines, "", note] if note else lines


def _figure(figure: GatheredFigure) -> list[str]:
    file = figure.file
    picture = ["", f"![{figure.title}]({file}.svg)", "", figure.caption]
    return [*picture, "", f"Numbers: [{file}.csv]({file}.csv)"]


def _made(made: Sequence[SimulationCost]) -> list[str]:
    if not made:
        return []
    lines = ["", "## What the simulations took", ""]
    lines += ["| item | run | simulated | took | threads | packet-hops | a second |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|"]
    for m in made:
        times, hops = f"{m.simulated_s:g} s | {m.wall_s:.3g} s", f"{m.packet_hops:,} | {m.packet_hops / m.wall_s:.3g}"
        lines.append(f"| {m.item} | {m.run} | {times} | {m.threads} | {hops} |")
    return lines
