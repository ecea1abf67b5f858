"""How well a model fits observed answers: tests by size, agent, lag, step and law, what it misses, its likelihood."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from peerpressure.errors import ContradictionError
from peerpressure.model.statespace import System
from peerpressure.model.step import Array
from peerpressure.recovery.digits import grid_note, undeclared_rounding
from peerpressure.support.resources import few_threads
from peerpressure.support.results import read_only
from peerpressure.support.text import html_table

if TYPE_CHECKING:
    import pandas

    from peerpressure.recovery.observation import Answers


# Tests of residuals that are independent and standard normal if the model is right: by size, agent, lag, step and law.
#
# Every test takes residuals w (replicates, T, k), NaN at the same places in all replicates, and returns p-values
# (replicates,), or None if there is nothing to test. They look for different faults and are nearly independent of
# one another: the size of all residuals is divided out of those by lag, step and tail. A new test is one function and
# one line in ``TESTS``.
#
# References
# ----------
# .. [1] Ljung, G. M. & Box, G. E. P. (1978), On a measure of lack of fit in time series models. Biometrika 65.
# .. [2] Harvey, A. C. & Collier, P. (1977), Testing for functional misspecification in regression analysis. Journal of
#    Econometrics 6.
# .. [3] Geary, R. C. (1935), The ratio of the mean deviation to the standard deviation as a test of normality.
#    Biometrika 27.
# .. [4] Marsaglia, G. & Marsaglia, J. (2004), Evaluating the Anderson–Darling distribution. Journal of Statistical
#    Software 9.

# Lags that are tested together.
LAGS = 5
# Residuals, or pairs of them, below which the approximate tests are not used.
_FEW = 8


def size(w: Array) -> Array | None:
    """Test the sum of all squares, χ²: the noise is larger or smaller than declared."""
    count = int(np.isfinite(w[0]).sum())
    if not count:
        return None
    return _two_sided(*_chi_squared(count, np.nansum(w**2, axis=(1, 2))))


def agents(w: Array) -> Array | None:
    """Test whether the sizes of residuals differ between agents beyond chance, whatever their common size is.

    The sum of squares of agent i, χ² with n_i degrees of freedom, becomes z_i = Φ⁻¹(χ²(·)), and Σ(z_i − z̄)² is χ².
    """
    z = _agent_scores(w)
    return None if z.shape[1] < 2 else np.asarray(special.chdtrc(z.shape[1] - 1, np.square(z).sum(axis=1)))


def outlier(w: Array) -> Array | None:
    """Test whether one agent's residuals differ in size from those of the others: the largest |z_i − z̄|."""
    z = _agent_scores(w)
    k = z.shape[1]
    if k < 3:
        return None
    # Deviations from the mean are correlated by −1/(k − 1), for which independence is a cautious assumption.
    return at_least_one(2 * special.ndtr(-np.abs(z) / np.sqrt(1 - 1 / k)))


def _agent_scores(w: Array) -> Array:
    """Return z_i − z̄ of the agents that have residuals, (replicates, k)."""
    below, above = agent_probabilities(w)
    if not below.shape[1]:
        return below
    z = np.where(below < above, special.ndtri(below), -special.ndtri(above)).clip(-38, 38)
    return np.asarray(z - z.mean(axis=1, keepdims=True))


def agent_probabilities(w: Array) -> tuple[Array, Array]:
    """Return the probabilities of a smaller and of a larger sum of squares of each agent that has residuals."""
    count = np.isfinite(w[0]).sum(axis=0)
    seen = count > 0
    return _chi_squared(count[seen], np.nansum(w[:, :, seen] ** 2, axis=1))


def lags(w: Array) -> Array | None:
    """Test the autocorrelations of the first lags, pooled over agents, by the smallest of their p-values."""
    _, p = autocorrelations(w)
    return None if not p.size else at_least_one(p)


def autocorrelations(w: Array) -> tuple[Array, Array]:
    """Return r_k = Σ w_t w_{t−k} / Σ w² over all agents for lags k = 1, 2, … and their p-values, (replicates, lags).

    Lags are counted in observed steps; those with too few pairs are left out.
    """
    filled, there = np.nan_to_num(w), np.isfinite(w[0])
    N, total = int(there.sum()), np.square(filled).sum(axis=(1, 2))
    r, p = [np.zeros((len(w), 0))], [np.zeros((len(w), 0))]
    for k in range(1, min(LAGS, w.shape[1] - 1) + 1):
        pairs, triples = (
            int((there[k:] & there[:-k]).sum()),
            int((there[2 * k :] & there[k:-k] & there[: -2 * k]).sum()),
        )
        if pairs < _FEW:
            break
        r.append((np.einsum("rti,rti->r", filled[:, k:], filled[:, :-k]) / total)[:, None])
        p.append(_autocorrelation_p(r[-1], N, pairs, triples))
    return np.concatenate(r, axis=1), np.concatenate(p, axis=1)


