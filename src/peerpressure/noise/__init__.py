"""What masks an opinion: ε_t = std_i · scale_t · u_t, with u_t mean zero and of unit variance.

A noise is a law for u (its class), a standard deviation for all agents or one for each, a scale over time, and a
temporal kind: drawn anew at each step (white, the paper's), drawn once and held (frozen), or carried over in part
(AR(1)). A new law is one small class in ``laws.py`` and one line in ``LAWS``.
"""

from peerpressure.noise._base import Deviation, Noise
from peerpressure.noise._correlation import AR1, Frozen, Temporal, White
from peerpressure.noise._families import LAWS, noise_from_dict
from peerpressure.noise._laws import Custom, Gaussian, Laplace, NoNoise, Rademacher, StudentT, Uniform

__all__ = [
    "AR1",
    "LAWS",
    "Custom",
    "Deviation",
    "Frozen",
    "Gaussian",
    "Laplace",
    "NoNoise",
    "Noise",
    "Rademacher",
    "StudentT",
    "Temporal",
    "Uniform",
    "White",
    "noise_from_dict",
]
