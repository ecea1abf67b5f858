"""Claims about what an observer recovers: of two agents, in general, and in the residuals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.reproduction import printed
from peerpressure.reproduction._regression import ols_law
from peerpressure.reproduction.claims._evidence import (
    CONFIRMED,
    CORRECTED,
    REFUTED,
    UNTESTABLE,
    Evidence,
    Finding,
    Verdict,
)
from peerpressure.theory import two_agents as closed
from peerpressure.theory.propagation import moments

# Two agents: coefficients, error variances, and the covariance of the estimates.

# Relative, for numbers that accumulate rounding over up to ``LONG`` steps.
ROUNDING = 1e-9
# Shares of a limit, and of an earlier difference from it, below which a sequence counts as convergent.
RTOL, SHRINKS = 0.01, 0.2
# Correlation beyond which two estimates lie along a line.
ALONG_A_LINE = -0.9
# A late start of the observation, and the factor in the variance that makes estimation "more difficult".
LATE_START, HARDER = 501, 10.0
# Rounding matters if it is at least this part of the error due to noise.
VISIBLE = 0.01
# Places in the paper, and steps for the closed forms of two agents.
WHERE = "Sec. III"
STEPS = 20
LONG = 2_000
# Lower limit of a printed difference: a spread of exactly 0 means "below the resolution of doubles".
EPSILON = float(np.finfo(np.float64).eps)


def coefficients(e: Evidence) -> Finding:
    """Compare the design matrix of the model with the printed coefficients."""
    # Unit vectors as hidden opinions give the columns of all Q_t, (T, 2, 2), from t = 1 on.
    rows = e.pair.law.design.forward(np.eye(2))
    off = max(float(np.abs(Q - closed.coefficients(t)).max()) for t, Q in enumerate(rows, start=1))
    return Finding(
        f"largest difference {off:.1e} for T = 1…{len(rows)}",
        CONFIRMED if off < ROUNDING else REFUTED,
        f"The recursion Q_t = diag(g_t) + C_t Q_(t−1) gives coefficients that differ by at most {off:.1e}.",
    )


def error_variance(e: Evidence) -> Finding:
    """Compare the exact variances of the accumulated errors at even and odd times with the printed ones."""
    times = range(1, STEPS + 1)
    exact = moments(e.pair.model, STEPS, times=list(times)).variance / e.pair.noise_variance
    stated = np.array([closed.printed_error_variance(t) for t in times])
    # Both agents have the same variance by symmetry.
    true = np.array([[closed.error_variance(t)] * 2 for t in times])
    text = "; ".join(
        f"{exact[t - 1, 0]:.6f} and {exact[t - 1, 1]:.6f} at T = {t}, printed {stated[t - 1, 0]:.6f} and "
        f"{stated[t - 1, 1]:.6f}"
        for t in (STEPS - 1, STEPS)
    )
    if _same(exact, stated):
        return Finding(text, CONFIRMED, f"Exact and printed variances agree at T = 1…{STEPS}.")
    if not _same(exact, true):
        why = f"At T = {STEPS} the exact variance is {exact[-1, 0]:.4f}, neither the printed value nor T/(T + 1)²."
        return Finding(text, REFUTED, why)
    first, second = stated[STEPS - 2]
    # ⌈T/2⌉ + ⌊T/2⌋ = T, for even T as well as for odd T.
    why = (
        f"Both agents have variance T/(T + 1)² σ₀² for even and odd T, which is the sum of the two printed values "
        f"({first:.4f} + {second:.4f} = {first + second:.4f} at T = {STEPS - 1}): the noise of both agents reaches "
        "each of them."
    )
    return Finding(text, CORRECTED, why, "Var(w_T) = Var(v_T) = σ₀²T/(T + 1)² for even and odd T.")


def gram(e: Evidence) -> Finding:
    """Compare the normal matrix with the printed sums."""
    T, H = e.pair.law.steps, e.pair.law.H
    c, stated, true = _series(H), _series(closed.printed_gram(T)), closed.series(T)
    verdict: Verdict = REFUTED
    if _same(H, closed.printed_gram(T)):
        verdict = CONFIRMED
    elif _same(H, closed.gram(T)):
        verdict = CORRECTED
    return Finding(
        f"series {c:.9f} at T = {T}, printed {stated:.9f}",
        verdict,
        f"Only even times contribute to the series, which runs to ⌊T/2⌋ and is {true:.6f}, not {stated:.6f}; the limit "
        "is the same."
        if verdict == CORRECTED
        else f"The entries of the normal matrix differ from the printed ones by {abs(c - stated):.1e} in the series.",
        "The series runs to ⌊T/2⌋ instead of T; the limit is the same.",
    )


def series_limit(e: Evidence) -> Finding:
    """Compare the remainder of the series after many steps with bounds on its tail."""
    # Only even times contribute a term.
    K = LONG // 2
    left = closed.SERIES_LIMIT - _series(_normal_matrix(e.pair.model, LONG))
    # Terms ½/(2k + 1)² lie between ¼(1/(2k + 1) − 1/(2k + 3)) and ¼(1/(2k − 1) − 1/(2k + 1)), which telescope.
    low, high = 1 / (4 * (2 * K + 3)), 1 / (4 * (2 * K + 1))
    return Finding(
        f"remainder {left:.6e} after T = {LONG:,}, the tail lies in ({low:.6e}, {high:.6e})",
        CONFIRMED if low <= left <= high else REFUTED,
        f"(π² − 8)/16 = {closed.SERIES_LIMIT:.9f} exceeds the partial sum by {left:.3e}, and the remaining terms add "
        f"up to between {low:.3e} and {high:.3e}.",
    )


def inverse_limit(e: Evidence) -> Finding:
    """Follow the inverse normal matrix towards its printed limit."""
    limit = closed.gram_inverse_limit()
    off = [float(np.abs(np.linalg.inv(_normal_matrix(e.pair.model, T)) - limit).max()) for T in (LONG // 10, LONG)]
    # The difference decays like 1/T: close at the end, and falling about tenfold over a decade.
    holds = off[1] < RTOL * limit[0, 0] and off[1] < SHRINKS * off[0]
    return Finding(
        f"largest difference {off[0]:.2e} at T = {LONG // 10:,} and {off[1]:.2e} at T = {LONG:,}",
        CONFIRMED if holds else REFUTED,
        f"The largest difference from entries of {limit[0, 0]:.4f} falls {off[0] / off[1]:.3g}-fold as T grows "
        "tenfold.",
    )


def homoskedastic_covariance(e: Evidence) -> Finding:
    """Compute the covariance of the estimate from outputs with independent errors of one variance."""
    inverse = e.pair.law.solution.inverse
    # The covariance of H⁻¹Qe for Cov(e) = I.
    covariance = inverse @ e.pair.law.H @ inverse
    off = float(np.abs(covariance - inverse).max() / np.abs(inverse).max())
    return Finding(
        f"relative difference {off:.1e} at T = {e.pair.law.steps}",
        CONFIRMED if off < ROUNDING else REFUTED,
        f"The formula is that of ordinary least squares, with the printed σ̂ read as the error variance; both sides "
        f"{'agree within' if off < ROUNDING else 'differ by'} {max(off, EPSILON):.0e}.",
    )


def best_case(e: Evidence) -> Finding:
    """Compare the exact variance with that of the homoskedastic assumption, for the fitted and for the true scale."""
    exact, assumed = float(e.pair.law.covariance[0, 0]), float(e.pair.homoskedastic[0, 0])
    fitted = float(expected_error_variance(e) * e.pair.law.solution.inverse[0, 0])
    # Exact against exact: sampling noise does not enter the verdict.
    of_fitted, of_true = (exact >= value * (1 - ROUNDING) for value in (fitted, assumed))
    verdict: Verdict = CONFIRMED if of_fitted and of_true else CORRECTED if of_fitted else REFUTED
    return Finding(
        f"exact variance {exact:.4f}; the expected fitted σ̂²(QQᵀ)⁻¹ gives {fitted:.4f}, σ₀²(QQᵀ)⁻¹ gives "
        f"{assumed:.4f}, at T = {e.pair.law.steps}",
        verdict,
        f"With σ̂ fitted to the residuals it is a best case for the regression: {fitted:.2g} where the exact variance "
        f"is {exact:.3g}, {exact / fitted:.2g} times more, because the errors accumulate and are correlated in time. "
        f"With σ̂ = σ₀, as in Eq. (16) and Fig. 4, it gives {assumed:.3g} and is no lower bound."
        if verdict == CORRECTED
        else f"The exact variance is {exact:.3g}; the assumption gives {fitted:.2g} with the fitted scale and "
        f"{assumed:.3g} with σ₀.",
        "A best case for the regression with the fitted σ̂; not with σ̂ = σ₀, and not for other estimates.",
    )


def expected_error_variance(e: Evidence) -> float:
    """Return the expectation of the error variance that regression software estimates from the residuals of a run."""
    law = e.pair.law
    # The residual sum of squares is the total of the errors less its part in the fitted space, tr(H Cov(x̂)).
    total = float(moments(law.model, law.steps, times=list(range(1, law.steps + 1))).variance.sum())
    fitted = float(np.trace(law.H @ law.covariance))
    return (total - fitted) / (law.model.n * (law.steps - 1))


def plotted_density(e: Evidence) -> Finding:
    """Compare the plotted normal density with the exact law of the estimates."""
    plotted = e.pair.noise_variance * float(closed.gram_inverse_limit()[0, 0])
    covariance = e.pair.law.covariance
    exact, correlation = float(covariance[0, 0]), float(covariance[0, 1] / covariance[0, 0])
    estimates = e.pair.ols.value[:, 0]
    sampled, error = float(estimates.var(ddof=1)), float(estimates.var(ddof=1) * np.sqrt(2 / (estimates.size - 1)))
    verdict: Verdict = CORRECTED if correlation < ALONG_A_LINE else REFUTED
    if abs(exact / plotted - 1) < RTOL:
        verdict = CONFIRMED
    return Finding(
        f"variance {exact:.4f} exactly and {sampled:.2f} ± {error:.2f} sampled, plotted {plotted:.4f}; correlation "
        f"{correlation:.4f} exactly, plotted −1",
        verdict,
        f"The estimates lie along the plotted line (correlation {correlation:.3f}), but their variance is {exact:.3g}, "
        f"not {plotted:.3g}, because the errors are neither independent nor of equal variance."
        if verdict == CORRECTED
        else f"The estimates have variance {exact:.3g} and correlation {correlation:.3f}; the plotted density has "
        f"{plotted:.3g} and −1.",
        f"The direction is right; the variance of the estimates is {exact:.3g} σ₀², not {plotted:.3g} σ₀².",
    )


def instability(e: Evidence) -> Finding:
    """Compare an early with a late start of the observation, and rounding with noise."""
    steps = e.pair.law.steps
    late = ols_law(e.pair.model, LATE_START + steps - 1, LATE_START)
    first, later = float(e.pair.law.covariance[0, 0]), float(late.covariance[0, 0])
    condition = float(np.linalg.cond(late.H))
    # The standard bound for the relative error of a solved system, times the size of the opinions.
    rounding = condition * float(np.finfo(np.float64).eps) * float(np.abs(e.pair.model.x0).max())
    noise = float(np.sqrt(later))
    verdict: Verdict = CONFIRMED if rounding > VISIBLE * noise else CORRECTED if later > HARDER * first else REFUTED
    return Finding(
        f"variance of the regression {first:.3g} for t = 1…{steps} and {later:.3g} for t = {LATE_START}…{late.steps}; "
        f"condition number {condition:.2g}, rounding at most {rounding:.0e}",
        verdict,
        f"Estimation does become harder: {steps} samples from t = {LATE_START} on have variance {later:.3g} σ₀² "
        f"instead of {first:.2g} σ₀². The cause is statistical, rows that hardly differ amplify noise; rounding "
        f"contributes {rounding:.0e} at most."
        if verdict == CORRECTED
        else f"A late start changes the variance from {first:.3g} to {later:.3g}; rounding contributes at most "
        f"{rounding:.0e}, noise {noise:.2g}.",
        "Estimation becomes harder for a statistical reason, not a numerical one.",
    )


def late_start(e: Evidence) -> Finding:
    """Compute the covariance of the regression on outputs from a late step on."""
    steps = e.pair.law.steps
    late = ols_law(e.pair.model, LATE_START + steps - 1, LATE_START)
    exact, assumed = float(late.covariance[0, 0]), float(e.pair.noise_variance * late.solution.inverse[0, 0])
    return Finding(
        f"variance {exact:.3g} exactly and {assumed:.3g} under the homoskedastic assumption, for t = {LATE_START}…"
        f"{late.steps}",
        CONFIRMED if min(exact, assumed) > ROUNDING else REFUTED,
        f"With samples from t = {LATE_START} on, the variance is {exact:.3g} exactly and {assumed:.3g} under the "
        "homoskedastic assumption.",
    )


# Three checks need the same long regressions. A model hashes by identity.
@lru_cache(maxsize=16)
def _normal_matrix(model: Model, steps: int) -> NDArray[np.float64]:
    return ols_law(model, steps).H


def _series(H: NDArray[np.float64]) -> float:
    """Return c of T/2·[[1, 1], [1, 1]] + c·[[1, −1], [−1, 1]]."""
    # T/2 cancels in the difference; for T up to ``LONG`` this loses three or four of sixteen digits.
    return float((H[0, 0] - H[0, 1]) / 2)


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    # No absolute tolerance: the variances fall like 1/T, and a printed 0 must not equal a small number.
    return bool(np.allclose(a, b, rtol=ROUNDING, atol=0))


# Any number of agents: hidden opinions at finite times and in the limit, and the residuals.

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
HEAVY_TAILS = 1.0  # excess kurtosis; that of a logistic law, which is called close to normal, is 1.2


def not_exact(e: Evidence) -> Finding:
    """Take the smallest error variance that any unbiased observer of two agents has after finitely many steps."""
    best, last = _best_of_two(e)
    variance = float(best.loc[last, "variance"])
    return Finding(
        f"variance of the best estimate {variance:.3g} σ₀² after {last:,} steps",
        CONFIRMED if variance > 0 else REFUTED,
        f"The information in {last:,} steps is finite, so no unbiased estimate has a variance below "
        f"{variance:.3g} σ₀²; this holds if y₀ = x₀ itself is not observed."
        if variance > 0
        else f"An unbiased estimate from {last:,} steps has the variance {variance:.3g} σ₀².",
    )


def not_in_the_limit(e: Evidence) -> Finding:
    """Follow the error variance of the best observer of two agents over the last decade of steps."""
    best, last = _best_of_two(e)
    ols = e.observers.query("network == 'two_agents' and observer == 'ols'").set_index("steps")["variance"]
    # The last decade: earlier steps are affected by the start.
    first = int(best.index[best.index <= last / 10].max())
    exponent = _slope(first, best.loc[first, "variance"], last, best.loc[last, "variance"])
    verdict: Verdict = REFUTED if exponent < VANISHES else CONFIRMED if exponent > PERSISTS else UNTESTABLE
    sampled, error = best.loc[last, "sampled"], best.loc[last, "standard_error"]
    return Finding(
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
    at = e.observers[e.observers["steps"] == printed.STEPS].set_index(["network", "observer"])["variance"]
    (ols_two, best_two), (ols_many, best_many) = (
        (at[network, "ols"], at[network, "innovations"]) for network in ("two_agents", "scale_free")
    )
    return Finding(
        f"regression {ols_two:.3g} σ₀² on two agents and {ols_many:.3g} σ₀² on the scale-free graph; best observer "
        f"{best_two:.3g} and {best_many:.3g} σ₀²",
        # Judged by the printed regression, the observer that the claim is about.
        CONFIRMED if ols_two <= ols_many * (1 + MARGIN) else REFUTED,
        f"After {printed.STEPS} steps the variance on two agents is {ols_two / ols_many:.2g} times that on the larger "
        f"graph for the printed regression, and {best_two / best_many:.3g} times for the best observer.",
    )


def protected(e: Evidence) -> Finding:
    """Follow posterior over prior variance under full and under partial observation.

    The prior is Gaussian, with mean and variance of the uniform law of the hidden opinions.
    """
    table = e.protection.set_index("steps")["ratio"]
    first, last = int(table.index.min()), int(table.index.max())
    exponent = _slope(first, table[first], last, table[last])
    hidden = e.partial[e.partial["group"] == "unobserved"]
    # The row nearest to one half; the fractions are a parameter of the experiment.
    half = hidden.iloc[(hidden["fraction"] - 0.5).abs().argmin()]
    verdict: Verdict = REFUTED if table[last] < REVEALED else CONFIRMED if exponent > PERSISTS else UNTESTABLE
    # In contrast to those who are observed.
    others = "are protected: they " if verdict == REFUTED else ""
    return Finding(
        "posterior/prior variance "
        + ", ".join(f"{ratio:.3g} after {steps:,} steps" for steps, ratio in table.items())
        + ", for a Gaussian prior with mean and variance of the uniform law",
        verdict,
        f"An observer of all agents who knows the model reduces the variance to {table[last]:.3g} of the prior with "
        f"{last:,} steps of one series. Unobserved agents {others}keep {half['ratio']:.2f} of the prior "
        f"variance if {half['fraction']:.0%} of agents are observed.",
    )


def normal_residuals(e: Evidence) -> Finding:
    """Test the mean residuals for normality, before and after whitening by their exact covariance."""
    table = e.residuals.tables()["residual_normality"].set_index("sample")
    raw, white = table.loc["mean_vector"], table.loc["whitened"]
    # Only whitened scores are independent, so only their p-values are valid. The kurtosis is that of the exact
    # mixture, not of the sample.
    p, kurtosis = min(white["shapiro_p"], white["anderson_p"]), float(raw["exact_excess_kurtosis"])
    verdict: Verdict = REFUTED if p < ALPHA else CORRECTED if kurtosis > HEAVY_TAILS else CONFIRMED
    if white["size"] < LEAST_SAMPLE:
        verdict = UNTESTABLE
    return Finding(
        f"std {raw['std']:.4f}, exact {raw['exact_std']:.4f}; Shapiro p = {raw['shapiro_p']:.2g}, Anderson–Darling p = "
        f"{raw['anderson_p']:.2g}; whitened {white['shapiro_p']:.2g} and {white['anderson_p']:.2g}",
        verdict,
        f"A test of the mean residuals has p = {raw['shapiro_p']:.2g}. Each agent's residual is exactly normal (p = "
        f"{p:.2g} for {white['size']:.0f} independent scores), and as agents differ in variance their "
        f"mixture has an excess kurtosis of {kurtosis:.2f}, however many there are."
        if verdict == CONFIRMED
        else f"The independent scores of {white['size']:.0f} agents have p = {p:.2g}; the mixture over agents has an "
        f"excess kurtosis of {kurtosis:.2f}.",
        "Each agent's residual is normal; their mixture over agents has heavier tails.",
    )


def _slope(t: float, a: float, u: float, b: float) -> float:
    """Return the exponent of the power law through (t, a) and (u, b)."""
    return float(np.log(b / a) / np.log(u / t))
