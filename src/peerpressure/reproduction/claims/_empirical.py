"""Claims of the sweeps and of the noise: the printed regressions, size, density, and the rate of convergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from peerpressure.reproduction._sweep import (
    against_print,
    differences,
    error_ratio,
    fit,
    joint_test,
    printed_estimate,
    rival_scores,
)
from peerpressure.reproduction.claims._evidence import (
    AMBIGUOUS,
    CONFIRMED,
    CORRECTED,
    REFUTED,
    UNTESTABLE,
    Evidence,
    Finding,
    Verdict,
)
from peerpressure.reproduction.printed import (
    SWEEP_AGENTS,
    SWEEP_EDGES,
    SWEEP_NOISES,
    SWEEP_REPLICATIONS,
    TERMS,
    PrintedTerm,
)

TOO_WIDE = 0.5  # standard error of a power with which 1 and 2 cannot be told apart
SMALL_CHANGE = 0.2  # of a variance over the printed sizes
OTHER_RATE = 0.05  # difference of exponents
LARGER_CONSTANT = 0.05  # relative growth of a constant
CUTOFF = 3.0  # score above which two numbers differ
PRINTED_DESIGN = pd.DataFrame(
    [{"agents": n, "noise": s, "noise_variance": s**2} for n in SWEEP_AGENTS for s in SWEEP_NOISES]
)


def regression_two(e: Evidence) -> Finding:
    """Compare the table for two edges per round."""
    return _regression(e, 2)


def regression_one(e: Evidence) -> Finding:
    """Compare the table for one edge per round."""
    return _regression(e, 1)


def _regression(e: Evidence, edges: int) -> Finding:
    """Score the exact expectation of each coefficient against the printed one, with the regressor σ₀ and with σ₀²."""
    table = against_print(e.sweeps.regression, e.printed)
    table = table[table["edges"] == edges].set_index(["regressor", "term"])
    decoded, labelled = (table.loc[name] for name in ("noise", "noise_variance"))
    # The claim is about the whole table, so its worst coefficient decides. The score to expect of a sample of
    # this size counts, not the one drawn, which varies by one standard error from seed to seed.
    worst = {name: float(part["expected_z"].abs().max()) for name, part in (("σ₀", decoded), ("σ₀²", labelled))}
    verdict: Verdict = CONFIRMED if min(worst.values()) < CUTOFF else REFUTED
    words = "; ".join(f"{name} {row['measured']:.3g} ({row['measured_error']:.2g})" for name, row in decoded.iterrows())
    scores, drawn = (", ".join(f"{z:.1f}" for z in decoded[name]) for name in ("expected_z", "z"))
    joint = joint_test(e.sweeps.two if edges == 2 else e.sweeps.one, e.printed[edges])
    return Finding(
        f"on σ₀: {words}, z = {drawn}; on σ₀² the slope is {labelled.loc['noise', 'measured']:.4f}; all three exact "
        f"coefficients against the print: χ²(3) = {joint.statistic:.1f}, p = {joint.p:.2g}{_scaling(e)}",
        verdict,
        f"With σ₀ as regressor all coefficients are expected within {worst['σ₀']:.1f} standard errors of the printed "
        f"ones (z = {scores}); with σ₀² the largest difference is {worst['σ₀²']:.1f}. The joint test of the printed "
        f"table against the exact coefficients has p = {joint.p:.2g}."
        if worst["σ₀"] < CUTOFF
        else f"The largest expected difference from the print is {worst['σ₀']:.1f} standard errors with σ₀ as "
        f"regressor (z = {scores}), and {worst['σ₀²']:.1f} with σ₀².",
    )


def _scaling(e: Evidence) -> str:
    """Return what was done to compare a sweep of another number of replications with the print; none by default."""
    count = e.sweeps.two.replications
    if count == SWEEP_REPLICATIONS:
        return ""
    return f" (⟨σ²⟩ of {count} replications times {count}/{SWEEP_REPLICATIONS}, as the paper has {SWEEP_REPLICATIONS})"


def label(e: Evidence) -> Finding:
    """Compare the ratio of the printed standard errors with the ratio that each regressor implies."""
    # The printed design, whatever part of it a sweep has.
    expected = {name: error_ratio(PRINTED_DESIGN, name) for name in ("noise_variance", "noise")}
    ratios, tolerance = zip(*(_printed_ratio(terms) for terms in e.printed.values()), strict=True)
    # Each printed ratio must be within its own rounding error of the ratio that the design implies.
    fits = {
        name: all(abs(r / x - 1) < d for r, d in zip(ratios, tolerance, strict=True)) for name, x in expected.items()
    }
    # A regressor that runs from 5.5 to 10 has the same ratio whatever it is called; the intercept tells them apart.
    rival = min(
        max(map(abs, scores.values()))
        for scores in (rival_scores(sweep, e.printed[sweep.edges]) for sweep in (e.sweeps.two, e.sweeps.one))
    )
    decoded = fits["noise"] and rival > CUTOFF
    verdict: Verdict = CONFIRMED if fits["noise_variance"] else CORRECTED if decoded else REFUTED
    words = " and ".join(f"{ratio:.2f}" for ratio in ratios)
    return Finding(
        f"printed error of intercept over that of slope: {words}; σ₀ would give {expected['noise']:.2f}, σ₀² "
        f"{expected['noise_variance']:.1f}; with σ₀² from 5.5 to 10 some coefficient differs by {rival:.1f} standard "
        "errors or more from the printed tables",
        verdict,
        f"The ratio of the two standard errors depends on the design alone, and the printed {words} corresponds to σ₀ "
        f"({expected['noise']:.2f}), not to σ₀² ({expected['noise_variance']:.1f}). That σ₀² itself ran from 5.5 to 10 "
        f"is excluded too: a variance proportional to σ₀² has no intercept ({rival:.1f} standard errors)."
        if verdict == CORRECTED
        else f"The printed ratios are {words}; σ₀² implies {expected['noise_variance']:.1f}.",
        "The regressor of both tables is σ₀.",
    )


def response(e: Evidence) -> Finding:
    """Compare the printed slope with those of the two variances that the wording allows."""
    value, error = printed_estimate(e.printed[2]["noise"])
    scores = {}
    # The two readings differ by a factor equal to the printed number of replications, which is far above any error.
    for name, exact in (("residual_variance", "exact_residual_variance"), ("mean_residual_variance", "exact")):
        row, expected = (
            fit(e.sweeps.two.comparable_cells, response, "noise").set_index("term").loc["noise"]
            for response in (name, exact)
        )
        scores[name] = (row["estimate"], (expected["estimate"] - value) / np.hypot(row["standard_error"], error))
    (of_one, z_one), (of_mean, z_mean) = scores.values()
    near = [abs(z) < CUTOFF for z in (z_one, z_mean)]
    verdict: Verdict = CONFIRMED if all(near) else AMBIGUOUS if any(near) else REFUTED
    readings = ("the mean of the variances", "the variance over vertices of the mean residual vector")
    return Finding(
        f"slope on σ₀ {of_one:.3g} for the mean of variances, {of_mean:.3g} for the variance of means; printed "
        f"{value:g}{_scaling(e)}",
        verdict,
        f"Ambiguous, and this reading reproduces the printed slope: {readings[near.index(True)]}. Figure 5 (right) "
        f"shows mean residuals, which speaks for the variance of the mean vector (z = {z_mean:.1f}); “mean residual "
        f"variance” could also be the mean of the variances, {of_one / of_mean:.3g} times that (z = {z_one:.1f})."
        if verdict == AMBIGUOUS
        else f"The mean of variances differs by {z_one:.1f} and the variance of means by {z_mean:.1f} standard errors.",
    )


def _printed_ratio(terms: Mapping[str, PrintedTerm]) -> tuple[float, float]:
    """Return the printed error of the intercept over that of the slope, and its relative rounding error."""
    errors, doubt = [], 0.0
    for name in ("intercept", "noise"):
        term = terms[name]
        errors.append(abs(term.estimate / term.t))
        # Relative rounding errors of a quotient add up.
        doubt += term.half_unit / abs(term.estimate) + term.t_half_unit / abs(term.t)
    return errors[0] / errors[1], doubt


def print_agrees(e: Evidence) -> Finding:
    """Recompute each printed p-value and interval from the printed estimate and t, for one response per cell."""
    from scipy import stats

    # 77 for the paper's 80 cells; with one response per replication there would be 1597.
    freedom = len(PRINTED_DESIGN) - len(TERMS)
    quantile = float(stats.t.ppf(0.975, freedom))
    terms = [e.printed[edges][name] for edges in SWEEP_EDGES for name in TERMS]
    p_off = [_p_value_off(term, freedom) for term in terms]
    # Terms printed as 0 with error 0 have no digits to compare.
    ends_off = [_interval_off(term, quantile) for term in terms if term.standard_error]
    holds = max(p_off) <= 1 and max(ends_off) <= 1
    return Finding(
        f"p-values within {max(p_off):.2f} and interval ends within {max(ends_off):.2f} of the rounding error",
        CONFIRMED if holds else REFUTED,
        f"With {freedom} degrees of freedom, one response per cell and {freedom + len(TERMS)} cells, the printed "
        f"p-values {'follow' if max(p_off) <= 1 else 'do not follow'} from the printed t, and the printed intervals "
        f"{'follow' if max(ends_off) <= 1 else 'do not follow'} from estimates and t. The intercept for one edge is "
        "printed as −0.92 in one table and as −0.91 in the other; the middle of its interval is −0.915.",
    )


def _p_value_off(term: PrintedTerm, freedom: int) -> float:
    """Return the difference of log p from that of t, in units of the rounding error of t and p."""
    from scipy import stats

    def log_p(t: float) -> float:
        # In logarithms: the printed p-values go down to 1e−21, and their rounding is relative.
        return float(np.log(2) + stats.t.logsf(t, freedom))

    # The difference of log p over the rounding interval of t is the first part of what is allowed; 0.01 covers the
    # rounding of p, which is 0.7 % at most.
    t, step = abs(term.t), term.t_half_unit
    allowed = (log_p(t - step) - log_p(t + step)) / 2 + 0.01
    return float(abs(np.log(term.p) - log_p(t)) / allowed)


def _interval_off(term: PrintedTerm, quantile: float) -> float:
    """Return the difference of the interval's ends from estimate ± quantile·error, in units of the rounding error."""
    error = abs(term.estimate / term.t)
    # An end is estimate·(1 ± quantile/t): the rounding of the estimate enters with this factor, that of t with the
    # half width over t.
    doubt = term.half_unit * (1 + quantile / abs(term.t)) + term.interval_half_unit
    doubt += quantile * error * term.t_half_unit / abs(term.t)
    low, high = term.estimate - quantile * error, term.estimate + quantile * error
    return max(abs(low - term.low), abs(high - term.high)) / doubt


