"""Claims about the printed regressions: their coefficients, their labels, and whether they agree with themselves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from peerpressure.experiments.audit.evidence import Evidence
from peerpressure.experiments.audit.finding import CONFIRMED, CORRECTED, REFUTED, Claim, Finding, Verdict
from peerpressure.experiments.comparison import against_print, printed_estimate
from peerpressure.experiments.linear_fit import error_ratio, fit
from peerpressure.experiments.printed import TERMS, PrintedTerm

# Standard errors beyond which two coefficients differ.
APART = 3.0
PLACE = {2: "Empirical Results, parameter table", 1: "Appendix A, parameter table"}


def regression_two(e: Evidence) -> Finding:
    """Compare the table for two edges per step."""
    return _regression(e, 2)


def regression_one(e: Evidence) -> Finding:
    """Compare the table for one edge per step."""
    return _regression(e, 1)


def _regression(e: Evidence, edges: int) -> Finding:
    """Score each measured coefficient against the printed one, with the regressor σ₀ and with σ₀²."""
    terms = e.printed[edges]
    claim = Claim(
        f"regression-ba{edges}",
        f"⟨σ²⟩ regressed on |V| and σ₀² has the printed coefficients, {edges} edge{'s' * (edges > 1)} per step.",
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
    fits = {
        name: all(abs(r / x - 1) < d for r, d in zip(ratios, tolerance, strict=True)) for name, x in expected.items()
    }
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
        f"slope on σ₀ {of_one:.3g} for the mean of variances, {of_mean:.3g} for the variance of means; printed "
        f"{value:g}",
        verdict,
        f"Only the variance over vertices of the mean residual vector (z = {z_mean:.1f}) gives the printed slope; "
        f"the mean of variances is {of_one / of_mean:.3g} times that (z = {z_one:.1f})."
        if verdict == CORRECTED
        else f"The mean of variances is {z_one:.1f} and the variance of means {z_mean:.1f} standard errors off.",
    )


def _printed_ratio(terms: Mapping[str, PrintedTerm]) -> tuple[float, float]:
    """Return the printed error of the intercept over that of the slope, and by what share rounding may change it."""
    errors, doubt = [], 0.0
    for name in ("intercept", "noise"):
        term = terms[name]
        errors.append(abs(term.estimate / term.t))
        doubt += term.half_unit / abs(term.estimate) + 0.005 / abs(term.t)
    return errors[0] / errors[1], doubt


def print_agrees(e: Evidence) -> Finding:
    """Recompute each printed p-value and interval from the printed estimate and t, for one response in each cell."""
    claim = Claim(
        "print-agrees",
        "Estimates, t-statistics, p-values and intervals of the printed tables belong to one another.",
        "Empirical Results and Appendix A, parameter tables and intervals",
        "both parameter tables, and the intervals made from them",
    )
    from scipy import stats

    freedom = len(e.sweeps.two.cells) - len(TERMS)
    quantile = float(stats.t.ppf(0.975, freedom))
    terms = [e.printed[edges][name] for edges in PLACE for name in TERMS]
    p_off = [_p_value_off(term, freedom) for term in terms]
    ends_off = [_interval_off(term, quantile) for term in terms if term.standard_error]
    holds = max(p_off) <= 1 and max(ends_off) <= 1
    return Finding(
        claim,
        f"p-values within {max(p_off):.2f} and interval ends within {max(ends_off):.2f} of what rounding allows",
        CONFIRMED if holds else REFUTED,
        f"With {freedom} degrees of freedom, one response for each of {freedom + len(TERMS)} cells, the printed "
        f"p-values {'follow' if max(p_off) <= 1 else 'do not follow'} from the printed t, and the printed intervals "
        f"{'follow' if max(ends_off) <= 1 else 'do not follow'} from estimates and t.",
    )


def _p_value_off(term: PrintedTerm, freedom: int) -> float:
    """Return how far log p is from that of t, over what the rounding of t and of p allows."""
    from scipy import stats

    def log_p(t: float) -> float:
        return float(np.log(2) + stats.t.logsf(t, freedom))

    # Two or three digits of t are printed, and of p too.
    t, step = abs(term.t), 0.05 if abs(term.t) > 10 and round(term.t, 1) == term.t else 0.005
    allowed = (log_p(t - step) - log_p(t + step)) / 2 + 0.01
    return float(abs(np.log(term.p) - log_p(t)) / allowed)


def _interval_off(term: PrintedTerm, quantile: float) -> float:
    """Return how far the interval's ends are from estimate ± quantile·error, over what rounding allows."""
    error = abs(term.estimate / term.t)
    doubt = term.half_unit * (1 + quantile / abs(term.t)) + term.interval_half_unit
    low, high = term.estimate - quantile * error, term.estimate + quantile * error
    return max(abs(low - term.low), abs(high - term.high)) / doubt