def _autocorrelation_p(r: Array, N: int, pairs: int, triples: int) -> Array:
    """Return two-sided p-values of r = wᵀMw/wᵀw, from its exact variance and kurtosis.

    Residuals divided by their root mean square are uniform on a sphere, so moments of wᵀMw are divided by those of
    wᵀw: E(wᵀMw)² = 2 tr M² and E(wᵀMw)⁴ = 12 (tr M²)² + 48 tr M⁴, of which the first is N_k.
    """
    variance = pairs / (N * (N + 2))
    kurtosis = (3 * pairs**2 + 6 * pairs + 12 * triples) / (N * (N + 2) * (N + 4) * (N + 6)) / variance**2
    if kurtosis >= 3:
        return np.asarray(2 * special.ndtr(-np.abs(r) / np.sqrt(variance)))
    # The symmetric beta law of this kurtosis, which has bounds as r has.
    shape = 1.5 * (kurtosis - 1) / (3 - kurtosis)
    return np.asarray(special.betaincc(0.5, shape, np.minimum(r**2 / variance / (2 * shape + 1), 1.0)))


def at_least_one(p: Array) -> Array:
    """Return the probability of a smallest p-value as small as in each row of p, (…, m), if these are independent."""
    # 1 − (1 − p)^m, without a loss of digits where p is small.
    return np.asarray(-np.expm1(p.shape[-1] * np.log1p(-np.minimum(p.min(axis=-1), 1 - 1e-16))))


def drift(w: Array) -> Array | None:
    """Test level and trend of each agent's residuals, χ² with two degrees of freedom for each: Σw/√n and the slope."""
    there = np.isfinite(w[0])
    count = there.sum(axis=0)
    # The level and trend of one or two residuals are the residuals themselves.
    long = count > 2
    if not long.any():
        return None
    here, values = there[:, long], np.nan_to_num(w[:, :, long])
    step = np.arange(w.shape[1])[:, None] * here
    centred = (step - step.sum(axis=0) / count[long]) * here
    level = values.sum(axis=1) / np.sqrt(count[long])
    slope = np.einsum("rti,ti->ri", values, centred / np.sqrt(np.square(centred).sum(axis=0)))
    return np.asarray(special.chdtrc(2 * int(long.sum()), np.square(level).sum(axis=1) + np.square(slope).sum(axis=1)))


def steps(w: Array) -> Array | None:
    """Test whether residuals are of the same size early and late: the ratio of two sums of squares is F."""
    count = np.isfinite(w[0]).sum(axis=1)
    total = np.cumsum(count)
    middle = int(np.searchsorted(total, total[-1] / 2)) + 1
    early, late = int(total[middle - 1]), int(total[-1] - total[middle - 1])
    if not (early and late):
        return None
    squares = np.nansum(w**2, axis=2)
    before, after = squares[:, :middle].sum(axis=1), squares[:, middle:].sum(axis=1)
    ratio = (after / late) / (before / early)
    return _two_sided(special.fdtr(late, early, ratio), special.fdtrc(late, early, ratio))


def tails(w: Array) -> Array | None:
    """Test whether tails are heavier or lighter than declared, whatever the size: Geary's Σ|w|/√(N Σw²)."""
    there = np.isfinite(w[0])
    N = int(there.sum())
    if N < _FEW:
        return None
    values = w[:, there]
    ratio = np.abs(values).sum(axis=1) / np.sqrt(N * np.square(values).sum(axis=1))
    mean, variance, skewness = _geary_moments(N)
    # A gamma law with these moments; it has its longer tail on the side of small ratios, those of heavy tails.
    shape, z = 4 / skewness**2, (mean - ratio) / np.sqrt(variance)
    place = np.maximum(shape + np.sqrt(shape) * z, 0.0)
    return _two_sided(special.gammainc(shape, place), special.gammaincc(shape, place))


