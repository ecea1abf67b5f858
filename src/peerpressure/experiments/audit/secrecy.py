"""Claims about what stays hidden, and about the law of the residuals."""

from __future__ import annotations

import numpy as np

from peerpressure.experiments import printed
from peerpressure.experiments.audit.evidence import Evidence
from peerpressure.experiments.audit.finding import CONFIRMED, CORRECTED, REFUTED, UNTESTABLE, Claim, Finding, Verdict

# A variance that falls faster than this power of t goes to 0, and one that falls slower than the other stays.
GOES, STAYS = -0.5, -0.05
ALPHA = 1e-3
LEAST_SAMPLE = 20
# By how much one variance may exceed another that it is said not to exceed.
MARGIN = 0.1


def cannot_be_recovered(e: Evidence) -> Finding:
    """Follow the error variance of the best observer of two agents over the last decade of steps."""
    claim = Claim(
        "not-recoverable",
        "Hidden opinions cannot be recovered, however long an observer who knows the model looks.",
        "Abstract; Recovery of the Hidden States; Conclusions",
        "the distribution on x₀ does not collapse to a point mass",
    )
    two = e.observers[e.observers["network"] == "two_agents"]
    best, ols = (two[two["observer"] == name].set_index("steps") for name in ("innovations", "ols"))
    last = int(best.index.max())
    first = int(best.index[best.index <= last / 10].max())
    exponent = _slope(first, best.loc[first, "variance"], last, best.loc[last, "variance"])
    verdict: Verdict = REFUTED if exponent < GOES else CONFIRMED if exponent > STAYS else UNTESTABLE
    sampled, error = best.loc[last, "sampled"], best.loc[last, "standard_error"]
    return Finding(
        claim,
        f"variance of the best estimate {best.loc[first, 'variance']:.3g} σ₀² after {first:,} steps and "
        f"{best.loc[last, 'variance']:.3g} σ₀² after {last:,} (sampled {sampled:.3g} ± {error:.1g}); regression "
        f"{ols.loc[last, 'variance']:.3g} σ₀²",
        verdict,
        f"The update can be undone, ξ_t = (y_t − C_t y_(t−1))/g_t, and the mean of the ξ_t has a variance that goes "
        f"like T^{exponent:.2f}; only the printed regression stays at {ols.loc[last, 'variance']:.2f} σ₀²."
        if verdict == REFUTED
        else f"The variance of the best estimate goes like T^{exponent:.2f}.",
    )


def simplest_case(e: Evidence) -> Finding:
    """Compare the error variances on two agents and on a larger graph after the printed number of steps."""
    claim = Claim(
        "simplest-case",
        "Two agents are the case in which hidden opinions are easiest to estimate.",
        "Recovery of the Hidden States, first paragraph",
        "two vertices are the simplest conditions under which to estimate the hidden state",
    )
    at = e.observers[e.observers["steps"] == printed.STEPS].set_index(["network", "observer"])["variance"]
    (ols_two, best_two), (ols_many, best_many) = (
        (at[network, "ols"], at[network, "innovations"]) for network in ("two_agents", "scale_free")
    )
    return Finding(
        claim,
        f"regression {ols_two:.3g} σ₀² on two agents and {ols_many:.3g} σ₀² on the scale-free graph; best observer "
        f"{best_two:.3g} and {best_many:.3g} σ₀²",
        CONFIRMED if ols_two <= ols_many * (1 + MARGIN) else REFUTED,
        f"After {printed.STEPS} steps the variance on two agents is {ols_two / ols_many:.2g} times that on the larger "
        f"graph for the printed regression, and {best_two / best_many:.3g} times for the best observer.",
    )


def protected(e: Evidence) -> Finding:
    """Follow what is left of a uniform prior's variance, for who sees everyone and for who sees some."""
    claim = Claim(
        "protected",
        "A single time series does not give hidden opinions away: they are protected statistically.",
        "Empirical Results, last paragraph",
        "the hidden state of the agents will be protected statistically",
    )
    table = e.protection.set_index("steps")["ratio"]
    first, last = int(table.index.min()), int(table.index.max())
    exponent = _slope(first, table[first], last, table[last])
    unseen = e.partial[e.partial["group"] == "unseen"]
    half = unseen.iloc[(unseen["fraction"] - 0.5).abs().argmin()]
    verdict: Verdict = REFUTED if table[last] < 0.1 else CONFIRMED if exponent > STAYS else UNTESTABLE
    return Finding(
        claim,
        "posterior/prior variance " + ", ".join(f"{ratio:.3g} after {steps:,} steps" for steps, ratio in table.items()),
        verdict,
        f"Who sees everyone is left with {table[last]:.3g} of the prior variance after {last:,} steps of one series; "
        f"not being seen protects: {half['ratio']:.2f} is left where {half['fraction']:.0%} of agents are seen.",
    )


def normal_residuals(e: Evidence) -> Finding:
    """Test the mean residuals for normality, as they are and made independent by their exact covariance."""
    claim = Claim(
        "normal-residuals",
        "The mean residuals of the agents follow a normal law.",
        "Empirical Results, residual figures",
        "a normal fit of the mean residual vector; unimodal and tending toward normality",
    )
    table = e.residuals.tables()["residual_normality"].set_index("sample")
    raw, white = table.loc["mean_vector"], table.loc["whitened"]
    p, kurtosis = min(white["shapiro_p"], white["anderson_p"]), float(raw["exact_excess_kurtosis"])
    verdict: Verdict = REFUTED if p < ALPHA else CORRECTED if kurtosis > 0.1 else CONFIRMED
    if white["size"] < LEAST_SAMPLE:
        verdict = UNTESTABLE
    return Finding(
        claim,
        f"std {raw['std']:.4f}, exact {raw['exact_std']:.4f}; Shapiro p = {raw['shapiro_p']:.2g}, Anderson–Darling p = "
        f"{raw['anderson_p']:.2g}; made independent {white['shapiro_p']:.2g} and {white['anderson_p']:.2g}",
        verdict,
        f"Each agent's residual is normal (p = {p:.2g} for {white['size']:.0f} independent scores), but agents differ "
        f"in variance, so that their mixture has an excess kurtosis of {kurtosis:.2f} however many there are."
        if verdict == CORRECTED
        else f"The independent scores of {white['size']:.0f} agents have p = {p:.2g}; the mixture over agents has an "
        f"excess kurtosis of {kurtosis:.2f}.",
    )


def _slope(t: float, a: float, u: float, b: float) -> float:
    """Return the power of t by which a at t becomes b at u."""
    return float(np.log(b / a) / np.log(u / t))