def linear_in_variance(e: Evidence) -> Finding:
    """Fit the power of σ₀ with which the response grows."""
    cells = pd.concat([sweep.cells for sweep in (e.sweeps.two, e.sweeps.one)], ignore_index=True)
    # Slope 2 in logarithms means proportional to σ₀², without the assumption of an intercept.
    x, y = np.log(cells["noise"]), np.log(cells["mean_residual_variance"])
    (power, _), covariance = np.polyfit(x, y, 1, cov=True)
    error = float(np.sqrt(covariance[0, 0]))
    exact = np.polyfit(x, np.log(cells["exact"]), 1)[0]
    verdict: Verdict = UNTESTABLE if error > TOO_WIDE else CONFIRMED if abs(exact - 2) < CUTOFF * error else REFUTED
    return Finding(
        f"⟨σ²⟩ ~ σ₀^{power:.2f} ± {error:.2f} sampled, σ₀^{exact:.3f} exact over the drawn graphs",
        verdict,
        f"The power of σ₀ is expected to differ from 2 by {(exact - 2) / error:+.1f} standard errors, and differs by "
        f"{(power - 2) / error:+.1f} in the sample"
        + ("; for a single graph it is exactly 2, and the line has no intercept." if verdict == CONFIRMED else "."),
    )