def _geary_moments(N: int) -> tuple[float, float, float]:
    """Return mean, variance and skewness of Geary's ratio of N standard normal numbers."""
    if N > 1_000:
        # The differences below would cancel.
        return np.sqrt(2 / np.pi), (1 - 3 / np.pi) / N, -1.76 / np.sqrt(N)
    # The ratio is independent of Σw², so moments of Σ|w| are divided by those of √(N Σw²).
    first = np.sqrt(2 / np.pi)
    sums = (
        N * first,
        N + N * (N - 1) * first**2,
        N * 2 * first + 3 * N * (N - 1) * first + N * (N - 1) * (N - 2) * first**3,
    )
    root = [np.exp(0.5 * k * np.log(2 * N) + special.gammaln((N + k) / 2) - special.gammaln(N / 2)) for k in (1, 2, 3)]
    m1, m2, m3 = (float(total / size) for total, size in zip(sums, root, strict=True))
    variance = m2 - m1**2
    return m1, variance, (m3 - 3 * m1 * variance - m1**3) / variance**1.5


def law(w: Array) -> Array | None:
    """Test the distribution of all residuals by Anderson and Darling's A²."""
    there = np.isfinite(w[0])
    N = int(there.sum())
    if N < _FEW:
        return None
    values = np.sort(w[:, there], axis=1)
    odd = 2 * np.arange(1, N + 1) - 1
    logs = special.log_ndtr(values) + special.log_ndtr(-values[:, ::-1])
    return _anderson_darling(-N - (logs @ odd) / N, N)


def _anderson_darling(A: Array, N: int) -> Array:
    """Return the probability of a larger A² of N uniform numbers."""
    z = np.clip(A, 1e-3, 8.0)
    low = np.polyval([0.00168691, -0.011672, 0.0347962, -0.0649821, 0.247105, 2.00012], np.minimum(z, 2.0))
    high = np.polyval([0.0003146, -0.008056, 0.082433, -0.43424, 2.30695, -1.0776], z)
    below = np.where(z < 2, np.exp(-1.2337141 / z) / np.sqrt(z) * low, np.exp(-np.exp(-high)))
    # Beyond, by the largest eigenvalue: A² is the sum of χ²_j/(j (j + 1)), and Π (1 − λ_j/λ_1) = 1/3.
    far = np.sqrt(3) * special.erfc(np.sqrt(np.maximum(A, 0.0)))
    return np.asarray(np.where(A < 6, np.clip(1 - below - _finite_correction(below, N), 0.0, 1.0), far))


def _finite_correction(x: Array, N: int) -> Array:
    c = 0.01265 + 0.1757 / N
    t = np.clip(x / c, 0.0, 1.0)
    lower = np.sqrt(t) * (1 - t) * (49 * t - 102) * (0.0037 / N**3 + 0.00078 / N**2 + 0.00006 / N)
    t = (x - c) / (0.8 - c)
    middle = np.polyval([1.91864, -8.259, 14.458, -14.6538, 6.54034, -0.00022633], t) * (0.04213 + 0.01365 / N) / N
    upper = np.polyval([255.7844, -1116.360, 1950.646, -1705.091, 745.2337, -130.2137], x) / N
    return np.where(x > 0.8, upper, np.where(x < c, lower, middle))


def _chi_squared(count: NDArray[np.int64] | int, squares: Array) -> tuple[Array, Array]:
    return special.chdtr(count, squares), special.chdtrc(count, squares)


def _two_sided(below: Array, above: Array) -> Array:
    return np.asarray(np.minimum(2 * np.minimum(below, above), 1.0))


class FitTest(NamedTuple):
    """A test: its function, and what a small p-value says."""

    test: Callable[[Array], Array | None]
    finding: str


TESTS: Mapping[str, FitTest] = {
    "size": FitTest(size, "the noise is larger or smaller than declared"),
    "agents": FitTest(agents, "the size of the noise differs between agents more than declared"),
    "outlier": FitTest(outlier, "one agent has more or less noise than the others"),
    "lags": FitTest(lags, "the noise is correlated in time in a different way than declared"),
    "drift": FitTest(drift, "residuals of some agents drift, as under another network, stubbornness or pressure"),
    "steps": FitTest(steps, "residuals become larger or smaller over time, as under another pressure or time scale"),
    "tails": FitTest(tails, "the noise has heavier or lighter tails than declared"),
    "law": FitTest(law, "the noise distribution is not the declared one"),
}


