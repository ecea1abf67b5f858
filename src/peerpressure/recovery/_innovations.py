"""The best linear observer of complete outputs: invert every update, then average.

With every output known, y_t − C_t y_{t−1} = g_t ∘ (x_t + ε_t) gives each agent's own series r_t = p_t x₀ + ε_t (see
``_inversion``), whose best average is known in closed form (see ``_least_squares``). Its information about x₀ is the
same for every run, and therefore known before one is observed:

    J = i·D + weight·Bᵀ D B,   D = diag(1/std²),

with i the information of the averages at unit std. The second term belongs to the first step where y₀ = x₀ is not
observed: y_1/g_1 = F x₀ + ε_1 with F = S⁻¹(S + ρ₁A), for x₀ enters through the agent itself and through its neighbours'
start. Given the next ε, what is left of ε_1 is independent of all later noise, so the first step is one more row
B x₀ = r + noise of variance std²·(1 − φ²). Equations without noise are not part of J but exact rows next to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import TooLargeError, message
from peerpressure.model import Model, Vector
from peerpressure.recovery._estimate import Covariance, Estimate, estimate_from
from peerpressure.recovery._information_state import InformationState, estimate_of, prior_information
from peerpressure.recovery._inversion import Inverted, check_complete, invert, is_invertible, shows_start
from peerpressure.recovery._kalman import kalman, last_step
from peerpressure.recovery._least_squares import (
    SymmetricOperator,
    TimeWeights,
    Whitening,
    conjugate_gradients,
    identify,
    innovation_std,
    separate_noise,
    solve,
)
from peerpressure.recovery._limits import DENSE_LIMIT, NEGLIGIBLE
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._prior import Prior
from peerpressure.sde import SDE
from peerpressure.statespace import System, initial_state, model_of, state_layout, transitions

Array: TypeAlias = NDArray[np.float64]
NAME = "innovations"


@final
@dataclass(frozen=True, eq=False)
class StartRow:
    """The row B = first · F − later · p, with ``weight`` 1/(1 − φ²) for unit deviation, infinite if it is exact."""

    matrix: sparse.csr_array
    first: float
    later: float
    weight: float

    def observed(self, first: Array, later: Array | None) -> Array:
        """Return r of shape (n, replicates) from y_1/g_1 and the first r_t that follows."""
        # The covariance of AR(1) noise is the same in reversed time, so ε_1 is whitened against the next used ε instead
        # of a previous one.
        return self.first * first - (self.later * later if later is not None else 0.0)

    def apply(self, precision: Array, columns: Array) -> Array:
        """Return weight · Bᵀ diag(precision) B applied to columns (n, b)."""
        # Never formed as a matrix: BᵀDB joins neighbours of neighbours and can be dense where B is sparse.
        return np.asarray(self.weight * (self.matrix.T @ (precision[:, None] * (self.matrix @ columns))))

    def diagonal(self, precision: Array) -> Array:
        """Return the diagonal of weight · Bᵀ diag(precision) B."""
        return np.asarray(self.weight * (self.matrix.multiply(self.matrix).T @ precision))


def start_row(model: Model, later_step: int | None, share: Array) -> StartRow:
    """Return the row of the first step; ``later_step`` is the next one used, if any, and ``share`` (·,) its p."""
    update = model.update(1)
    # The next used step need not be 2, because steps with a tiny gain are skipped; the link is φ to the gap.
    whitening = Whitening.of(model.noise, np.array([1] if later_step is None else [1, later_step]))
    scale, phi = whitening.scale[0], whitening.link[-1]
    if scale == 0:
        first, later, weight = 1.0, 0.0, np.inf
    else:
        first = 1 / scale
        # If the later step has no noise, its equation is exact and has no ε to condition on.
        later = phi / whitening.scale[-1] if whitening.scale[-1] else 0.0
        # Frozen noise cancels completely between the two steps, which leaves an exact equation.
        weight = innovation_std(phi) ** -2.0 if abs(phi) < 1 else np.inf
    # Agents who keep their public opinions have no such row.
    active = update.gain > 0
    pull = np.divide(update.coupling_scale, update.gain, out=np.zeros(model.n), where=active)
    both = (
        sparse.diags_array(np.where(active, first - later * share, 0.0))
        + sparse.diags_array(first * pull) @ update.adjacency
    )
    return StartRow(sparse.csr_array(both), float(first), float(later), float(weight))


@final
@dataclass(frozen=True, eq=False)
class Complete:
    """The information about x₀ in complete outputs; ``weights`` average each agent's own series."""

    model: Model
    weights: TimeWeights
    row: StartRow | None

    @cached_property
    def information(self) -> Array:
        """The information in each agent's own series at unit std, (n,); infinite if it reveals x₀."""
        noiseless = np.where(self.weights.legible, np.inf, 0.0)
        # With std 0, the information at unit std does not matter: any retained share of x₀ is read exactly.
        found = noiseless if self.model.noise.is_zero else self.weights.information
        return np.where(shows_start(self.model), np.inf, found)

    @cached_property
    def precision(self) -> Array:
        """1/std² of each agent, and 0 for those without noise, whose facts are exact; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        # 0 instead of ∞ takes exact equations out of J, where ∞ would produce NaN; they are treated as constraints.
        return np.divide(1.0, std**2, out=np.zeros(self.model.n), where=std > 0)

    @cached_property
    def own(self) -> Array:
        """The information of each agent's own series, i/std², 0 where it is exact or has none; (n,)."""
        # ∞ · 0 would be NaN, hence the where before the product.
        return np.where(self.revealed, 0.0, self.information) * self.precision

    @property
    def revealed(self) -> NDArray[np.bool_]:
        """Whose own series reveals x₀, (n,)."""
        return np.isinf(self.information)

    @property
    def noiseless(self) -> NDArray[np.bool_]:
        """Which agents have no noise, (n,)."""
        return np.asarray(self.precision == 0)

    @property
    def separate(self) -> bool:
        """Whether each agent's estimate comes from its own series only."""
        # Only the row of the first step couples agents; if every x₀ is known exactly, it adds nothing.
        return self.row is None or bool(self.revealed.all())

    @property
    def variance(self) -> Array:
        """The error variance of each agent's own average, where outputs are ``separate``; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        # The two limits that the division below leaves out: exact (0) and not identified (∞).
        other = np.where(self.information > 0, 0.0, np.inf)
        noisy = (self.information > 0) & ~self.revealed
        return np.divide(std**2, self.information, out=other, where=noisy)

    @property
    def has_exact_rows(self) -> bool:
        """Whether some fact about x₀ is free of noise."""
        exact = self.noiseless | self.revealed
        return bool(exact.any()) or (self.row is not None and np.isinf(self.row.weight))

    @property
    def determines_all(self) -> bool:
        """Whether every agent's own series has information about its x₀; False is no answer."""
        return bool((self.own > NEGLIGIBLE * self.own.max()).all())

    def diagonal(self) -> Array:
        """Return the diagonal of J, (n,)."""
        return self.own + self.row.diagonal(self.precision) if self._row_is_noisy() and self.row else self.own

    def preconditioner(self) -> Array:
        """Return the diagonal of J, (n,), and 1 where it is 0."""
        diagonal = self.diagonal()
        return np.where(diagonal > 0, diagonal, 1.0)

    def apply(self, columns: Array) -> Array:
        """Return J applied to columns, (n, b)."""
        own = self.own[:, None] * columns
        return own + self.row.apply(self.precision, columns) if self._row_is_noisy() and self.row else own

    def exact_rows(self) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
        """Return exact rows (m, n): of agents who are revealed, then of the first step, and the agents of either."""
        noiseless = np.flatnonzero(self.noiseless)
        own = np.flatnonzero((self.noiseless & self.weights.legible) | self.revealed)
        # With frozen noise the first-step row is exact for all agents, otherwise only for those without noise.
        first = noiseless[:0] if self.row is None else (noiseless if self._row_is_noisy() else np.arange(self.model.n))
        units = np.zeros((own.size, self.model.n))
        units[np.arange(own.size), own] = 1.0
        rows = units if self.row is None else np.concatenate([units, self.row.matrix[first].toarray()])
        return rows, own, first

    def _row_is_noisy(self) -> bool:
        return self.row is not None and np.isfinite(self.row.weight)


