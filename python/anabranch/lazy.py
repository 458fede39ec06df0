"""Public names of a package, each loaded when it is first used."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


def loader(package: str, names: Mapping[str, tuple[str, ...]], modules: Collection[str] = ()) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package: tables and figures take longer to load than most commands take to run.

    Parameters
    ----------
    package : str
        The name of the package.
    names : mapping of str to tuple of str
        The public names of each of its modules.
    modules : collection of str
        Its modules that are public themselves.
    """
    module_of = {name: module for module, own in names.items() for name in own}

    def load(name: str) -> Any:
        if name in module_of:
            value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        elif name in modules:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # The next use finds the name without this function.
        setattr(sys.modules[package], name, value)
        return value

    return load
