"""The Fokker–Planck equation of the process: exact, and on a grid that must agree with it."""

from .density import GaussianDensity, exact_density
from .grid import Grid
from .solve import DensityPath, solve_density

__all__ = ["DensityPath", "GaussianDensity", "Grid", "exact_density", "solve_density"]
