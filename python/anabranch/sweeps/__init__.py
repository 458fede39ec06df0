"""Sweeps: a scenario run with many values, and tables and figures over all runs."""

from typing import TYPE_CHECKING

from anabranch.lazy import loader

if TYPE_CHECKING:
    from anabranch.sweeps.file import read_file
    from anabranch.sweeps.outputs import SUMMARY
    from anabranch.sweeps.recognise import is_sweep
    from anabranch.sweeps.results import Swept, read_sweep
    from anabranch.sweeps.runner import Checked, Progress, check_sweep, other_versions, sweep
    from anabranch.sweeps.trial import Tried, try_columns, try_points

__all__ = [
    "SUMMARY",
    "Checked",
    "Progress",
    "Swept",
    "Tried",
    "check_sweep",
    "is_sweep",
    "other_versions",
    "read_file",
    "read_sweep",
    "sweep",
    "try_columns",
    "try_points",
]

_NAMES = {
    "file": ("read_file",),
    "outputs": ("SUMMARY",),
    "recognise": ("is_sweep",),
    "results": ("Swept", "read_sweep"),
    "runner": ("Checked", "Progress", "check_sweep", "other_versions", "sweep"),
    "trial": ("Tried", "try_columns", "try_points"),
}
"""The public names of each module."""

__getattr__ = loader(__name__, _NAMES)
