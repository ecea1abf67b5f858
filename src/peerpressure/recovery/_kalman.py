"""The Kalman filter and smoother: the exact observer of partial, interrupted, rounded or correlated answers.

The filter runs on the state z of ``statespace``, with covariances kept as square roots. No prior of x₀ is needed: the
state is followed as an affine function of the unknown constants θ, z ~ N(a + B θ, R Rᵀ), and each answer becomes a
linear equation in θ only: noisy if the state is uncertain given θ, and exact, up to rounding, if it is certain. θ is x₀
and, if noise is frozen, the draws of that noise.

References
----------
.. [1] De Jong, P. (1991), The diffuse Kalman filter. Annals of Statistics 19.
.. [2] De Jong, P. (1989), Smoothing and interpolation with the state-space model. JASA 84.
.. [3] Potter's square-root update: Bierman, G. J. (1977), Factorization Methods for Discrete Sequential Estimation.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model.statespace import System, Transition, initial_state, transitions
from peerpressure.model.step import Array
from peerpressure.recovery._information_state import (
    GaussianPosterior,
    InformationState,
    frozen_draw_count,
    prior_information,
)
from peerpressure.recovery._prior import Prior
from peerpressure.recovery.estimate import with_copies, without_copies
from peerpressure.recovery.least_squares import separate_noise
from peerpressure.recovery.limits import MIN_SIGNIFICANT, NEGLIGIBLE, NOISE_TOLERANCE, WRONG_DIGITS
from peerpressure.recovery.observation import Answers, observed
from peerpressure.support.resources import few_threads, require_memory
from peerpressure.support.results import read_only

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Data


@final
@dataclass(frozen=True, eq=False)
class FilterState:
    """The state given θ: z ~ N(a + B θ, R Rᵀ), with a (states, replicates), B (states, unknowns) and R (states, r).

    θ is x₀ and, if noise is frozen, also its draws: these are constants, too, and given both nothing is random.
    ``bound`` bounds the standard deviation that public and hidden opinions would have unobserved; what is smaller than
    rounding errors of that is 0.
    """

    mean: Array
    slope: Array
    root: Array
    bound: Array

    @classmethod
    def initial(cls, system: System, replicates: int, unit: float) -> FilterState:
        """Return the state at time 0, with frozen draws in this unit."""
        start = initial_state(system)
        slope, root = start.forward(np.eye(start.layout.agents)), start.forward(noise=np.eye(start.draws))
        if frozen_draw_count(system):
            # As a root, frozen draws would be eliminated answer by answer, however little each of these says of them,
            # with errors that grow every time; as unknowns they are solved for together with x₀.
            slope, root = np.concatenate([slope, root / unit], axis=1), root[:, :0]
        bound = np.zeros(start.layout.memory.start)
        return cls(np.tile(start.offset[:, None], replicates), slope, root, bound)

    def predict(self, step: Transition) -> FilterState:
        """Return the state after one more step, before its answers are observed: R ← QR of (F R, G)."""
        slope = step.forward(self.slope)
        slope[:, : step.layout.agents] += step.hidden_input()
        # (F R, G)(F R, G)ᵀ = F P Fᵀ + G Gᵀ. A QR factorisation of the transpose compresses the root back to at most
        # `states` columns without forming that product, which would square the condition number and lose half of the
        # digits.
        wide = np.concatenate([step.forward(self.root), step.noise_input()], axis=1)
        root = np.asarray(np.linalg.qr(wide.T, mode="r")).T if wide.size else wide
        return FilterState(step.forward(self.mean), slope, root, step.spread_bound(self.bound))

    def condition(
        self, agents: NDArray[np.int64], values: Array, noise: float, tolerance: Array
    ) -> tuple[FilterState, tuple[Correction, ...], Array, Array]:
        """Return the state given the answers of one step, the corrections, and exact facts about θ with their errors.

        Parameters
        ----------
        agents : array of int, (k,)
            Positions of the observed agents.
        values : array, (k, replicates)
            Their answers.
        noise : float
            Variance of the observation noise, 0 for exact observations.
        tolerance : array, (agents,)
            Standard deviations up to which an answer counts as determined by θ.

        Notes
        -----
        Answers are taken one by one, which needs no inverse: K = R w/f with w = Rᵀh and f = w·w + noise, and the root
        of the covariance becomes R − R w wᵀ/(f + √(f noise)). If f may be a rounding error of 0, the answer is an
        exact fact about θ, whose error is √f all the same, for f may be what it seems to be.
        """
        mean, slope, root = self.mean.copy(), self.slope.copy(), self.root.copy()
        corrections: list[Correction] = []
        exact, errors = [np.empty((0, slope.shape[1] + mean.shape[1]))], list[float]()
        for agent, value in zip(agents, values, strict=True):
            # w and the weights are copied because mean, slope and root are updated in place below.
            w = root[agent].copy()
            f = float(w @ w) + noise
            constant, weights = value - mean[agent], slope[agent].copy()
            # Dividing by such an f would amplify rounding errors. Other states are not updated either: given θ they are
            # as before, so the answer constrains θ only, and an equation without θ carries no information at all. The
            # answer itself is more precise than what θ says of it.
            if f <= tolerance[agent] ** 2:
                if np.linalg.norm(weights) > NEGLIGIBLE:
                    exact.append(np.concatenate([weights, constant])[None])
                    errors.append(float(np.sqrt(f)))
                if not noise:
                    mean[agent], slope[agent], root[agent] = value, 0.0, 0.0
                continue
            # P h, where h is the unit vector of the agent; `f` is its entry plus the observation noise, so no matrix is
            # inverted.
            Ph = root @ w
            gain = Ph / f
            column = gain[:, None]
            mean += column * constant
            slope -= column * weights
            # Potter's factor: R (I − c w wᵀ) with c = 1/(f + √(f·noise)) has exactly the updated covariance. The square
            # root form keeps P positive semidefinite, which the difference P − K hᵀP does not under rounding.
            root -= Ph[:, None] * (w / (f + math.sqrt(f * noise)))
            if not noise:
                # In exact arithmetic the row is already this. Left as computed, its rounding errors would later be
                # taken for a small variance, and a repeated answer for a very informative one.
                mean[agent], slope[agent], root[agent] = value, 0.0, 0.0
            # The smoother runs backwards through these, so the innovation is stored as it was before the update.
            corrections.append(Correction(int(agent), gain, constant, weights, f))
        state = FilterState(mean, slope, root, self.bound)
        return state, tuple(corrections), np.concatenate(exact), np.array(errors)

    def posterior(self, hidden: GaussianPosterior) -> GaussianPosterior:
        """Return the posterior of the state, from that of θ."""
        return hidden.image(self.mean.T, self.slope, self.root @ self.root.T)


@final
@dataclass(frozen=True, eq=False)
class Correction:
    """The update by one answer: the gain K, the innovation v = v_a − v_b x₀ and its variance f."""

    agent: int
    gain: Array
    constant: Array
    slope: Array
    variance: float


@final
@dataclass(frozen=True, eq=False)
class FilterStep:
    """The filter at time t: the state before and after the answers of t, and the information about θ.

    ``legible`` are the corrections that are not lost in the last digits of the answers, and ``exact`` the positions of
    the agents whose answers are known without observation noise.
    """

    t: int
    transition: Transition | None
    predicted: FilterState
    corrections: tuple[Correction, ...]
    legible: tuple[Correction, ...]
    state: FilterState
    information: InformationState
    exact: NDArray[np.int64]


def run_filter(system: System, data: Answers, prior: Prior | None) -> Iterator[FilterStep]:
    """Yield the filter's steps at t = 0, 1, … up to the last observed one."""
    n, has_memory = system.n, system.layout.has_memory
    # θ has its own information state, separate from z: this is what makes a diffuse (absent) prior exact instead of a
    # prior with a large variance, which would cost as many digits as it has zeros.
    information = prior_information(system.model, data, prior, frozen_draw_count(system))
    state = FilterState.initial(system, data.values.shape[0], information.unit)
    rows = {int(t): row for row, t in enumerate(data.seen.times)}
    # The precision of the recorded dtype: a float32 run carries float32 rounding errors even after conversion.
    digit = float(np.finfo(data.values.dtype).eps)
    steps: Iterable[Transition | None] = chain([None], transitions(system, data.seen.last))
    for t, step in enumerate(steps):
        predicted = state.predict(step) if step else state
        # Relative to the variance without observations, since cancellation in R is relative to what was subtracted.
        tolerance = NOISE_TOLERANCE * predicted.bound[:n]
        if step and not has_memory:
            # White noise of this step is independent of all earlier answers, so the variance of the answer is at least
            # noise_std², even if that is tiny compared with the accumulated bound. With memory (AR noise) earlier
            # answers can determine it, and the bound stays.
            tolerance = np.where(step.noise_std > 0, np.minimum(tolerance, step.noise_std / 2), tolerance)
        state = predicted
        corrections: tuple[Correction, ...] = ()
        legible = corrections
        agents, noise = data.seen.agents[:0], data.seen.noise_variance
        if t in rows:
            there = data.present[rows[t]]
            agents, values = data.seen.agents[there], data.at(rows[t])[:, there].T
            last_digit = digit * float(np.abs(values).max(initial=0.0))
            state, corrections, exact, errors = predicted.condition(agents, values, noise, tolerance)
            # Both sides of an exact fact are rounded: the answer, and weights that multiply opinions of any size.
            weight = np.linalg.norm(exact[:, : information.n], axis=1)
            errors = np.maximum(errors, WRONG_DIGITS * (last_digit + digit * information.size * weight))
            legible = tuple(c for c in corrections if c.variance > (MIN_SIGNIFICANT * last_digit) ** 2)
            information = information.condition(exact, errors, noisy_facts(legible, exact.shape[1]))
        yield FilterStep(t, step, predicted, corrections, legible, state, information, agents[: 0 if noise else None])


