"""Draw what ``solvers.csv`` holds beside ``anchors.csv``, as docs/images/how-fair.svg and how-fast.svg.

Filled marks are ours; hollow ones are what others' programs take, without reconstructions of them.
"""

from __future__ import annotations

import csv
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from anabranch.figures.save import save
from anabranch.figures.style import COLOURS, GRID, INK, SOFT_INK

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
FAIRNESS_ON = {"uninett_k16_s640": "10,180 subflows", "uninett_k16": "85,442 subflows"}
DEMANDS = "gravity"

LOOKS = {
    "dual-simplex": ("exact max-min", 0, "o"),
    "c-SLEN from equal to 0.01": ("c-SLEN, equal start", 1, "o"),
    "c-SLEN from 0.3 to 0.01": ("c-SLEN, start 0.3", 1, "s"),
    "proportional": ("proportional", 4, "o"),
    "swan": ("SWAN", 2, "o"),
    "geometric-binner": ("geometric binner", 2, "s"),
    "equi-depth-binner": ("equi-depth binner", 2, "^"),
    "adaptive-water-filler from 0.9": ("adaptive water-filler", 3, "o"),
    "approximate-water-filler": ("approximate water-filler", 3, "s"),
    "water-filling": ("water-filling of subflows", 3, "^"),
}
"""What is drawn: a label, the number of a colour, which methods of a kind share, and a marker."""

RECONSTRUCTED = "plain program"
"""So begins what is said of anchors that are not the published programs."""

TWINS = {"max-min": "dual-simplex", "adaptive-water-filler from equal": "adaptive-water-filler from 0.9"}
"""What others measured under another name looks like ours of this name."""


def read_rows(name: str) -> list[dict[str, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def look_of(row: dict[str, str]) -> dict | None:
    """How the mark of a row looks; hollow if others measured it. None if its method is not drawn."""
    found = LOOKS.get(TWINS.get(row["method"], row["method"]))
    if found is None:
        return None
    _, number, marker = found
    colour = COLOURS[number]
    return {"color": colour, "marker": marker, "markerfacecolor": "white" if "by" in row else colour}


def draw_fairness(axes: Axes, rows: list[dict[str, str]], instance: str) -> None:
    for row in rows:
        look = look_of(row)
        is_here = (row["instance"], row["demands"]) == (instance, DEMANDS)
        if look and is_here and row["q"] and row["cpu_s"]:
            axes.plot(float(row["cpu_s"]), float(row["q"]), linestyle="none", markersize=7, **look)
    axes.set_title(f"{instance}, {FAIRNESS_ON[instance]}", size=10, color=INK, loc="left")


def draw_times(axes: Axes, rows: list[dict[str, str]], subflows: dict[str, int]) -> None:
    timed = [row for row in rows if row["demands"] == DEMANDS and row["cpu_s"] and row["instance"] in subflows]
    for method, whose in dict.fromkeys((row["method"], row.get("by")) for row in timed):
        own = [row for row in timed if (row["method"], row.get("by")) == (method, whose)]
        # Who does not come to the end is not drawn: the time says nothing.
        own = [row for row in own if row.get("is_done") != "False"]
        look = look_of(own[0]) if own else None
        if look:
            points = sorted((subflows[row["instance"]], float(row["cpu_s"])) for row in own)
            line = ":" if whose else "-"
            axes.plot(*zip(*points, strict=True), linestyle=line, linewidth=1.2, markersize=6, **look)


def dress(axes: Axes, xlabel: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.set_xlabel(xlabel, color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], linestyle="none", color=COLOURS[number], marker=marker, label=label)
        for label, number, marker in LOOKS.values()
    ]
    hollow = Line2D([], [], linestyle="none", color=SOFT_INK, marker="o", markerfacecolor="white")
    hollow.set_label("hollow: others' programs")
    figure.legend(handles=[*handles, hollow], loc="lower left", bbox_to_anchor=(0.03, 0.01), ncols=4, frameon=False)


def draw_how_fair(rows: list[dict[str, str]]) -> Figure:
    figure = Figure(figsize=(9.6, 5.0), facecolor="white")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, instance in zip(panels, FAIRNESS_ON, strict=True):
        draw_fairness(axes, rows, instance)
        dress(axes, "CPU time (s, logarithmic)")
    panels[0].set_ylabel("q: 1 is exactly max-min fair", color=INK)
    figure.suptitle("How fair after how long, demands by gravity", x=0.03, ha="left", weight="bold", color=INK)
    figure.subplots_adjust(left=0.07, right=0.98, top=0.86, bottom=0.3, wspace=0.06)
    add_legend(figure)
    return figure


def draw_how_fast(rows: list[dict[str, str]], subflows: dict[str, int]) -> Figure:
    figure = Figure(figsize=(9.6, 6.0), facecolor="white")
    axes = figure.subplots()
    draw_times(axes, rows, subflows)
    dress(axes, "subflows (logarithmic)")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylabel("CPU time (s, logarithmic)", color=INK)
    figure.suptitle("How long for how many subflows, demands by gravity", x=0.03, ha="left", weight="bold", color=INK)
    figure.subplots_adjust(left=0.09, right=0.98, top=0.92, bottom=0.26)
    add_legend(figure)
    return figure


def main() -> None:
    own = read_rows("solvers.csv")
    rows = own + [row for row in read_rows("anchors.csv") if not row["by"].startswith(RECONSTRUCTED)]
    subflows = {row["instance"]: int(row["subflows"]) for row in own if row["demands"] == DEMANDS}
    save(draw_how_fair(rows), IMAGES / "how-fair.svg")
    save(draw_how_fast(rows, subflows), IMAGES / "how-fast.svg")


if __name__ == "__main__":
    main()