def independent_of_size(e: Evidence) -> Finding:
    """Fit the exact variance by a + b/|V|, the form of a finite-size correction."""
    fits = {int(edges): _size_fit(table) for edges, table in e.sizes.groupby("edges", sort=False)}
    far = {edges: abs(fit.z) > CUTOFF for edges, fit in fits.items()}
    large = any(far[edges] and abs(fit.change) > SMALL_CHANGE for edges, fit in fits.items())
    verdict: Verdict = REFUTED if large else CORRECTED if any(far.values()) else CONFIRMED
    low, high = int(e.sizes["agents"].min()), int(e.sizes["agents"].max())
    words = "; ".join(
        f"m = {edges}: b = {fit.slope:.2f} ± {fit.error:.2f} (z = {fit.z:.1f}), fitted change {fit.change:+.1%}"
        for edges, fit in fits.items()
    )
    seen = [f"{fit.change:.1%} for m = {edges} (z = {fit.z:.1f})" for edges, fit in fits.items()]
    return Finding(
        f"fit a + b/|V| of the exact variance in σ₀² for |V| = {low}…{high}, {words}",
        verdict,
        f"Over {int(e.sizes['graphs'].sum()):,} graphs, the line fitted in 1/|V| is higher at {low} agents than at "
        f"{high} by {' and '.join(seen)}"
        + (", a change too small for the printed regression to detect." if verdict == CORRECTED else "."),
        f"There is a small effect, at most {max(fit.change for fit in fits.values()):.0%} over these sizes.",
    )


