"""Claims of the paper's experiments: what an observer recovers, the printed regressions, the sweeps, and the noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from peerpressure.reproduction import printed
from peerpressure.reproduction._sweep import against_print, differences, error_ratio, fit, printed_estimate
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
from peerpressure.reproduction.printed import TERMS, PrintedTerm

# Exponents of T: a variance vanishes if it falls faster than T^−0.5 and persists if it falls more slowly than T^−0.05.
# In between, finite runs do not decide.
VANISHES, PERSISTS = -0.5, -0.05
# The audit makes many tests: a level of 5 % would refute true claims now and then.
ALPHA = 1e-3
# Tests of normality have hardly any power on smaller samples.
LEAST_SAMPLE = 20
# Relative tolerance of "not larger than" between two variances.
MARGIN = 0.1
# Scores above which two numbers differ: in one sample, and in exact numbers, which vary only by the draw of graphs.
APART, FAR_APART = 3.0, 4.0
PLACE = {2: "Empirical Results, parameter table", 1: "Appendix A, parameter table"}


def cannot_be_recovered(e: Evidence) -> Finding:
    """Follow the error variance of the best observer of two agents over the last decade of steps."""
    claim = Claim(
        "not-recoverable",
        "Hidden opinions cannot be recovered, however long an observer who knows the model observes.",
        "Abstract; Recovery of the Hidden States; Conclusions",
        "the distribution on x₀ does not collapse to a point mass",
    )
    two = e.observers[e.observers["network"] == "two_agents"]
    best, ols = (two[two["observer"] == name].set_index("steps") for name in ("innovations", "ols"))
    last = int(best.index.max())
    # The last decade: earlier steps are affected by the start.
    first = int(best.index[best.index <= last / 10].max())
    exponent = _slope(first, best.loc[first, "variance"], last, best.loc[last, "variance"])
    verdict: Verdict = REFUTED if exponent < VANISHES else CONFIRMED if exponent > PERSISTS else UNTESTABLE
    sampled, error = best.loc[last, "sampled"], best.loc[last, "standard_error"]
    return Finding(
        claim,
        f"variance of the best estimate {best.loc[first, 'variance']:.3g} σ₀² after {first:,} steps and "
        f"{best.loc[last, 'variance']:.3g} σ₀² after {last:,} (sampled {sampled:.3g} ± {error:.1g}); regression "
        f"{ols.loc[last, 'variance']:.3g} σ₀²",
        verdict,
        f"The update can be inverted, ξ_t = (y_t − C_t y_(t−1))/g_t, and the mean of the ξ_t has a variance that "
        f"scales as T^{exponent:.2f}; only the printed regression stays at {ols.loc[last, 'variance']:.2f} σ₀²."
        if verdict == REFUTED
        else f"The variance of the best estimate scales as T^{exponent:.2f}.",
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
        # Judged by the printed regression, the observer that the claim is about.
        CONFIRMED if ols_two <= ols_many * (1 + MARGIN) else REFUTED,
        f"After {printed.STEPS} steps the variance on two agents is {ols_two / ols_many:.2g} times that on the larger "
        f"graph for the printed regression, and {best_two / best_many:.3g} times for the best observer.",
    )


def protected(e: Evidence) -> Finding:
    """Follow posterior over prior variance under full and under partial observation, for a uniform prior."""
    claim = Claim(
        "protected",
        "A single time series does not give hidden opinions away: they are protected statistically.",
        "Empirical Results, last paragraph",
        "the hidden state of the agents will be protected statistically",
    )
    table = e.protection.set_index("steps")["ratio"]
    first, last = int(table.index.min()), int(table.index.max())
    exponent = _slope(first, table[first], last, table[last])
    hidden = e.partial[e.partial["group"] == "unobserved"]
    # The row nearest to one half; the fractions are a parameter of the experiment.
    half = hidden.iloc[(hidden["fraction"] - 0.5).abs().argmin()]
    verdict: Verdict = REFUTED if table[last] < 0.1 else CONFIRMED if exponent > PERSISTS else UNTESTABLE
    return Finding(
        claim,
        "posterior/prior variance " + ", ".join(f"{ratio:.3g} after {steps:,} steps" for steps, ratio in table.items()),
        verdict,
        f"An observer of all agents reduces the variance to {table[last]:.3g} of the prior after {last:,} steps of one "
        f"series; unobserved agents keep {half['ratio']:.2f} of it if {half['fraction']:.0%} of agents are observed.",
    )


def normal_residuals(e: Evidence) -> Finding:
    """Test the mean residuals for normality, before and after whitening by their exact covariance."""
    claim = Claim(
        "normal-residuals",
        "The mean residuals of the agents follow a normal law.",
        "Empirical Results, residual figures",
        "a normal fit of the mean residual vector; unimodal and tending toward normality",
    )
    table = e.residuals.tables()["residual_normality"].set_index("sample")
    raw, white = table.loc["mean_vector"], table.loc["whitened"]
    # Only whitened scores are independent, so that only their p-values are valid. The kurtosis is that of the exact
    # mixture, not of the sample.
    p, kurtosis = min(white["shapiro_p"], white["anderson_p"]), float(raw["exact_excess_kurtosis"])
    verdict: Verdict = REFUTED if p < ALPHA else CORRECTED if kurtosis > 0.1 else CONFIRMED
    if white["size"] < LEAST_SAMPLE:
        verdict = UNTESTABLE
    return Finding(
        claim,
        f"std {raw['std']:.4f}, exact {raw['exact_std']:.4f}; Shapiro p = {raw['shapiro_p']:.2g}, Anderson–Darling p = "
        f"{raw['anderson_p']:.2g}; whitened {white['shapiro_p']:.2g} and {white['anderson_p']:.2g}",
        verdict,
        f"Each agent's residual is normal (p = {p:.2g} for {white['size']:.0f} independent scores), but agents differ "
        f"in variance, so that their mixture has an excess kurtosis of {kurtosis:.2f} however many there are."
        if verdict == CORRECTED
        else f"The independent scores of {white['size']:.0f} agents have p = {p:.2g}; the mixture over agents has an "
        f"excess kurtosis of {kurtosis:.2f}.",
    )


def _slope(t: float, a: float, u: float, b: float) -> float:
    """Return the exponent of the power law through (t, a) and (u, b)."""
    return float(np.log(b / a) / np.log(u / t))


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
    # The claim is about the whole table, so that its worst coefficient decides.
    worst = {name: float(part["z"].abs().max()) for name, part in (("σ₀", decoded), ("σ₀²", labelled))}
    verdict: Verdict = CONFIRMED if worst["σ₀²"] < APART else CORRECTED if worst["σ₀"] < APART else REFUTED
    words = "; ".join(f"{name} {row['measured']:.3g} ({row['measured_error']:.2g})" for name, row in decoded.iterrows())
    scores = ", ".join(f"{z:.1f}" for z in decoded["z"])
    return Finding(
        claim,
        f"on σ₀: {words}; on σ₀² the slope is {labelled.loc['noise', 'measured']:.4f}",
        verdict,
        f"With σ₀ as regressor all coefficients are within {worst['σ₀']:.1f} standard errors of the printed ones (z = "
        f"{scores}); with σ₀² the largest difference is {worst['σ₀²']:.1f}.",
    )


def label(e: Evidence) -> Finding:
    """Compare the ratio of the printed standard errors with the ratio that each regressor implies."""
    claim = Claim(
        "regressor-label",
        "The regressor of both printed tables is σ₀².",
        "Empirical Results and Appendix A, parameter tables",
        "third row labelled σ₀²",
    )
    cells = e.sweeps.two.cells
    expected = {name: error_ratio(cells, name) for name in ("noise_variance", "noise")}
    ratios, tolerance = zip(*(_printed_ratio(terms) for terms in e.printed.values()), strict=True)
    # Each printed ratio must be within its own rounding error of the ratio that the design implies.
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
        f"The ratio of the two standard errors depends on the design alone, and the printed {words} corresponds to σ₀ "
        f"({expected['noise']:.2f}), not to σ₀² ({expected['noise_variance']:.1f})."
        if verdict == CORRECTED
        else f"The printed ratios are {words}; σ₀² implies {expected['noise_variance']:.1f}.",
    )


def response(e: Evidence) -> Finding:
    """Compare the printed slope with those of the two variances that the wording allows."""
    claim = Claim(
        "response",
        "⟨σ²⟩ is the mean over replications of the variance of the residuals.",
        "Empirical Results, the sweep",
        "the mean residual variance ⟨σ²⟩",
    )
    value, error = printed_estimate(e.printed[2]["noise"])
    scores = {}
    # The two readings differ by a factor equal to the number of replications, which is far above any error.
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
        else f"The mean of variances differs by {z_one:.1f} and the variance of means by {z_mean:.1f} standard errors.",
    )


def _printed_ratio(terms: Mapping[str, PrintedTerm]) -> tuple[float, float]:
    """Return the printed error of the intercept over that of the slope, and its relative rounding error."""
    errors, doubt = [], 0.0
    for name in ("intercept", "noise"):
        term = terms[name]
        errors.append(abs(term.estimate / term.t))
        # Relative rounding errors of a quotient add up; t is taken as printed to two decimals.
        doubt += term.half_unit / abs(term.estimate) + 0.005 / abs(term.t)
    return errors[0] / errors[1], doubt


def print_agrees(e: Evidence) -> Finding:
    """Recompute each printed p-value and interval from the printed estimate and t, for one response per cell."""
    claim = Claim(
        "print-agrees",
        "Estimates, t-statistics, p-values and intervals of the printed tables are consistent with one another.",
        "Empirical Results and Appendix A, parameter tables and intervals",
        "both parameter tables, and the intervals derived from them",
    )
    from scipy import stats

    # 77 for the paper's 80 cells; with one response per replication there would be 1597.
    freedom = len(e.sweeps.two.cells) - len(TERMS)
    quantile = float(stats.t.ppf(0.975, freedom))
    terms = [e.printed[edges][name] for edges in PLACE for name in TERMS]
    p_off = [_p_value_off(term, freedom) for term in terms]
    # Terms printed as 0 with error 0 have no digits to compare.
    ends_off = [_interval_off(term, quantile) for term in terms if term.standard_error]
    holds = max(p_off) <= 1 and max(ends_off) <= 1
    return Finding(
        claim,
        f"p-values within {max(p_off):.2f} and interval ends within {max(ends_off):.2f} of the rounding error",
        CONFIRMED if holds else REFUTED,
        f"With {freedom} degrees of freedom, one response per cell and {freedom + len(TERMS)} cells, the printed "
        f"p-values {'follow' if max(p_off) <= 1 else 'do not follow'} from the printed t, and the printed intervals "
        f"{'follow' if max(ends_off) <= 1 else 'do not follow'} from estimates and t.",
    )


def _p_value_off(term: PrintedTerm, freedom: int) -> float:
    """Return the difference of log p from that of t, in units of the rounding error of t and p."""
    from scipy import stats

    def log_p(t: float) -> float:
        # In logarithms: the printed p-values go down to 1e−21, and their rounding is relative.
        return float(np.log(2) + stats.t.logsf(t, freedom))

    # t = 12.9 is printed with one decimal, all others with two. The difference of log p over the rounding interval of t
    # is the first part of what is allowed; 0.01 covers the rounding of p, which is 0.7 % at most.
    t, step = abs(term.t), 0.05 if abs(term.t) > 10 and round(term.t, 1) == term.t else 0.005
    allowed = (log_p(t - step) - log_p(t + step)) / 2 + 0.01
    return float(abs(np.log(term.p) - log_p(t)) / allowed)


def _interval_off(term: PrintedTerm, quantile: float) -> float:
    """Return the difference of the interval's ends from estimate ± quantile·error, in units of the rounding error."""
    error = abs(term.estimate / term.t)
    # An end is estimate·(1 ± quantile/t), so that the estimate's rounding enters with this factor.
    doubt = term.half_unit * (1 + quantile / abs(term.t)) + term.interval_half_unit
    low, high = term.estimate - quantile * error, term.estimate + quantile * error
    return max(abs(low - term.low), abs(high - term.high)) / doubt


