"""Sweeps: a scenario run with many values, and tables and figures over all runs."""

from anabranch.sweep.file import is_sweep, read_file
from anabranch.sweep.summaries import SUMMARY
from anabranch.sweep.sweep import Checked, Progress, check_sweep, other_versions, sweep
from anabranch.sweep.swept import Swept, read_sweep

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
