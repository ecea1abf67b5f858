"""The numbers that the paper prints, as data, each with its place in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

PAPER = "Griffin, Squicciarini and Jia, Consensus in Complex Networks with Noisy Agents and Peer Pressure"
TERMS = ("intercept", "agents", "noise")


@final
@dataclass(frozen=True)
class PrintedTerm:
    """One row of a printed parameter table; ``half_unit`` is half a unit of the estimate's last printed digit.

    An estimate or a standard error printed as 0 was rounded to 0; ``low`` and ``high`` are then more precise.
    """

    estimate: float
    standard_error: float
    t: float
    p: float
    half_unit: float
    low: float
    high: float
    interval_half_unit: float

    @property
    def t_half_unit(self) -> float:
        """Half a unit of the last printed digit of t: 12.9 has one decimal, all others have two."""
        return 0.05 if abs(self.t) > 10 and round(self.t, 1) == self.t else 0.005


# Empirical Results: two agents, their hidden opinions (the mean of the density plot), steps and replications.
TWO_AGENTS_HIDDEN = (1.0, 2.0)
TWO_AGENTS_NOISE = 1.0
STEPS = 100
REPLICATIONS = 100

# Empirical Results, the residuals of a larger graph.
RESIDUAL_AGENTS = 100

# Empirical Results: the design of the sweep; the appendix repeats it with one edge per round.
SWEEP_AGENTS = (20, 30, 40, 50, 60, 70, 80, 90)
SWEEP_NOISES = (5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0)
SWEEP_REPLICATIONS = 20
SWEEP_EDGES = (2, 1)
DENSITY_AGENTS = (20, 50, 80)

# The parameter tables of Empirical Results (two edges per round) and of Appendix A (one), with the intervals of the
# table that compares them. Both label the last term σ₀².
REGRESSIONS: Mapping[int, Mapping[str, PrintedTerm]] = MappingProxyType(
    {
        2: MappingProxyType(
            {
                "intercept": PrintedTerm(-0.80, 0.15, -5.50, 4.84e-7, 0.005, -1.1, -0.51, 0.05),
                # Printed as 0.00 with error 0.00, so only the interval bounds carry digits.
                "agents": PrintedTerm(0.0, 0.0, -0.41, 0.68, 0.005, -0.003, 0.0017, 0.0005),
                "noise": PrintedTerm(0.22, 0.02, 12.9, 6.71e-21, 0.005, 0.19, 0.25, 0.005),
            }
        ),
        1: MappingProxyType(
            {
                "intercept": PrintedTerm(-0.92, 0.19, -4.77, 8.56e-6, 0.005, -1.30, -0.53, 0.005),
                "agents": PrintedTerm(0.0, 0.0, 0.37, 0.71, 0.005, -0.002, 0.003, 0.0005),
                "noise": PrintedTerm(0.24, 0.02, 10.95, 2.31e-17, 0.005, 0.2, 0.29, 0.005),
            }
        ),
    }
)
# The same tables as they are printed, digit by digit: estimate, standard error, t-statistic and p-value of each term.
PARAMETER_TABLES: Mapping[int, Mapping[str, tuple[str, str, str, str]]] = MappingProxyType(
    {
        2: MappingProxyType(
            {
                "intercept": ("-0.80", "0.15", "-5.50", "4.84e-7"),
                "agents": ("0", "0", "-0.41", "0.68"),
                "noise": ("0.22", "0.02", "12.9", "6.71e-21"),
            }
        ),
        1: MappingProxyType(
            {
                "intercept": ("-0.92", "0.19", "-4.77", "8.56e-6"),
                "agents": ("0.00", "0.00", "0.37", "0.71"),
                "noise": ("0.24", "0.02", "10.95", "2.31e-17"),
            }
        ),
    }
)
# Table I, digit by digit: estimate and confidence interval. Its intercept for one edge is -0.91, and -0.92 above.
INTERVAL_TABLE: Mapping[int, Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        2: MappingProxyType(
            {
                "intercept": ("-0.8", "-1.1", "-0.51"),
                "agents": ("0.00", "-0.003", "0.0017"),
                "noise": ("0.22", "0.19", "0.25"),
            }
        ),
        1: MappingProxyType(
            {
                "intercept": ("-0.91", "-1.30", "-0.53"),
                "agents": ("0.000", "-0.002", "0.003"),
                "noise": ("0.24", "0.2", "0.29"),
            }
        ),
    }
)
# The paper's own label; the audit finds that the numbers are those of σ₀.
PRINTED_REGRESSOR = "noise_variance"

# Model: stubbornness and opinions of all larger experiments.
# Uniform laws on these ranges; every stubbornness is positive, so each agent has a weight in v.
HIDDEN_RANGE = (0.0, 1.0)
STUBBORNNESS_RANGE = (0.5, 1.0)

# Recovery of the Hidden States: the printed limits of the series and of the inverse, and the printed variances.
SERIES_LIMIT = "(π² − 8)/16"
INVERSE_LIMIT = "4/(π² − 8)·[[1, −1], [−1, 1]]"
EVEN_VARIANCE = "T/(2(T + 1)²)"
ODD_VARIANCES = "⌈T/2⌉/(T + 1)² and ⌊T/2⌋/(T + 1)²"