def linear_in_variance(e: Evidence) -> Finding:
    """Fit the power of σ₀ with which the response grows."""
    claim = Claim(
        "linear-in-variance",
        "The residual variance grows linearly with the noise variance.",
        "Empirical Results and Appendix A, box plots",
        "⟨σ²⟩ grows linearly with σ₀²",
    )
    cells = pd.concat([sweep.cells for sweep in (e.sweeps.two, e.sweeps.one)], ignore_index=True)
    # Slope 2 in logarithms means proportional to σ₀², without the assumption of an intercept.
    x, y = np.log(cells["noise"]), np.log(cells["mean_residual_variance"])
    (power, _), covariance = np.polyfit(x, y, 1, cov=True)
    error = float(np.sqrt(covariance[0, 0]))
    # With an error above 0.5 the powers 1 and 2 cannot be distinguished.
    verdict: Verdict = UNTESTABLE if error > 0.5 else CONFIRMED if abs(power - 2) < APART * error else REFUTED
    exact = np.polyfit(x, np.log(cells["exact"]), 1)[0]
    return Finding(
        claim,
        f"⟨σ²⟩ ~ σ₀^{power:.2f} ± {error:.2f} sampled, σ₀^{exact:.3f} exact over the drawn graphs",
        verdict,
        f"The power of σ₀ differs from 2 by {(power - 2) / error:+.1f} standard errors; for a single graph it is "
        "exactly 2, and the regression line has no intercept.",
    )


