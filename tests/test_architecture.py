"""The Python package keeps to its arrows: which folder imports which, without circles, on few floors."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/anabranch"
ARROWS: dict[str, list[str]] = tomllib.loads((ROOT / "tests/architecture.toml").read_text(encoding="utf-8"))["imports"]
SHARED = {"_core", "errors", "folder", "interrupts", "lazy"}
"""What every folder may import."""

MOST_FLOORS = 10
MOST_ENTRIES = 28


def room(parts: tuple[str, ...]) -> str:
    """Name the folder of a module, or the module at the top; the folders of `reproduce` stand apart."""
    within = f"{parts[0]}/{parts[1]}" if len(parts) > 1 else parts[0]
    return within if within in ARROWS else parts[0]


def imports(file: Path) -> set[tuple[str, ...]]:
    """Give the modules of the package that a file imports when it runs; those for types alone do not count."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    types_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: set[tuple[str, ...]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in types_only and node.module:
            package, *module = node.module.split(".")
            if package == "anabranch":
                found |= {(*module, name.name) for name in node.names}
    return found


def found_arrows() -> dict[str, set[str]]:
    """Give what each folder imports of others."""
    arrows: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            own = room(parts)
            arrows.setdefault(own, set()).update({room(module) for module in imports(file)} - {own} - SHARED)
    return arrows


def test_each_folder_imports_what_its_line_says():
    found = found_arrows()
    assert {name: sorted(found.get(name, set())) for name in ARROWS} == {
        name: sorted(own) for name, own in ARROWS.items()
    }
    assert set(found) - SHARED == set(ARROWS), "a folder has no line in tests/architecture.toml"


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Give the floor of each folder: one above the highest that it imports."""
    under_way: set[str] = set()

    @cache
    def floor(name: str) -> int:
        assert name not in under_way, f"a circle through {name}"
        under_way.add(name)
        height = 1 + max((floor(used) for used in arrows[name]), default=0)
        under_way.discard(name)
        return height

    return {name: floor(name) for name in arrows}


def test_folders_form_no_circle_and_stand_on_few_floors():
    inner = {name: own for name, own in found_arrows().items() if name not in SHARED}
    floors(inner)
    outer: dict[str, set[str]] = {}
    for name, own in inner.items():
        outer.setdefault(name.partition("/")[0], set()).update(used.partition("/")[0] for used in own)
    assert max(floors({name: own - {name} for name, own in outer.items()}).values()) <= MOST_FLOORS


def test_the_package_has_few_entries_at_its_top():
    entries = [entry.name for entry in PACKAGE.iterdir() if entry.suffix not in {".so", ".pyd"}]
    assert len({*entries} - {"__pycache__"}) <= MOST_ENTRIES, sorted(entries)


def test_no_module_is_hidden_by_a_function_of_its_name():
    namespace: dict[str, object] = {}
    for name in ARROWS:
        if "/" not in name:
            exec(f"import anabranch.{name} as module", namespace)
            assert type(namespace["module"]).__name__ == "module", name
