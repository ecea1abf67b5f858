"""Claims of the section Model: contraction, consensus on v, and its failures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
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
from peerpressure.theory._forgetting import contraction, contraction_product
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
# Lower limit of a printed difference: a spread of exactly 0 means "below the resolution of doubles".
EPSILON = float(np.finfo(np.float64).eps)


def contracts(e: Evidence) -> Finding:
    """Apply f_t to random states, and compare their distances to the fixed point before and after."""
    claim = Claim(
        "contraction",
        "For fixed ρ_t the update contracts towards y* = (S + ρL)⁻¹Sx₀.",
        "Model, before the condition on the contraction constants",
        "‖f_t(y) − y*‖ ≤ α_t‖y − y*‖ with α_t < 1, in a norm that is not named",
        f"Confirmed if {TRIES} random states at each of t = {_listed(TIMES)} contract by at most α_t in the max-norm, "
        f"1 − α_t > {LEAST_CONTRACTION:g} and y* moves by less than {ROUNDING:g}; refuted otherwise.",
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
        f"{euclidean:.3g}, so that the norm matters."
        if holds
        else f"In the max-norm the bound is 1 − {contracted:.2g} and the largest factor {ratio:.6f}; y* moves by "
        f"{moved:.1e}.",
    )


def reaches_v(e: Evidence) -> Finding:
    """Follow the exact mean of the consensus mode over the last decade of steps."""
    claim = Claim(
        "consensus-limit",
        "Under ρ_t = t the expected opinions all tend to v = Σ s x₀/Σ s.",
        "Model, the limit of E(y_t)",
        "Σ s x₀/Σ s",
        f"Confirmed if the distance of the mode to v falls below {FALLS:g} of itself over the last decade of steps, "
        f"refuted if it stays above {STAYS:g}.",
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
        "slow, and the paper gives no rate."
        if _falling(share) == CONFIRMED
        else f"Over the last decade of steps {share:.3g} of the distance is left, with κ = {e.slow.kappa:.3f}.",
    )


def noise_vanishes(e: Evidence) -> Finding:
    """Follow the exact standard deviation of the mode under the slow and the fast schedule."""
    claim = Claim(
        "noise-vanishes",
        "Outputs converge to v themselves, since the weight g_t of each new noise goes to 0.",
        "Model, convergence in value",
        "lim g_t ε_t = 0, hence lim |y_t − v| = 0",
        f"Refuted if the deviation of the mode stays above {STAYS:g} of itself over the last decade of steps. If it "
        f"falls below {FALLS:g}: corrected if it persists (above {STAYS:g}) under a schedule for which g_t → 0 as "
        "well, confirmed otherwise.",
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
        f"Confirmed if −log Π α_t grows by more than {DIVERGES:g} of its earlier value in the last decade of steps for "
        f"t and by less than {CONVERGES:g} for 2^√t; refuted if by less than {CONVERGES:g} for t.",
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
        f"schedule and by {fast / fast_first:.1g} of it for the second"
        + (", as Σ 1/ρ_t diverges or converges." if verdict == CONFIRMED else "."),
    )


def oscillates(e: Evidence) -> Finding:
    """Compare the last step of fast runs on a tree and on a graph with odd cycles."""
    claim = Claim(
        "oscillation",
        "Where peer pressure grows too fast the system fails to agree and oscillates.",
        "Model, non-convergence figure",
        "failure to converge is accompanied by system oscillation",
        f"Agents oscillate if agent 1 crosses more than half of a spread above {ROUNDING:g} in the last step. "
        "Confirmed if they do on both graphs, corrected if only on the tree, refuted otherwise.",
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


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _rho(model: Model) -> str:
    return f"ρ_t = {model.pressure.formula_text}"
