"""Claims about consensus: contraction, its limit, how fast pressure may grow, what failure looks like, and noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.reproduction.audit.evidence import (
    CONFIRMED,
    CORRECTED,
    REFUTED,
    UNTESTABLE,
    Claim,
    Evidence,
    Finding,
    Verdict,
)
from peerpressure.theory._contraction import contraction, contraction_product
from peerpressure.theory._fixed_point import fixed_point
from peerpressure.theory._moments import consensus_mode, moments

TIMES = (1, 10, 100)
TRIES = 20
# Over the last decade of a run a quantity that goes to 0 falls below the first share of itself, and one that stays
# keeps the second.
FALLS, STAYS = 0.9, 0.98
# A sum that diverges like log t adds more than the first share of itself in the last decade, one that converges less
# than the second.
GOES_ON, STANDS = 0.2, 0.05
# A step that shrinks distances by less than this is no contraction in double precision.
LEAST_SHRINKING = 1e-12
ROUNDING = 1e-9
# What two equal numbers of order 1 can differ by without showing it.
EPSILON = float(np.finfo(np.float64).eps)


def contracts(e: Evidence) -> Finding:
    """Apply f_t to random states, and compare how far they and their images are from the fixed point."""
    claim = Claim(
        "contraction",
        "For fixed ρ_t the update contracts towards y* = (S + ρL)⁻¹Sx₀.",
        "Model, before the condition on the contraction constants",
        "‖f_t(y) − y*‖ ≤ α_t‖y − y*‖ with α_t < 1, in a norm that is not named",
    )
    alpha = contraction(e.slow, list(TIMES))
    shrinking = min(float(e.slow.update(t).gain.min()) for t in TIMES)
    ratio, moved = np.array([_shrinks(e.slow, t) for t in TIMES]).max(axis=0)
    euclidean = float(np.linalg.norm(e.slow.update(TIMES[-1]).coupling.toarray(), 2))
    holds = shrinking > LEAST_SHRINKING and ratio <= alpha.max() * (1 + ROUNDING) and moved < ROUNDING
    return Finding(
        claim,
        f"largest measured factor {ratio:.6f}, bound α = {alpha.max():.6f} (max-norm); y* moves by {moved:.1e}",
        CONFIRMED if holds else REFUTED,
        f"In the max-norm every step shrinks by at least {shrinking:.2g}; in the Euclidean norm the factor can be "
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
    share = abs(after / before) if before else 0.0
    exponent = -np.log10(share) if share > 0 else np.inf
    return Finding(
        claim,
        f"distance of the mode to v {abs(before):.3g} at t = {e.steps // 10:,} and {abs(after):.3g} at {e.steps:,}",
        _falling(share),
        f"The distance falls like t^−{exponent:.3f} where κ = {e.slow.kappa:.3f}: to v, but slowly, and no rate is "
        "printed.",
    )


def noise_vanishes(e: Evidence) -> Finding:
    """Follow the exact deviation of the mode under the slow and under the fast schedule."""
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
    if verdict == CONFIRMED and fast[1] / fast[0] > STAYS:
        verdict = CORRECTED
    return Finding(
        claim,
        f"deviation of the mode {slow[0]:.3g} → {slow[1]:.3g} under {_rho(e.slow)}, {fast[0]:.3g} → {fast[1]:.3g} "
        f"under {_rho(e.fast)}",
        verdict,
        f"The printed reason does not suffice, for g_t falls to {gain:.1e} under {_rho(e.fast)} too, where the noise "
        f"of {fast[1]:.3g} stays for ever; what makes it vanish is that Σ 1/ρ_t diverges."
        if verdict == CORRECTED
        else f"The deviation changes by the factor {slow[1] / slow[0]:.3g} over the last decade of steps.",
    )


def growth_condition(e: Evidence) -> Finding:
    """Compare how much of the start both schedules forget over the last decade of steps."""
    claim = Claim(
        "growth-condition",
        "Peer pressure may grow like t, whose contraction constants multiply to 0, but not like 2^√t.",
        "Model, the product of the contraction constants; non-convergence figure",
        "Π α_t = 0 for ρ_t = t; ρ_t = 2^√t grows too quickly",
    )
    (slow_first, slow), (fast_first, fast) = (_forgotten(model, e.steps) for model in (e.slow, e.fast))
    verdict: Verdict = UNTESTABLE
    if slow < STANDS * slow_first:
        verdict = REFUTED
    elif slow > GOES_ON * slow_first and fast < STANDS * fast_first:
        verdict = CONFIRMED
    return Finding(
        claim,
        f"log Π α_t falls by {slow_first:.3g} up to t = {e.steps // 10:,} and by {slow:.3g} from there to {e.steps:,} "
        f"under {_rho(e.slow)}, by {fast_first:.3g} and {fast:.2g} under {_rho(e.fast)}",
        verdict,
        f"In the last decade of steps the logarithm falls by {slow / slow_first:.2g} of what it fell before for the "
        f"first schedule and by {fast / fast_first:.1g} of it for the second, as Σ 1/ρ_t diverges or converges.",
    )


def oscillates(e: Evidence) -> Finding:
    """Look at the last step of fast runs on a tree and on a graph with odd cycles."""
    claim = Claim(
        "oscillation",
        "Where peer pressure grows too fast the system fails to agree and oscillates.",
        "Model, non-convergence figure",
        "failure to converge is accompanied by oscillation",
    )
    runs = e.runs.set_index("run")
    tree, cycles = runs.loc["fast_tree"], runs.loc["fast_cycles"]
    swings = [_swings(run["swing"], run["spread"]) for run in (tree, cycles)]
    verdict: Verdict = CONFIRMED if all(swings) else CORRECTED if swings[0] else REFUTED
    return Finding(
        claim,
        f"tree: swing {tree['swing']:.3g} of spread {tree['spread']:.3g}; odd cycles: spread {cycles['spread']:.1e}, "
        f"distance to v {cycles['distance']:.3g}",
        verdict,
        f"It takes a bipartite graph: with odd cycles all agents agree within {max(cycles['spread'], EPSILON):.0e}, on "
        f"a value that is {cycles['distance']:.3g} away from v."
        if verdict == CORRECTED
        else f"Agents swing by {tree['swing']:.3g} on the first graph and by {cycles['swing']:.3g} on the second.",
    )


def slows_down(e: Evidence) -> Finding:
    """Compare the fitted powers of t, and the constants before them, of the quietest and the loudest noise."""
    claim = Claim(
        "noise-slows",
        "Larger noise slows the rate of convergence.",
        "Empirical Results, last figure",
        "dynamics generated by larger σ₀² converge more slowly",
    )
    exact = e.noise.exponents.query("source == 'exact' and quantity == 'distance'").sort_values("noise")
    sampled = e.noise.exponents.query("source == 'sampled' and quantity == 'distance'").sort_values("noise")
    quiet, loud = exact.iloc[0], exact.iloc[-1]
    slower = float(quiet["exponent"] - loud["exponent"])
    larger = float(loud["constant"] / quiet["constant"])
    verdict: Verdict = CONFIRMED if slower > 0.02 else CORRECTED if larger > 1.05 else REFUTED
    return Finding(
        claim,
        f"distance to v ~ {quiet['constant']:.3g}·t^−{quiet['exponent']:.4f} for σ₀ = {quiet['noise']:g} and "
        f"{loud['constant']:.3g}·t^−{loud['exponent']:.4f} for σ₀ = {loud['noise']:g}; sampled "
        f"{sampled.iloc[-1]['exponent']:.3f} ± {sampled.iloc[-1]['standard_error']:.3f}",
        verdict,
        f"The exponent changes by {slower:.4f} while noise grows {loud['noise'] / quiet['noise']:.0f}-fold; the "
        f"constant grows {larger:.3g}-fold: louder noise leaves agents farther off at any time"
        + (", at the same rate." if verdict == CORRECTED else "."),
    )


def _shrinks(model: Model, t: int) -> tuple[float, float]:
    """Return the largest factor by which f_t brought random states nearer to y*, and how far it moved y* itself."""
    update, star = model.update(t), fixed_point(model, t)
    states = star + np.random.default_rng(t).normal(size=(TRIES, model.n))
    images = np.array([update(state) for state in states])
    factors = np.abs(images - star).max(axis=1) / np.abs(states - star).max(axis=1)
    return float(factors.max()), float(np.abs(update(star) - star).max())


def _mode_errors(model: Model, times: Sequence[int]) -> list[tuple[float, float]]:
    """Return bias and deviation of the consensus mode at these times."""
    law = moments(model, max(times), of=consensus_mode(model), times=list(times))
    bias: NDArray[np.float64] = law.mean[:, 0] - model.consensus_value
    return [(float(b), float(s)) for b, s in zip(bias, law.std[:, 0], strict=True)]


def _falling(share: float) -> Verdict:
    return CONFIRMED if share < FALLS else REFUTED if share > STAYS else UNTESTABLE


def _forgotten(model: Model, steps: int) -> tuple[float, float]:
    """Return by how much −log Π α_t grows before the last decade of steps, and in it."""
    logs = contraction_product(model, steps, log=True)
    return float(-logs[steps // 10 - 1]), float(logs[steps // 10 - 1] - logs[steps - 1])


def _swings(swing: float, spread: float) -> bool:
    """Say whether an agent crosses most of the spread at each step, and the spread is more than rounding."""
    return spread > ROUNDING and swing > spread / 2


def _rho(model: Model) -> str:
    return f"ρ_t = {model.pressure.formula_text}"
