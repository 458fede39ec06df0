"""Make THIRD-PARTY.md: what a wheel carries of others, under which licences, and the texts that these want to go along.

`notices.py` writes the file. Of licences to choose from Apache-2.0 is taken, which has one text for all; of the others
each package's own text stands there. Texts come from the sources that Cargo and npm have fetched.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "THIRD-PARTY.md"
COMMON = "Apache-2.0"
"""The licence whose text stands there once."""

PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin")
"""Where wheels are for."""

TEXTS = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE")
"""How files begin that hold a licence."""

WORDS = re.compile(r"\(|\)|[^\s()/]+|/")


@dataclass(frozen=True, order=True)
class Package:
    """A crate, or a module of the page, whose code a wheel carries."""

    name: str
    version: str
    licence: str
    folder: Path

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"


def crates() -> list[Package]:
    """Give the crates that are compiled into the module on some platform; macros and build scripts are not in it."""
    return sorted({crate for platform in PLATFORMS for crate in crates_on(platform)})


def crates_on(platform: str) -> list[Package]:
    """Give the crates that are compiled into the module on a platform."""
    call = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", platform]
    known = json.loads(subprocess.run(call, cwd=ROOT, capture_output=True, check=True).stdout)
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    reached: set[str] = set()
    queue = [own for own, package in packages.items() if package["name"] == "anabranch-py"]
    while queue:
        own = queue.pop()
        if own in reached or is_macro(packages[own]):
            continue
        reached.add(own)
        queue += [d["pkg"] for d in nodes[own]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
    others = [packages[own] for own in reached if packages[own]["source"] is not None]
    return [Package(p["name"], p["version"], p["license"] or "", Path(p["manifest_path"]).parent) for p in others]


def is_macro(package: dict[str, Any]) -> bool:
    """Tell whether a crate runs in the compiler."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def modules() -> list[Package]:
    """Give the modules that the page is bundled with."""
    locked = json.loads((ROOT / "ui" / "package-lock.json").read_text())["packages"]
    found = {
        way: entry for way, entry in locked.items() if way and not entry.get("dev") and not entry.get("devOptional")
    }
    return sorted(
        Package(way.removeprefix("node_modules/"), entry["version"], entry["license"], ROOT / "ui" / way)
        for way, entry in found.items()
    )


def wanted(licence: str) -> set[str]:
    """Give the licences that are taken of an expression: the common one wherever it is offered, else the first."""
    words = WORDS.findall(licence)
    taken = _either(words)
    if words:
        raise ValueError(f"`{licence}` is not read to its end; `{words[0]}` is left")
    return taken


def _either(words: list[str]) -> set[str]:
    offers = [_both(words)]
    while words and words[0] in ("OR", "/"):
        words.pop(0)
        offers.append(_both(words))
    return next((offer for offer in offers if offer == {COMMON}), offers[0])


def _both(words: list[str]) -> set[str]:
    taken = _one(words)
    while words and words[0] == "AND":
        words.pop(0)
        taken = taken | _one(words)
    return taken


def _one(words: list[str]) -> set[str]:
    word = words.pop(0)
    if word == "(":
        taken = _either(words)
        words.pop(0)
        return taken
    if words and words[0] == "WITH":
        word = " ".join([word, words.pop(0), words.pop(0)])
    return {word}


def texts(package: Package) -> list[str]:
    """Give the texts that go along with a package, beside the common one."""
    own = wanted(package.licence)
    files = sorted(path for path in package.folder.iterdir() if path.is_file())
    kept = [path for path in files if path.name.upper().startswith("NOTICE")]
    if own != {COMMON}:
        kept += [path for path in files if path.name.upper().startswith(TEXTS) and "APACHE" not in path.name.upper()]
    if own != {COMMON} and not kept:
        raise ValueError(f"{package.title} under {package.licence} has no text of its licence in {package.folder}")
    return [path.read_text(encoding="utf-8").replace("\r\n", "\n").strip("\n") for path in kept]


def table(packages: list[Package]) -> str:
    """List packages with their licences."""
    rows = "".join(f"| {p.name} | {p.version} | {p.licence} |\n" for p in packages)
    return f"| package | version | licence |\n|---|---|---|\n{rows}"


def document(crates: list[Package], modules: list[Package]) -> str:
    """Write all of it."""
    having: dict[str, list[str]] = defaultdict(list)
    for package in [*crates, *modules]:
        for text in texts(package):
            having[text].append(package.title)
    own = "\n".join(f"## {', '.join(titles)}\n\n```text\n{text}\n```\n" for text, titles in having.items())
    common = (ROOT / "LICENSE-APACHE").read_text().strip("\n")
    return (
        "# What others have written\n\n"
        "A wheel of anabranch carries code of the packages below, and of the standard library of Rust (Apache-2.0 or\n"
        "MIT). Where licences can be chosen, Apache-2.0 is. `make notices` makes this file.\n\n"
        f"## Crates in the compiled module\n\n{table(crates)}\n## Modules in the page\n\n{table(modules)}\n"
        f"{own}\n## {COMMON}\n\n```text\n{common}\n```\n"
    )


if __name__ == "__main__":
    TARGET.write_text(document(crates(), modules()))
