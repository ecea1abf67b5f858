from .densities import GaussianDensity as GaussianDensity, exact_density as exact_density
from .equation import SDE as SDE, Method as Method, Scaling as Scaling
from .euler import euler_moments as euler_moments, euler_step as euler_step
from .fokker_planck import DensityPath as DensityPath, solve_density as solve_density
from .moments import (
    GaussianMoments as GaussianMoments,
    gaussian_path as gaussian_path,
    moments_at as moments_at,
    moments_of as moments_of,
    stationary as stationary,
)
from .paths import exact_paths as exact_paths
from .transitions import (
    GaussianTransition as GaussianTransition,
    TaylorScheme as TaylorScheme,
    exact_transitions as exact_transitions,
    transition as transition,
)
