"""Fair sharing of network capacity over many paths."""

from anabranch.demands import Demands, demands
from anabranch.errors import CertificateError, ConvergenceWarning, ScenarioError
from anabranch.network import Network, from_networkx

__all__ = [
    "CertificateError",
    "ConvergenceWarning",
    "Demands",
    "Network",
    "ScenarioError",
    "demands",
    "from_networkx",
]