# Tests that an estimate of a parameter has settled: a size that is fitted is right.
_SETTLED: Mapping[str, tuple[str, ...]] = {"std": ("size",), "agent_std": ("size", "agents", "outlier")}


def holm(p: Array) -> Array:
    """Return p-values (…, m) adjusted for the m tests in a row: the smallest times m, the next times m − 1 and so on.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3)
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    climbing = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.minimum(climbing, 1.0), axis=-1)
    return out


# The results of the tests, and the log-likelihood.

# Below the first the fit is doubtful; below the second, chance is ruled out for all practical purposes.
DOUBTFUL, REJECTED = 0.01, 1e-4
# Answers that are inverted, and multiplications of a filter, within a second or so.
_QUICK, _QUICK_FILTER = 1e6, 1e8
_IMPOSSIBLE = "answers contradict the model where it leaves no room for noise"


class Likelihood(NamedTuple):
    """The log-likelihood (replicates,) at its maximum in x₀, the directions of x₀ maximised over, and the answers."""

    height: Array
    parameters: int
    outputs: int

    @classmethod
    def gaussian(cls, squares: Array, log_variances: float, parameters: int, outputs: int) -> Likelihood:
        """Return that of outputs with these sums of squared residuals, (replicates,), and of log variances."""
        return cls(-0.5 * (outputs * np.log(2 * np.pi) + log_variances + squares), parameters, outputs)


@final
@read_only
@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals ``values`` (replicates, T, k) at ``times`` (T,) of ``agents`` (k,), NaN where there is none.

    ``likelihood`` is None if answers have no density or are not all used.
    """

    times: NDArray[np.int64]
    agents: NDArray[np.int64]
    values: Array
    likelihood: Likelihood | None = None


# What a model misses: which agents, signs of ties and missing ties.

Kind: TypeAlias = Literal["stubbornness", "sign", "tie"]


class Score(NamedTuple):
    """How much the answers speak for one change of a model.

    Attributes
    ----------
    kind : {"stubbornness", "sign", "tie"}
        What would change.
    agents : tuple of int
        Positions of the one or two agents concerned.
    z : float
        The score in standard errors.
    p_value : float
        Its p-value.
    gain : float
        How much the log-likelihood would grow with the best change in this direction alone.

    See Also
    --------
    ScoreTests : All scores of a model, ranked.

    Examples
    --------
    >>> from peerpressure.recovery import Score
    >>> Score("tie", (0, 4), z=3.9, p_value=1e-4, gain=7.6).agents
    (0, 4)
    """

    kind: Kind
    agents: tuple[int, ...]
    z: float
    p_value: float
    gain: float


