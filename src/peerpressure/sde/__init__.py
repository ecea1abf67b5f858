"""The model in continuous time: the stochastic differential equation and its Fokker–Planck equation.

``SDE`` is the equation. ``moments_at`` and ``moments_of`` give its exact Gaussian law, and ``transition`` that of
one step, from which ``exact_paths`` are drawn; ``TaylorScheme`` has the steps of large networks. ``exact_density`` and
``solve_density`` give densities, exact and on a grid; tables in ``euler`` measure how fast discrete steps
converge to the equation. The modules are open to other packages.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "GaussianDensity",
    "GaussianMoments",
    "Method",
    "Scaling",
    "GaussianTransition",
    "TaylorScheme",
    "euler_moments",
    "euler_step",
    "exact_paths",
    "exact_transitions",
    "gaussian_path",
    "moments_at",
    "moments_of",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