def last_step(system: System, data: Answers, prior: Prior | None) -> FilterStep:
    """Return the filter at the last observed step."""
    # The deque drops earlier steps: memory does not grow with time.
    return deque(run_filter(system, data, prior), maxlen=1)[0]


def noisy_facts(corrections: tuple[Correction, ...], width: int) -> Array:
    """Return v_b x₀ = v_a + N(0, f), divided by √f, as augmented rows."""
    rows = [np.concatenate([c.slope, c.constant]) / np.sqrt(c.variance) for c in corrections]
    # np.array([]) would have one dimension and break the concatenation of augmented rows.
    return np.array(rows).reshape(len(rows), width)


def run_smoother(steps: Sequence[FilterStep], hidden: GaussianPosterior) -> Iterator[GaussianPosterior]:
    """Yield the posterior of z_t given all answers, from the last step down to 0.

    Given θ, E z_t = a + B θ + P r and Cov z_t = P − P N P, where r and N sum up the innovations of t and later:
    r ← h v/f + Lᵀr and N ← h hᵀ/f + LᵀNL with L = I − K hᵀ for each answer, r ← Fᵀr and N ← FᵀNF for each step.
    No covariance is inverted, so states without noise are no special case.
    """
    states = steps[-1].predicted.slope.shape[0]
    # θ is unknown, so r is affine in it: one column of constants per replicate, then one of slopes per unknown.
    r = np.zeros((states, sum(hidden.mean.shape)))
    N = np.zeros((states, states))
    for later, step in enumerate(reversed(steps), 1):
        for correction in reversed(step.corrections):
            r, N = _before(correction, r, N)
        # r and N include the answers of t at this point, hence the predicted state and not the updated one.
        yield _smoothed(step.predicted, hidden, r, N, later).given(step.exact, step.state.mean[step.exact])
        if step.transition:
            r = step.transition.adjoint(r)
            # FᵀNF by two applications of the adjoint; N is symmetric, so the transpose between them needs no second
            # one.
            N = step.transition.adjoint(step.transition.adjoint(N).T)


