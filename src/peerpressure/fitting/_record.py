"""A record of public opinions as rows at successive steps, the first of which is given and the others are explained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.recovery.digits import AS_ANSWERS, grid_note, spacing_of_rows, spoils
from peerpressure.recovery.observation import answered

# Rows with which hidden opinions, noise and one parameter can be told apart: the given one and two more.
LEAST_ROWS = 3


@final
@dataclass(frozen=True)
class Errors:
    """How answers are seen: on a grid of ``spacing``, as points of a ``scale``, with measurement noise or without."""

    spacing: float = 0.0
    scale: tuple[float, float] | None = None
    is_measured: bool = False


@final
@dataclass(frozen=True, eq=False)
class Panel:
    """Public opinions of all agents at successive steps.

    The first row is given. So is the first answer of an agent who has none in that row. All other answers are scored.

    Attributes
    ----------
    model : Model
        Network and stubbornness; its other parts are not used.
    steps : array of int, (T + 1,)
        The steps of the rows, each one more than the last.
    rows : array, (T + 1, n)
        Public opinions, NaN where an answer is missing.
    public_start : bool
        Whether the first row is the start of the model, rather than an answer to a start that was not observed.
    errors : Errors or None
        How answers are seen; None for exact ones.
    """

    model: Model
    steps: NDArray[np.int64]
    rows: Array
    public_start: bool = False
    errors: Errors | None = None

    @property
    def network(self) -> Network:
        """Who listens to whom, or ever does."""
        return self.model.network

    @property
    def stubbornness(self) -> Array:
        """Weight of an agent's own opinion, (n,)."""
        return self.model.s

    @property
    def n(self) -> int:
        """The number of agents."""
        return int(self.rows.shape[1])

    @property
    def length(self) -> int:
        """The number of rows after the first."""
        return int(self.rows.shape[0]) - 1

    @cached_property
    def scored(self) -> NDArray[np.bool_]:
        """Which answers are scored, (T, n)."""
        present = np.isfinite(self.rows)
        before = np.cumsum(present, axis=0)[:-1] > 0
        return np.asarray(present[1:] & before)

    @property
    def count(self) -> int:
        """The number of scored answers."""
        return int(self.scored.sum())

    @property
    def common_parameters(self) -> int:
        """The number of parameters of models without pressure: coefficients of first answers, λ and σ."""
        return int(self.regressors.shape[1]) + 2

    @property
    def t(self) -> Array:
        """The steps of the rows after the first, as floats."""
        return self.steps[1:].astype(np.float64)

    def bic(self, k: int, log_likelihood: float) -> float:
        """Return Schwarz's criterion of a model with k parameters."""
        return k * float(np.log(self.count)) - 2 * log_likelihood

    @cached_property
    def is_complete(self) -> bool:
        """Whether no answer is missing."""
        return bool(np.isfinite(self.rows).all())

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of the answers: that they lie on a grid which is coarse beside their noise."""
        if self.errors is not None:
            return ()
        spacing, changes = spacing_of_rows(self.rows), np.diff(self.rows, axis=0)
        changes = changes[np.isfinite(changes)]
        # Changes have at least the noise of one answer, and twice its variance where answers are independent.
        noise = np.sqrt(np.square(changes).mean() / 2) if changes.size else 0.0
        if spacing is None or not noise or not spoils(spacing, np.array([noise])):
            return ()
        effect = "and are taken as exact, which makes peer pressure look weaker than it is"
        note = grid_note(spacing, effect, AS_ANSWERS)
        return (f"{note[0].upper()}{note[1:]}.",)

    @cached_property
    def first(self) -> Array:
        """The first answer of each agent, (n,); the mean of all for one who never answered."""
        present = np.isfinite(self.rows)
        answers = self.rows[np.argmax(present, axis=0), np.arange(self.n)]
        return np.asarray(np.where(present.any(axis=0), answers, np.nanmean(answers)))

    @cached_property
    def last(self) -> Array:
        """The last answer of each agent, (n,)."""
        present = np.isfinite(self.rows)[::-1]
        answers = self.rows[::-1][np.argmax(present, axis=0), np.arange(self.n)]
        return np.where(present.any(axis=0), answers, self.first)

    @cached_property
    def filled(self) -> Array:
        """The rows with the last answer before, or else the first one, in place of those that are missing."""
        filled = self.rows.copy()
        filled[0] = self.first
        for row in range(1, filled.shape[0]):
            filled[row] = np.where(np.isfinite(filled[row]), filled[row], filled[row - 1])
        return filled

    def adjacency(self, row: int) -> sparse.csr_array:
        """Return the weights with which agents listen to one another at a row after the first, counted from 1."""
        return self.model.adjacency_at(int(self.steps[row]))

    @cached_property
    def listening(self) -> tuple[sparse.csr_array, ...]:
        """The adjacency over the stubbornness at each row after the first."""
        return tuple(self._over_stubbornness(row) for row in range(1, self.length + 1))

    def _over_stubbornness(self, row: int) -> sparse.csr_array:
        A = self.adjacency(row)
        weights = np.asarray(A.data, dtype=np.float64) / np.repeat(self.stubbornness, np.diff(A.indptr))
        return sparse.csr_array((weights, A.indices, A.indptr), shape=A.shape)

    @cached_property
    def degrees(self) -> Array:
        """The degrees of the agents at each row after the first, (T, n)."""
        return np.array([self.model.degrees_at(int(step)) for step in self.steps[1:]], dtype=np.float64)

    @cached_property
    def slope(self) -> Array:
        """The degrees over the stubbornness, (T, n)."""
        return np.asarray(self.degrees / self.stubbornness)

    @cached_property
    def coupling(self) -> Array:
        """The differences d y_t − A_t y_{t−1} over the stubbornness, (T, n), NaN where an answer is missing."""
        return np.asarray(self.slope * self.rows[1:] - self._around(self.rows) / self.stubbornness)

    def _around(self, rows: Array) -> Array:
        """Return the sums of the neighbours' opinions before each row after the first, (T, n)."""
        return np.array([self.adjacency(row) @ rows[row - 1] for row in range(1, self.length + 1)])

    @cached_property
    def neighbours_last(self) -> Array:
        """The means of the neighbours' last answers before each scored row, (T, n); NaN without neighbours."""
        around, degrees = self._around(self.filled), self.degrees
        return np.asarray(np.divide(around, degrees, out=np.full_like(around, np.nan), where=degrees > 0))

    @cached_property
    def neighbours_first(self) -> Array:
        """The mean of the neighbours' first answers, (n,); the mean of all for an agent without neighbours."""
        mean = self.neighbours_last[0]
        return np.asarray(np.where(np.isnan(mean), self.first.mean(), mean))

    @cached_property
    def regressors(self) -> Array:
        """What hidden opinions are expected to depend on, (n, k): a constant, own and neighbours' first answers."""
        columns = [np.ones(self.n), self.first]
        if self.slope.any():
            columns.append(self.neighbours_first)
        return np.column_stack(columns)

    @cached_property
    def columns(self) -> Array:
        """The regressors as orthonormal columns, (n, k)."""
        return unit_columns(self.regressors)


