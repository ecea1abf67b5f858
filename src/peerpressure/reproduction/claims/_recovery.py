"""Claims about what an observer recovers: hidden opinions at finite times and in the limit, and the residuals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from peerpressure.reproduction import printed
from peerpressure.reproduction.claims._evidence import (
    CONFIRMED,
    CORRECTED,
    REFUTED,
    UNTESTABLE,
    Claim,
    Evidence,
    Finding,
    Verdict,
)

# Exponents of T: a variance vanishes if it falls faster than T^−0.5 and persists if it falls more slowly than T^−0.05.
# In between, finite runs do not decide.
VANISHES, PERSISTS = -0.5, -0.05
# The audit makes many tests: a level of 5 % would refute true claims now and then.
ALPHA = 1e-3
# Tests of normality have hardly any power on smaller samples.
LEAST_SAMPLE = 20
# Relative tolerance of "not larger than" between two variances.
MARGIN = 0.1
# A posterior variance below this share of the prior reveals an opinion.
REVEALED = 0.1
HEAVY_TAILS = 0.1  # excess kurtosis


def not_exact(e: Evidence) -> Finding:
    """Take the smallest error variance that any unbiased observer of two agents has after finitely many steps."""
    claim = Claim(
        "not-exact",
        "After finitely many steps hidden opinions cannot be recovered exactly.",
        "Abstract; Conclusions",
        "“the hidden state cannot be exactly recovered even when model dynamics and outputs are known”",
        "Confirmed if the best error variance is positive after the longest observation; refuted otherwise.",
    )
    best, last = _best_of_two(e)
    variance = float(best.loc[last, "variance"])
    return Finding(
        claim,
        f"variance of the best estimate {variance:.3g} σ₀² after {last:,} steps",
        CONFIRMED if variance > 0 else REFUTED,
        f"The information in {last:,} steps is finite, so that no unbiased estimate has a variance below "
        f"{variance:.3g} σ₀²; this holds if y₀ = x₀ itself is not observed.",
    )


def not_in_the_limit(e: Evidence) -> Finding:
    """Follow the error variance of the best observer of two agents over the last decade of steps."""
    claim = Claim(
        "not-recoverable",
        "As T → ∞ the uncertainty about hidden opinions remains.",
        "Recovery of the Hidden States, last paragraph",
        "“does not collapse to a point mass. Thus the initial data cannot be perfectly recovered”",
        f"Refuted if the best error variance falls faster than T^{VANISHES:g} over the last decade of steps, confirmed "
        f"if more slowly than T^{PERSISTS:g}.",
    )
    best, last = _best_of_two(e)
    ols = e.observers.query("network == 'two_agents' and observer == 'ols'").set_index("steps")["variance"]
    # The last decade: earlier steps are affected by the start.
    first = int(best.index[best.index <= last / 10].max())
    exponent = _slope(first, best.loc[first, "variance"], last, best.loc[last, "variance"])
    verdict: Verdict = REFUTED if exponent < VANISHES else CONFIRMED if exponent > PERSISTS else UNTESTABLE
    sampled, error = best.loc[last, "sampled"], best.loc[last, "standard_error"]
    return Finding(
        claim,
        f"variance of the best estimate {best.loc[first, 'variance']:.3g} σ₀² after {first:,} steps and "
        f"{best.loc[last, 'variance']:.3g} σ₀² after {last:,} (sampled {sampled:.3g} ± {error:.1g}); regression "
        f"{ols[last]:.3g} σ₀²",
        verdict,
        f"It remains under the printed regression, at {ols[last]:.2f} σ₀². But the update can be inverted, "
        f"ξ_t = (y_t − C_t y_(t−1))/g_t, and the mean of the ξ_t has a variance that falls like T^{exponent:.2f}."
        if verdict == REFUTED
        else f"The variance of the best estimate scales as T^{exponent:.2f}.",
    )


def _best_of_two(e: Evidence) -> tuple[pd.DataFrame, int]:
    """Return the errors of the best observer of two agents by steps, and the longest observation."""
    best = e.observers.query("network == 'two_agents' and observer == 'innovations'").set_index("steps")
    return best, int(best.index.max())


def simplest_case(e: Evidence) -> Finding:
    """Compare the error variances on two agents and on a larger graph after the printed number of steps."""
    claim = Claim(
        "simplest-case",
        "Two agents are the case in which hidden opinions are easiest to estimate.",
        "Recovery of the Hidden States, first paragraph",
        "“(in some sense) a worse case scenario since it presents the simplest conditions under which to estimate”",
        f"Confirmed if the regression's variance after {printed.STEPS} steps is at most {1 + MARGIN:g} times that on "
        "the larger graph; refuted otherwise.",
    )
    at = e.observers[e.observers["steps"] == printed.STEPS].set_index(["network", "observer"])["variance"]
    (ols_two, best_two), (ols_many, best_many) = (
        (at[network, "ols"], at[network, "innovations"]) for network in ("two_agents", "scale_free")
    )
    return Finding(
        claim,
        f"regression {ols_two:.3g} σ₀² on two agents and {ols_many:.3g} σ₀² on the scale-free graph; best observer "
        f"{best_two:.3g} and {best_many:.3g} σ₀²",
        # Judged by the printed regression, the observer that the claim is about.
        CONFIRMED if ols_two <= ols_many * (1 + MARGIN) else REFUTED,
        f"After {printed.STEPS} steps the variance on two agents is {ols_two / ols_many:.2g} times that on the larger "
        f"graph for the printed regression, and {best_two / best_many:.3g} times for the best observer.",
    )


def protected(e: Evidence) -> Finding:
    """Follow posterior over prior variance under full and under partial observation, for a uniform prior."""
    claim = Claim(
        "protected",
        "A single time series does not give hidden opinions away: they are protected statistically.",
        "Empirical Results, last paragraph",
        "“the hidden state of the agents will be protected statistically”",
        f"Refuted if an observer of all agents reduces the variance below {REVEALED:g} of the prior; confirmed if it "
        f"falls more slowly than T^{PERSISTS:g}.",
    )
    table = e.protection.set_index("steps")["ratio"]
    first, last = int(table.index.min()), int(table.index.max())
    exponent = _slope(first, table[first], last, table[last])
    hidden = e.partial[e.partial["group"] == "unobserved"]
    # The row nearest to one half; the fractions are a parameter of the experiment.
    half = hidden.iloc[(hidden["fraction"] - 0.5).abs().argmin()]
    verdict: Verdict = REFUTED if table[last] < REVEALED else CONFIRMED if exponent > PERSISTS else UNTESTABLE
    return Finding(
        claim,
        "posterior/prior variance " + ", ".join(f"{ratio:.3g} after {steps:,} steps" for steps, ratio in table.items()),
        verdict,
        f"An observer of all agents who knows the model reduces the variance to {table[last]:.3g} of the prior with "
        f"{last:,} steps of one series. Unobserved agents are protected: they keep {half['ratio']:.2f} of the prior "
        f"variance if {half['fraction']:.0%} of agents are observed.",
    )


def normal_residuals(e: Evidence) -> Finding:
    """Test the mean residuals for normality, before and after whitening by their exact covariance."""
    claim = Claim(
        "normal-residuals",
        "The mean residuals of the agents follow a normal law.",
        "Empirical Results, residual figures",
        "a normal fit of the mean residual vector; “unimodal and tending toward normality”",
        f"Refuted if a test of normality on independent (whitened) scores has p < {ALPHA:g}; corrected if the mixture "
        f"over agents has an excess kurtosis above {HEAVY_TAILS:g}; confirmed otherwise; at least {LEAST_SAMPLE} "
        "agents are needed.",
    )
    table = e.residuals.tables()["residual_normality"].set_index("sample")
    raw, white = table.loc["mean_vector"], table.loc["whitened"]
    # Only whitened scores are independent, so that only their p-values are valid. The kurtosis is that of the exact
    # mixture, not of the sample.
    p, kurtosis = min(white["shapiro_p"], white["anderson_p"]), float(raw["exact_excess_kurtosis"])
    verdict: Verdict = REFUTED if p < ALPHA else CORRECTED if kurtosis > HEAVY_TAILS else CONFIRMED
    if white["size"] < LEAST_SAMPLE:
        verdict = UNTESTABLE
    return Finding(
        claim,
        f"std {raw['std']:.4f}, exact {raw['exact_std']:.4f}; Shapiro p = {raw['shapiro_p']:.2g}, Anderson–Darling p = "
        f"{raw['anderson_p']:.2g}; whitened {white['shapiro_p']:.2g} and {white['anderson_p']:.2g}",
        verdict,
        f"Each agent's residual is normal (p = {p:.2g} for {white['size']:.0f} independent scores), but agents differ "
        f"in variance, so that their mixture has an excess kurtosis of {kurtosis:.2f} however many there are."
        if verdict == CORRECTED
        else f"The independent scores of {white['size']:.0f} agents have p = {p:.2g}; the mixture over agents has an "
        f"excess kurtosis of {kurtosis:.2f}.",
    )


def _slope(t: float, a: float, u: float, b: float) -> float:
    """Return the exponent of the power law through (t, a) and (u, b)."""
    return float(np.log(b / a) / np.log(u / t))
