"""Claims about the sweep over graph sizes and noise levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from peerpressure.experiments.audit.evidence import Evidence
from peerpressure.experiments.audit.finding import CONFIRMED, CORRECTED, REFUTED, UNTESTABLE, Claim, Finding, Verdict
from peerpressure.experiments.comparison import against_print, differences, printed_estimate
from peerpressure.experiments.linear_fit import error_ratio, fit
from peerpressure.experiments.printed import TERMS, PrintedTerm

# Scores beyond which two numbers differ: in one sample, and in exact numbers, whose only error is the draw of graphs.
APART, FAR_APART = 3.0, 4.0
PLACE = {2: "Empirical Results, parameter table", 1: "Appendix A, parameter table"}


def regression_two(e: Evidence) -> Finding:
    """Compare the table for two edges per round."""
    return _regression(e, 2)


def regression_one(e: Evidence) -> Finding:
    """Compare the table for one edge per round."""
    return _regression(e, 1)


def _regression(e: Evidence, edges: int) -> Finding:
    """Score each measured coefficient against the printed one, with the regressor σ₀ and with σ₀²."""
    terms = e.printed[edges]
    claim = Claim(
        f"regression-ba{edges}",
        f"⟨σ²⟩ regressed on |V| and σ₀² has the printed coefficients, {edges} edge{'s' * (edges > 1)} per round.",
        PLACE[edges],
        "; ".join(f"{name} {terms[name].estimate:g} ({terms[name].standard_error:g})" for name in TERMS),
    )
    table = against_print(e.sweeps.regression, e.printed)
    table = table[table["edges"] == edges].set_index(["regressor", "term"])
    decoded, labelled = (table.loc[name] for name in ("noise", "noise_variance"))
    worst = {name: float(part["z"].abs().max()) for name, part in (("σ₀", decoded), ("σ₀²", labelled))}
    verdict: Verdict = CONFIRMED if worst["σ₀²"] < APART else CORRECTED if worst["σ₀"] < APART else REFUTED
    words = "; ".join(f"{name} {row['measured']:.3g} ({row['measured_error']:.2g})" for name, row in decoded.iterrows())
    scores = ", ".join(f"{z:.1f}" for z in decoded["z"])
    return Finding(
        claim,
        f"on σ₀: {words}; on σ₀² the slope is {labelled.loc['noise', 'measured']:.4f}",
        verdict,
        f"With σ₀ as regressor no coefficient is further than {worst['σ₀']:.1f} standard errors from the print (z = "
        f"{scores}), with σ₀² one is {worst['σ₀²']:.1f} away.",
    )


def label(e: Evidence) -> Finding:
    """Compare the ratio of the printed standard errors with the one that either regressor dictates."""
    claim = Claim(
        "regressor-label",
        "The regressor of both printed tables is σ₀².",
        "Empirical Results and Appendix A, parameter tables",
        "third row labelled σ₀²",
    )
    cells = e.sweeps.two.cells
    expected = {name: error_ratio(cells, name) for name in ("noise_variance", "noise")}
    ratios, tolerance = zip(*(_printed_ratio(terms) for terms in e.printed.values()), strict=True)
    fits = {name: all(abs(r / x - 1) < d for r, d in zip(ratios, tolerance, strict=True)) for name, x in expected.items()}
    verdict: Verdict = CONFIRMED if fits["noise_variance"] else CORRECTED if fits["noise"] else REFUTED
    words = " and ".join(f"{ratio:.2f}" for ratio in ratios)
    return Finding(
        claim,
        f"printed error of intercept over that of slope: {words}; σ₀ would give {expected['noise']:.2f}, σ₀² "
        f"{expected['noise_variance']:.1f}",
        verdict,
        f"The ratio of the two standard errors depends on the design alone, and the printed {words} belongs to σ₀ "
        f"({expected['noise']:.2f}), not to σ₀² ({expected['noise_variance']:.1f})."
        if verdict == CORRECTED
        else f"The printed ratios {words} are to be compared with {expected['noise_variance']:.1f} for σ₀².",
    )


def response(e: Evidence) -> Finding:
    """Compare the printed slope with those of the two variances that the words may mean."""
    claim = Claim(
        "response",
        "⟨σ²⟩ is the mean over replications of the variance of the residuals.",
        "Empirical Results, the sweep",
        "the mean residual variance ⟨σ²⟩",
    )
    value, error = printed_estimate(e.printed[2]["noise"])
    scores = {}
    for name in ("residual_variance", "mean_residual_variance"):
        row = fit(e.sweeps.two.cells, name, "noise").set_index("term").loc["noise"]
        scores[name] = (row["estimate"], (row["estimate"] - value) / np.hypot(row["standard_error"], error))
    (of_one, z_one), (of_mean, z_mean) = scores.values()
    verdict: Verdict = CONFIRMED if abs(z_one) < APART else CORRECTED if abs(z_mean) < APART else REFUTED
    return Finding(
        claim,
        f"slope on σ₀ {of_one:.3g} for the mean of variances, {of_mean:.3g} for the variance of means, printed {value:g}",
        verdict,
        f"Only the variance over vertices of the mean residual vector (z = {z_mean:.1f}) gives the printed slope; the mean "
        f"of variances is {of_one / of_mean:.3g} times that (z = {z_one:.1f})."
        if verdict == CORRECTED
        else f"The mean of variances is {z_one:.1f} and the variance of means {z_mean:.1f} standard errors from the print.",
    )


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
        f"Exact variances over {int(e.sizes['graphs'].sum()):,} graphs change with size by {words}, which a regression on "
        "sampled variances is too weak to see.",
    )


def identical_families(e: Evidence) -> Finding:
    """Test whether the slopes of both graph families differ, in the sample and exactly."""
    claim = Claim(
        "families-identical",
        "The coefficients for graphs with one and with two edges per round are statistically identical.",
        "Appendix A, comparison of confidence intervals",
        "slopes 0.22 (0.19, 0.25) and 0.24 (0.20, 0.29)",
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
        f"standard errors of the draw of graphs that 20 replications show as z = {sampled['z']:.1f}.",
    )


def _printed_ratio(terms: Any) -> tuple[float, float]:
    """Return the printed error of the intercept over that of the slope, and by what share rounding may change it."""
    errors, doubt = [], 0.0
    for name in ("intercept", "noise"):
        term: PrintedTerm = terms[name]
        errors.append(abs(term.estimate / term.t))
        doubt += term.half_unit / abs(term.estimate) + 0.005 / abs(term.t)
    return errors[0] / errors[1], doubt


def _size_effect(table: pd.DataFrame) -> tuple[float, float]:
    """Return the relative change from the largest to the smallest size, and its score."""
    inverse, weights = 1 / table["agents"].to_numpy(), 1 / table["standard_error"].to_numpy()
    design = np.column_stack([np.ones(len(table)), inverse])
    covariance = np.linalg.inv((design * weights[:, None]).T @ (design * weights[:, None]))
    base, slope = covariance @ (design.T @ (weights**2 * table["variance"].to_numpy()))
    change = slope * (inverse.max() - inverse.min()) / (base + slope * inverse.min())
    return float(change), float(slope / np.sqrt(covariance[1, 1]))
