"""The model in continuous time: the stochastic differential equation and its Fokker–Planck equation.

``Diffusion`` is the equation. ``moments_at`` and ``moments_of`` give its exact Gaussian law, and ``transition`` that of
one step, from which ``exact_paths`` are drawn. ``continuous_fate`` says what becomes of it. ``fokker_planck`` holds
densities, exact and on a grid; ``convergence`` says how fast discrete steps come to the equation.
"""

from .equation import LARGEST_EXACT, Diffusion, Method, Scaling
from .euler import euler_moments, euler_step
from .fate import ContinuousFate, PowerLaw, continuous_fate
from .fokker_planck import DensityPath, GaussianDensity, exact_density, solve_density
from .limit import AgreedValue, agreed_value, mode_noise
from .moments import GaussianMoments, gaussian_path, moments_at, moments_of
from .paths import exact_paths
from .reasons import reason_for
from .stationary import stationary
from .transitions import Transition, exact_transitions, transition

__all__ = [
    "LARGEST_EXACT",
    "AgreedValue",
    "ContinuousFate",
    "DensityPath",
    "Diffusion",
    "GaussianDensity",
    "GaussianMoments",
    "Method",
    "PowerLaw",
    "Scaling",
    "Transition",
    "agreed_value",
    "continuous_fate",
    "euler_moments",
    "euler_step",
    "exact_density",
    "exact_paths",
    "exact_transitions",
    "gaussian_path",
    "mode_noise",
    "moments_at",
    "moments_of",
    "reason_for",
    "solve_density",
    "stationary",
    "transition",
]
