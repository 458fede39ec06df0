"""Public names of packages are loaded when they are first used, by one loader."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from anabranch.lazy import loader


@pytest.mark.parametrize("package", ["anabranch", "anabranch.sweeps", "anabranch.reproduce"])
def test_every_public_name_is_there_and_no_other(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None, name
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    package, inner = ModuleType("box"), ModuleType("box.inner")
    vars(inner)["thing"] = object()
    for module in (package, inner):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    load = loader("box", {"inner": ("thing",)}, modules=("inner",))
    assert "thing" not in vars(package)
    assert load("thing") is vars(package)["thing"] is vars(inner)["thing"]
    assert load("inner") is vars(package)["inner"] is inner
