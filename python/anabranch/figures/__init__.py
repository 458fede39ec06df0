"""Figures: a table drawn, to be shown in a notebook or saved as SVG or PNG. No window is ever opened."""

from anabranch.figures.convergence import draw_convergence
from anabranch.figures.network import draw_network

__all__ = ["draw_convergence", "draw_network"]
