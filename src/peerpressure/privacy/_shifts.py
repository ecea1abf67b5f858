"""The data of an observer of every agent: how far whitened outputs shift when one hidden opinion changes by one.

The update can be inverted: y_{t−1} and y_t give the preferred opinions ξ_t = x_t + ε_t. So an observer of every agent
knows, for each agent, its own series π_{t−1} x₀ + ε_t, where π is the share of x₀ that is left while opinions adapt,
and 1 while they are constant. If y₀ = x₀ is not observed but enters the first step, that step gives instead

    F x₀ + ε₁,  F = I + ρ₁S⁻¹A,

where one agent's opinion also appears in the first outputs of its neighbours: the first-step leak. Whitening the
noise turns all of it into independent draws of unit variance with means shifted by h_1, h_2, …; what can be inferred
about the agent depends only on h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, retained
from peerpressure.model.statespace.systems import shows_start
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian, Noise
from peerpressure.recovery.least_squares import Whitening, divide, innovation_std
from peerpressure.schedules import Table
from peerpressure.theory.propagation import step_count

_ROUNDING = 1e-9  # part of its range by which a start may miss being affine, as one read from a file does


def leaks_at_first_step(model: Model) -> bool:
    """Return whether neighbours respond to hidden opinions at step 1: y₀ = x₀, and some agent hears neighbours."""
    return isinstance(model.start, str) and bool((_responds(model) & (model.degrees_at(1) > 0)).any())


def _responds(model: Model) -> NDArray[np.bool_]:
    """Return who gives weight to others at step 1, which whoever keeps an opinion or is under no pressure does not."""
    return np.asarray(model.update(1).coupling_scale > 0)


def require_public_start(system: System, *, declared: bool = False) -> None:
    """Raise an error unless a given start is declared to be public, or if it is an affine function of x₀ all the same.

    Privacy accounts take a given start to be public knowledge that does not depend on x₀. A start computed from x₀
    reveals it before any noise is added, and no finite ε holds; numbers cannot prove that they were chosen
    without looking at x₀. One number for all agents declares itself; numbers by agent have to be declared. An affine
    function is the mistake that can be told for sure, whatever is declared.
    """
    model = system.model
    if isinstance(model.start, str) or np.ptp(model.start_state) == 0:
        return
    rule = "a privacy account needs a start that does not depend on the hidden opinions"
    if _is_affine(model.start_state, model.x0):
        equal = np.array_equal(model.start_state, model.x0)
        got = "start equal to hidden" if equal else "a start that is an affine function of hidden"
        remedy = "give a start that is public, such as a constant, or a hidden one if y₀ = x₀ is not observed"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    if not declared:
        got = "a start that differs between agents and is not declared to be public"
        remedy = "declare it if it was not computed from them, or start from one number"
        raise InvalidInputError(message(rule, got=got, remedy=remedy), argument="public_start")


def require_unrelated_start(model: Model) -> None:
    """Raise an error for a start that resembles the hidden opinions, although it is declared to be public.

    That a start was chosen without x₀ cannot be tested: one number may be their mean. What was computed from them agent
    by agent shows, though: the value of one agent, nearly the same values in any order, the same order of agents, or
    any smooth function of them. Chance does as much once in a thousand times, and more often among fewer than six.
    """
    y, x = model.start_state, model.x0
    if isinstance(model.start, str) or not np.ptp(y) or not np.ptp(x):
        return
    if got := _resemblance(y, x):
        rule = "a public start must not show hidden opinions, whether or not it is declared to be public"
        remedy = "choose it without them, or declare it as published if everybody knew it before"
        raise InvalidInputError(message(rule, got=got, remedy=remedy), argument="public_start")


_CLOSE = 0.05  # part of the range of x within which all of y is nearly x
_CLOSE_SORTED = 0.4  # the same over √n for values in order, which many draws of one law have nearly in common
_DIGITS = 3  # decimals that values of a scale may have; two values of more digits are not equal by chance
_CHANCE = 1e-3  # probability with which an unrelated start is taken for a related one
_ORDERED, _SCATTERED = 4, 20  # agents from which an order tells something, and from which a curve among points does


def _resemblance(y: Array, x: Array) -> str | None:
    """Return in words how y resembles x, None if it does not."""
    from scipy import stats

    if np.abs(y - x).max() <= _CLOSE * np.ptp(x):
        return f"a start within {_CLOSE:.0%} of their range of each of them"
    if (own := np.flatnonzero((y == x) & (np.round(x, _DIGITS) != x))).size:
        return f"a start that is the hidden opinion of agent {own[0]}"
    close = min(_CLOSE, _CLOSE_SORTED / np.sqrt(x.size)) * np.ptp(x)
    if x.size > 2 and (
        np.abs(np.sort(y) - np.sort(x)).max() <= close
        or any(_is_affine(np.sort(sign * y), np.sort(x)) for sign in (1, -1))
    ):
        return "a start that has their values in another order"
    if x.size >= _ORDERED and (order := stats.spearmanr(x, y)).pvalue < _CHANCE:
        return f"a start whose order of agents is theirs, rank correlation {order.statistic:.2f}"
    if x.size >= _SCATTERED and (curve := stats.chatterjeexi(x, y)).pvalue < _CHANCE:
        return f"a start that is a function of them, Chatterjee's correlation {curve.statistic:.2f}"
    return None


def _is_affine(y: Array, x: Array) -> bool:
    """Return whether y = a x + b with a ≠ 0, up to rounding."""
    if np.ptp(x) == 0:
        return False
    # The second term covers a large offset b, whose rounding errors exceed any share of the range.
    close = max(_ROUNDING * np.ptp(y), 8 * np.finfo(np.float64).eps * np.abs(y).max())
    if x.size == 2:
        # Any two points lie on a line, so only y = x + b and y = a x are telling.
        shifted, scaled = np.ptp(y - x), abs(y[0] * x[1] - y[1] * x[0]) / np.abs(x).max()
        return bool(min(shifted, scaled) <= close)
    centred = x - x.mean()
    # Least squares on centred values; uncentred sums would cancel for opinions far from 0.
    slope = centred @ (y - y.mean()) / (centred @ centred)
    return bool(np.abs(y - y.mean() - slope * centred).max() <= close)


def delay_pressure(model: Model, steps: int) -> Model:
    """Return the model with its peer pressure delayed by one step: ρ′₁ = 0 and ρ′_t = ρ_{t−1} up to ``steps``.

    At step 1 every public opinion is then x₀ + ε₁: no neighbour responds to a hidden opinion, whatever y₀ is. A
    temporal network keeps its own times.

    Parameters
    ----------
    model : Model
        Any model.
    steps : int
        The number of steps for which the delayed pressure is tabulated, at least 1.

    Returns
    -------
    Model
        The same agents under the delayed pressure.

    See Also
    --------
    budget : Accounts for the first-step leak where pressure is not delayed.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import delay_pressure
    >>> print(delay_pressure(Model(k2(), hidden=[0.0, 1.0]), 4).pressure)
    ρ_t = 0, 1, 2, … (4 values)
    """
    times = np.arange(1, step_count(steps))
    return replace(model, pressure=Table(np.concatenate([[0.0], model.pressure(times)])))


@final
@dataclass(frozen=True, eq=False)
class Shifts:
    """The shifts h of rows, of which ``topics`` consecutive ones belong to a person.

    A row's own draws shift by ``own[:, i]``/``std[i]``, shape (steps, rows), or (steps, 1) where it is the same for
    all; the draws of neighbour j shift by ``leak[i, j]``·``leak_profile[:, j]``, where the profile is what a shift at
    step 1 alone becomes by whitening, with one column where it is the same for all. All of it happens in each of
    ``runs`` runs with independent noise.
    """

    own: Array
    std: Array
    leak: sparse.csr_array
    leak_profile: Array
    runs: int = 1
    topics: int = 1

    @property
    def own_squares(self) -> Array:
        """Σ h² over a person's own draws, (persons,): πᵀK⁻¹π, with K the covariance of noise over time, for a row."""
        rows = self.runs * divide(np.sqrt(np.sum(self.own**2, axis=0)), self.std) ** 2
        # Every row has noise of its own, so squares add up.
        return np.asarray(np.broadcast_to(rows, self.std.shape).reshape(-1, self.topics).sum(axis=1))

    @property
    def squares(self) -> Array:
        """The largest Σ (h·d)² over all draws for changes |d| ≤ 1 on each topic of a person; (persons,)."""
        if not self.leak.nnz:
            return self.own_squares
        if self.topics > 1:
            return np.array([box_maximum(self._information(person)) for person in range(self.count)])
        # Neighbours' draws are independent of each other, so squares add up. An agent without neighbours at step 1 is
        # not exposed by a profile, however large that is: a sparse product leaves it out.
        profile = np.broadcast_to(np.sum(self.leak_profile**2, axis=0), self.leak.shape[1])
        return np.asarray(self.own_squares + self.runs * (self.leak.power(2) @ profile))

    @property
    def count(self) -> int:
        """The number of persons."""
        return self.std.size // self.topics

    def of(self, person: int) -> Shifts:
        """Return the shifts of one person."""
        rows = self._rows(person)
        own = self.own[:, rows] if self.own.shape[1] > 1 else self.own
        return Shifts(own, self.std[rows], self.leak[rows], self.leak_profile, self.runs, self.topics)

    def shifts(self, person: int) -> tuple[Array, Array]:
        """Return the distinct |h| > 0 of one person and how often each occurs, for a unit change on every topic."""
        rows = self._rows(person)
        with np.errstate(invalid="ignore"):
            # 0 · ∞ is NaN and left out below: a shift of step 1 that is not counted, of an insider's neighbour.
            # Opinions on several topics may shift the same draw, at most by the sum of the moduli.
            leaked = self._heard(rows).ravel()
        own = divide(np.abs(self.own[:, rows] if self.own.shape[1] > 1 else self.own), self.std[rows])
        # All laws with a finite ε are symmetric, so only the size of a shift matters.
        every = np.concatenate([np.broadcast_to(own, (len(own), self.topics)).ravel(), leaked])
        # Equal shifts are composed by a power of one transform, which makes long runs of white noise cheap.
        values, counts = np.unique(every[every > 0], return_counts=True)
        return values, self.runs * counts.astype(np.float64)

    def _rows(self, person: int) -> slice:
        return slice(person * self.topics, (person + 1) * self.topics)

    def _heard(self, rows: slice) -> Array:
        """Return by how much each neighbour's draws move with every topic of a person by one, at most."""
        start, stop = self.leak.indptr[rows.start], self.leak.indptr[rows.stop]
        neighbours, place = np.unique(self.leak.indices[start:stop], return_inverse=True)
        sizes = np.bincount(place, np.abs(self.leak.data[start:stop]))
        return np.asarray(sizes * np.abs(self._profile(neighbours)), dtype=np.float64)

    def _profile(self, neighbours: NDArray[np.int32]) -> Array:
        """Return the leak profiles of some agents, or the one that all have."""
        return self.leak_profile if self.leak_profile.shape[1] == 1 else self.leak_profile[:, neighbours]

    def _information(self, person: int) -> Array:
        """Return the Fisher information about one person's opinions when all others are known, (topics, topics)."""
        one = self.of(person)
        own, leaked = np.diag(replace(one, topics=1).own_squares), one.leak
        if not leaked.nnz:
            return own
        neighbours = np.unique(leaked.indices)
        with np.errstate(invalid="ignore"):
            dense = leaked[:, neighbours].toarray() * np.sqrt(np.sum(self._profile(neighbours) ** 2, axis=0))
        if not np.isfinite(dense).all():
            return np.full_like(own, np.inf)
        return np.asarray(own + self.runs * (dense @ dense.T))