def complete(model: Model, weights: TimeWeights, *, first_step: bool) -> Complete:
    """Return the information in complete outputs; ``first_step`` if step 1 is legible but the start not known."""
    later, share = (int(weights.times[0]), weights.share[0]) if weights.times.size else (None, np.ones(1))
    return Complete(model, weights, start_row(model, later, share) if first_step else None)


def check_dense(problem: Complete, prior: Prior | None) -> None:
    """Raise an error where a dense matrix of too many agents is needed."""
    n = problem.model.n
    if n <= DENSE_LIMIT or not (problem.has_exact_rows or (prior is not None and not prior.is_diagonal)):
        return
    what = "a correlated prior" if not problem.has_exact_rows else "agents or steps free of noise and an unseen start"
    rule = f"{what} can be dealt with for at most {DENSE_LIMIT} agents"
    raise TooLargeError(message(rule, got=n, remedy="give the model its start, or use a prior of variances"))


def innovations(system: System, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from complete outputs, or its posterior under a Gaussian prior.

    ξ_t = (y_t − C_t y_{t−1})/g_t and x̂ = Σ w_t ξ_t with w = K⁻¹1/(1ᵀK⁻¹1), variance std²/(1ᵀK⁻¹1). If the start is
    hidden and not observed, ξ_1 is not known, and the first step enters as y_1/g_1 = S⁻¹(S + ρ₁A) x₀ + ε_1. Opinions
    that adapt leave ξ_t = π_{t−1} x₀ + k_{t−1} + ε_t, where k is known: then x̂ = Σ w_t (ξ_t − k_{t−1}) with
    w = K⁻¹π/(πᵀK⁻¹π), and the variance std²/(πᵀK⁻¹π) stays above a bound if Σ π² has one.
    """
    check_complete(data)
    if isinstance(system, SDE):
        return estimate_of(system.model, data, NAME, gathered(system, data, prior))
    model = system
    if not is_invertible(model):
        return replace(kalman(model, data, prior), method=NAME)
    found = invert(model, data)
    problem = complete(model, found.weights, first_step=found.first is not None)
    # O(n) and no matrix at all: the usual case, which makes millions of agents feasible.
    if problem.separate and data.seen.free.size == model.n and (prior is None or prior.is_diagonal):
        return _agent_by_agent(problem, found, data, prior)
    check_dense(problem, prior)
    if model.n <= DENSE_LIMIT:
        return _dense(problem, found, data, prior)
    return _iterative(problem, found, data, prior)


def _agent_by_agent(problem: Complete, found: Inverted, data: Outputs, prior: Prior | None) -> Estimate:
    """Return the estimate where every agent stands for itself."""
    n, variance, value = problem.model.n, problem.variance, found.mean.T
    if prior is not None:
        # Written so that variances 0 and ∞ of the data are as good as any.
        tau, m = prior.variances(n), prior.means(n)
        # The precision-weighted form 1/τ + 1/v would divide by 0.
        share = np.where(np.isinf(variance), 0.0, tau / (tau + np.where(np.isinf(variance), 0.0, variance)))
        value, variance = m + share * (value - m), (1 - share) * tau
    identified = np.isfinite(variance)
    spread = sparse.diags_array(np.where(identified, variance, 0.0), format="csr")
    # Exact agents would make the condition infinite although nothing is badly determined.
    noisy = variance[identified & (variance > 0)]
    condition = float(noisy.max() / noisy.min()) if noisy.size else 1.0
    rank = int(identified.sum())
    return estimate_from(
        problem.model, data, NAME, value, spread, identified=identified, rank=rank, condition=condition
    )


def _right_side(problem: Complete, found: Inverted, prior: Prior | None) -> Array:
    """Return i·D x̄ + weight·BᵀD r + P⁻¹m, (n, replicates)."""
    total = problem.own[:, None] * found.mean
    if problem.row is not None and found.first is not None and np.isfinite(problem.row.weight):
        r = problem.row.observed(found.first, found.following)
        total = total + problem.row.weight * (problem.row.matrix.T @ (problem.precision[:, None] * r))
    if prior is not None:
        n = problem.model.n
        coupling = (
            prior.means(n) / prior.variances(n)
            if prior.is_diagonal
            else np.linalg.solve(prior.variance, prior.means(n))
        )
        total = total + coupling[:, None]
    return np.asarray(total)


def _dense(problem: Complete, found: Inverted, data: Outputs, prior: Prior | None) -> Estimate:
    """Return the estimate with its full covariance, with exact equations and undetermined directions."""
    n, free = problem.model.n, data.seen.free
    J, rhs = problem.apply(np.eye(n)), _right_side(problem, found, prior)
    if prior is not None:
        J = J + np.linalg.inv(prior.covariance(n))
    rows, values = _exact(problem, found, data)
    solution = solve(J, rows, values)
    value = solution.value(J, rhs.T)
    return estimate_from(
        problem.model,
        data,
        NAME,
        value[:, free],
        solution.inverse[np.ix_(free, free)],
        identified=solution.identified[free],
        # The known starts are among the exact rows, and `estimate_from` adds them again.
        rank=solution.rank - (n - free.size),
        condition=solution.condition,
    )


def _exact(problem: Complete, found: Inverted, data: Outputs) -> tuple[Array, Array]:
    """Return all exact rows (m, n) with their values (replicates, m): known starts, noiseless agents, first steps."""
    n = problem.model.n
    known = np.setdiff1d(np.arange(n), data.seen.free)
    # The other exact rows would repeat the same information, n more rows for the SVD.
    if problem.revealed.all():
        return np.eye(n), found.mean.T
    rows, own, first = problem.exact_rows()
    values = [data.known[:, known], found.mean[own].T]
    if problem.row is not None and found.first is not None:
        values.append(problem.row.observed(found.first, found.following)[first].T)
    return np.concatenate([np.eye(n)[known], rows]), np.concatenate(values, axis=1)


def _iterative(problem: Complete, found: Inverted, data: Outputs, prior: Prior | None) -> Estimate:
    """Return the estimate of a large network by conjugate gradients, its covariance as an operator."""
    n, free = problem.model.n, data.seen.free
    added = np.zeros(n) if prior is None else 1 / prior.variances(n)

    def whole(columns: Array) -> Array:
        return problem.apply(columns) + added[:, None] * columns

    def apply(columns: Array) -> Array:
        if free.size == n:
            return whole(columns)
        every = np.zeros((n, columns.shape[1]))
        every[free] = columns
        return whole(every)[free]

    diagonal = (problem.preconditioner() + added)[free]

    def invert(columns: Array) -> Array:
        return conjugate_gradients(apply, columns, diagonal)[0]

    # What is known of x₀ moves to the right-hand side.
    rhs = _right_side(problem, found, prior)
    rhs = rhs if free.size == n else (rhs - whole(np.nan_to_num(data.known.T)))[free]
    value, condition = conjugate_gradients(apply, rhs, diagonal)
    known = identify(apply, invert, diagonal, evident=prior is not None or problem.determines_all)
    # Each product is a solve with J. The covariance itself would be a dense n × n matrix.
    covariance: Covariance = known.restrict(SymmetricOperator(free.size, invert))
    quality: dict[str, Any] = {"identified": known.identified, "rank": known.rank, "condition": condition}
    return estimate_from(problem.model, data, NAME, value.T, covariance, note=known.note, **quality)


def gathered(system: System, data: Outputs, prior: Prior | None = None) -> InformationState:
    """Return what outputs tell that are dealt with step by step.

    Complete outputs are inverted where they are the whole state. Between the observed times of an equation, hidden
    opinions that adapt and correlated noise move on in ways that outputs do not determine, and the filter follows them.
    """
    at = state_layout(system)
    if data.complete and at.states == at.agents and model_of(system).isolated == "own":
        return step_by_step(system, data, prior)
    return last_step(system, data, prior).information


def step_by_step(system: System, data: Outputs, prior: Prior | None = None) -> InformationState:
    """Return what complete outputs tell where noise of one step is correlated between agents, as in continuous time.

    y_k − F_k y_{k−1} = B_k x₀ + G_k w_k with independent w_k, so that J = Σ B_kᵀ (G_k G_kᵀ)⁻¹ B_k. If the start is
    hidden and not observed, the first step enters as y_1 = (F_1 + B_1) x₀ + G_1 w_1.
    """
    start = initial_state(system)
    n = start.layout.agents
    information = prior_information(model_of(system), data, prior)
    before, slope_before = start.offset[:, None], start.forward(np.eye(n))
    for row, step in enumerate(transitions(system, data.seen.last)):
        # From the second step on y_{k−1} is observed and moves to the right-hand side; in the first, y_0 may depend on
        # x₀.
        slope = step.forward(slope_before, np.eye(n)) if not row else step.hidden_input()
        public: Vector = data.at(row).T
        facts = np.concatenate([slope, public - step.forward(before)], axis=1)
        # Noise is correlated between agents but not between steps, so each step is whitened separately.
        information = information.condition(*separate_noise(facts, step.noise_input(), n))
        before = public
    return information
