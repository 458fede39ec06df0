"""Figures of published experiments: a class for each kind, which reads its table, gathers its numbers and draws them.

Every module of this folder is loaded here, so that its kinds are registered by being there.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