def _before(correction: Correction, r: Array, N: Array) -> tuple[Array, Array]:
    """Return r and N before one answer; the columns of r are constants and then slopes in x₀."""
    agent, gain, f = correction.agent, correction.gain, correction.variance
    innovation = np.concatenate([correction.constant, -correction.slope])
    r = r.copy()
    r[agent] += innovation / f - gain @ r
    N = N.copy()
    # h is a unit vector, so LᵀNL changes one column and one row, O(states²) instead of two dense products. The column
    # goes first: the row update needs N L.
    N[:, agent] -= N @ gain
    N[agent] -= gain @ N
    N[agent, agent] += 1 / f
    return r, N


def _smoothed(state: FilterState, hidden: GaussianPosterior, r: Array, N: Array, later: int) -> GaussianPosterior:
    root, replicates = state.root, state.mean.shape[1]
    moved = root @ (root.T @ r)
    # R (I − RᵀNR) Rᵀ = P − P N P; written with the roots outside, the result has no entries in directions without
    # noise. The difference is no smaller than the rounding errors of its parts, which add up over later steps.
    parts = np.abs(root).T @ np.abs(N) @ np.abs(root)
    rounding = later * WRONG_DIGITS * np.finfo(np.float64).eps * (1.0 + parts.max(initial=0.0))
    spread = root @ ((1.0 + rounding) * np.eye(root.shape[1]) - root.T @ N @ root) @ root.T
    constant, slope = state.mean + moved[:, :replicates], state.slope + moved[:, replicates:]
    return hidden.image(constant.T, slope, spread)


