"""The pages of published experiments: one for each item, and an index for each paper."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from anabranch.reproduce.papers import Paper, read_papers

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"

PAPERS = read_papers(EXPERIMENTS)

LINK = re.compile(r"\]\(\.\./([\w-]+)/README\.md\)")


def pages() -> dict[str, str]:
    """Give all pages by their files."""
    made = {"experiments.md": _index()}
    for name, paper in PAPERS.items():
        made[f"experiments/{name}.md"] = _paper(paper)
        made |= {f"experiments/{name}/{item}.md": _item(name, item) for item in paper.items}
    return made


def uses(key: str, name: str) -> str:
    """List the experiments that run a protocol or a queue discipline, by paper; nothing if none does."""
    asked = re.compile(rf"""\b{key}(?:\s*=\s*["']?|\.){re.escape(name)}(?![\w-])""")
    lines = []
    for paper in PAPERS.values():
        own = [item for item in paper.items if asked.search(_files(paper.name, item))]
        if own:
            links = ", ".join(f"[{item}](../experiments/{paper.name}/{item}.md)" for item in own)
            lines.append(f"- [{paper.title}](../experiments/{paper.name}.md): {links}")
    return "\n".join(lines)


def _files(paper: str, item: str) -> str:
    """Give the text of an experiment and of all scenarios that it names."""
    folder = EXPERIMENTS / f"{paper}-{item}"
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    scenarios = {folder / name for name in re.findall(r'^scenario = "([^"]+)"', text, re.MULTILINE)}
    return "\n".join([text, *(file.read_text(encoding="utf-8") for file in sorted(scenarios))])


def _index() -> str:
    rows = [
        f"| [{paper.title}](experiments/{name}.md) | `{name}` | {len(paper.items)} | {_what(paper)} |"
        for name, paper in PAPERS.items()
    ]
    listed = _hidden_tree(f"experiments/{name}" for name in PAPERS)
    return f"""# Published experiments

Each item is a folder below `experiments/`, with the runs, the printed numbers and the differences from the paper. A
command runs one item, or all items of a paper, and compares the printed numbers with ours.
[How to reproduce](../how-to/reproduce.md) explains its output. The pages here list the expected numbers; the command
computes ours.

| paper | name | items | contents |
|---|---|---:|---|
{chr(10).join(rows)}

{listed}"""


def _hidden_tree(pages: Iterable[str]) -> str:
    """Put pages below this one; its table has the links."""
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```", ""])


def _what(paper: Paper) -> str:
    """Name the reproduced tables and figures and their paper."""
    what = paper.shows[:1].upper() + paper.shows[1:]
    return f"{what} of [{paper.cite}]." if paper.cite else f"{what}."


def _paper(paper: Paper) -> str:
    rows = []
    for item in paper.items:
        experiment, expected = _tables(paper.name, item)
        command = f"`anabranch reproduce {paper.name} {item}`"
        rows.append(
            f"| [{item}]({paper.name}/{item}.md) | {experiment['title']} | {len(expected['quantity'])} | {command} |"
        )
    listed = _hidden_tree(f"{paper.name}/{item}" for item in paper.items)
    return f"""# {paper.title}

{_what(paper)} `anabranch reproduce {paper.name}` runs all items.

| item | what it shows | numbers and claims | command |
|---|---|---:|---|
{chr(10).join(rows)}

{listed}"""


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
        parts += ["## Figures", _figures(item, figures)]
    parts.append(
        f"The files are in `experiments/{folder.name}`; [{PAPERS[paper].title}](../{paper}.md) lists the other items."
    )
    return "\n\n".join(parts) + "\n"


def _to_page(found: re.Match[str]) -> str:
    """Turn a link to the README of another experiment into one to its page."""
    for paper in PAPERS:
        if found[1].startswith(f"{paper}-"):
            return f"](../{paper}/{found[1].removeprefix(f'{paper}-')}.md)"
    raise ValueError(f"a README links to `{found[1]}`, which is of no paper; see papers.toml")


def _cell(text: object) -> str:
    """Put a value into a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def _runs(experiment: dict) -> str:
    rows = ["| run | method | settings |", "|---|---|---|"]
    for run in experiment["run"]:
        given = [f"`{one}`" for one in run.get("set", [])]
        given += [f"`{key} = {run[key]}`" for key in ("seed", "seeds", "stop_change", "unit", "passes") if key in run]
        rows.append(f"| {run['name']} | {run['method']} | {'; '.join(given).replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def _quantities(experiment: dict, expected: dict) -> str:
    """Give a row for each number or claim: what is printed, what decides, and the verdict on record."""
    unit = f" Rates are in {experiment['rates_in']}." if "rates_in" in experiment else ""
    rows = [
        f"Each row is a number or claim of the paper, or a comparison or record of ours.{unit}",
        "",
        "| number or claim | printed | measured or checked | verdict | note |",
        "|---|---|---|---|---|",
    ]
    for own in expected["quantity"]:
        notes = [own["note"]] if "note" in own else []
        if "right" in own:
            notes.insert(0, f"a mistake in the paper: {own['why']}")
        printed = own.get("published", "nothing")
        cells = (own["name"], printed, _decides(own), _verdicts(own), "; ".join(notes))
        rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(rows)


def _decides(own: dict) -> str:
    """Give what is measured or checked, under each reading."""
    texts = []
    for reading in own.get("readings", [own]):
        found = reading.get("check", reading.get("of", ""))
        text = " and ".join(found) if isinstance(found, list) else found
        named = reading.get("name", "") if "readings" in own else own.get("reading", "")
        texts.append(f"{named}: {text}" if named and text else text or named)
    beside = next((f"compared with {own[key]}" for key in ("against", "recorded") if key in own), "")
    return "; ".join(text for text in (*texts, beside) if text)


def _verdicts(own: dict) -> str:
    """Give the verdict on record under each reading, and the cause of a bad one."""
    is_claim = any("check" in reading for reading in own.get("readings", [own]))
    if "published" not in own:
        usual = "as recorded" if is_claim or "recorded" in own else "agrees"
    elif is_claim:
        usual = "borne out"
    else:
        usual = "slip" if "right" in own else "within margin"
    found = [reading.get("expect", usual) for reading in own.get("readings", [own])]
    cause = f" ({own['cause']})" if "cause" in own else ""
    return "; ".join(found) + cause


def _figures(item: str, figures: list[dict]) -> str:
    rows = ["`--report FOLDER` draws these figures and saves them as SVG, PNG and CSV.", ""]
    for figure in figures:
        title = f" {figure['title']}." if "title" in figure else ""
        caption = " ".join(figure.get("caption", "").split())
        rows.append(
            f"- **{figure.get('file', item)}** ({figure.get('draw', 'convergence')}).{title} {caption}".rstrip()
        )
    return "\n".join(rows)
