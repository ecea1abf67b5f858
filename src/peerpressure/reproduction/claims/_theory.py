"""Claims of the paper's theory: convergence in section Model, and two agents in Recovery of the Hidden States."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.reproduction import printed
from peerpressure.reproduction._regression import ols_law
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
from peerpressure.theory import two_agents as closed
from peerpressure.theory._contraction import contraction, contraction_product
from peerpressure.theory._moments import consensus_mode, moments
from peerpressure.theory._stationary import fixed_point

TIMES = (1, 10, 100)
# Random states per step; the bound must hold for each, and twenty are enough to expose a wrong one.
TRIES = 20
# A quantity that vanishes falls below the first share of itself over the last decade of a run; one that persists keeps
# the second.
FALLS, STAYS = 0.9, 0.98
# A sum that diverges like log t grows by more than the first share of itself in the last decade; one that converges
# grows by less than the second.
DIVERGES, CONVERGES = 0.2, 0.05
# A step that contracts by less than this is no contraction in double precision.
LEAST_CONTRACTION = 1e-12
# Relative, for numbers that accumulate rounding over up to ``LONG`` steps.
ROUNDING = 1e-9
# Places in the paper, and steps for the closed forms of two agents.
WHERE = "Recovery of the Hidden States"
STEPS = 20
LONG = 2_000
# Lower limit of a printed difference: a spread of exactly 0 means "below the resolution of doubles".
EPSILON = float(np.finfo(np.float64).eps)


def contracts(e: Evidence) -> Finding:
    """Apply f_t to random states, and compare their distances to the fixed point before and after."""
    claim = Claim(
        "contraction",
        "For fixed ρ_t the update contracts towards y* = (S + ρL)⁻¹Sx₀.",
        "Model, before the condition on the contraction constants",
        "‖f_t(y) − y*‖ ≤ α_t‖y − y*‖ with α_t < 1, in a norm that is not named",
    )
    alpha = contraction(e.slow, list(TIMES))
    # 1 − α_t computed as the smallest gain s/(s + ρd): the difference itself would cancel.
    contracted = min(float(e.slow.update(t).gain.min()) for t in TIMES)
    ratio, moved = np.array([_contraction(e.slow, t) for t in TIMES]).max(axis=0)
    euclidean = float(np.linalg.norm(e.slow.update(TIMES[-1]).coupling.toarray(), 2))
    holds = contracted > LEAST_CONTRACTION and ratio <= alpha.max() * (1 + ROUNDING) and moved < ROUNDING
    return Finding(
        claim,
        f"largest measured factor {ratio:.6f}, bound α = {alpha.max():.6f} (max-norm); y* moves by {moved:.1e}",
        CONFIRMED if holds else REFUTED,
        f"In the max-norm every step contracts by at least {contracted:.2g}; in the Euclidean norm the factor can be "
        f"{euclidean:.3g}, so that the norm matters.",
    )


def reaches_v(e: Evidence) -> Finding:
    """Follow the exact mean of the consensus mode over the last decade of steps."""
    claim = Claim(
        "consensus-limit",
        "Under ρ_t = t the expected opinions all tend to v = Σ s x₀/Σ s.",
        "Model, the limit of E(y_t)",
        "Σ s x₀/Σ s",
    )
    (before, _), (after, _) = _mode_errors(e.slow, [e.steps // 10, e.steps])
    # With all hidden opinions at v the bias is 0 throughout.
    share = abs(after / before) if before else 0.0
    exponent = -np.log10(share) if share > 0 else np.inf
    return Finding(
        claim,
        f"distance of the mode to v {abs(before):.3g} at t = {e.steps // 10:,} and {abs(after):.3g} at {e.steps:,}",
        _falling(share),
        f"The distance falls like t^−{exponent:.3f}, with κ = {e.slow.kappa:.3f}: the limit is v, but convergence is "
        "slow, and the paper gives no rate.",
    )


def noise_vanishes(e: Evidence) -> Finding:
    """Follow the exact standard deviation of the mode under the slow and the fast schedule."""
    claim = Claim(
        "noise-vanishes",
        "Outputs converge to v themselves, since the weight g_t of each new noise goes to 0.",
        "Model, convergence in value",
        "lim g_t ε_t = 0, hence lim |y_t − v| = 0",
    )
    times = [e.steps // 10, e.steps]
    slow, fast = (np.array(_mode_errors(model, times))[:, 1] for model in (e.slow, e.fast))
    gain = float(e.fast.update(e.steps).gain.max())
    verdict = _falling(slow[1] / slow[0])
    # The noise vanishes as claimed, but not for the printed reason: under the fast schedule g_t → 0 as well.
    if verdict == CONFIRMED and fast[1] / fast[0] > STAYS:
        verdict = CORRECTED
    return Finding(
        claim,
        f"deviation of the mode {slow[0]:.3g} → {slow[1]:.3g} under {_rho(e.slow)}, {fast[0]:.3g} → {fast[1]:.3g} "
        f"under {_rho(e.fast)}",
        verdict,
        f"The printed reason does not suffice: g_t falls to {gain:.1e} under {_rho(e.fast)} too, where a standard "
        f"deviation of {fast[1]:.3g} persists. The noise vanishes because Σ 1/ρ_t diverges."
        if verdict == CORRECTED
        else f"The standard deviation changes by a factor {slow[1] / slow[0]:.3g} over the last decade of steps.",
    )


def growth_condition(e: Evidence) -> Finding:
    """Compare the contraction under both schedules over the last decade of steps."""
    claim = Claim(
        "growth-condition",
        "Peer pressure may grow like t, whose contraction constants multiply to 0, but not like 2^√t.",
        "Model, the product of the contraction constants; non-convergence figure",
        "Π α_t = 0 for ρ_t = t; ρ_t = 2^√t grows too quickly",
    )
    (slow_first, slow), (fast_first, fast) = (_log_contraction(model, e.steps) for model in (e.slow, e.fast))
    verdict: Verdict = UNTESTABLE
    # The claim fails if the slow product already stalls; a run too short to decide remains untestable.
    if slow < CONVERGES * slow_first:
        verdict = REFUTED
    elif slow > DIVERGES * slow_first and fast < CONVERGES * fast_first:
        verdict = CONFIRMED
    return Finding(
        claim,
        f"log Π α_t falls by {slow_first:.3g} up to t = {e.steps // 10:,} and by {slow:.3g} from there to {e.steps:,} "
        f"under {_rho(e.slow)}, by {fast_first:.3g} and {fast:.2g} under {_rho(e.fast)}",
        verdict,
        f"In the last decade of steps the logarithm falls by {slow / slow_first:.2g} of its earlier fall for the first "
        f"schedule and by {fast / fast_first:.1g} of it for the second, as Σ 1/ρ_t diverges or converges.",
    )


def oscillates(e: Evidence) -> Finding:
    """Compare the last step of fast runs on a tree and on a graph with odd cycles."""
    claim = Claim(
        "oscillation",
        "Where peer pressure grows too fast the system fails to agree and oscillates.",
        "Model, non-convergence figure",
        "failure to converge is accompanied by oscillation",
    )
    runs = e.runs.set_index("run")
    tree, cycles = runs.loc["fast_tree"], runs.loc["fast_cycles"]
    both = [_is_oscillating(run["oscillation"], run["spread"]) for run in (tree, cycles)]
    # The claim holds in full only if both graphs oscillate, and under a condition if only the bipartite one does.
    verdict: Verdict = CONFIRMED if all(both) else CORRECTED if both[0] else REFUTED
    return Finding(
        claim,
        f"tree: oscillation {tree['oscillation']:.3g}, spread {tree['spread']:.3g}; odd cycles: spread "
        f"{cycles['spread']:.1e}, distance to v {cycles['max_distance']:.3g}",
        verdict,
        f"Only bipartite graphs oscillate: with odd cycles all agents agree within "
        f"{max(cycles['spread'], EPSILON):.0e}, on a value that differs from v by {cycles['max_distance']:.3g}."
        if verdict == CORRECTED
        else f"Agents oscillate by {tree['oscillation']:.3g} on the first graph and by {cycles['oscillation']:.3g} on "
        "the second.",
    )


def _contraction(model: Model, t: int) -> tuple[float, float]:
    """Return the largest contraction factor of f_t on random states, and how far f_t moves y* itself."""
    update, star = model.update(t), fixed_point(model, t)
    # A fixed seed, so that the audit of the same model is the same; the factor does not depend on the states' scale.
    states = star + np.random.default_rng(t).normal(size=(TRIES, model.n))
    images = np.array([update(state) for state in states])
    # The max-norm, in which the bound α_t is derived: each row of C_t sums to at most α_t.
    factors = np.abs(images - star).max(axis=1) / np.abs(states - star).max(axis=1)
    return float(factors.max()), float(np.abs(update(star) - star).max())


def _mode_errors(model: Model, times: Sequence[int]) -> list[tuple[float, float]]:
    """Return bias and standard deviation of the consensus mode at these times."""
    law = moments(model, max(times), of=consensus_mode(model), times=list(times))
    bias: NDArray[np.float64] = law.mean[:, 0] - model.consensus_value
    return [(float(b), float(s)) for b, s in zip(bias, law.std[:, 0], strict=True)]


def _falling(share: float) -> Verdict:
    return CONFIRMED if share < FALLS else REFUTED if share > STAYS else UNTESTABLE


def _log_contraction(model: Model, steps: int) -> tuple[float, float]:
    """Return the growth of −log Π α_t before the last decade of steps, and in it."""
    logs = contraction_product(model, steps, log=True)
    # Entry k − 1 belongs to step k. Logarithms, because the product itself may underflow.
    return float(-logs[steps // 10 - 1]), float(logs[steps // 10 - 1] - logs[steps - 1])


def _is_oscillating(oscillation: float, spread: float) -> bool:
    """Return whether an agent crosses most of the spread at each step, and the spread is more than rounding."""
    return spread > ROUNDING and oscillation > spread / 2


def _rho(model: Model) -> str:
    return f"ρ_t = {model.pressure.formula_text}"


def coefficients(e: Evidence) -> Finding:
    """Compare the design matrix of the model with the printed coefficients."""
    claim = Claim(
        "coefficients",
        "The weights of both opinions in both outputs are as printed for even and odd T.",
        f"{WHERE}, the coefficient equations",
        "(T/2 + 1)/(T + 1) and (T/2)/(T + 1) for T even; 1/2 and 1/2 for T odd",
    )
    # Unit vectors as hidden opinions give the columns of all Q_t, (T, 2, 2), from t = 1 on.
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
    # Both agents have the same variance by symmetry.
    true = np.array([[closed.error_variance(t)] * 2 for t in times])
    last = f"{exact[-1, 0]:.6f} and {exact[-1, 1]:.6f} at T = {times[-1]}, printed {stated[-1, 0]:.6f}"
    if _same(exact, stated):
        return Finding(claim, last, CONFIRMED, f"Exact and printed variances agree at T = {times[0]}…{times[-1]}.")
    # Relative to the first printed variance, which is positive at all T; for odd T the second one is 0 at T = 1.
    factor = float(np.median(exact / np.where(stated > 0, stated, np.nan)[:, :1]))
    why = (
        f"Both agents have variance T/(T + 1)² σ₀², {factor:.3g} times the first printed value, because the noise of "
        "both reaches each."
    )
    if not _same(exact, true):
        why = f"The exact variances follow neither the printed formula nor T/(T + 1)²; their ratio is {factor:.3g}."
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
        f"Only even times contribute to the series, which runs to ⌊T/2⌋ and is {true:.6f}, not {stated:.6f}; the limit "
        "is the same."
        if verdict == CORRECTED
        else f"The entries of the normal matrix differ from the printed ones by {abs(c - stated):.1e} in the series.",
    )


def series_limit(e: Evidence) -> Finding:
    """Compare the remainder of the series after many steps with bounds on its tail."""
    claim = Claim("series-limit", "The series tends to the printed limit.", f"{WHERE}, below QQᵀ", printed.SERIES_LIMIT)
    # Only even times contribute a term.
    K = LONG // 2
    left = closed.SERIES_LIMIT - _series(_normal_matrix(e.pair.model, LONG))
    # Terms ½/(2k + 1)² lie between ¼(1/(2k + 1) − 1/(2k + 3)) and ¼(1/(2k − 1) − 1/(2k + 1)), which telescope.
    low, high = 1 / (4 * (2 * K + 3)), 1 / (4 * (2 * K + 1))
    return Finding(
        claim,
        f"remainder {left:.6e} after T = {LONG:,}, the tail lies in ({low:.6e}, {high:.6e})",
        CONFIRMED if low <= left <= high else REFUTED,
        f"(π² − 8)/16 = {closed.SERIES_LIMIT:.9f} exceeds the partial sum by {left:.3e}, and the remaining terms add "
        f"up to between {low:.3e} and {high:.3e}.",
    )


def inverse_limit(e: Evidence) -> Finding:
    """Follow the inverse normal matrix towards its printed limit."""
    words = "(QQᵀ)⁻¹ tends to the printed, singular matrix."
    limit = closed.gram_inverse_limit()
    off = [float(np.abs(np.linalg.inv(_normal_matrix(e.pair.model, T)) - limit).max()) for T in (LONG // 10, LONG)]
    # The difference decays like 1/T: close at the end, and falling about tenfold over a decade.
    holds = off[1] < 0.01 * limit[0, 0] and off[1] < 0.2 * off[0]
    return Finding(
        Claim("inverse-limit", words, f"{WHERE}, last equation", printed.INVERSE_LIMIT),
        f"largest difference {off[0]:.2e} at T = {LONG // 10:,} and {off[1]:.2e} at T = {LONG:,}",
        CONFIRMED if holds else REFUTED,
        f"The largest difference from entries of {limit[0, 0]:.4f} falls {off[0] / off[1]:.3g}-fold as T grows "
        "tenfold.",
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
    # Exact against exact: sampling noise does not enter the verdict.
    off = exact / assumed - 1
    return Finding(
        claim,
        f"variance {exact:.4f} exactly and {sampled:.2f} ± {error:.2f} sampled at T = {e.pair.law.steps}, "
        f"σ₀²(QQᵀ)⁻¹ gives {assumed:.4f}",
        CONFIRMED if abs(off) < 0.01 else REFUTED,
        f"Errors accumulate and are correlated in time: the exact variance is {abs(off):.0%} "
        f"{'above' if off > 0 else 'below'} σ₀²(QQᵀ)⁻¹, and {exact / usual:.3g} times what the fitted σ̂² gives.",
    )


def instability(e: Evidence) -> Finding:
    """Compare the possible rounding error of the regression with the error due to noise."""
    claim = Claim(
        "instability",
        "As rows of the design become alike, numerical instability makes estimation harder.",
        f"{WHERE}, last sentence",
        "numerical instability will make estimation more difficult",
    )
    H = _normal_matrix(e.pair.model, LONG)
    condition = float(np.linalg.cond(H))
    # The standard bound for the relative error of a solved system, times the size of the opinions.
    rounding = condition * float(np.finfo(np.float64).eps) * float(np.abs(e.pair.model.x0).max())
    noise = float(np.sqrt(e.pair.law.covariance[0, 0]))
    return Finding(
        claim,
        f"condition {condition:.3g} at T = {LONG:,}: rounding up to {rounding:.1e}, noise {noise:.3g}",
        # Rounding matters only if it is a visible part of the error.
        CONFIRMED if rounding > noise / 100 else REFUTED,
        f"The condition number is {condition:.3g} after {LONG:,} steps, so that rounding errors are at most "
        f"{rounding:.0e}, while noise contributes {noise:.2g}.",
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
