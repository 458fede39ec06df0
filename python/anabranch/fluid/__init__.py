"""Protocols as difference and differential equations: equilibria of rates, their stability, and convergence times.

Loops that join (`chain`, `tree`, `Loops`), senders (`Logistic`, `Deflated`, `Jump`, ...) and prices (`Price`, `red`)
make a `Control`. It is followed step by step (`iterate`, `through_phases`) or over time (`integrate`); `equilibrium`
and `eigenvalues` say where it rests and how it comes there. `wvegas` and `vo_le_tran` share networks among connections
with several paths.
"""

from anabranch.fluid.accel_brake import accelerates, windows
from anabranch.fluid.control import Control, State, iterate
from anabranch.fluid.equilibrium import equilibrium, marking, residual
from anabranch.fluid.fairness import aggregated_weights, logarithmic_gain, problem_behind, proportional_chains
from anabranch.fluid.logistic import growth, population_at
from anabranch.fluid.loops import Loops, chain, one_link, row_of_links, tree
from anabranch.fluid.phases import Followed, settling_steps, through_phases, tuned
from anabranch.fluid.prices import Price, red
from anabranch.fluid.senders import Deflated, Jump, Logistic, LogJump, LogUtility, Sender
from anabranch.fluid.stability import eigenvalues, jacobian, multipliers, swing_bound, tree_at_bound
from anabranch.fluid.sweep import Tree
from anabranch.fluid.trajectory import Trajectory, integrate
from anabranch.fluid.utility import marginal_utility, utility
from anabranch.fluid.vo_le_tran import vo_le_tran
from anabranch.fluid.wvegas import wvegas

__all__ = [
    "Control",
    "Deflated",
    "Followed",
    "Jump",
    "LogJump",
    "LogUtility",
    "Logistic",
    "Loops",
    "Price",
    "Sender",
    "State",
    "Trajectory",
    "Tree",
    "accelerates",
    "aggregated_weights",
    "chain",
    "eigenvalues",
    "equilibrium",
    "growth",
    "integrate",
    "iterate",
    "jacobian",
    "logarithmic_gain",
    "marginal_utility",
    "marking",
    "multipliers",
    "one_link",
    "population_at",
    "problem_behind",
    "proportional_chains",
    "red",
    "residual",
    "row_of_links",
    "settling_steps",
    "swing_bound",
    "through_phases",
    "tree",
    "tree_at_bound",
    "tuned",
    "utility",
    "vo_le_tran",
    "windows",
    "wvegas",
]