def identical_families(e: Evidence) -> Finding:
    """Test whether the graph families differ: in the slopes of the sample, and exactly, over many graphs."""
    table = differences(e.sweeps.regression).query("term == 'noise'").set_index(["source", "regressor"])
    sampled, exact = table.loc[("measured", "noise")], table.loc[("exact", "noise")]
    (one, error_one), (two, error_two) = (_mean_size(e.sizes[e.sizes["edges"] == edges]) for edges in (1, 2))
    z = (one - two) / float(np.hypot(error_one, error_two))
    # "Statistically identical" is a statement about a sample. The score to expect of a sample of this size decides,
    # not the one drawn, which varies by one standard error from seed to seed.
    expected = float(exact["difference"] / sampled["standard_error"])
    verdict: Verdict = CONFIRMED if abs(z) <= CUTOFF else REFUTED if abs(expected) > CUTOFF else CORRECTED
    return Finding(
        f"slopes on σ₀ differ by {sampled['difference']:.3f} ± {sampled['standard_error']:.3f} in the sample (z = "
        f"{sampled['z']:.1f}); exact variances {one:.4f} ± {error_one:.4f} and {two:.4f} ± {error_two:.4f} σ₀²",
        verdict,
        f"The exact variances are {one:.3f} σ₀² with one edge and {two:.3f} σ₀² with two ({one / two - 1:+.0%}, z = "
        f"{z:.0f} over the draw of graphs); in slopes from {e.sweeps.two.replications} replications per cell the "
        f"difference is expected to be {expected:.1f} standard errors.",
        f"Indistinguishable in samples of this size, not identical: {one:.3f} σ₀² and {two:.3f} σ₀².",
    )


