"""The errors that a user of the toolkit meets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.allocation import Allocation
    from anabranch.result import Result


class ScenarioError(ValueError):
    """An input that cannot be: the message says what is wrong, where, and what would do."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before its answer met the tolerance; the message says how far it is."""


class CertificateError(AssertionError):
    """An allocation is not what it claims; the message names the worst violation."""


class SolverError(RuntimeError):
    """A solver of linear programs failed though the input was right; the message says how."""


class RunInterrupted(KeyboardInterrupt):
    """A simulation was stopped by Ctrl-C; ``result`` holds what came of it until then, marked as not finished."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"the run was stopped at {result.meta['reached_s']:g} s of {result.meta['duration_s']:g} s")
        self.result = result


class SolveInterrupted(KeyboardInterrupt):
    """A solver that goes in passes was stopped by Ctrl-C; ``allocation`` has its last pass, marked as not converged."""

    def __init__(self, allocation: Allocation) -> None:
        passes = "1 pass" if allocation.passes == 1 else f"{allocation.passes} passes"
        super().__init__(f"{allocation.method} was stopped after {passes}")
        self.allocation = allocation


class StorageError(OSError):
    """Results cannot be written: the disk is full, or rights are lacking; the message says what would do."""
