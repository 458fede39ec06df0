"""The errors that a user of the toolkit meets."""


class ScenarioError(ValueError):
    """An input that cannot be: the message says what is wrong, where, and what would do."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before its answer met the tolerance; the message says how far it is."""


class CertificateError(AssertionError):
    """An allocation is not what it claims; the message names the worst violation."""


class SolverError(RuntimeError):
    """A solver of linear programs failed though the input was right; the message says how."""