_MOST_VERTICES = 10  # topics up to which all vertices of the box are tried


def box_maximum(information: Array) -> float:
    """Return the largest dᵀJd over |d_p| ≤ 1: at a vertex, as J is convex, or an upper bound for many topics.

    >>> box_maximum(np.array([[2.0, -0.5], [-0.5, 1.0]]))
    4.0
    """
    q = len(information)
    if np.isinf(information).any():
        return float(np.inf)
    if q > _MOST_VERTICES:
        return float(np.abs(information).sum())
    # d and −d have the same value, so the sign of the first entry is free.
    signs = np.ones((2 ** (q - 1), q))
    signs[:, 1:] -= 2.0 * (np.arange(2 ** (q - 1))[:, None] >> np.arange(q - 1) & 1)
    return float(np.einsum("vi,ij,vj->v", signs, information, signs, optimize=True).max())


def model_shifts(
    model: Model,
    steps: int,
    *,
    first: float = 1.0,
    sees_start: bool = False,
    runs: int = 1,
    insiders: NDArray[np.bool_] | None = None,
    topics: int = 1,
) -> Shifts:
    """Return the shifts of every agent; ``first`` multiplies those of step 1, and insiders have no noise to hide in."""
    if sees_start and isinstance(model.start, str):
        return shifts_of_information(np.full(model.n // topics, np.inf))
    noise, n = model.noise, model.n
    std = noise.deviations(n)
    share = retained(model, steps - 1)
    if model.keeps:
        seen = np.array([update.gain > 0 for update in model.updates(range(1, steps + 1))])
        own = _seen_shifts(noise, divide(share, noise.scale(np.arange(1, steps + 1))[:, None]), seen)
        profile = _seen_shifts(noise, np.eye(steps, 1), seen) if noise.autocorrelation else np.ones((1, 1))
        own[0, shows_start(model)] = np.inf
    else:
        own, profile = own_shifts(noise, steps, share), _leak_profile(noise, steps)
    # In place: all of these are fresh arrays.
    own[0] *= first
    profile[0] *= first
    # Row i has the neighbours that respond to agent i.
    leak = sparse.csr_array((n, n))
    if leaks_at_first_step(model):
        # ρ₁A_ji/s_j in units of the noise of the neighbour j, which is the one that responds.
        unknown = std if insiders is None else np.where(insiders, 0.0, std)
        response = divide(float(model.pressure(1)) / model.s, unknown * float(noise.scale(1)))
        # Not a product, as the response of an insider is infinite.
        response = np.where(_responds(model), response, 0.0)
        # With its sign, since several topics of a person may act on the same neighbour.
        leak = sparse.csr_array(model.update(1).transposed @ sparse.diags_array(response))
        leak.eliminate_zeros()
    return Shifts(own, std, leak, profile, runs, topics)


def _seen_shifts(noise: Noise, moves: Array, seen: NDArray[np.bool_]) -> Array:
    """Return the shifts of draws where v_t = ε_t/scale_t, moved by ``moves``, is seen at some steps; (steps, agents).

    What is kept shows no draw. If v_p and v_t are seen one after the other, v_t − φ^(t−p) v_p shows one sum of the
    draws between, Σ c_j w_j, and its shift m. It is a function of those draws with any shifts h for which
    Σ c_j h_j = m; the shortest h are counted, which are exact for normal draws, and safe for others.
    """
    phi, moves = noise.autocorrelation, np.broadcast_to(moves, seen.shape)
    if not phi or not np.isfinite(moves).all():
        # An infinite move has no noise to hide it, whatever else is seen.
        return np.where(seen, moves, 0.0)
    shifts, last, link = np.zeros(seen.shape), np.zeros(seen.shape[1]), np.zeros(seen.shape[1])
    for t, shown in enumerate(seen):
        # Where ``link`` is 0 nothing was seen before, and the sum has the law of noise itself, of variance Σ c² = 1.
        shift = divide(moves[t] - link * last, (1 - link) * (1 + link))
        shifts[t] = np.where(shown, shift, 0.0)
        last, link = np.where(shown, moves[t], last), np.where(shown, 1.0, link) * phi
    innovation, carried = float(innovation_std(phi)), np.zeros(seen.shape[1])
    for t in range(len(seen) - 1, -1, -1):
        carried = np.where(seen[t], shifts[t], phi * carried)
        # Frozen noise has no later draws: what differs from before is shown, and all else is the first draw.
        shifts[t] = carried if t == 0 else np.where(np.isinf(carried), np.inf, innovation * np.nan_to_num(carried))
    return shifts


def shifts_of_information(squares: Array) -> Shifts:
    """Return shifts of which only Σ h² is known, agent by agent, as is enough for normal noise."""
    n = squares.size
    return Shifts(np.sqrt(squares)[None, :], np.ones(n), sparse.csr_array((n, n)), np.ones((1, 1)))


def mixes_draws(noise: Noise) -> bool:
    """Return whether step 1 has a law of its own: AR(1) noise that is not normal begins with φ u₀ + √(1−φ²) w₁."""
    return 0 < abs(noise.autocorrelation) < 1 and not isinstance(noise, Gaussian)


def safe_factor(noise: Noise) -> float:
    """Return the factor of the shifts of step 1 with which no guarantee is too good.

    If two draws mix, hiding under either alone is harder than under both, so the shift is counted as under the
    wider one. A factor of 0 leaves step 1 out, for bounds from below.
    """
    phi = noise.autocorrelation
    return 1.0 / max(abs(phi), float(innovation_std(phi))) if mixes_draws(noise) else 1.0


def own_shifts(noise: Noise, steps: int, share: Array | None = None) -> Array:
    """Return the shifts of the draws behind noise of unit std when x₀ moves by one; (steps, agents).

    ``share`` is π_{t−1}, the share of x₀ left at step t, and 1 unless given; one column serves all. Σ h² = πᵀK⁻¹π: for
    constant opinions Σ 1/scale_t² under white noise, 1 + (T − 1)(1 − φ)/(1 + φ) under AR(1) of constant scale, and 1
    under frozen noise of constant scale.
    """
    return Whitening.of(noise, np.arange(1, steps + 1)).apply(np.ones((steps, 1)) if share is None else share)


def _leak_profile(noise: Noise, steps: int) -> Array:
    """Return what a unit shift at step 1 alone becomes: itself, and its absence from step 2 if noise has a memory."""
    if not noise.autocorrelation or steps == 1:
        return np.ones((1, 1))
    return np.array([[1.0], [float(divide(noise.autocorrelation, innovation_std(noise.autocorrelation)))]])