Parts: TypeAlias = tuple[GaussianPosterior, GaussianPosterior]


@final
@read_only
@dataclass(frozen=True, eq=False)
class PosteriorPath:
    """Gaussian posteriors over time: ``mean`` (replicates, times, n) and a common ``covariance`` (times, n, n).

    ``identified`` (times, n) marks the entries that are determined by then; for the others the variance is infinite,
    and mean and covariance are those of the component that the answers determine.
    """

    mean: Array
    covariance: Array
    identified: NDArray[np.bool_]

    @property
    def variance(self) -> Array:
        """The variance of each entry at each time, (times, n)."""
        # Rounding can leave a variance of 0 slightly negative.
        diagonal = np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), 0.0)
        return np.where(self.identified, diagonal, np.inf)

    @property
    def std(self) -> Array:
        """The standard deviations, (times, n)."""
        return np.sqrt(self.variance)

    def __repr__(self) -> str:
        replicates, times, n = self.mean.shape
        known = int(self.identified[-1].sum())
        size = ", ".join(f"{k} {name}{'s' * (k != 1)}" for k, name in ((replicates, "replicate"), (times, "time")))
        return f"PosteriorPath({size}, {known} of {n} entries identified in the end)"


@final
@read_only
@dataclass(frozen=True, eq=False)
class StatePath:
    """The posteriors at ``times`` t = 0, 1, … of the ``hidden`` opinions x₀ and the ``public`` opinions y_t.

    ``current`` is x_{t+1}, the hidden opinions after step t: if opinions are constant, x₀ again. In continuous time,
    times are real.
    """

    times: NDArray[Any]
    hidden: PosteriorPath
    public: PosteriorPath
    current: PosteriorPath

    def __repr__(self) -> str:
        return f"StatePath(times {self.times[0]:g}–{self.times[-1]:g}, hidden {self.hidden!r}, public {self.public!r})"


def gathered(system: System, data: Answers, prior: Prior | None = None) -> InformationState:
    """Return what answers tell that are dealt with step by step.

    Complete answers are inverted where they are the whole state. Between the observed times of an equation, hidden
    opinions that adapt and correlated noise move on in ways that answers do not determine, and the filter follows them.
    """
    at = system.layout
    if data.complete and at.states == at.agents and system.model.isolated == "own":
        return step_by_step(system, data, prior)
    return last_step(system, data, prior).information


def step_by_step(system: System, data: Answers, prior: Prior | None = None) -> InformationState:
    """Return what complete answers tell where noise of one step is correlated between agents, as in continuous time.

    y_k − F_k y_{k−1} = B_k x₀ + G_k w_k with independent w_k, hence J = Σ B_kᵀ (G_k G_kᵀ)⁻¹ B_k. If the start is
    hidden and not observed, the first step enters as y_1 = (F_1 + B_1) x₀ + G_1 w_1.
    """
    start = initial_state(system)
    n = start.layout.agents
    information = prior_information(system.model, data, prior)
    before, slope_before = start.offset[:, None], start.forward(np.eye(n))
    for row, step in enumerate(transitions(system, data.seen.last)):
        # From the second step on y_{k−1} is observed and moves to the right-hand side; in the first, y_0 may depend on
        # x₀.
        slope = step.forward(slope_before, np.eye(n)) if not row else step.hidden_input()
        public: Array = data.at(row).T
        facts = np.concatenate([slope, public - step.forward(before)], axis=1)
        # Noise is correlated between agents but not between steps, so each step is whitened separately.
        information = information.condition(*separate_noise(facts, step.noise_input(), n))
        before = public
    return information


