"""The model in continuous time: the stochastic differential equation and its Fokker–Planck equation.

``SDE`` is the equation. ``moments_at`` and ``moments_of`` give its exact Gaussian law, and ``transition`` that of
one step, from which ``exact_paths`` are drawn; ``TaylorScheme`` has the steps of large networks. ``exact_density`` and
``solve_density`` give densities, exact and on a grid; tables in ``convergence`` measure how fast discrete steps
converge to the equation. The modules are open to other packages.
"""

from peerpressure.sde.densities import GaussianDensity, exact_density
from peerpressure.sde.equation import SDE, Method, Scaling
from peerpressure.sde.fokker_planck import DensityPath, solve_density
from peerpressure.sde.moments import (
    GaussianMoments,
    gaussian_path,
    moments_at,
    moments_of,
    stationary,
)
from peerpressure.sde.paths import euler_moments, euler_step, exact_paths
from peerpressure.sde.transitions import StepLaw, TaylorScheme, exact_transitions, transition

__all__ = [
    "SDE",
    "DensityPath",
    "GaussianDensity",
    "GaussianMoments",
    "Method",
    "Scaling",
    "StepLaw",
    "TaylorScheme",
    "euler_moments",
    "euler_step",
    "exact_density",
    "exact_paths",
    "exact_transitions",
    "gaussian_path",
    "moments_at",
    "moments_of",
    "solve_density",
    "stationary",
    "transition",
]
