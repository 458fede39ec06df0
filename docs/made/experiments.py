"""The pages of published experiments: one for each item, and an index for each paper."""

import re
import tomllib
from pathlib import Path

from anabranch.experiment import list_experiments

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"

PAPERS = {
    "upward-max-min": ("Upward max-min fairness", "Tables 7 to 10 and figures 1 to 15 of [ludena2021]."),
    "slbn": ("SLBN", "Experiments 1 and 2 of [mozo2012], with figures 3 to 10."),
    "wvegas": ("Weighted Vegas", "Table II and figures 3 to 8 of [cao2012]."),
    "nmcc": ("Congestion control that knows the network", "Table I and figures 3 to 6 of [thomas2016]."),
    "lgcc": (
        "Growth as of a population, over chains of loops",
        "The simulated figures and the numerical part of [teymoori2023], with what it takes from [teymoori2016].",
    ),
    "acceptance": (
        "What window protocols and queue disciplines are held to",
        "Known results from several papers and RFCs, as the items name them.",
    ),
}
"""For each paper its title here, and what of it is reproduced."""

LINK = re.compile(r"\]\(\.\./([\w-]+)/README\.md\)")


def pages() -> dict[str, str]:
    """Give all pages by their files."""
    papers = list_experiments(EXPERIMENTS)
    made = {"experiments.md": _index(papers)}
    for paper, items in papers.items():
        made[f"experiments/{paper}.md"] = _paper(paper, items)
        made |= {f"experiments/{paper}/{item}.md": _item(paper, item) for item in items}
    return made


def uses(key: str, name: str) -> str:
    """List the experiments that run a protocol or a queue discipline, by paper; nothing if none does."""
    asked = re.compile(rf"""\b{key}(?:\s*=\s*["']?|\.){re.escape(name)}(?![\w-])""")
    lines = []
    for paper, items in list_experiments(EXPERIMENTS).items():
        own = [item for item in items if asked.search(_files(paper, item))]
        if own:
            links = ", ".join(f"[{item}](../experiments/{paper}/{item}.md)" for item in own)
            lines.append(f"- [{PAPERS[paper][0]}](../experiments/{paper}.md): {links}")
    return "\n".join(lines)


def _files(paper: str, item: str) -> str:
    """Give the text of an experiment and of all scenarios that it names."""
    folder = EXPERIMENTS / f"{paper}-{item}"
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    scenarios = {folder / name for name in re.findall(r'^scenario = "([^"]+)"', text, re.MULTILINE)}
    return "\n".join([text, *(file.read_text(encoding="utf-8") for file in sorted(scenarios))])


def _index(papers: dict[str, list[str]]) -> str:
    rows = [
        f"| [{PAPERS[paper][0]}](experiments/{paper}.md) | `{paper}` | {len(items)} | {PAPERS[paper][1]} |"
        for paper, items in papers.items()
    ]
    listed = "\n".join(f"experiments/{paper}" for paper in papers)
    return f"""# Published experiments

Each item is a folder below `experiments/`: what is run, what is printed, and what differs. A command runs an item, or
all of a paper, and sets what is printed beside ours: [how to reproduce](../how-to/reproduce.md) explains its rows. The
pages here say what is expected; ours comes only by running.

| paper | name | items | what |
|---|---|---:|---|
{chr(10).join(rows)}

```{{toctree}}
:hidden:

{listed}
```
"""


def _paper(paper: str, items: list[str]) -> str:
    title, what = PAPERS[paper]
    rows = []
    for item in items:
        experiment, expected = _tables(paper, item)
        command = f"`anabranch reproduce {paper} {item}`"
        rows.append(
            f"| [{item}]({paper}/{item}.md) | {experiment['title']} | {len(expected['quantity'])} | {command} |"
        )
    listed = "\n".join(f"{paper}/{item}" for item in items)
    return f"""# {title}

{what} All of it: `anabranch reproduce {paper}`.

| item | what it shows | numbers and claims | command |
|---|---|---:|---|
{chr(10).join(rows)}

```{{toctree}}
:hidden:

{listed}
```
"""


