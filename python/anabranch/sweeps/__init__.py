"""Sweeps: a scenario run with many values, and tables and figures over all runs."""

from anabranch.sweeps.file import is_sweep, read_file
from anabranch.sweeps.outputs import SUMMARY
from anabranch.sweeps.results import Swept, read_sweep
from anabranch.sweeps.runner import Checked, Progress, check_sweep, other_versions, sweep

__all__ = [
    "SUMMARY",
    "Checked",
    "Progress",
    "Swept",
    "check_sweep",
    "is_sweep",
    "other_versions",
    "read_file",
    "read_sweep",
    "sweep",
]
