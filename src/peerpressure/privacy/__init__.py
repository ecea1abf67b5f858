"""Privacy: what an observer learns about each agent, the guarantee that holds, and the accuracy that it costs.

``exposure`` is what one observer learns on average, ``budget`` what it learns at worst, ``calibrate`` how much noise a
budget requires, and ``frontier`` how accurate a network can be under it; ``release`` publishes opinions.
``DEFINITION`` states what privacy means in all of them, and a ``Definition`` the same with the numbers of one account.
A new mechanism is one class beside ``Noisy`` in ``_mechanisms``; the guarantee of a noise law is one row of
``PROMISES`` in ``_accounting``.
"""

from peerpressure.privacy._accounting import delta_of, epsilon_of, epsilon_of_zcdp, mu_of
from peerpressure.privacy._budget import Budget, Calibration, budget, calibrate
from peerpressure.privacy._definition import DEFINITION, Definition, Granularity
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
from peerpressure.privacy._release import Release, release
from peerpressure.privacy._shifts import delay_pressure

__all__ = [
    "DEFINITION",
    "DESIGNS",
    "Budget",
    "Calibration",
    "Definition",
    "Design",
    "Exposure",
    "Frontier",
    "Granularity",
    "Noisy",
    "OneShot",
    "Release",
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
    "release",
]