def independent_of_size(e: Evidence) -> Finding:
    """Fit the exact variance against 1/|V|, in which a finite-size correction is linear."""
    claim = Claim(
        "independent-of-size",
        "The size of the graph has no effect on the residual variance.",
        "Empirical Results and Appendix A, parameter tables and box plots",
        f"t = {e.printed[2]['agents'].t:g} and {e.printed[1]['agents'].t:g} for |V|",
    )
    effects = {edges: _size_effect(table) for edges, table in e.sizes.groupby("edges", sort=False)}
    far = {edges: abs(z) > FAR_APART for edges, (_, z) in effects.items()}
    # A difference can be significant and yet small: below 10 % the claim is corrected rather than refuted.
    large = any(far[edges] and abs(change) > 0.1 for edges, (change, _) in effects.items())
    verdict: Verdict = REFUTED if large else CORRECTED if any(far.values()) else CONFIRMED
    words = "; ".join(f"m = {edges}: {change:+.1%} (z = {z:.1f})" for edges, (change, z) in effects.items())
    low, high = int(e.sizes["agents"].min()), int(e.sizes["agents"].max())
    return Finding(
        claim,
        f"exact change from |V| = {high} to {low}: {words}",
        verdict,
        f"Over {int(e.sizes['graphs'].sum()):,} graphs the exact variance on {low} agents differs from that on {high} "
        f"by {words}"
        + (", too little for a regression on sampled variances to detect." if verdict == CORRECTED else "."),
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
    # "Statistically identical" is a statement about a sample: refuted only if a sample of this size detects it.
    far, seen = abs(exact["z"]) > FAR_APART, abs(sampled["z"]) > APART
    verdict: Verdict = REFUTED if far and seen else CORRECTED if far else CONFIRMED
    return Finding(
        claim,
        f"slopes on σ₀ differ by {sampled['difference']:.3f} ± {sampled['standard_error']:.3f} in the sample and by "
        f"{exact['difference']:.4f} ± {exact['standard_error']:.4f} exactly",
        verdict,
        f"The exact variances are {one:.3f} and {two:.3f} σ₀² ({one / two - 1:+.0%}), a difference of {exact['z']:.1f} "
        f"standard errors of the draw of graphs; {e.sweeps.two.replications} replications give z = "
        f"{sampled['z']:.1f}.",
    )


def _interval(term: PrintedTerm) -> str:
    return f"{term.estimate:g} ({term.low:g}, {term.high:g})"


def _size_effect(table: pd.DataFrame) -> tuple[float, float]:
    """Return the relative change from the largest to the smallest size, and its z-score."""
    # Least squares weighted by the inverse standard errors; the weights enter twice, once for each factor.
    inverse, weights = 1 / table["agents"].to_numpy(), 1 / table["standard_error"].to_numpy()
    design = np.column_stack([np.ones(len(table)), inverse])
    covariance = np.linalg.inv((design * weights[:, None]).T @ (design * weights[:, None]))
    base, slope = covariance @ (design.T @ (weights**2 * table["variance"].to_numpy()))
    # Relative to the fitted value at the largest size, not to the extrapolated one at infinity.
    change = slope * (inverse.max() - inverse.min()) / (base + slope * inverse.min())
    return float(change), float(slope / np.sqrt(covariance[1, 1]))


def slows_down(e: Evidence) -> Finding:
    """Compare the fitted exponents and constants of the smallest and the largest noise."""
    claim = Claim(
        "noise-slows",
        "Larger noise slows the rate of convergence.",
        "Empirical Results, last figure",
        "dynamics generated by larger σ₀² converge more slowly",
    )
    # The distance to v is what the paper's figure shows.
    fits = e.noise.exponents.query("quantity == 'weighted_distance'").sort_values("noise")
    exact, sampled = (fits[fits["source"] == source] for source in ("exact", "sampled"))
    small, large = exact.iloc[0], exact.iloc[-1]
    slower = float(small["exponent"] - large["exponent"])
    larger = float(large["constant"] / small["constant"])
    verdict: Verdict = CONFIRMED if slower > 0.02 else CORRECTED if larger > 1.05 else REFUTED
    return Finding(
        claim,
        f"weighted RMS distance to v ~ {small['constant']:.3g}·t^−{small['exponent']:.4f} for σ₀ = {small['noise']:g} "
        f"and {large['constant']:.3g}·t^−{large['exponent']:.4f} for σ₀ = {large['noise']:g}; sampled "
        f"{sampled.iloc[-1]['exponent']:.3f} ± {sampled.iloc[-1]['standard_error']:.3f}",
        verdict,
        f"The exponent changes by {slower:.4f} while the noise grows {large['noise'] / small['noise']:.0f}-fold; the "
        f"constant grows {larger:.3g}-fold: larger noise increases the distance at any time"
        + (" and leaves the rate unchanged." if verdict == CORRECTED else "."),
    )