class _SizeFit(NamedTuple):
    """The slope b of a + b/|V| with its standard error, and the relative change from the largest to the smallest."""

    slope: float
    error: float
    change: float

    @property
    def z(self) -> float:
        return self.slope / self.error


def _size_fit(table: pd.DataFrame) -> _SizeFit:
    # Least squares weighted by the inverse standard errors; the weights enter twice, once for each factor.
    inverse, weights = 1 / table["agents"].to_numpy(), 1 / table["standard_error"].to_numpy()
    design = np.column_stack([np.ones(len(table)), inverse])
    covariance = np.linalg.inv((design * weights[:, None]).T @ (design * weights[:, None]))
    base, slope = covariance @ (design.T @ (weights**2 * table["variance"].to_numpy()))
    # Relative to the fitted value at the largest size, not to the extrapolated one at infinity.
    change = slope * (inverse.max() - inverse.min()) / (base + slope * inverse.min())
    return _SizeFit(float(slope), float(np.sqrt(covariance[1, 1])), float(change))


def _mean_size(table: pd.DataFrame) -> tuple[float, float]:
    """Return the mean over sizes of the exact variance, and its standard error."""
    errors = table["standard_error"].to_numpy()
    return float(table["variance"].mean()), float(np.sqrt((errors**2).sum()) / errors.size)


def slows_down(e: Evidence) -> Finding:
    """Compare exponents and hitting times of the smallest and the largest noise."""
    # The distance to v is what the paper's figure shows.
    fits = e.noise.exponents.query("quantity == 'weighted_distance'").sort_values("noise")
    exact, sampled = (fits[fits["source"] == source] for source in ("exact", "sampled"))
    small, large = exact.iloc[0], exact.iloc[-1]
    parts = e.noise.exponents.query("source == 'exact'").set_index(["noise", "quantity"])["exponent"]
    bias, std = (float(parts[large["noise"], name]) for name in ("bias", "std"))
    larger = float(large["constant"] / small["constant"])
    verdict: Verdict = CONFIRMED if bias - std > OTHER_RATE else CORRECTED if larger > 1 + LARGER_CONSTANT else REFUTED
    times = e.noise.hitting_times.set_index("noise")["time"]
    extrapolated = e.noise.hitting_times["extrapolated"].any()
    first = f"{_steps(times.iloc[0])} steps at σ₀ = {small['noise']:g}"
    last = f"{_steps(times.iloc[-1])} at {large['noise']:g}"
    near = float(e.noise.hitting_times["distance"].iloc[0])
    return Finding(
        f"weighted RMS distance to v ~ {small['constant']:.3g}·t^−{small['exponent']:.4f} for σ₀ = {small['noise']:g} "
        f"and {large['constant']:.3g}·t^−{large['exponent']:.4f} for σ₀ = {large['noise']:g}; sampled "
        f"{sampled.iloc[-1]['exponent']:.3f} ± {sampled.iloc[-1]['standard_error']:.3f}",
        verdict,
        f"The exponent does not depend on the noise (bias {bias:.3f}, standard deviation {std:.3f}), but the constant "
        f"grows {larger:.3g}-fold. Because the exponent is small, the time to come within {near:g} of v grows from "
        f"{first} to {last}{' (extrapolated)' if extrapolated else ''}: the effect on time is large, not slight."
        if verdict == CORRECTED
        else f"The exponents are {bias:.3f} of the bias and {std:.3f} of the standard deviation, and the constant "
        f"grows {larger:.3g}-fold; the distance {near:g} is reached after {first} and {last}.",
        "The exponent of the rate does not change; the constant does, and the time to a given distance by orders of "
        "magnitude.",
    )


def _steps(time: float) -> str:
    """Return a number of steps; one digit of a large number, which is extrapolated by orders of magnitude.

    >>> _steps(12.6), _steps(5_400.0), _steps(5.4e7)
    ('13', '5e+03', '5e+07')
    """
    return f"{time:.0f}" if time < 1_000 else f"{time:.0e}"
