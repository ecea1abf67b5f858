"""The regression y_t = Q_t x₀ + e_t as sweeps over time, without ever holding the stack of the Q_t.

Q_t = diag(g_t) H_{t−1} + C_t Q_{t−1}, with Q_0 = I if the start is hidden and 0 if it is given. H_t is how what agents
hold depends on x₀: I where hidden opinions are constant, and H_t = (1 − η_t) H_{t−1} + η_t Q_t from H_0 = I on where
they adapt. A forward sweep applies all Q_t to columns, an adjoint sweep applies Σ Q_tᵀ, and the two together give
every matrix of the regression in O(steps · edges) for each column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.errors import TooLargeError, message
from peerpressure.model import Model, Update, Vector
from peerpressure.recovery._estimate import Estimate, Prior, estimate_from, update
from peerpressure.recovery._information_state import estimate_of, known_before
from peerpressure.recovery._observation import Outputs, ResolvedObservation
from peerpressure.recovery._solve import DENSE_LIMIT, Implicit, Solution, conjugate_gradients, solve
from peerpressure.theory._moments import forward_moments

Array: TypeAlias = NDArray[np.float64]
BLOCK_BYTES = 2**25
KEPT_NUMBERS = 2**23


@final
@dataclass(frozen=True, eq=False)
class Design:
    """The regression of what is seen on the f free hidden opinions.

    Columns z are (f, b), rows r are (T, k, b) for the T seen steps and k seen agents; entries that are missing,
    where ``present`` (T, k) is False, are 0.
    """

    model: Model
    seen: ResolvedObservation
    present: NDArray[np.bool_]

    @property
    def from_hidden(self) -> bool:
        """Whether agents start from their hidden opinions."""
        return isinstance(self.model.start, str)

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each seen step."""
        return {int(t): row for row, t in enumerate(self.seen.times)}

    def forward(self, z: Array) -> Array:
        """Return the rows Q_t z."""
        own = np.zeros((self.model.n, z.shape[1]))
        own[self.seen.free] = z
        return self._run(own, own if self.from_hidden else np.zeros_like(own))

    def adjoint(self, r: Array) -> Array:
        """Return the columns Σ_t Q_tᵀ r_t."""
        return self._pull(r)

    def covary(self, r: Array) -> Array:
        """Return the rows Cov(e) r, where e stacks the errors of all that is seen.

        e_t is linear in the noise of steps up to t, so that Cov(e) is an adjoint sweep, the noise's covariance in time
        for each agent, and a forward sweep; rounding adds its variance to each entry.
        """
        reached = self._no_noise_yet(r)
        self._pull(r, reached)
        return self._spread(r, reached)

    def matrices(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Return H = Σ Q_tᵀ W_t Q_t and the covariance of Σ Q_tᵀ W_t e_t, (f, f) each, for weights (T, k).

        These are the two parts of the sandwich H⁻¹ V H⁻¹ that is the covariance of a regression.
        """
        f = self.seen.free.size
        H, V = np.empty((f, f)), np.empty((f, f))
        for where, z in self._unit_blocks():
            r = _weighted(self.forward(z), weights)
            reached = self._no_noise_yet(r)
            H[:, where] = self._pull(r, reached)
            V[:, where] = self.adjoint(_weighted(self._spread(r, reached), weights))
        return (H + H.T) / 2, (V + V.T) / 2

    def offset(self, data: Outputs) -> Array:
        """Return what is already known of the mean outputs, (T, k, replicates), or (T, k, 1) if common to all."""
        known = np.nan_to_num(data.known.T if self.seen.free.size < self.model.n else data.known[:1].T)
        start = known if self.from_hidden else np.repeat(self.model.start_state[:, None], known.shape[1], axis=1)
        return self._run(known, start)

    def observed(self, data: Outputs) -> Array:
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

    def _unit_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the unit vectors in blocks whose paths fit in the cache of a block."""
        f = self.seen.free.size
        width = max(1, BLOCK_BYTES // (8 * self.model.n * (self.seen.last + 1)))
        for begin in range(0, f, width):
            where = slice(begin, min(f, begin + width))
            z = np.zeros((f, where.stop - begin))
            z[np.arange(begin, where.stop), np.arange(where.stop - begin)] = 1.0
            yield where, z

    @cached_property
    def _updates(self) -> dict[int, Update]:
        """The maps of all steps, where they are small enough to keep from sweep to sweep."""
        changing = 0 if self.model.temporal_network is None else self.model.network.adjacency.nnz
        few = (self.model.n + changing) * self.seen.last <= KEPT_NUMBERS
        return {t: self.model.update(t) for t in range(1, self.seen.last + 1)} if few else {}

    def _update(self, t: int) -> Update:
        return self._updates.get(t) or self.model.update(t)

    @cached_property
    def _noise_size(self) -> Array:
        """The deviation of ε_t for each step from 1 on and each agent, (steps, n)."""
        noise = self.model.noise
        return noise.scale(np.arange(1, self.seen.last + 1))[:, None] * noise.deviations(self.model.n)

    def _no_noise_yet(self, r: Array) -> Array:
        return np.empty((self.seen.last, self.model.n, r.shape[2]))

    def _run(self, own: Array, state: Array, kick: Array | None = None) -> Array:
        """Return the seen entries of state_t = g_t ∘ (own_t + kick_t) + C_t state_{t−1}, and 0 where they are missing.

        ``own`` is what agents hold at first; it adapts to the state as hidden opinions do.
        """
        rows = np.empty((self.seen.times.size, self.seen.agents.size, own.shape[1]))
        for t in range(self.seen.last + 1):
            if t > 0:
                update = self._update(t)
                push = own if kick is None else own + kick[t - 1]
                state = update.couple(state)
                state += update.gain[:, None] * push
                own = update.adapt(own, state)
            if t in self.row_of:
                rows[self.row_of[t]] = state if self.seen.everyone else state[self.seen.agents]
        return rows if self._gapless else rows * self.present[:, :, None]

    def _pull(self, r: Array, reached: Array | None = None) -> Array:
        """Return Σ_t Q_tᵀ r_t, and fill ``reached`` with how r depends on each ε_t.

        λ_t = r_t + C_{t+1}ᵀ w_{t+1} is how r depends on y_t, μ_t on what agents hold after it, and w_t = λ_t + η_t μ_t
        on y_t in both ways: μ_{t−1} = (1 − η_t) μ_t + g_t w_t.
        """
        held = np.zeros((self.model.n, r.shape[2]))
        pushed = np.zeros_like(held)
        for t in range(self.seen.last, -1, -1):
            if t in self.row_of:
                row = self.row_of[t]
                seen = r[row] if self._gapless else r[row] * self.present[row][:, None]
                if self.seen.everyone:
                    pushed += seen
                else:
                    pushed[self.seen.agents] += seen
            if t == 0:
                return (held + pushed if self.from_hidden else held)[self.seen.free]
            update = self._update(t)
            if update.adaptation_rate is not None:
                follows = update.adaptation_rate[:, None] * held
                held -= follows
                pushed = pushed + follows
            own = update.gain[:, None] * pushed
            held += own
            if reached is not None:
                np.multiply(own, self._noise_size[t - 1][:, None], out=reached[t - 1])
            pushed = update.couple_adjoint(pushed)
        raise AssertionError("the sweep ends at step 0")

    def _spread(self, r: Array, reached: Array) -> Array:
        """Return Cov(e) r from how r depends on the noise, which is overwritten."""
        kick = _correlated(reached, self.model.noise.autocorrelation)
        kick *= self._noise_size[:, :, None]
        still = np.zeros((self.model.n, r.shape[2]))
        rows = self._run(still, still, kick)
        return rows + self.seen.blur * r if self.seen.blur else rows

    @cached_property
    def _gapless(self) -> bool:
        return bool(self.present.all())


def design_of(model: Model, data: Outputs) -> Design:
    """Return the regression of these outputs."""
    return Design(model, data.seen, data.present)


def _weighted(r: Array, weights: Array | None) -> Array:
    return r if weights is None else r * weights[:, :, None]


def _correlated(path: Array, phi: float) -> Array:
    """Return Σ_v φ^|t−v| path_v for each t, by one run in either direction of time."""
    if phi == 0:
        return path
    before, after = path.copy(), path.copy()
    for t in range(1, path.shape[0]):
        before[t] += phi * before[t - 1]
        after[-t - 1] += phi * after[-t]
    return before + after - path


# Linear regression of what is seen on x₀, weighted or not, with the covariance that it really has.

_NEGLIGIBLE = 0.05  # part of a variance below which its rounding error is left out


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """A dense regression: x̂ (replicates, f), its covariance, what of x₀ it reaches, and the solved system."""

    value: Array
    covariance: Array
    reach: Array
    solution: Solution
    H: Array


def fit(design: Design, rows: Array, weights: Array | None = None, exact: tuple[Array, Array] | None = None) -> Fit:
    """Return the minimiser of Σ w (r − Q x)² subject to exact facts, with Cov = G Cov(ΣQᵀWe) G, G = H⁻¹.

    ``rows`` are (T, k, replicates), ``weights`` (T, k); ``exact`` holds rows (m, f) and values (replicates, m).
    """
    H, V = design.matrices(weights)
    rhs = design.adjoint(rows if weights is None else rows * weights[:, :, None]).T
    solution = solve(H, *(exact or (None, None)))
    G = solution.inverse
    covariance = G @ V @ G
    covariance = (covariance + covariance.T) / 2 + np.diag(_lost_digits(G, V, covariance.diagonal()))
    pinned = solution.pinned
    reach = pinned + G @ H @ (np.eye(H.shape[0]) - pinned)
    return Fit(solution.value(H, rhs), covariance, reach, solution, H)


def _lost_digits(G: Array, V: Array, variance: Array) -> Array:
    """Return the rounding errors of the diagonal of G V G, (f,), and 0 where they are small beside it.

    Where noise cancels in an estimate but rounding does not, the computed variance may even be negative.
    """
    size = np.abs(G)
    lost = 10 * G.shape[0] * np.finfo(np.float64).eps * np.einsum("ij,jk,ki->i", size, np.abs(V), size, optimize=True)
    return np.where(lost > _NEGLIGIBLE * variance, lost + np.maximum(-variance, 0.0), 0.0)


def as_estimate(model: Model, data: Outputs, method: str, fitted: Fit, prior: Prior | None, **facts: Any) -> Estimate:
    """Return the fit as an estimate of all agents, updated by a prior if there is one."""
    value, covariance, solution = fitted.value, fitted.covariance, fitted.solution
    facts |= {"condition": solution.condition, "rank": solution.rank, "identified": solution.identified}
    if prior is not None:
        mean, rest = prior.given(data.known)
        free = data.seen.free.size
        value, covariance = update(value, covariance, fitted.reach, mean, rest.covariance(free))
        facts |= {"rank": free, "identified": np.ones(free, dtype=bool)}
    return estimate_from(model, data, method, value, covariance, **facts)


def refuse_large(model: Model, method: str, why: str) -> None:
    """Refuse more agents than a dense covariance is fit for."""
    if model.n > DENSE_LIMIT:
        rule = f"{method} {why} takes at most {DENSE_LIMIT} agents"
        raise TooLargeError(message(rule, got=model.n, remedy="use method='innovations', which takes millions"))


def fit_large(model: Model, data: Outputs, design: Design, method: str) -> Estimate:
    """Return the unweighted regression by conjugate gradients, its covariance as an operator."""
    diagonal = first_diagonal(design)

    def normal(columns: Array) -> Array:
        return design.adjoint(design.forward(columns))

    def invert(columns: Array) -> Array:
        return conjugate_gradients(normal, columns, diagonal)[0]

    def sandwich(columns: Array) -> Array:
        return invert(design.adjoint(design.covary(design.forward(invert(columns)))))

    rhs = design.adjoint(design.observed(data))
    value, condition = conjugate_gradients(normal, rhs, diagonal)
    note = f"by conjugate gradients; condition is that of the first, preconditioned by step {_first(design)}"
    covariance = Implicit(design.seen.free.size, sandwich)
    return estimate_from(model, data, method, value.T, covariance, condition=condition, note=note)


def first_diagonal(design: Design) -> Array:
    """Return a stand-in for the diagonal of H, (f,), from the first step: Σ_j Q_1[j, i]², 1 where nothing is seen."""
    first = design.model.update(1)
    seen = np.zeros(design.model.n)
    seen[design.seen.agents] = 1.0
    diagonal = first.gain**2 * seen
    if design.from_hidden:
        squared = first.adjacency.multiply(first.adjacency)
        diagonal = diagonal + squared.T @ (first.coupling_scale**2 * seen)
    return np.where(diagonal > 0, diagonal, 1.0)[design.seen.free]


def _first(design: Design) -> int:
    return int(design.seen.times[0])


# Ordinary least squares: the paper's regression of all outputs on Q_t x₀.

OLS = "ols"


def ols(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return x̂ = H⁻¹ Σ Q_tᵀ y_t with H = Σ Q_tᵀ Q_t, as if all errors were alike and independent.

    They are not: e_t piles up past noise. ``covariance`` is what x̂ really has, and ``homoskedastic_covariance`` the
    textbook's σ̂² H⁻¹, with σ̂² the mean residual variance over replicates. A prior is combined with x̂ as with one
    datum of that covariance.
    """
    design = design_of(model, data)
    if model.n > DENSE_LIMIT:
        if prior is not None:
            refuse_large(model, OLS, "with a prior")
        return fit_large(model, data, design, OLS)
    rows = design.observed(data)
    fitted = fit(design, rows)
    residuals = (rows - design.forward(fitted.value.T))[:, :, : rows.shape[2] - data.copies]
    spare = int(data.present.sum()) - fitted.solution.rank
    textbook = None
    if spare > 0:
        textbook = float(np.mean((residuals**2).sum(axis=(0, 1)))) / spare * fitted.solution.inverse
    return as_estimate(model, data, OLS, fitted, prior, homoskedastic_covariance=textbook)


# Weighted least squares: outputs weighed by how noisy each is, still as if independent.

WLS = "wls"


def wls(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the regression of outputs with weights 1/Var(e_t,i), and the covariance that it really has.

    Outputs without noise are taken as exact; if there are no others, all weigh the same.
    """
    refuse_large(model, WLS, "forms the variance of every output and")
    design = design_of(model, data)
    variances = output_variances(design)
    rows = design.observed(data)
    noisy = (variances > 0) & data.present
    if not noisy.any():
        return as_estimate(model, data, WLS, fit(design, rows), prior)
    weights = np.divide(1.0, variances, out=np.zeros_like(variances), where=noisy)
    quiet = data.present & ~noisy
    exact = (_rows_at(design, quiet), rows[quiet].T) if quiet.any() else None
    return as_estimate(model, data, WLS, fit(design, rows, weights, exact), prior)


def output_variances(design: Design) -> Array:
    """Return Var(e_t,i) of the seen outputs, (T, k)."""
    after_start = design.seen.times[design.seen.times > 0]
    variances = np.zeros((design.seen.times.size, design.seen.agents.size))
    if after_start.size:
        spread = forward_moments(design.model, after_start).variance
        variances[-after_start.size :] = spread[:, design.seen.agents]
    return variances + design.seen.blur


def _rows_at(design: Design, where: NDArray[np.bool_]) -> Array:
    """Return the rows of the stacked Q_t at the marked outputs, (m, f)."""
    return np.concatenate([part[where] for part in design.column_blocks()], axis=1)


# Generalised least squares, solved in one piece: the reference that recursions are held against.
#
# All outputs that are seen are stacked into Y = Q x₀ + q + L e, where e are independent draws of unit variance.

# Numbers in L; its factorisation takes some ten seconds at this size.
_LARGEST = 1.6e7
# A row of L that is, to this precision, a sum of others carries no noise of its own.
_RANK_TOLERANCE = 1e-12
# An exact fact with smaller weights than this says nothing of x₀.
_VOID = 1e-10


def gls(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate of x₀ (with a prior, the conditional mean) from one dense system.

    x̂₀ = (QᵀV⁻¹Q)⁻¹QᵀV⁻¹(Y − q),  V = L Lᵀ;  V may be singular: what noise does not reach is an exact fact. Only the
    second moments of noise enter, whatever its law; if it is Gaussian, this is the maximum of the likelihood.
    """
    _refuse_large(model, data)
    Q, q, L = stacked(model, data)
    values = np.asarray(data.values[:, data.present], dtype=np.float64).T - q[:, None]
    facts = separated(np.concatenate([Q, values], axis=1), L, model.n)
    return estimate_of(model, data, "gls", known_before(model, data, prior).learn(*facts))


def stacked(model: Model, data: Outputs) -> tuple[Vector, Vector, Vector]:
    """Return Q (outputs, n), q (outputs,) and L of all outputs that are seen, in the order of time and then of agents.

    With the covariance of noise over time factored as K = W Wᵀ, agent i has ε_t = std_i Σ_k W[t, k] e_{k,i}.
    """
    n, last = model.n, data.seen.last
    root = _root_of_time(model, last)
    hidden_start = isinstance(model.start, str)
    # Columns: how y_t, and what agents hold, depend on x₀, on 1 and on each draw.
    public = np.zeros((n, n + 1 + last * n))
    public[:, :n], public[:, n] = np.eye(n) * hidden_start, 0.0 if hidden_start else model.start_state
    held = np.zeros_like(public)
    held[:, :n] = np.eye(n)
    each = np.arange(n)
    rows: list[Vector] = []
    for t in range(last + 1):
        if t:
            update = model.update(t)
            public = update.couple(public) + update.gain[:, None] * held
            draws = public[:, n + 1 :].reshape(n, last, n)
            draws[each, :, each] += np.outer(update.gain * model.noise.deviations(n), root[t - 1])
            held = update.adapt(held, public)
        for row in np.flatnonzero(data.seen.times == t):
            rows.append(public[data.seen.agents[data.present[row]]])
    Q, q, L = np.split(np.concatenate(rows), [n, n + 1], axis=1)
    if data.seen.blur:
        L = np.concatenate([L, np.sqrt(data.seen.blur) * np.eye(len(L))], axis=1)
    return Q, q[:, 0], L


def _root_of_time(model: Model, last: int) -> Vector:
    """Return W with W Wᵀ = K, the covariance of one agent's noise over the times 1…last, which may be singular."""
    if not last:
        return np.empty((0, 0))
    times = np.arange(1, last + 1)
    scale = model.noise.scale(times)
    values, vectors = np.linalg.eigh(model.noise.temporal.correlation(times))
    # A correlation that vanishes is rounded to one of order 1e-16, the root of which would not be small.
    kept = values > last * np.finfo(float).eps * values[-1]
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.where(kept, values, 0.0)))


def separated(facts: Vector, L: Vector, n: int) -> tuple[Vector, Vector, Vector]:
    """Return facts, rows of [Q | Y], as exact ones, with their errors, and ones blurred by independent unit noise.

    With LᵀΠ = U [R₁ R₂; 0 R₃], the first rows divided by R₁ᵀ have unit noise; what they explain of the others is all
    noise but for R₃, which may be a rounding error of 0, or be what it seems to be.
    """
    size = np.linalg.norm(L, axis=1)
    noisy = size > 0
    scaled = facts[noisy] / size[noisy, None]
    if not scaled.size:
        return *_telling(facts, np.zeros(len(facts)), n), facts[:0]
    triangle, order = linalg.qr((L[noisy] / size[noisy, None]).T, mode="r", pivoting=True)
    reach = np.abs(triangle.diagonal())
    rank = int(np.count_nonzero(reach > _RANK_TOLERANCE * reach[0]))
    blurred = linalg.solve_triangular(triangle[:rank, :rank], scaled[order[:rank]], trans="T")
    exact = scaled[order[rank:]] - triangle[:rank, rank:].T @ blurred
    errors = np.concatenate([np.zeros(int((~noisy).sum())), np.linalg.norm(triangle[rank:, rank:], axis=0)])
    return *_telling(np.concatenate([facts[~noisy], exact]), errors, n), blurred


def _telling(exact: Vector, errors: Vector, n: int) -> tuple[Vector, Vector]:
    """Return the exact facts that are of x₀ at all, with their errors."""
    telling = np.linalg.norm(exact[:, :n], axis=1) > _VOID
    return np.asarray(exact[telling]), np.asarray(errors[telling])


def _refuse_large(model: Model, data: Outputs) -> None:
    numbers = int(data.present.sum()) * model.n * max(1, data.seen.last)
    if numbers > _LARGEST:
        rule = f"generalised least squares in one piece takes up to {_LARGEST:.2g} numbers"
        remedy = "use method='kalman', which gives the same estimate step by step"
        raise TooLargeError(message(rule, got=f"{numbers:.2g}", remedy=remedy))
