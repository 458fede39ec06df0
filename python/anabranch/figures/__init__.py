"""Figures: drawings of tables for notebooks, or for files in SVG, PNG or PDF. No window is ever opened."""

from anabranch.figures.bands import draw_bands
from anabranch.figures.bars import draw_estimates
from anabranch.figures.boxes import draw_boxes
from anabranch.figures.compare import draw_completions, draw_longest_queue
from anabranch.figures.convergence import draw_convergence
from anabranch.figures.curves import draw_curves
from anabranch.figures.distributions import draw_distributions
from anabranch.figures.eigenvalues import draw_eigenvalues
from anabranch.figures.errors import draw_errors
from anabranch.figures.fluid import draw_fluid
from anabranch.figures.frontier import draw_frontier
from anabranch.figures.loads import draw_loads
from anabranch.figures.network import draw_network
from anabranch.figures.over_seeds import draw_marks, draw_repeated
from anabranch.figures.queues import draw_queues
from anabranch.figures.rates import draw_rates
from anabranch.figures.result import draw_result
from anabranch.figures.steps import draw_steps
from anabranch.figures.windows import draw_round_trips, draw_windows

__all__ = [
    "draw_bands",
    "draw_boxes",
    "draw_completions",
    "draw_convergence",
    "draw_curves",
    "draw_distributions",
    "draw_eigenvalues",
    "draw_errors",
    "draw_estimates",
    "draw_fluid",
    "draw_frontier",
    "draw_loads",
    "draw_longest_queue",
    "draw_marks",
    "draw_network",
    "draw_queues",
    "draw_rates",
    "draw_repeated",
    "draw_result",
    "draw_round_trips",
    "draw_steps",
    "draw_windows",
]