def unit_columns(regressors: Array) -> Array:
    """Return orthonormal columns that span regressors; answers that are all alike have no slope of their own."""
    U, sizes, _ = np.linalg.svd(regressors, full_matrices=False)
    return np.asarray(U[:, sizes > np.finfo(np.float64).eps * max(regressors.shape) * sizes[0]])


def panel(
    model: Model, times: NDArray[Any], states: Array, *, public_start: bool = False, errors: Errors | None = None
) -> Panel:
    """Return a record as a panel, with empty rows for steps that were not recorded.

    Parameters
    ----------
    model : Model
        Network and stubbornness.
    times : array of int, (T,)
        Recorded steps in increasing order.
    states : array, (T, n)
        Public opinions, NaN where an answer is missing.
    public_start : bool
        Whether the first row is the start of the model; it is step 0 then.
    errors : Errors, optional
        How answers are seen.

    Raises
    ------
    InvalidInputError
        If there are too few rows, or answers that are not finite or all the same.
    """
    _check_values(times, states)
    steps = np.arange(int(times[0]), int(times[-1]) + 1)
    rows = np.full((steps.size, states.shape[1]), np.nan)
    rows[np.asarray(times, dtype=np.int64) - steps[0]] = states
    made = Panel(model, steps - steps[0] * public_start, rows, public_start, errors)
    answering = made.scored.sum(axis=0)
    if made.count < made.n + int((answering > 0).sum()) or answering.max() < 2:
        rule = f"a comparison of models needs {LEAST_ROWS} rows or more in which most agents answer"
        got = f"{made.count} answers after the first ones of {made.n} agents"
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or leave out agents who rarely answer"))
    return made


