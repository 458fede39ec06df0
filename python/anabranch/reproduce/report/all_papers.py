"""The site over all papers: one page with the verdicts of each, which is written again after each."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.folder import check_new, check_place, put_file
from anabranch.interrupts import held_interrupts
from anabranch.reproduce.experiment import find_experiments
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.report.html import cell, framed, table
from anabranch.reproduce.report.paper import counts, counts_html
from anabranch.reproduce.report.report import reproduce_to
from anabranch.reproduce.reproduction import reproduce_with
from anabranch.reproduce.rows import ReproductionInterrupted, size_text
from anabranch.reproduce.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.reproduce.papers import Paper
    from anabranch.reproduce.reproduction import Progress
    from anabranch.reproduce.rows import Rows

TITLE = "Published results, reproduced"


@dataclass(frozen=True)
class Done:
    """The verdicts of a paper, the number of its items that are left out or not done, and the cost of simulations."""

    found: dict[str, int]
    left_out: int
    simulated_s: float
    wall_s: float
    packet_hops: int


def reproduce_all(
    folder: str | Path | None = None,
    *,
    settings: Settings | None = None,
    experiments: str | Path | None = None,
    progress: Progress | None = None,
) -> Iterator[Rows]:
    """Reproduce all papers, one after the other.

    Parameters
    ----------
    folder : path, optional
        A new folder for the site: a report of each paper as soon as it is done, and ``index.html`` over all. The
        reports stay if a later paper fails or is interrupted.
    settings : Settings, optional
        Smaller networks, other values, other seeds than the experiments' own.
    experiments, progress
        As for `anabranch.reproduce.reproduce`.

    Yields
    ------
    Rows

    Raises
    ------
    ScenarioError
        The folder exists or cannot be made; a mistake in an experiment's files.
    """
    place, given = None if folder is None else Path(folder), settings or Settings()
    papers = list(read_papers(find_experiments(experiments)).values())
    done: dict[str, Done] = {}
    if place is not None:
        check_new(place)
        check_place(place)
        place.mkdir(parents=True)
        _put_index(place, papers, done, given)
    for paper in papers:
        if place is None:
            yield reproduce_with(
                given, paper.name, experiments=experiments, progress=progress, each_item=lambda *_: None
            )
            continue
        own = place / paper.name
        try:
            rows = reproduce_to(own, paper.name, settings=given, experiments=experiments, progress=progress)
        except ReproductionInterrupted as stopped:
            if own.exists():
                done[paper.name] = _done(stopped.rows)
                _put_index(place, papers, done, given)
            raise
        done[paper.name] = _done(rows)
        # A signal must not lose the paper that has just been done.
        with held_interrupts() as interrupts:
            _put_index(place, papers, done, given)
        yield rows
        if interrupts.came:
            raise KeyboardInterrupt


def _done(rows: Rows) -> Done:
    return Done(
        counts(rows),
        len(rows.left_out) + len(rows.not_done),
        sum(made.simulated_s for made in rows.made),
        sum(made.wall_s for made in rows.made),
        sum(made.packet_hops for made in rows.made),
    )


def _put_index(folder: Path, papers: Sequence[Paper], done: dict[str, Done], settings: Settings) -> None:
    put_file(index_page(papers, done, settings), folder / "index.html")


def index_page(papers: Sequence[Paper], done: dict[str, Done], settings: Settings) -> str:
    """Give the page over all papers, which also names those that are not done yet."""
    headings = ("paper", "tables and figures", "numbers and claims", "simulated", "took", "packet-hops")
    right = headings[1:2] + headings[3:]
    lines = []
    for paper in papers:
        cells = (_name(paper, paper.name in done), *_numbers(paper, done.get(paper.name)))
        named = zip(cells, headings, strict=True)
        lines.append("<tr>" + "".join(cell(text, heading, right) for text, heading in named) + "</tr>")
    words = (
        f"<header><h1>{TITLE}</h1><p>Every table and figure, each printed number or claim beside ours. By anabranch "
        f"{escape(version('anabranch'))}; <code>anabranch reproduce --all --report FOLDER</code> makes these pages.</p>"
    )
    if settings.scale != 1.0:
        words += f"<p class='left-out'>Large networks are not of the papers' size: {size_text(settings.scale)}.</p>"
    if settings.text:
        words += f"<p class='left-out'>Run with other settings than the experiments' own: {escape(settings.text)}.</p>"
    words += "</header>"
    return framed(TITLE, words + table(headings, lines, right))


def _name(paper: Paper, is_done: bool) -> str:
    title = escape(paper.title)
    name = f'<a href="{escape(paper.name, quote=True)}/index.html">{title}</a>' if is_done else title
    words = [escape(". ".join(words for words in (paper.authors, paper.published) if words)), escape(paper.shows)]
    return name + "".join(f"<br><span class='source'>{own}</span>" for own in words if own)


def _numbers(paper: Paper, done: Done | None) -> tuple[str, ...]:
    if done is None:
        return (str(len(paper.items)), "<em>not run yet</em>", "", "", "")
    left_out = f" of {len(paper.items)}" if done.left_out else ""
    marks = counts_html(done.found)
    times = (f"{done.simulated_s:,.0f} s", f"{done.wall_s:,.0f} s", f"{done.packet_hops:,}")
    return (f"{len(paper.items) - done.left_out}{left_out}", marks, *(times if done.packet_hops else ("", "", "")))
