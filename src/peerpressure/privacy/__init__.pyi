from ._accounting import (
    delta_of as delta_of,
    epsilon_of as epsilon_of,
    epsilon_of_zcdp as epsilon_of_zcdp,
    mu_of as mu_of,
)
from ._budget import Budget as Budget, Calibration as Calibration, budget as budget, calibrate as calibrate
from ._definition import DEFINITION as DEFINITION, Definition as Definition, Granularity as Granularity
from ._exposure import Exposure as Exposure, exposure as exposure
from ._mechanisms import (
    DESIGNS as DESIGNS,
    Design as Design,
    Frontier as Frontier,
    Noisy as Noisy,
    OneShot as OneShot,
    Trade as Trade,
    ZeroSum as ZeroSum,
    frontier as frontier,
    growing as growing,
)
from ._release import Release as Release, release as release
from ._shifts import delay_pressure as delay_pressure
