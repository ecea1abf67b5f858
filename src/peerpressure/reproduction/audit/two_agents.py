"""Claims about two agents with s = w = 1 under ρ_t = t: what they show, and the covariance of a regression on it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.reproduction import printed
from peerpressure.reproduction.audit.evidence import CONFIRMED, CORRECTED, REFUTED, Claim, Evidence, Finding, Verdict
from peerpressure.reproduction.regression import ols_law
from peerpressure.theory import two_agents as closed
from peerpressure.theory._moments import moments

WHERE = "Recovery of the Hidden States"
STEPS = 20
LONG = 2_000
ROUNDING = 1e-9


def coefficients(e: Evidence) -> Finding:
    """Compare the design matrix of the model with the printed coefficients."""
    claim = Claim(
        "coefficients",
        "The weights of both opinions in both outputs are as printed for even and odd T.",
        f"{WHERE}, the coefficient equations",
        "(T/2 + 1)/(T + 1) and (T/2)/(T + 1) for T even; 1/2 and 1/2 for T odd",
    )
    rows = e.pair.law.design.forward(np.eye(2))
    off = max(float(np.abs(Q - closed.coefficients(t)).max()) for t, Q in enumerate(rows, start=1))
    return Finding(
        claim,
        f"largest difference {off:.1e} for T = 1…{len(rows)}",
        CONFIRMED if off < ROUNDING else REFUTED,
        f"The recursion Q_t = diag(g_t) + C_t Q_(t−1) gives coefficients that differ by at most {off:.1e}.",
    )


def even_variance(e: Evidence) -> Finding:
    """Compare the exact variance of the accumulated error at even times with the printed one."""
    return _variance(e, "even", printed.EVEN_VARIANCE, range(2, STEPS + 1, 2))


def odd_variance(e: Evidence) -> Finding:
    """Compare the exact variances of the accumulated errors at odd times with the printed ones."""
    return _variance(e, "odd", printed.ODD_VARIANCES, range(1, STEPS, 2))


def _variance(e: Evidence, parity: str, formula: str, times: range) -> Finding:
    claim = Claim(
        f"error-variance-{parity}",
        f"The accumulated errors of the two outputs have the printed variances for {parity} T.",
        f"{WHERE}, the error distributions",
        f"{formula}, for σ₀ = 1",
    )
    exact = moments(e.pair.model, times[-1], times=list(times)).variance / e.pair.noise_variance
    stated = np.array([closed.printed_error_variance(t) for t in times])
    true = np.array([[closed.error_variance(t)] * 2 for t in times])
    last = f"{exact[-1, 0]:.6f} and {exact[-1, 1]:.6f} at T = {times[-1]}, printed {stated[-1, 0]:.6f}"
    if _same(exact, stated):
        return Finding(claim, last, CONFIRMED, f"Exact and printed variances agree at T = {times[0]}…{times[-1]}.")
    factor = float(np.median(exact / np.where(stated > 0, stated, np.nan)[:, :1]))
    why = (
        f"Both agents have T/(T + 1)² σ₀², {factor:.3g} times the first printed value: the noise of both reaches each."
    )
    if not _same(exact, true):
        why = f"The exact variances follow neither the printed formula nor T/(T + 1)², {factor:.3g} times the former."
    return Finding(claim, last, CORRECTED if _same(exact, true) else REFUTED, why)


def gram(e: Evidence) -> Finding:
    """Compare the normal matrix with the printed sums."""
    claim = Claim(
        "gram-entries",
        "QQᵀ has entries T/2 ± a series that runs to T.",
        f"{WHERE}, the matrix QQᵀ",
        "T/2 ± Σ_{t=1}^T 2/(2 + 4t)²",
    )
    T, H = e.pair.law.steps, e.pair.law.H
    c, stated, true = _series(H), _series(closed.printed_gram(T)), closed.series(T)
    verdict: Verdict = REFUTED
    if _same(H, closed.printed_gram(T)):
        verdict = CONFIRMED
    elif _same(H, closed.gram(T)):
        verdict = CORRECTED
    return Finding(
        claim,
        f"series {c:.9f} at T = {T}, printed {stated:.9f}",
        verdict,
        f"Only even times add to the series, so that it runs to ⌊T/2⌋ and is {true:.6f}, not {stated:.6f}; the limit "
        "is the same."
        if verdict == CORRECTED
        else f"The entries of the normal matrix differ from the printed ones by {abs(c - stated):.1e} in the series.",
    )


def series_limit(e: Evidence) -> Finding:
    """Compare what is left of the series after many steps with what the printed limit leaves."""
    claim = Claim("series-limit", "The series tends to the printed limit.", f"{WHERE}, below QQᵀ", printed.SERIES_LIMIT)
    K = LONG // 2
    left = closed.SERIES_LIMIT - _series(_normal_matrix(e.pair.model, LONG))
    # Terms ½/(2k + 1)² lie between ¼(1/(2k + 1) − 1/(2k + 3)) and ¼(1/(2k − 1) − 1/(2k + 1)), which telescope.
    low, high = 1 / (4 * (2 * K + 3)), 1 / (4 * (2 * K + 1))
    return Finding(
        claim,
        f"{left:.6e} left after T = {LONG:,}, the tail lies in ({low:.6e}, {high:.6e})",
        CONFIRMED if low <= left <= high else REFUTED,
        f"(π² − 8)/16 = {closed.SERIES_LIMIT:.9f} exceeds the sum so far by {left:.3e}, where the terms to come add up "
        f"to between {low:.3e} and {high:.3e}.",
    )


def inverse_limit(e: Evidence) -> Finding:
    """Follow the inverse normal matrix towards its printed limit."""
    words = "(QQᵀ)⁻¹ tends to the printed, singular matrix."
    limit = closed.gram_inverse_limit()
    off = [float(np.abs(np.linalg.inv(_normal_matrix(e.pair.model, T)) - limit).max()) for T in (LONG // 10, LONG)]
    holds = off[1] < 0.01 * limit[0, 0] and off[1] < 0.2 * off[0]
    return Finding(
        Claim("inverse-limit", words, f"{WHERE}, last equation", printed.INVERSE_LIMIT),
        f"off by {off[0]:.2e} at T = {LONG // 10:,} and by {off[1]:.2e} at T = {LONG:,}",
        CONFIRMED if holds else REFUTED,
        f"The largest difference to entries of {limit[0, 0]:.4f} falls {off[0] / off[1]:.3g}-fold as T grows tenfold.",
    )


def sigma(e: Evidence) -> Finding:
    """Compare the printed covariance with the exact and the sampled one."""
    claim = Claim(
        "estimate-covariance",
        "Under homoskedastic errors, as a best case, the estimate has covariance Σ ∝ (QQᵀ)⁻¹.",
        f"{WHERE}, the law of the estimate; Empirical Results, density plot",
        printed.INVERSE_LIMIT,
    )
    exact, assumed = float(e.pair.law.covariance[0, 0]), float(e.pair.homoskedastic[0, 0])
    estimates = e.pair.ols.value[:, 0]
    sampled, error = float(estimates.var(ddof=1)), float(estimates.var(ddof=1) * np.sqrt(2 / (estimates.size - 1)))
    textbook = e.pair.ols.homoskedastic_covariance
    usual = float("nan") if textbook is None else float(textbook[0, 0])
    off = exact / assumed - 1
    return Finding(
        claim,
        f"variance {exact:.4f} exactly and {sampled:.2f} ± {error:.2f} sampled at T = {e.pair.law.steps}, "
        f"σ₀²(QQᵀ)⁻¹ says {assumed:.4f}",
        CONFIRMED if abs(off) < 0.01 else REFUTED,
        f"Errors pile up and are correlated in time: the exact variance is {abs(off):.0%} "
        f"{'above' if off > 0 else 'below'} σ₀²(QQᵀ)⁻¹, and {exact / usual:.3g} times what the fitted σ̂² gives.",
    )


def instability(e: Evidence) -> Finding:
    """Compare the error that rounding can make in the regression with the one that noise makes."""
    claim = Claim(
        "instability",
        "As rows of the design become alike, numerical instability makes estimation harder.",
        f"{WHERE}, last sentence",
        "numerical instability will make estimation more difficult",
    )
    H = _normal_matrix(e.pair.model, LONG)
    condition = float(np.linalg.cond(H))
    rounding = condition * float(np.finfo(np.float64).eps) * float(np.abs(e.pair.model.x0).max())
    noise = float(np.sqrt(e.pair.law.covariance[0, 0]))
    return Finding(
        claim,
        f"condition {condition:.3g} at T = {LONG:,}: rounding up to {rounding:.1e}, noise {noise:.3g}",
        CONFIRMED if rounding > noise / 100 else REFUTED,
        f"The condition number is {condition:.3g} after {LONG:,} steps, so that rounding can cost {rounding:.0e} where "
        f"noise costs {noise:.2g}.",
    )


@lru_cache(maxsize=16)
def _normal_matrix(model: Model, steps: int) -> NDArray[np.float64]:
    return ols_law(model, steps).H


def _series(H: NDArray[np.float64]) -> float:
    """Return c of T/2·[[1, 1], [1, 1]] + c·[[1, −1], [−1, 1]]."""
    return float((H[0, 0] - H[0, 1]) / 2)


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool(np.allclose(a, b, rtol=ROUNDING, atol=0))
