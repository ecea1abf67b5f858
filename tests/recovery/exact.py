"""What an observer can know, by dense conditioning in 70 digits: an oracle apart from any code of the package.

Every output and every opinion is written as c + B x₀ + L e, with e independent of variance 1, straight from the
definition of the model. A linear estimate is then a matrix, its covariance a product, and the best one follows from
the general Gauss–Markov theorem, which also holds where outputs are exact functions of each other (Rao, 1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

import peerpressure as pp
from peerpressure.recovery import Answers

Exact: TypeAlias = NDArray[Any]  # of Decimal
Array: TypeAlias = NDArray[np.float64]

DIGITS = 70
# A pivot below this share of its row is rounding: true ones of small models are far above, rounding is at 10^-70.
NOTHING = Decimal(10) ** -45


def exact(values: ArrayLike) -> Exact:
    """Return the numbers without rounding."""
    given = np.asarray(values, dtype=np.float64)
    return np.array([Decimal(float(v)) for v in given.ravel()], dtype=object).reshape(given.shape)


def doubles(values: Exact) -> Array:
    """Return the nearest doubles."""
    return values.astype(np.float64)


@final
@dataclass(frozen=True)
class Linear:
    """Rows c + B x₀ + L e, the errors e independent with variance 1; (m,), (m, n) and (m, errors)."""

    c: Exact
    B: Exact
    L: Exact

    def __getitem__(self, rows: Any) -> Linear:
        return Linear(self.c[rows], self.B[rows], self.L[rows])

    def mapped(self, M: Exact) -> Linear:
        return Linear(M @ self.c, M @ self.B, M @ self.L)

    def plus(self, other: Linear) -> Linear:
        return Linear(self.c + other.c, self.B + other.B, self.L + other.L)


def stacked(parts: Sequence[Linear]) -> Linear:
    """Return all rows of several parts."""
    return Linear(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("c", "B", "L")))


def paths(model: pp.Model, steps: int) -> tuple[list[Linear], list[Linear]]:
    """Return y_t and the hidden opinions after step t, for t = 0 … steps."""
    n = model.n
    zero, one, errors = exact(np.zeros(n)), exact(np.eye(n)), exact(np.zeros((n, n * (steps + 1))))
    x = Linear(zero, one, errors)
    y = x if isinstance(model.start, str) else Linear(exact(model.start_state), exact(np.zeros((n, n))), errors)
    u = _fresh(model, 0, errors)
    public, hidden = [y], [x]
    for t in range(1, steps + 1):
        s, rho = exact(model.s), Decimal(float(model.pressure(t)))
        network = model.network.adjacency if model.temporal_network is None else model.temporal_network.at(t)
        A = exact(network.toarray())
        whole = s + rho * A.sum(axis=1)
        u = _next(model, t, u, errors)
        size = exact(model.noise.deviations(n)) * Decimal(float(model.noise.scale(t)))
        shown = x.plus(Linear(zero, exact(np.zeros((n, n))), size[:, None] * u))
        y = y.mapped(rho * A / whole[:, None]).plus(shown.mapped(np.diag(s / whole) + 0 * one))
        if model.adaptation is not None:
            eta = exact(model.adaptation.adaptation_weights(n)) * Decimal(float(model.adaptation.rate(t)))
            x = x.mapped(np.diag(1 - eta) + 0 * one).plus(y.mapped(np.diag(eta) + 0 * one))
        public.append(y)
        hidden.append(x)
    return public, hidden


def _fresh(model: pp.Model, t: int, errors: Exact) -> Exact:
    drawn = errors.copy()
    drawn[np.arange(model.n), t * model.n + np.arange(model.n)] = Decimal(1)
    return drawn


def _next(model: pp.Model, t: int, u: Exact, errors: Exact) -> Exact:
    """Return the unit noise of step t, given that of the step before."""
    kind = model.noise.temporal
    if isinstance(kind, pp.Frozen):
        return u
    if isinstance(kind, pp.AR1):
        phi = Decimal(kind.coefficient)
        return np.asarray(phi * u + (1 - phi * phi).sqrt() * _fresh(model, t, errors))
    return _fresh(model, t, errors)


@final
@dataclass(frozen=True)
class Best:
    """A linear estimate: G with x̂ = G (Y − c), its covariance, and which entries it estimates without bias."""

    G: Exact
    covariance: Array
    identified: NDArray[np.bool_]
    value: Array
    condition: float = 1.0  # of the normal equations, where the method solves these

    @property
    def amplified(self) -> Array:
        """How far an entry moves if every output moves by its own size, at most."""
        return np.asarray(np.abs(doubles(self.G)).sum(axis=1))


@final
@dataclass(frozen=True)
class Seen:
    """What an observer has: the observed rows, their values and the agents whose x₀ is to be estimated."""

    rows: Linear
    values: Exact  # (rows, replicates), without c and without what is known of x₀
    known: Exact  # x₀ where it is known, else 0, (n, replicates)
    free: NDArray[np.int64]
    last: slice  # the rows of the last step with outputs

    @cached_property
    def Q(self) -> Exact:
        return self.rows.B[:, self.free]

    @cached_property
    def V(self) -> Exact:
        return self.rows.L @ self.rows.L.T

    @cached_property
    def every_row(self) -> tuple[NDArray[np.int64], Exact, Exact]:
        """The normal equations of all rows, which several goals share."""
        return self.normal(slice(None))

    def normal(self, rows: slice) -> tuple[NDArray[np.int64], Exact, Exact]:
        """Return independent rows among some, the precision of these, and the fit of x₀ to them."""
        Q, V = self.Q[rows], self.V[rows, rows]
        # V + QQᵀ in place of a singular V changes no unbiased estimate; rows that depend on others tell nothing new.
        W = V + Q @ Q.T
        kept = independent(W)
        precision = inverse(W[np.ix_(kept, kept)])
        M = Q[kept].T @ precision @ Q[kept]
        return kept, precision, generalised_inverse(M) @ Q[kept].T @ precision


def seen(public: list[Linear], data: Answers) -> Seen:
    """Return the rows of the outputs that are there, rounding taken as noise of its variance."""
    parts = [public[t][data.seen.agents[data.present[row]]] for row, t in enumerate(data.seen.times)]
    rows = stacked(parts)
    m, extra = len(rows.c), Decimal(data.seen.rounding) / Decimal(12).sqrt()
    if extra:
        rows = Linear(rows.c, rows.B, np.concatenate([rows.L, extra * exact(np.eye(m))], axis=1))
    known = exact(np.nan_to_num(data.known)).T
    values = exact(data.values[:, data.present].T) - rows.c[:, None] - rows.B @ known
    count = next(len(part.c) for part in reversed(parts) if len(part.c))
    return Seen(rows, values, known, data.seen.free, slice(m - count, m))


def estimated(view: Seen, G: Exact, goal: Linear) -> Best:
    """Return what G (Y − c) tells about the goal's rows; it is unbiased where G Q = B."""
    B, extra = goal.B[:, view.free], view.rows.L.shape[1] - goal.L.shape[1]
    wanted = np.concatenate([goal.L, exact(np.zeros((len(goal.c), extra)))], axis=1) if extra else goal.L
    error = G @ view.rows.L - wanted
    identified = np.abs(doubles(G @ view.Q - B)).max(axis=1, initial=0.0) <= float(NOTHING)
    value = G @ view.values + goal.c[:, None] + goal.B @ view.known
    return Best(G, doubles(error @ error.T), identified, doubles(value).T)


