"""Measures: what can be measured of a run, each a function with its row above it.

Every module of this folder is loaded here, so that its measures are registered by being there.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