@final
@read_only
@dataclass(frozen=True, eq=False)
class ScoreTests:
    """What a model misses: its agents, signs and ties ranked by how much the answers speak for a change.

    Attributes
    ----------
    labels : tuple
        Labels of the agents.
    scores : tuple of Score
        The directions tested: first stubbornness, then signs, then ties; in each of them the clearest first, up to
        1,000.
    missed : tuple of Score
        Those that explain what is missed, at a level of 5 % for each kind, in the same order. An agent with another
        stubbornness also raises the scores of its ties, a wrong sign those of stubbornness, and a large fault those of
        all others. The change that gains most likelihood is therefore named first, its agents are left out, and the
        rest is scored again until nothing is left.
    directed : bool
        Whether a tie has a direction.
    reason : str
        Why nothing is tested; empty where something is.

    See Also
    --------
    diagnose_fit : Returns it as ``misses``.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.recovery import diagnose_fit
    >>> assumed = Model(cycle(8), hidden=range(8), noise=Gaussian(1.0))
    >>> real = replace(assumed, stubbornness=[1, 1, 1, 4, 1, 1, 1, 1])
    >>> print(diagnose_fit(simulate(real, 100, seed=1), assumed).misses.sentences[0])
    Agent 3 is more stubborn than the model says.
    """

    labels: tuple[Hashable, ...]
    scores: tuple[Score, ...] = ()
    missed: tuple[Score, ...] = ()
    directed: bool = False
    reason: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is missed at the level of 5 %, in words; empty where nothing is."""
        return tuple(self.sentence(score) for score in self.missed)

    def sentence(self, score: Score) -> str:
        """Return what a direction says if its score is not chance.

        Parameters
        ----------
        score : Score
            One of ``scores``.

        Returns
        -------
        str
            A sentence with the labels of its agents.
        """
        names = [str(self.labels[i]) for i in score.agents]
        if score.kind == "stubbornness":
            return f"Agent {names[0]} is {'more' if score.z > 0 else 'less'} stubborn than the model says."
        which = f"from {names[0]} to {names[1]}" if self.directed else f"between {names[0]} and {names[1]}"
        if score.kind == "sign":
            return f"The tie {which} acts against its sign."
        return f"A {'' if score.z > 0 else 'negative '}tie {which} is missing."

    @property
    def table(self) -> pandas.DataFrame:
        """The scores as rows: kind, agent, neighbour (None for stubbornness), z, p_value and gain."""
        import pandas

        rows = [
            (score.kind, *(self.labels[i] for i in score.agents), *[None] * (2 - len(score.agents)), *score[2:])
            for score in self.scores
        ]
        table = pandas.DataFrame(rows, columns=["kind", "agent", "neighbour", "z", "p_value", "gain"], dtype=object)
        return table.astype({"kind": str, "z": float, "p_value": float, "gain": float})

    def __str__(self) -> str:
        if self.reason:
            return f"not tested: {self.reason}"
        return "\n".join(self.sentences) or "nothing is missed at 5 %"

    def __repr__(self) -> str:
        return f"ScoreTests({len(self.scores)} directions, {len(self.missed)} missed)"


@final
@read_only
@dataclass(frozen=True, eq=False)
class FitDiagnostics:
    """Tests of whether a model fits the data; each is computed when first used.

    Each answer is predicted from the earlier ones, and the standardised errors of these predictions are tested. They
    are exactly independent and standard normal under the model, also where x₀ is unknown. What cannot be tested is
    None: the noise distribution has no density (random signs), the noise cancels, or no answer is left over once x₀ is
    determined.

    Attributes
    ----------
    system : Model or SDE
        The model under test.
    outputs : Answers
        What was observed.
    residuals_of : callable
        Function of both that returns the standardised errors of prediction, or None if there are none.
    likelihood_of : callable
        Function of both that returns the log-likelihood, or None if there is none.
    misses_of : callable
        Function of both that returns the score tests.
    estimated : tuple of str
        Unknown parameters that were estimated from the same answers. Tests of what an estimate equals by definition
        would be passed by every record, and are left out.

    See Also
    --------
    diagnose_fit : Returns diagnostics of a run.
    Estimate : Has those of its answers.

    References
    ----------
    .. [1] J. Durbin and S. J. Koopman (2012), Time Series Analysis by State Space Methods, 2nd edition, Oxford
       University Press.

    Examples
    --------
    >>> from peerpressure import AR1, Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.recovery import diagnose_fit
    >>> model = Model(cycle(6), hidden=range(6), noise=Gaussian(1.0))
    >>> other = Model(cycle(6), hidden=range(6), noise=Gaussian(1.0, temporal=AR1(0.6)))
    >>> diagnostics = diagnose_fit(simulate(other, 100, seed=1), model)
    >>> "lags" in diagnostics.failing
    True
    """

    system: System
    outputs: Answers
    # Both need estimators, and estimates contain diagnostics: the functions come in from above.
    residuals_of: Callable[[System, Answers], Residuals | None] = field(repr=False)
    likelihood_of: Callable[[System, Answers], Likelihood | None] = field(repr=False)
    misses_of: Callable[[System, Answers], ScoreTests] = field(repr=False)
    estimated: tuple[str, ...] = ()

    @cached_property
    def _residuals(self) -> Residuals | None:
        try:
            with few_threads(self.outputs.seen.n):
                return self.residuals_of(self.system, self.outputs)
        except ContradictionError:
            # Exact facts that contradict one another are no error here but the clearest answer that a test can give.
            values = np.full((self.outputs.known.shape[0], 1, 1), np.inf)
            return Residuals(self.outputs.seen.times[:1], np.arange(1), values)

    @cached_property
    def _likelihood(self) -> Likelihood | None:
        residuals = self._residuals
        # A large network's own likelihood takes as long as the estimate itself, so it comes last.
        known = None if residuals is None else residuals.likelihood
        return self.likelihood_of(self.system, self.outputs) if known is None else known

    @property
    def is_ready(self) -> bool:
        """Whether the residuals are known already, or found at once."""
        # An inversion reads each answer once; a filter updates an n × n matrix with each.
        work = self.outputs.values.size if self.outputs.complete else self.outputs.present.size * self.outputs.seen.n**2
        return "_residuals" in self.__dict__ or work < (_QUICK if self.outputs.complete else _QUICK_FILTER)

    @cached_property
    def impossible(self) -> bool:
        """Whether answers contradict the model where it leaves no room for noise."""
        return self._residuals is not None and bool(np.isinf(self._residuals.values).any())

    @property
    def times(self) -> Array:
        """The times of the residuals, (T,)."""
        steps = np.arange(0) if self._residuals is None else self._residuals.times
        return np.asarray(steps * self.system.step, dtype=np.float64)

    @property
    def residuals(self) -> Array | None:
        """The standardised residuals, (replicates, T, agents), NaN where there is none; None if all are missing.

        For noise that is not Gaussian they are normal scores: Φ⁻¹ of the probability of a smaller answer.
        """
        residuals = self._residuals
        return None if residuals is None or not np.isfinite(residuals.values[0]).any() else residuals.values

    @cached_property
    def tests(self) -> Mapping[str, Array | None]:
        """The p-values (replicates,) of each test, None if it has nothing to test.

        "size" tests the sum of all squares; "agents" whether agents differ in size, and "outlier" whether one of them
        does; "lags" autocorrelation; "drift" the level and trend of each agent's residuals; "steps" whether they are
        larger early or late; "tails" and "law" their distribution.
        """
        w, settled = self.residuals, {test for name in self.estimated for test in _SETTLED.get(name, ())}
        return {name: None if w is None or name in settled else each.test(w) for name, each in TESTS.items()}

    @property
    def p_value(self) -> Array | None:
        """The p-value of all tests together, (replicates,): of the smallest, by Šidák's correction for their number."""
        if self.impossible:
            return np.zeros(self.outputs.known.shape[0])
        p_values = [p for p in self.tests.values() if p is not None]
        return at_least_one(np.stack(p_values, axis=1)) if p_values else None

    @property
    def failing(self) -> tuple[str, ...]:
        """The tests with a p-value below 0.01 in some replicate, corrected for all tests and replicates."""
        p_values = {name: p for name, p in self.tests.items() if p is not None}
        if not p_values:
            return ()
        least = np.array([min(1.0, float(p.min()) * p.size) for p in p_values.values()])
        return tuple(name for name, p in zip(p_values, holm(least), strict=True) if p < DOUBTFUL)

    @property
    def findings(self) -> Mapping[str, str]:
        """What each failing test says, in words."""
        return {"exact": _IMPOSSIBLE} if self.impossible else {name: TESTS[name].finding for name in self.failing}

    @cached_property
    def misses(self) -> ScoreTests:
        """Which agents' stubbornness, signs of ties and missing ties the answers speak for, ranked, with names.

        The tests of ``tests`` say that something is wrong, these say where. All replicates are taken together, and
        nothing is refitted.
        """
        with few_threads(self.outputs.seen.n):
            return self.misses_of(self.system, self.outputs)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Doubts about the answers themselves that no test of residuals has: fewer digits than the model computes."""
        spacing = undeclared_rounding(self.system, self.outputs)
        return () if spacing is None else (grid_note(spacing),)

    @property
    def agents(self) -> pandas.DataFrame:
        """The agents that have residuals: replicate, agent, count, mean, size (root mean square) and p_value.

        The p-value of an agent's size is adjusted by Holm's method for the number of agents.
        """
        import pandas

        w, positions = self._shown()
        there = np.isfinite(w[0]).any(axis=0)
        below, above = agent_probabilities(w)
        p = holm(np.minimum(2 * np.minimum(below, above), 1.0))
        count, some = np.isfinite(w[0]).sum(axis=0)[there], np.nan_to_num(w[:, :, there])
        return pandas.DataFrame(
            {
                "replicate": np.repeat(self.outputs.replicates[: len(w)], count.size),
                **{name: own * len(w) for name, own in self._names(positions[there]).items()},
                "count": np.tile(count, len(w)),
                "mean": (some.sum(axis=1) / count).ravel(),
                "size": np.sqrt(np.square(some).sum(axis=1) / count).ravel(),
                "p_value": p.ravel(),
            }
        )

    @property
    def lags(self) -> pandas.DataFrame:
        """The autocorrelations, pooled over agents: replicate, lag in observed steps, autocorrelation and p_value."""
        import pandas

        r, p = autocorrelations(self._shown()[0])
        columns = {"autocorrelation": r.ravel(), "p_value": p.ravel()}
        lag = np.tile(np.arange(1, r.shape[1] + 1), len(r))
        replicate = np.repeat(self.outputs.replicates[: len(r)], r.shape[1])
        return pandas.DataFrame({"replicate": replicate, "lag": lag} | columns)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the residuals as tidy rows.

        Returns
        -------
        pandas.DataFrame
            Columns ``replicate`` (its number in the run), ``time``, ``agent`` and ``residual``.
        """
        import pandas

        w, positions = self._shown()
        replicate, row, agent = np.nonzero(np.isfinite(w))
        numbers = {"replicate": self.outputs.replicates[replicate], "time": self.times[row]}
        return pandas.DataFrame({**numbers, **self._names(positions[agent]), "residual": w[replicate, row, agent]})

    def _shown(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the residuals, an empty array where there are none, and the positions of their agents."""
        w = self.residuals
        if w is None or self._residuals is None:
            return np.empty((1, 1, 0)), np.empty(0, dtype=np.int64)
        return w, np.asarray(self._residuals.agents)

    def _names(self, positions: NDArray[np.int64]) -> dict[str, list[Hashable]]:
        return self.system.model.network.name_columns(positions.tolist())

    @property
    def log_likelihood(self) -> Array | None:
        """The log-likelihood of the answers at its maximum in x₀, (replicates,).

        It belongs to the model and not to a method, and a prior of x₀ does not enter. None if the answers have no
        joint density given x₀ (noise that is frozen or zero), where noise is neither Gaussian nor white, or where the
        network is too large.
        """
        return None if self._likelihood is None else self._likelihood.height

    @property
    def parameters(self) -> int:
        """The number of directions of x₀ that the answers determine, the parameters of the likelihood."""
        return 0 if self._likelihood is None else self._likelihood.parameters

    @property
    def aic(self) -> Array | None:
        """Akaike's criterion 2k − 2 log L with k ``parameters``, (replicates,).

        Where other parameters were fitted to the same answers, 2 must be added for each.
        """
        height = self.log_likelihood
        return None if height is None else 2 * self.parameters - 2 * height

    @property
    def bic(self) -> Array | None:
        """Schwarz's criterion k log N − 2 log L with N the number of answers, (replicates,)."""
        if self._likelihood is None:
            return None
        height, parameters, outputs = self._likelihood
        return float(parameters * np.log(outputs)) - 2 * height

    def summary(self) -> list[tuple[str, str]]:
        """Return the fit and the log-likelihood as names and texts, for a terminal or a notebook.

        Returns
        -------
        list of (str, str)
            Names and texts, one pair for each line.
        """
        if not self.is_ready:
            return [("fit to the model", "computed on demand: estimate.goodness_of_fit")]
        table = [("fit to the model", _verdict(self.p_value))]
        table += [(f"failed test: {name}", finding) for name, finding in self.findings.items()]
        if "misses" in self.__dict__:
            table += [("missed", sentence) for sentence in self.misses.sentences]
        known = "_likelihood" in self.__dict__ or (
            self._residuals is not None and self._residuals.likelihood is not None
        )
        if known and self.log_likelihood is not None and self.aic is not None and self.bic is not None:
            numbers = [float(part.mean()) for part in (self.log_likelihood, self.aic, self.bic)]
            average = " (means over replicates)" if self.log_likelihood.size > 1 else ""
            text = "{:.6g}, AIC {:.6g}, BIC {:.6g}".format(*numbers)
            table.append(("log-likelihood", text + average))
        return table

    def __str__(self) -> str:
        return "\n".join(f"{name:<22}{text}" for name, text in self._rows)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._rows, 'Tests of fit')}</div>"

    @property
    def _rows(self) -> list[tuple[str, str]]:
        return [*self.summary(), *(("note", note) for note in self.notes)]


def _verdict(p: Array | None) -> str:
    if p is None:
        return "nothing can be tested"
    # The smallest of many p-values is small by chance; multiplying by their number is Bonferroni's correction.
    least = min(1.0, float(p.min()) * p.size)
    words = "the model does not fit the data" if least <= REJECTED else "the fit of the model is doubtful"
    return f"{'the model fits the data' if least > DOUBTFUL else words} (p = {least:.2g})"
