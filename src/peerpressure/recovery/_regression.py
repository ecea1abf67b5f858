"""Linear regression of answers on the hidden opinions: ordinary, weighted and generalised least squares.

The state z_t of ``statespace`` is linear in x₀, so the answers are y_t = Q_t x₀ + e_t plus a known part, where e_t
adds up past noise. `Design` applies all Q_t, or their transposes, by sweeps of the transitions over time, in
O(steps · edges) for each column, and so never stores the stack of the Q_t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import TooLargeError, contrast, message
from peerpressure.model import Model
from peerpressure.model.statespace import (
    InitialState,
    ModelTransition,
    initial_state,
    retained,
    transition_table,
    transitions,
)
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery._information_state import estimate_of, frozen_draw_count, prior_information
from peerpressure.recovery._prior import Prior, update
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.least_squares import (
    Equations,
    Solution,
    SymmetricOperator,
    conjugate_gradients,
    covariance_root,
    identify,
    separate_noise,
    solve,
)
from peerpressure.recovery.limits import BLOCK_BYTES, NEGLIGIBLE, NEGLIGIBLE_ERROR, STACKED_NUMBERS
from peerpressure.recovery.observation import Answers, ResolvedObservation
from peerpressure.theory.propagation import forward_moments

OLS, WLS, SNAPSHOT = "ols", "wls", "snapshot"
# The preconditioner has a 16th of the steps: from a hidden start at least the two that determine all opinions, and from
# a given one four, since the first alone does and is as good as its diagonal. It saves products from eight times as
# many steps on; on Barabási–Albert, small-world and ring networks they fall to a half up to a fifth.
STEPS_DIVISOR, SHORTEST_HIDDEN, SHORTEST_GIVEN, LEAST_SAVING = 16, 2, 4, 8
ROUGH_TOLERANCE, ROUGH_ITERATIONS, ROUGH_DIAGONAL = 0.03, 50, 0.01
# Iterations for the extreme eigenvalues of the first steps, the largest to within a few per cent.
POWER_ITERATIONS, CONDITION_ITERATIONS = 20, 500
# How answers depend on the draws w_0, (draws, b), and w_1, …, w_T, (T, draws, b), behind the noise.
Draws: TypeAlias = tuple[Array, Array]


@final
@dataclass(frozen=True, eq=False)
class RegressionDesign:
    """The regression of observed answers on the f free hidden opinions.

    Columns z are (f, b), rows r are (T, k, b) for the T observed steps and k observed agents; entries that are missing,
    where ``present`` (T, k) is False, are 0.
    """

    model: Model
    seen: ResolvedObservation
    present: NDArray[np.bool_]

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each observed step."""
        return {int(t): row for row, t in enumerate(self.seen.times)}

    def forward(self, z: Array) -> Array:
        """Return the rows Q_t z."""
        hidden = np.zeros((self.model.n, z.shape[1]))
        hidden[self.seen.free] = z
        return self._mean(hidden, np.zeros(1))

    def adjoint(self, r: Array) -> Array:
        """Return the columns Σ_t Q_tᵀ r_t."""
        return self._sweep_back(r, with_noise=False)[0]

    def covary(self, r: Array) -> Array:
        """Return the rows Cov(e) r, where e stacks the errors of all that is observed.

        e is linear in the draws behind the noise, e = L w + rounding. Multiplying by Cov(e) = L Lᵀ + noise variance
        is an adjoint sweep followed by a forward sweep.
        """
        # Cov(e) is (T·k)² and never formed.
        return self._sweep_noise(r, self._sweep_back(r, with_noise=True)[1])

    def variances(self, r: Array) -> Array:
        """Return rᵀ Cov(e) r of each column of the rows, (b,)."""
        first, later = self._sweep_back(r, with_noise=True)[1]
        squares = np.einsum("ij,ij->j", first, first) + np.einsum("tij,tij->j", later, later)
        return np.asarray(squares + self.seen.noise_variance * np.einsum("tij,tij->j", r, r))

    def matrices(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Return H = Σ Q_tᵀ W_t Q_t and the covariance of Σ Q_tᵀ W_t e_t, (f, f) each, for weights (T, k).

        These are the two parts of the sandwich H⁻¹ V H⁻¹ that is the covariance of a regression.
        """
        f = self.seen.free.size
        H, V = np.empty((f, f)), np.empty((f, f))
        for where, z in self._unit_blocks():
            # The backward sweep is shared: it returns a column of H and the dependence on the draws, which V needs.
            r = _weighted(self.forward(z), weights)
            H[:, where], draws = self._sweep_back(r, with_noise=True)
            V[:, where] = self.adjoint(_weighted(self._sweep_noise(r, draws), weights))
        # Columns are computed separately, so rounding breaks the symmetry on which `eigh` relies.
        return (H + H.T) / 2, (V + V.T) / 2

    def offset(self, data: Answers) -> Array:
        """Return the known part of the mean answers, (T, k, replicates), or (T, k, 1) if common to all."""
        # With no known start all replicates have the same offset, and one column is enough.
        known = np.nan_to_num(data.known.T if self.seen.free.size < self.model.n else data.known[:1].T)
        return self._mean(known, self._start.offset)

    def observed(self, data: Answers) -> Array:
        """Return the rows that the free opinions must explain, (T, k, replicates)."""
        rows = np.nan_to_num(np.moveaxis(np.asarray(data.values, dtype=np.float64), 0, 2))
        return np.asarray((rows - self.offset(data)) * self.present[:, :, None])

    def columns(self) -> Array:
        """Return the stack of all Q_t as rows, (T, k, f); for small problems."""
        return np.concatenate(list(self.column_blocks()), axis=2)

    def column_blocks(self) -> Iterator[Array]:
        """Yield that stack a few columns at a time."""
        for _, z in self._unit_blocks():
            yield self.forward(z)

    def parts(self, columns: Array) -> Iterator[Array]:
        """Yield the columns, (f, b), in blocks whose paths fit in the memory of a block."""
        for begin in range(0, columns.shape[1], self._width):
            yield columns[:, begin : begin + self._width]

    @cached_property
    def _width(self) -> int:
        # The paths of a block, (steps, agents, width) doubles, bound the memory; sparse products are faster on several
        # columns.
        return int(max(1, BLOCK_BYTES // (8 * self.model.n * (self.seen.last + 1))))

    def _unit_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the unit vectors in such blocks."""
        f = self.seen.free.size
        for begin in range(0, f, self._width):
            where = slice(begin, min(f, begin + self._width))
            z = np.zeros((f, where.stop - begin))
            z[np.arange(begin, where.stop), np.arange(where.stop - begin)] = 1.0
            yield where, z

    @cached_property
    def _start(self) -> InitialState:
        return initial_state(self.model)

    @cached_property
    def _step(self) -> Callable[[int], ModelTransition]:
        return transition_table(self.model, self.seen.last)

    def _mean(self, hidden: Array, offset: Array) -> Array:
        """Return the rows that x₀ = ``hidden`` makes without noise, from z_0 = offset + B_0 x₀."""
        # Without noise its memory stays 0, so the state is cut to public and hidden opinions.
        state = (self._start.forward(hidden) + offset[:, None])[: self._start.layout.memory.start]
        return self._observed_rows(state, lambda t, z: self._step(t).forward(z, hidden))

    def _sweep_noise(self, r: Array, draws: Draws) -> Array:
        """Return Cov(e) r from how r depends on the draws."""
        first, later = draws
        state = self._start.forward(np.zeros((self.model.n, r.shape[2])), first)
        rows = self._observed_rows(state, lambda t, z: self._step(t).forward(z, noise=later[t - 1]))
        # Observation noise is independent between answers and adds a multiple of the identity to Cov(e).
        return rows + self.seen.noise_variance * r if self.seen.noise_variance else rows

    def _observed_rows(self, state: Array, advance: Callable[[int, Array], Array]) -> Array:
        """Return the observed public opinions of a state as it advances, and 0 where they are missing."""
        n = self.model.n
        rows = np.empty((self.seen.times.size, self.seen.agents.size, state.shape[1]))
        for t in range(self.seen.last + 1):
            if t > 0:
                state = advance(t, state)
            if t in self.row_of:
                # A slice is a view, where an index array would make a copy.
                rows[self.row_of[t]] = state[:n] if self.seen.everyone else state[self.seen.agents]
        # Missing answers are rows of 0, which drop out of every sum; shapes stay rectangular.
        return rows if self._gapless else rows * self.present[:, :, None]

    def _sweep_back(self, r: Array, *, with_noise: bool) -> tuple[Array, Draws]:
        """Return Σ_t Q_tᵀ r_t and, if asked for, how Σ r_tᵀ y_t depends on the draws.

        The weight λ of the state starts from 0 after the last step, takes up r_t at every observed one, and passes
        through the adjoint of each transition.
        """
        start, n, width = self._start, self.model.n, r.shape[2]
        weight = np.zeros((start.layout.states if with_noise else start.layout.memory.start, width))
        hidden = np.zeros((n, width))
        draws = np.empty((self.seen.last if with_noise else 0, self._step(1).draws if self.seen.last else 0, width))
        for t in range(self.seen.last, -1, -1):
            if t in self.row_of:
                row = self.row_of[t]
                seen = r[row] if self._gapless else r[row] * self.present[row][:, None]
                if self.seen.everyone:
                    weight[:n] += seen
                else:
                    weight[self.seen.agents] += seen
            if t:
                step = self._step(t)
                # If hidden opinions are part of the state, x₀ enters only at the start.
                if not start.layout.has_hidden:
                    hidden += step.hidden_adjoint(weight)
                if with_noise:
                    # Both adjoints in one pass, which may overwrite ``weight``: it is not used again.
                    weight, draws[t - 1] = step.adjoints_inplace(weight)
                else:
                    weight = step.adjoint_inplace(weight)
        hidden += start.hidden_adjoint(weight)
        return hidden[self.seen.free], (start.noise_adjoint(weight), draws)

    @cached_property
    def _gapless(self) -> bool:
        return bool(self.present.all())


def design_of(model: Model, data: Answers) -> RegressionDesign:
    """Return the regression of these answers."""
    return RegressionDesign(model, data.seen, data.present)


def _weighted(r: Array, weights: Array | None) -> Array:
    return r if weights is None else r * weights[:, :, None]


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """A dense regression: x̂ (replicates, f), its covariance, which part of x₀ it determines, and the solved system."""

    value: Array
    covariance: Array
    resolution: Array
    solution: Solution
    H: Array


def fit_regression(
    design: RegressionDesign, rows: Array, weights: Array | None = None, exact: tuple[Array, Array] | None = None
) -> Fit:
    """Return the minimiser of Σ w (r − Q x)² subject to exact facts, with Cov = G Cov(ΣQᵀWe) G, G = H⁻¹.

    ``rows`` are (T, k, replicates), ``weights`` (T, k); ``exact`` are rows (m, f) and values (replicates, m).
    """
    H, V = design.matrices(weights)
    rhs = design.adjoint(rows if weights is None else rows * weights[:, :, None]).T
    solution = solve(H, *(exact or (None, None)))
    G = solution.inverse
    # The sandwich: weights are not the inverse covariance of the errors, so G = H⁻¹ would be the wrong covariance.
    covariance = G @ V @ G
    # A standard error must cover rounding, or an estimate in which noise cancels appears infinitely precise.
    covariance = (covariance + covariance.T) / 2 + np.diag(_lost_digits(G, V, covariance.diagonal()))
    constrained = solution.constrained
    # E x̂ = resolution · x₀: the identity if everything is identified, otherwise a projection, which a prior must know.
    resolution = constrained + G @ H @ (np.eye(H.shape[0]) - constrained)
    return Fit(solution.value(H, rhs), covariance, resolution, solution, H)


def _lost_digits(G: Array, V: Array, variance: Array) -> Array:
    """Return the rounding errors of the diagonal of G V G, (f,), and 0 where they are small beside it.

    Where noise cancels in an estimate but rounding does not, the computed variance may even be negative.
    """
    # Componentwise bound of the error of a product, |G||V||G| times the dimension and the unit roundoff.
    size = np.abs(G)
    lost = 10 * G.shape[0] * np.finfo(np.float64).eps * np.einsum("ij,jk,ki->i", size, np.abs(V), size, optimize=True)
    # Adding the negative part brings the sum to at least the rounding error.
    return np.where(lost > NEGLIGIBLE_ERROR * variance, lost + np.maximum(-variance, 0.0), 0.0)


def as_estimate(model: Model, data: Answers, method: str, fitted: Fit, prior: Prior | None, **facts: Any) -> Estimate:
    """Return the fit as an estimate of all agents, updated by a prior if there is one."""
    value, covariance, solution = fitted.value, fitted.covariance, fitted.solution
    facts |= {"condition": solution.condition, "rank": solution.rank, "identified": solution.identified}
    if prior is not None:
        mean, rest = prior.given(data.known)
        free = data.seen.free.size
        value, covariance = update(value, covariance, fitted.resolution, mean, rest.covariance(free))
        facts |= {"rank": free, "identified": np.ones(free, dtype=bool)}
    return estimate_from(model, data, method, value, covariance, **facts)


def check_dense(model: Model, method: str, why: str) -> None:
    """Raise an error if there are more agents than a dense covariance can have."""
    if model.n > limits.DENSE_LIMIT:
        rule = f"{method} {why} takes at most {limits.DENSE_LIMIT} agents"
        raise TooLargeError(
            message(rule, got=model.n, remedy="use the method innovations, which takes millions"), argument="method"
        )


@final
@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The matrix H = Σ Q_tᵀQ_t of a large network as an operator, solved by nested conjugate gradients.

    Later answers hardly differ from the consensus; a few early steps have almost all that tells agents apart. Their H,
    solved roughly, is the preconditioner, for a small part of the products that H itself takes.
    """

    design: RegressionDesign

    def apply(self, columns: Array) -> Array:
        """Return H applied to columns, (f, b)."""
        parts = [self.design.adjoint(self.design.forward(part)) for part in self.design.parts(columns)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def solve(self, rhs: Array) -> Array:
        """Return the solution for right-hand sides (f, b)."""
        parts = [conjugate_gradients(self.apply, part, self._preconditioner)[0] for part in self.design.parts(rhs)]
        return np.concatenate(parts, axis=1)

    def condition(self, rhs: Array) -> float:
        """Return an estimate of the condition of H scaled by its first step, for a typical right-hand side (f, b)."""
        least = self
        while least.shorter is not None:
            least = least.shorter
        # The smallest eigenvalue of H is that of the first steps, where the work is small, or at most some times as
        # large; the largest grows with the steps, and D⁻¹ rhs has mostly its direction.
        vector = rhs[:, :1] / self.diagonal[:, None]
        largest = self._quotient(vector)
        for _ in range(POWER_ITERATIONS):
            vector = least.apply(vector) / self.diagonal[:, None]
        # Rough, as the first steps alone may leave agents open.
        limits: dict[str, Any] = {"max_iter": CONDITION_ITERATIONS, "rough": True}
        condition = conjugate_gradients(least.apply, rhs[:, :1], self.diagonal, **limits)[1]
        return condition * largest / least._quotient(vector)

    def _quotient(self, vector: Array) -> float:
        """Return Rayleigh's quotient of H scaled by its diagonal."""
        return float((vector * self.apply(vector)).sum() / (vector * self.diagonal[:, None] * vector).sum())

    @cached_property
    def diagonal(self) -> Array:
        """The stand-in for the diagonal of H, (f,)."""
        return first_diagonal(self.design)

    @cached_property
    def shorter(self) -> NormalEquations | None:
        """The same of the first steps only, None if there are too few."""
        seen, hidden = self.design.seen, initial_state(self.design.model).starts_from_hidden
        steps = max(SHORTEST_HIDDEN if hidden else SHORTEST_GIVEN, seen.last // STEPS_DIVISOR)
        kept = int(np.count_nonzero(seen.times <= steps))
        # Steps that are not observed take products all the same.
        if seen.last < LEAST_SAVING * steps or kept < steps / 2:
            return None
        return NormalEquations(
            replace(self.design, seen=replace(seen, times=seen.times[:kept]), present=self.design.present[:kept])
        )

    @property
    def _preconditioner(self) -> Array | Callable[[Array], Array]:
        return self.diagonal if self.shorter is None else self.shorter.solve_roughly

    def solve_roughly(self, rhs: Array) -> Array:
        """Return a solution that is good enough to precondition."""

        # Few steps may leave agents open that later ones determine: the diagonal keeps these directions bounded.
        def regularised(columns: Array) -> Array:
            return self.apply(columns) + ROUGH_DIAGONAL * self.diagonal[:, None] * columns

        settings: dict[str, Any] = {"tolerance": ROUGH_TOLERANCE, "max_iter": ROUGH_ITERATIONS, "rough": True}
        return conjugate_gradients(regularised, rhs, self._preconditioner, **settings)[0]


def fit_large(model: Model, data: Answers, design: RegressionDesign, method: str) -> Estimate:
    """Return the unweighted regression by conjugate gradients, its covariance as an operator."""
    normal = NormalEquations(design)

    def sandwich(columns: Array) -> Array:
        # Two solves and four sweeps per column; G V G itself would need that n times.
        parts = (design.covary(design.forward(normal.solve(part))) for part in design.parts(columns))
        return np.concatenate([normal.solve(design.adjoint(rows)) for rows in parts], axis=1)

    def variances(columns: Array) -> Array:
        # cᵀG V G c is the variance of (G c)ᵀ Σ Q_tᵀ e_t: one solve and two sweeps.
        parts = design.parts(columns)
        return np.concatenate([design.variances(design.forward(normal.solve(part))) for part in parts])

    rhs = design.adjoint(design.observed(data))
    value, condition = normal.solve(rhs), normal.condition(rhs)
    known = identify(normal.apply, normal.solve, normal.diagonal, evident=_determines_all(design))
    covariance = known.restrict(SymmetricOperator(design.seen.free.size, sandwich, quadratic=variances))
    note = f"by conjugate gradients; condition, scaled by step {int(design.seen.times[0])}, to within a factor of 3"
    note = "; ".join(text for text in (note, known.note) if text)
    facts: dict[str, Any] = {"identified": known.identified, "rank": known.rank, "condition": condition, "note": note}
    return estimate_from(model, data, method, value.T, covariance, **facts)


def _determines_all(design: RegressionDesign) -> bool:
    """Return whether the answers evidently determine all opinions; False is no answer."""
    seen, model = design.seen, design.model
    # All answers of two steps in a row, or of the first if the start is known, leave only g ∘ π ∘ x₀ to be explained.
    after = seen.times[1:][np.diff(seen.times) == 1]
    if not initial_state(model).starts_from_hidden and seen.times[:1] == 1:
        after = seen.times[:1]
    if not (seen.everyone and design._gapless and after.size):
        return False
    t = int(after[0])
    return bool((model.update(t).gain * retained(model, t - 1)[-1]).min() > NEGLIGIBLE)


def first_diagonal(design: RegressionDesign) -> Array:
    """Return a stand-in for the diagonal of H, (f,), from the first step: Σ_j Q_1[j, i]², 1 where it is 0."""
    first = design.model.update(1)
    seen = np.zeros(design.model.n)
    seen[design.seen.agents] = 1.0
    diagonal = first.gain**2 * seen
    if initial_state(design.model).starts_from_hidden:
        # From a hidden start, x₀ of the neighbours enters the first answers as well.
        squared = first.adjacency.multiply(first.adjacency)
        diagonal = diagonal + squared.T @ (first.coupling_scale**2 * seen)
    # A preconditioner only has to be positive; it changes the speed and not the solution.
    return np.where(diagonal > 0, diagonal, 1.0)[design.seen.free]


def ols(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return x̂ = H⁻¹ Σ Q_tᵀ y_t with H = Σ Q_tᵀ Q_t, as if all errors were alike and independent.

    This is the paper's regression. Its errors are neither, for e_t adds up past noise. ``covariance`` is exact, and
    ``homoskedastic_covariance`` is the textbook's σ̂² H⁻¹, with σ̂² the mean residual variance over replicates. A prior
    is combined with x̂ as with a single measurement of covariance ``covariance``.
    """
    design = design_of(model, data)
    if model.n > limits.DENSE_LIMIT:
        if prior is not None:
            check_dense(model, OLS, "with a prior")
        return fit_large(model, data, design, OLS)
    rows = design.observed(data)
    fitted = fit_regression(design, rows)
    # Perturbed copies are no data and must not enter the residual variance.
    residuals = (rows - design.forward(fitted.value.T))[:, :, : rows.shape[2] - data.copies]
    spare = int(data.present.sum()) - fitted.solution.rank
    textbook = None
    if spare > 0:
        textbook = float(np.mean((residuals**2).sum(axis=(0, 1)))) / spare * fitted.solution.inverse
    return as_estimate(model, data, OLS, fitted, prior, homoskedastic_covariance=textbook)


def wls(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the regression of answers with weights 1/Var(e_t,i), and its exact covariance.

    Answers without noise are taken as exact; if there are no others, all weigh the same.
    """
    check_dense(model, WLS, "forms the variance of every answer and")
    design = design_of(model, data)
    variances = output_variances(design)
    rows = design.observed(data)
    # Noiseless answers would get weight ∞; they become equality constraints.
    noisy = (variances > 0) & data.present
    if not noisy.any():
        return as_estimate(model, data, WLS, fit_regression(design, rows), prior)
    weights = np.divide(1.0, variances, out=np.zeros_like(variances), where=noisy)
    quiet = data.present & ~noisy
    exact = (_rows_at(design, quiet), rows[quiet].T) if quiet.any() else None
    return as_estimate(model, data, WLS, fit_regression(design, rows, weights, exact), prior)


def output_variances(design: RegressionDesign) -> Array:
    """Return Var(e_t,i) of the observed answers, (T, k)."""
    after_start = design.seen.times[design.seen.times > 0]
    variances = np.zeros((design.seen.times.size, design.seen.agents.size))
    if after_start.size:
        # Variances do not depend on x₀, which the observer need not know.
        blank = replace(design.model, hidden=np.zeros(design.model.n))
        spread = forward_moments(blank, after_start).variance
        # At step 0 answers have no noise but the rounding, and times are sorted: only the first row can be step 0.
        variances[-after_start.size :] = spread[:, design.seen.agents]
    return variances + design.seen.noise_variance


def _rows_at(design: RegressionDesign, where: NDArray[np.bool_]) -> Array:
    """Return the rows of the stacked Q_t at the marked answers, (m, f)."""
    return np.concatenate([part[where] for part in design.column_blocks()], axis=1)


def snapshot(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from only the last step with answers: J = Q_Tᵀ Cov(e_T)⁻¹ Q_T."""
    check_dense(model, SNAPSHOT, "forms the covariance of the answers and")
    row = int(np.flatnonzero(data.present.any(axis=1))[-1])
    # Answers missing in this step are dropped, which leaves the design without gaps.
    there = np.flatnonzero(data.present[row])
    seen = replace(data.seen, times=data.seen.times[row : row + 1], agents=data.seen.agents[there])
    values = data.values[:, row : row + 1, there]
    last = replace(data, seen=seen, values=values, present=np.ones((1, there.size), dtype=bool))
    design = design_of(model, last)
    # The covariance between agents of one step comes from products with unit vectors, k of them.
    f, root = seen.free.size, covariance_root(design.covary(np.eye(there.size)[None])[0])
    facts = np.concatenate([design.columns()[0], design.observed(last)[0]], axis=1)
    exact, _, noisy = separate_noise(facts, root, f)
    A, b = noisy[:, :f], noisy[:, f:]
    J = A.T @ A
    equations = Equations(J.__matmul__, J.diagonal(), A.T @ b, exact[:, :f], exact[:, f:].T, J)
    solved = equations.with_prior(data.known, prior).solved()
    return estimate_from(model, data, SNAPSHOT, **solved._replace(note=f"step {seen.last} only")._asdict())


def gls(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate of x₀ (with a prior, the conditional mean) from one dense system.

    x̂₀ = (QᵀV⁻¹Q)⁻¹QᵀV⁻¹(Y − q),  V = L Lᵀ;  V may be singular: a combination without noise is an exact fact. Only the
    second moments of noise enter, whatever its law; if it is Gaussian, this is the maximum of the likelihood. It is the
    reference for the recursions, which give the same estimate.
    """
    _check_stacked(model, data)
    Q, q, L = stacked(model, data)
    # Boolean indexing orders answers by time and then by agent, as `stacked` does.
    values = np.asarray(data.values[:, data.present], dtype=np.float64).T - q[:, None]
    frozen_draws = frozen_draw_count(model)
    information = prior_information(model, data, prior, frozen_draws)
    # Frozen draws are unknown constants, which are solved for together with x₀.
    rows = np.concatenate([Q, L[:, :frozen_draws] / information.unit, values], axis=1)
    facts = separate_noise(rows, L[:, frozen_draws:], information.n)
    return estimate_of(model, data, "gls", information.condition(*facts))


def stacked(model: Model, data: Answers) -> tuple[Array, Array, Array]:
    """Return Q (answers, n), q (answers,) and L of all answers Y = Q x₀ + q + L w, ordered by time and then by agent.

    The draws w, with unit variance, are those of the initial state and of all transitions.
    """
    n, start = model.n, initial_state(model)
    steps = list(transitions(model, data.seen.last))
    # Column ends: x₀ and the constant, the draws of the initial state, then those of each step.
    ends = np.cumsum([n + 1, start.draws, *(step.draws for step in steps)])
    # Columns: how the state depends on x₀, on 1 and on each draw.
    state = np.zeros((start.layout.states, ends[-1]))
    state[:, :n], state[:, n] = start.forward(np.eye(n)), start.offset
    state[:, n + 1 : ends[1]] = start.forward(noise=np.eye(start.draws))
    rows: list[Array] = []
    for t in range(data.seen.last + 1):
        if t:
            step = steps[t - 1]
            state = step.forward(state)
            state[:, :n] += step.hidden_input()
            # Later columns are still 0, so one matrix follows the response to all draws at once.
            state[:, ends[t] : ends[t + 1]] += step.noise_input()
        for row in np.flatnonzero(data.seen.times == t):
            rows.append(state[data.seen.agents[data.present[row]]])
    Q, q, L = np.split(np.concatenate(rows), [n, n + 1], axis=1)
    if start.draws and steps and steps[0].draws:
        # u_0 and w_1 matter only through u_1 = φ u_0 + √(1−φ²) w_1, so one draw of variance 1 stands for both.
        phi, both = model.noise.autocorrelation, L[:, : 2 * n]
        L = np.concatenate([phi * both[:, :n] + np.sqrt(1 - phi**2) * both[:, n:], L[:, 2 * n :]], axis=1)
    if data.seen.noise_variance:
        L = np.concatenate([L, np.sqrt(data.seen.noise_variance) * np.eye(len(L))], axis=1)
    return Q, q[:, 0], L


def _check_stacked(model: Model, data: Answers) -> None:
    # L has one row per answer and about n draws per step.
    numbers = int(data.present.sum()) * model.n * max(1, data.seen.last)
    if numbers > STACKED_NUMBERS:
        limit, got = contrast(STACKED_NUMBERS, numbers, digits=2)
        rule = f"generalised least squares in one piece takes up to {limit} numbers"
        remedy = "use the method kalman, which gives the same estimate step by step"
        raise TooLargeError(message(rule, got=got, remedy=remedy), argument="method")