def best(view: Seen, goal: Linear, rows: slice = slice(None)) -> Best:
    """Return the best linear unbiased estimate of the goal's rows from some of the observed ones."""
    Q, L = view.Q[rows], view.rows.L[rows]
    kept, precision, fit = view.every_row if rows == slice(None) else view.normal(rows)
    width = goal.L.shape[1]
    cross = goal.L @ L[kept, :width].T @ precision
    G = exact(np.zeros((len(goal.c), len(view.values))))
    G[:, np.arange(len(view.values))[rows][kept]] = goal.B[:, view.free] @ fit + cross - cross @ Q[kept] @ fit
    return estimated(view, G, goal)


def weighted(view: Seen, weights: Exact, goal: Linear) -> Best:
    """Return weighted least squares, as if errors were independent."""
    Q = view.Q
    M = Q.T @ (weights[:, None] * Q)
    found = estimated(view, goal.B[:, view.free] @ generalised_inverse(M) @ (Q.T * weights), goal)
    sizes = np.sqrt(np.diagonal(doubles(M)))
    scaled = np.linalg.svd(doubles(M) / np.outer(sizes, sizes), compute_uv=False) if (sizes > 0).all() else np.ones(1)
    return replace(found, condition=float(scaled[0] / max(scaled[-1], 1e-300)))


def with_prior(view: Seen, mean: ArrayLike, variance: ArrayLike) -> Seen:
    """Return the view with the prior N(mean, diag variance) of x₀ as further rows of data."""
    n, width = view.rows.B.shape[1], view.rows.L.shape[1]
    sizes = np.array([v.sqrt() for v in exact(variance)], dtype=object)
    wide = exact(np.zeros((len(view.values) + view.free.size, width + n)))
    wide[: len(view.values), :width] = view.rows.L
    below = np.arange(view.free.size)
    wide[len(view.values) + below, width + view.free] = sizes[view.free]
    B = np.concatenate([view.rows.B, exact(np.eye(n))[view.free]])
    extra = np.repeat(exact(mean)[view.free, None], view.values.shape[1], axis=1)
    rows = Linear(np.concatenate([view.rows.c, exact(np.zeros(view.free.size))]), B, wide)
    return Seen(rows, np.concatenate([view.values, extra]), view.known, view.free, view.last)


def independent(W: Exact) -> NDArray[np.int64]:
    """Return a largest set of rows of a positive semidefinite matrix that are independent, by pivoted elimination."""
    left, size = W.copy(), np.array([W[i, i] for i in range(len(W))], dtype=object)
    kept: list[int] = []
    for _ in range(len(W)):
        share = [left[i, i] / size[i] if size[i] > 0 and i not in kept else Decimal(0) for i in range(len(W))]
        pivot = int(np.argmax(np.array(share, dtype=object)))
        if share[pivot] <= NOTHING:
            break
        kept.append(pivot)
        left = left - np.outer(left[:, pivot], left[pivot]) / left[pivot, pivot]
    return np.array(sorted(kept), dtype=np.int64)


def inverse(W: Exact) -> Exact:
    """Return the inverse of a positive definite matrix, by Gauss–Jordan elimination."""
    n = len(W)
    both = np.concatenate([W, exact(np.eye(n))], axis=1)
    for k in range(n):
        row = both[k] / both[k, k]
        both = both - np.outer(both[:, k], row)
        both[k] = row
    return both[:, n:]


def generalised_inverse(M: Exact) -> Exact:
    """Return a matrix X with M X M = M, for M positive semidefinite."""
    kept = independent(M)
    X = exact(np.zeros(M.shape))
    X[np.ix_(kept, kept)] = inverse(M[np.ix_(kept, kept)])
    return X


def precise() -> Any:
    """Return the context in which the oracle computes."""
    return localcontext(Context(prec=DIGITS))