def _tables(paper: str, item: str) -> tuple[dict, dict]:
    folder = EXPERIMENTS / f"{paper}-{item}"
    experiment, expected = (
        tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in ("experiment", "expected")
    )
    return experiment, expected


def _item(paper: str, item: str) -> str:
    folder = EXPERIMENTS / f"{paper}-{item}"
    experiment, expected = _tables(paper, item)
    readme = (folder / "README.md").read_text(encoding="utf-8").strip()
    heading, _, text = readme.partition("\n")
    parts = [
        heading,
        f"```sh\nanabranch reproduce {paper} {item}\n```",
        LINK.sub(_to_page, text.strip()),
        "## What is run",
        _runs(experiment),
        "## What is compared",
        _quantities(experiment, expected),
    ]
    if figures := experiment.get("figure"):
        parts += ["## Figures it draws", _figures(item, figures)]
    parts.append(
        f"The files are in `experiments/{folder.name}`; [{PAPERS[paper][0]}](../{paper}.md) has the other items."
    )
    return "\n\n".join(parts) + "\n"


def _to_page(found: re.Match[str]) -> str:
    """Turn a link to the README of another experiment into one to its page."""
    for paper in PAPERS:
        if found[1].startswith(f"{paper}-"):
            return f"](../{paper}/{found[1].removeprefix(f'{paper}-')}.md)"
    raise ValueError(f"a README links to `{found[1]}`, which is of no paper; see PAPERS")


def _cell(text: object) -> str:
    """Put a value into a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def _runs(experiment: dict) -> str:
    rows = ["| run | method | with |", "|---|---|---|"]
    for run in experiment["run"]:
        given = [f"`{one}`" for one in run.get("set", [])]
        given += [f"`{key} = {run[key]}`" for key in ("seed", "seeds", "stop_change", "unit", "passes") if key in run]
        rows.append(f"| {run['name']} | {run['method']} | {'; '.join(given).replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def _quantities(experiment: dict, expected: dict) -> str:
    """Give a row for each number or claim: what is printed, and when ours bears it out."""
    unit = f" Rates are in {experiment['rates_in']}." if "rates_in" in experiment else ""
    rows = [
        f"A number or claim of the paper a row, and what ours is held to.{unit}",
        "",
        "| what | printed | ours is to be | note |",
        "|---|---|---|---|",
    ]
    for own in expected["quantity"]:
        printed = own.get("published", "nothing")
        if printed == "(the same)":
            printed = "as above"
        notes = [own["note"]] if "note" in own else []
        if "right" in own:
            notes.insert(0, f"a slip of the paper: {own['why']}")
        rows.append(f"| {_cell(own['name'])} | {_cell(printed)} | {_aim(own, expected)} | {_cell('; '.join(notes))} |")
    return "\n".join(rows)


def _aim(own: dict, expected: dict) -> str:
    """Say when a row is within its band."""
    if "check" in own:
        verdict = "" if own.get("borne_out", True) else "not borne out; instead "
        return f"{verdict}`{own['check']}`".replace("|", "\\|")
    aim = next(own[key] for key in ("against", "right", "published", "recorded") if key in own)
    kept = " (ours, on record)" if "recorded" in own else ""
    return _cell(f"{aim} ± {own.get('tolerance', expected.get('tolerance', 0.01)):g}") + kept


def _figures(item: str, figures: list[dict]) -> str:
    rows = ["`--report FOLDER` draws them, as SVG, PNG and CSV.", ""]
    for figure in figures:
        title = f" {figure['title']}." if "title" in figure else ""
        caption = " ".join(figure.get("caption", "").split())
        rows.append(
            f"- **{figure.get('file', item)}** ({figure.get('draw', 'convergence')}).{title} {caption}".rstrip()
        )
    return "\n".join(rows)
