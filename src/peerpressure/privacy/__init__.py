"""What an observer is told about each agent, what that is worth as a promise, and what hiding it costs.

``exposure`` says what one observer learns, ``budget`` what one who sees everything is told at worst, ``calibrate`` how
much noise a budget asks for, and ``frontier`` how accurate a network can be under it. A new way to hide is one class
in ``designs``; what a law of noise promises is one row in ``laws``.
"""

from peerpressure.privacy._accounting import delta_of, epsilon_of, epsilon_of_zcdp, mu_of
from peerpressure.privacy._budget import Budget, budget
from peerpressure.privacy._calibration import Calibration, calibrate
from peerpressure.privacy._exposure import Exposure, exposure
from peerpressure.privacy._mechanisms import (
    DESIGNS,
    Design,
    Frontier,
    Noisy,
    OneShot,
    Trade,
    ZeroSum,
    frontier,
    growing,
)
from peerpressure.privacy._release import delay_pressure

__all__ = [
    "DESIGNS",
    "Budget",
    "Calibration",
    "Design",
    "Exposure",
    "Frontier",
    "Noisy",
    "OneShot",
    "Trade",
    "ZeroSum",
    "budget",
    "calibrate",
    "delay_pressure",
    "delta_of",
    "epsilon_of",
    "epsilon_of_zcdp",
    "exposure",
    "frontier",
    "growing",
    "mu_of",
]
