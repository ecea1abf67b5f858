"""Claims about the sweep over graph sizes and noise levels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from peerpressure.experiments.audit.evidence import Evidence
from peerpressure.experiments.audit.finding import CONFIRMED, CORRECTED, REFUTED, UNTESTABLE, Claim, Finding, Verdict
from peerpressure.experiments.comparison import differences
from peerpressure.experiments.printed import PrintedTerm

# Scores beyond which two numbers differ: in one sample, and in exact numbers, whose only error is the draw of graphs.
APART, FAR_APART = 3.0, 4.0


def linear_in_variance(e: Evidence) -> Finding:
    """Fit the power of σ₀ by which the response grows."""
    claim = Claim(
        "linear-in-variance",
        "The residual variance grows linearly with the noise variance.",
        "Empirical Results and Appendix A, box plots",
        "⟨σ²⟩ grows linearly with σ₀²",
    )
    cells = pd.concat([sweep.cells for sweep in (e.sweeps.two, e.sweeps.one)], ignore_index=True)
    x, y = np.log(cells["noise"]), np.log(cells["mean_residual_variance"])
    (power, _), covariance = np.polyfit(x, y, 1, cov=True)
    error = float(np.sqrt(covariance[0, 0]))
    verdict: Verdict = UNTESTABLE if error > 0.5 else CONFIRMED if abs(power - 2) < APART * error else REFUTED
    exact = np.polyfit(x, np.log(cells["exact"]), 1)[0]
    return Finding(
        claim,
        f"⟨σ²⟩ ~ σ₀^{power:.2f} ± {error:.2f}, exactly σ₀^{exact:.3f} over the drawn graphs",
        verdict,
        f"The power of σ₀ is {(power - 2) / error:+.1f} standard errors from 2; for one graph it is 2 exactly, and the "
        "regression line has no intercept.",
    )


def independent_of_size(e: Evidence) -> Finding:
    """Fit the exact variance against 1/|V|, in which a correction to a limit would be linear."""
    claim = Claim(
        "independent-of-size",
        "The size of the graph has no effect on the residual variance.",
        "Empirical Results and Appendix A, parameter tables and box plots",
        f"t = {e.printed[2]['agents'].t:g} and {e.printed[1]['agents'].t:g} for |V|",
    )
    effects = {edges: _size_effect(table) for edges, table in e.sizes.groupby("edges", sort=False)}
    far = {edges: abs(z) > FAR_APART for edges, (_, z) in effects.items()}
    large = any(far[edges] and abs(change) > 0.1 for edges, (change, _) in effects.items())
    verdict: Verdict = REFUTED if large else CORRECTED if any(far.values()) else CONFIRMED
    words = "; ".join(f"m = {edges}: {change:+.1%} (z = {z:.1f})" for edges, (change, z) in effects.items())
    low, high = int(e.sizes["agents"].min()), int(e.sizes["agents"].max())
    return Finding(
        claim,
        f"exact change from |V| = {high} to {low}: {words}",
        verdict,
        f"Over {int(e.sizes['graphs'].sum()):,} graphs the exact variance on {low} agents differs from that on {high} "
        f"by {words}" + (", too little for a regression on sampled variances to see." if verdict == CORRECTED else "."),
    )


def identical_families(e: Evidence) -> Finding:
    """Test whether the slopes of both graph families differ, in the sample and exactly."""
    claim = Claim(
        "families-identical",
        "The coefficients for graphs with one and with two edges per step are statistically identical.",
        "Appendix A, comparison of confidence intervals",
        "slopes " + " and ".join(_interval(e.printed[edges]["noise"]) for edges in (2, 1)),
    )
    table = differences(e.sweeps.regression).query("term == 'noise'").set_index(["source", "regressor"])
    sampled, exact = table.loc[("measured", "noise")], table.loc[("exact", "noise")]
    one, two = (e.sizes[e.sizes["edges"] == edges]["variance"].mean() for edges in (1, 2))
    far, seen = abs(exact["z"]) > FAR_APART, abs(sampled["z"]) > APART
    verdict: Verdict = REFUTED if far and seen else CORRECTED if far else CONFIRMED
    return Finding(
        claim,
        f"slopes on σ₀ differ by {sampled['difference']:.3f} ± {sampled['standard_error']:.3f} sampled and by "
        f"{exact['difference']:.4f} ± {exact['standard_error']:.4f} exactly",
        verdict,
        f"The exact variances are {one:.3f} and {two:.3f} σ₀² ({one / two - 1:+.0%}), a difference of {exact['z']:.1f} "
        f"standard errors of the draw of graphs, which {e.sweeps.two.replications} replications show as z = "
        f"{sampled['z']:.1f}.",
    )


def _interval(term: PrintedTerm) -> str:
    return f"{term.estimate:g} ({term.low:g}, {term.high:g})"


def _size_effect(table: pd.DataFrame) -> tuple[float, float]:
    """Return the relative change from the largest to the smallest size, and its score."""
    inverse, weights = 1 / table["agents"].to_numpy(), 1 / table["standard_error"].to_numpy()
    design = np.column_stack([np.ones(len(table)), inverse])
    covariance = np.linalg.inv((design * weights[:, None]).T @ (design * weights[:, None]))
    base, slope = covariance @ (design.T @ (weights**2 * table["variance"].to_numpy()))
    change = slope * (inverse.max() - inverse.min()) / (base + slope * inverse.min())
    return float(change), float(slope / np.sqrt(covariance[1, 1]))