def answers_on(states: Array, errors: Errors, times: NDArray[Any]) -> Array:
    """Return answers, (T, n), as the observer sees them: as they are, rounded, or as points of a scale."""
    return np.asarray(answered(states[None], errors.spacing, errors.scale, times)[0])


def _check_values(times: NDArray[Any], states: Array) -> None:
    if times.size < LEAST_ROWS:
        rule = f"a comparison of models needs {LEAST_ROWS} rows or more: one that is given, and two that are explained"
        remedy = "add waves; a public start uses step 0, a hidden one does not"
        raise InvalidInputError(message(rule, got=f"{times.size}", remedy=remedy), argument="start")
    if np.isinf(states).any():
        rule, remedy = "answers must be finite, or missing", "repair or remove it"
        raise InvalidInputError(message(rule, got="an infinite one", remedy=remedy))
    moved = np.nanmax(states, axis=0, initial=-np.inf) > np.nanmin(states, axis=0, initial=np.inf)
    if not moved.any():
        rule = "answers must change over time, or there is nothing to explain"
        remedy = "check the column of answers, and that rows differ in their time"
        raise InvalidInputError(message(rule, got="the same answer of each agent at all steps", remedy=remedy))


def own_series(rows: Array, coupling: Array, rho: Array, rate: Array | None) -> tuple[Array, Array]:
    """Return u_t = y_t + ρ_t (d y_t − A y_{t−1})/s − k_{t−1} = π_{t−1} x + σ ε_t of every agent, and π_{t−1}, (T, n).

    ``rows`` are those after the first, ``coupling`` is (d y_t − A y_{t−1})/s, and ``rho`` is (T, 1).
    """
    u, pi = rows + rho * coupling, np.ones_like(rows)
    if rate is not None:
        adopted, pi = adopted_part(rows, rate)
        u -= adopted
    return u, pi


def one_step_errors(u: Array, pi: Array, scored: NDArray[np.bool_], mean: Array, spread: float) -> Array:
    """Return u_t − π_t x̂ with x̂ from the scored u before each row and x ~ N(mean, spread · σ²), (T, n)."""
    information = np.full(mean.size, 1 / max(spread, 1e-12))
    total, off = mean * information, np.empty_like(u)
    for row, there in enumerate(scored):
        off[row] = u[row] - pi[row] * total / information
        information = information + there * pi[row] ** 2
        total = total + there * pi[row] * u[row]
    return off


def adopted_part(path: Array, rate: Array) -> tuple[Array, Array]:
    """Return k_{t−1} and π_{t−1}, with k_t = k_{t−1} + η (y_t − k_{t−1}) and π_t = (1 − η) π_{t−1}, of every step."""
    adopted, pi = np.zeros_like(path), np.ones(rate.shape)
    np.cumprod(1 - rate[:-1], axis=0, out=pi[1:])
    for row in range(1, path.shape[-2]):
        before = adopted[..., row - 1, :]
        adopted[..., row, :] = before + rate[row - 1] * (path[..., row - 1, :] - before)
    return adopted, pi
