"""Claims about what stays hidden, and about the law of the residuals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from peerpressure.reproduction import printed
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
from peerpressure.reproduction.comparison import against_print, differences, printed_estimate
from peerpressure.reproduction.printed import TERMS, PrintedTerm
from peerpressure.reproduction.regression import error_ratio, fit

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


# Claims about the printed regressions: their coefficients, their labels, and whether they agree with themselves.

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


# Claims about the sweep over graph sizes and noise levels.

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