def kalman_filter(data: Data, model: System, prior: Prior | None = None) -> StatePath:
    """Return the posteriors of x₀, y_t and x_{t+1} at each time t, given the answers up to t.

    Parameters
    ----------
    data : Trajectory, Answers, pandas.DataFrame, xarray.Dataset, array or path
        The observed answers, from `answers_of`, or all of a run in any form that `observations_of` takes.
    model : Model or SDE
        The model of the run.
    prior : Prior, optional
        Gaussian prior of x₀; none by default.

    Returns
    -------
    StatePath
        Posteriors at t = 0, 1, … up to the last observed step.

    Raises
    ------
    TooLargeError
        If the covariances of all steps do not fit in memory.

    See Also
    --------
    kalman_smoother : The same given all answers, earlier and later.
    recover : Only the estimate of x₀, for larger networks.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, Observation, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import kalman_filter, answers_of
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.1))
    >>> data = answers_of(simulate(model, steps=20, seed=1, record="all"), model, Observation(agents=[0]))
    >>> kalman_filter(data, model).hidden.identified[[1, 20]].tolist()
    [[False, False], [True, True]]
    """
    model, outputs = observed(data, model, None)
    _check_size(model, outputs)
    hidden: list[GaussianPosterior] = []
    states: list[Parts] = []
    with few_threads(model.n):
        for step in run_filter(model, with_copies(outputs), prior):
            # One solution of the information state per step, O(n³) each: the path needs the posterior at every time.
            hidden.append(step.information.solve().posterior)
            states.append(_parts(model, step.state.posterior(hidden[-1]), hidden[-1]))
    return _path(model, hidden, states)


def kalman_smoother(data: Data, model: System, prior: Prior | None = None) -> StatePath:
    """Return the posteriors of x₀, y_t and x_{t+1} at each time t, given all answers, earlier and later.

    Parameters
    ----------
    data : Trajectory, Answers, pandas.DataFrame, xarray.Dataset, array or path
        The observed answers, from `answers_of`, or all of a run in any form that `observations_of` takes.
    model : Model or SDE
        The model of the run.
    prior : Prior, optional
        Gaussian prior of x₀; none by default.

    Returns
    -------
    StatePath
        Posteriors at t = 0, 1, … up to the last observed step.

    Raises
    ------
    TooLargeError
        If the covariances of all steps do not fit in memory.

    See Also
    --------
    kalman_filter : The same given only the answers up to t.

    References
    ----------
    .. [1] De Jong, P. (1989), Smoothing and interpolation with the state-space model. JASA 84.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, Observation, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import kalman_smoother, answers_of
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.1))
    >>> data = answers_of(simulate(model, steps=20, seed=1, record="all"), model, Observation(agents=[0]))
    >>> kalman_smoother(data, model).public.identified.all()
    np.True_
    """
    model, outputs = observed(data, model, None)
    _check_size(model, outputs)
    with few_threads(model.n):
        # The backward pass needs the corrections and transitions of all steps, so they are all stored.
        steps = list(run_filter(model, with_copies(outputs), prior))
        hidden = steps[-1].information.solve().posterior
        states = [_parts(model, posterior, hidden) for posterior in run_smoother(steps, hidden)]
    return _path(model, [hidden] * len(states), states[::-1])


def _parts(system: System, state: GaussianPosterior, hidden: GaussianPosterior) -> Parts:
    """Return the posteriors of y_t and of x_{t+1}."""
    at = system.layout
    return state.part(at.public), state.part(at.hidden) if at.has_hidden else hidden.part(at.public)


def _path(system: System, hidden: list[GaussianPosterior], states: list[Parts]) -> StatePath:
    public, current = (_over_time(part) for part in zip(*states, strict=True))
    agents = slice(0, system.n)
    opinions = _over_time(posterior.part(agents) for posterior in hidden)
    return StatePath(np.arange(len(states)) * system.step, opinions, public, current)


def _over_time(posteriors: Iterable[GaussianPosterior]) -> PosteriorPath:
    """Return posteriors over time, made from answers with copies, with the error that rounding makes in them."""
    each = list(posteriors)
    mean, moved = without_copies(np.stack([p.mean for p in each], axis=1), np.stack([p.variance for p in each]))
    covariance = np.stack([p.covariance for p in each]) + np.einsum("cti,ctj->tij", moved, moved)
    return PosteriorPath(mean, covariance, np.stack([p.identified for p in each]))


def _check_size(system: System, data: Answers) -> None:
    # Doubles of about six matrices per step: root, slope, gains and the copies that the two passes and the result need.
    needed = 6 * 8 * (data.seen.last + 1) * system.layout.memory.start**2
    remedy = "use the method kalman for the estimate at the end, which keeps one step"
    require_memory(needed, what="the posteriors of all steps", remedy=remedy)
