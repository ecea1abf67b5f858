"""The outputs as a sparse least-squares problem in x₀ and in every state that is not seen.

u_t = (y_t − C_t y_{t−1} − g_t ∘ x_t)/(g_t σ_t) has unit variance, and so has (u_t − φ u_{t−1})/√(1−φ²), for AR(1) noise
independently in time: one row for each agent and step. What is seen moves to the right-hand side. x_t is x₀, or where
opinions adapt x_t = π_{t−1} x₀ + (1 − η_{t−1}) k_{t−2} + η_{t−1} y_{t−1}, with carriers for the unseen part of k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import TooLargeError, complain
from peerpressure.model import Model, Vector
from peerpressure.recovery.adoption import Adopted, Turn
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.own_share import own_share
from peerpressure.theory.adjoint import persistence


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows Σ_s A_s y_s + K v + X x₀ = b + unit noise: ``states`` holds A_s by time s, ``values`` b, (rows, replicates).

    ``carried`` is K, where opinions adapt; ``turn`` says how carriers came from those of the step before.
    """

    states: Mapping[int, Any]
    hidden: Any
    values: Vector
    carried: Any = None
    turn: Turn | None = None

    @property
    def unknown(self) -> list[Any]:
        """All matrices on what is neither seen nor x₀."""
        return [*self.states.values(), *([] if self.carried is None else [self.carried])]

    def touching(self) -> NDArray[np.bool_]:
        """Return which rows touch a state at all."""
        touched = np.zeros(self.values.shape[0], dtype=bool)
        for matrix in self.unknown:
            touched |= np.diff(matrix.indptr) > 0
        return touched

    def part(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        states = {s: A[chosen] for s, A in self.states.items()}
        carried = None if self.carried is None else self.carried[chosen]
        return Rows(states, self.hidden[chosen], self.values[chosen], carried, self.turn)


@final
@dataclass(frozen=True, eq=False)
class SparseStates:
    """All least-squares rows of what is seen of a model, step by step."""

    model: Model
    data: Outputs

    def __post_init__(self) -> None:
        noise, last = self.model.noise, self.data.seen.last
        least = float(noise.deviations(self.model.n).min()) * float(noise.scale(np.arange(1, last + 1)).min(initial=1))
        if least == 0 or abs(self.depth_of_memory) == 1:
            what = "frozen noise" if least else "agents or steps without noise"
            rule = "partial outputs of a large network need noise that is drawn anew at every step"
            remedy = "use complete outputs with method='innovations', or a smaller network"
            raise TooLargeError(complain(rule, got=f"{what} among {self.model.n} agents", remedy=remedy))
        if self.depth_of_memory and self.model.adaptation is not None:
            rule = "partial outputs of a large network whose opinions adapt need white noise"
            remedy = "use complete outputs with method='innovations', or a smaller network"
            raise TooLargeError(complain(rule, got=f"{noise} among {self.model.n} agents", remedy=remedy))

    @property
    def depth_of_memory(self) -> float:
        """φ, how much noise stays from one step to the next."""
        return persistence(self.model.noise)

    @property
    def reach(self) -> int:
        """How many steps back from its own a row reaches."""
        return 2 if self.depth_of_memory else 1

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {int(t): row for row, t in enumerate(self.data.seen.times)}

    def unseen(self, t: int) -> NDArray[np.int64]:
        """Return the agents whose state at t is unknown; rounded outputs leave all unknown."""
        n = self.model.n
        if self.data.seen.blur or t not in self._row_of:
            return np.arange(n)
        return np.setdiff1d(np.arange(n), self.data.seen.agents[self.data.present[self._row_of[t]]])

    def __iter__(self) -> Iterator[Rows]:
        """Yield the rows of steps 0 (if it is seen, rounded), 1, 2, …."""
        if 0 in self._row_of:
            yield self._rounded(0)
        yield from self._constant() if self.model.adaptation is None else self._adapting()

    def _adapting(self) -> Iterator[Rows]:
        """Yield the rows of opinions that adapt; ``rate`` is η_{t−1} and ``adopted`` k_{t−2}."""
        n, replicates = self.model.n, self.data.values.shape[0]
        share = np.broadcast_to(own_share(self.model, self.data.seen.last), (self.data.seen.last + 1, n))
        adopted, turn, rate = Adopted.nothing(n, replicates), None, np.zeros(n)
        for t in range(1, self.data.seen.last + 1):
            states, hidden = self._unit_noise(t)
            followed, kept, own = (_columns_times(hidden, part) for part in (rate, 1 - rate, share[t - 1]))
            rows = self._split(states | {t - 1: states[t - 1] + followed}, own)
            carried = _columns_times(sparse.csr_array(kept[:, adopted.agents]), adopted.size)
            yield replace(rows, values=rows.values - kept @ adopted.seen, carried=carried, turn=turn)
            if self.data.seen.blur and t in self._row_of:
                yield self._rounded(t)
            if t > 1:
                unseen = self.unseen(t - 1)
                adopted, turn = adopted.after(rate, unseen, self._seen_part(t - 1, unseen))
            adaptation_rate = self.model.update(t).adaptation_rate
            rate = rate if adaptation_rate is None else adaptation_rate

    def _constant(self) -> Iterator[Rows]:
        before: tuple[dict[int, Any], Any] | None = None
        for t in range(1, self.data.seen.last + 1):
            now = self._unit_noise(t)
            yield self._split(*(_whitened(now, before, self.depth_of_memory) if before else now))
            before = now if self.depth_of_memory else None
            if self.data.seen.blur and t in self._row_of:
                yield self._rounded(t)

    def _unit_noise(self, t: int) -> tuple[dict[int, Any], Any]:
        """Return u_t as matrices on the states of t and t − 1 and on x₀."""
        update = self.model.update(t)
        sigma = self.model.noise.deviations(self.model.n) * self.model.noise.scale(t)
        weight = sparse.diags_array(1 / (update.gain * sigma), format="csr")
        return {t: weight, t - 1: -weight @ update.coupling}, sparse.diags_array(-1 / sigma, format="csr")

    def _split(self, states: dict[int, Any], hidden: Any) -> Rows:
        """Return rows in the unknowns alone."""
        n, replicates = self.model.n, self.data.values.shape[0]
        values = np.zeros((n, replicates))
        unknown: dict[int, Any] = {}
        for s, matrix in states.items():
            if s == 0 and isinstance(self.model.start, str):
                hidden = hidden + matrix
            elif s == 0:
                values -= (matrix @ self.model.start_state)[:, None]
            else:
                columns = self.unseen(s)
                unknown[s] = sparse.csr_array(matrix[:, columns])
                values -= matrix @ self._seen_part(s, columns)
        return self._without_known(unknown, sparse.csr_array(hidden), values)

    def _seen_part(self, s: int, unseen: NDArray[np.int64]) -> Vector:
        state = np.zeros((self.model.n, self.data.values.shape[0]))
        if unseen.size < self.model.n:
            state[self.data.seen.agents] = self.data.at(self._row_of[s]).T
            state[unseen] = 0.0
        return state

    def _rounded(self, t: int) -> Rows:
        """Return y_t/√blur = output/√blur + unit noise."""
        there = self.data.present[self._row_of[t]]
        weight = 1 / np.sqrt(self.data.seen.blur)
        each = sparse.csr_array(weight * sparse.eye_array(self.model.n, format="csr")[self.data.seen.agents[there]])
        values = weight * self.data.at(self._row_of[t])[:, there].T
        nothing = sparse.csr_array(each.shape)
        return self._without_known({t: each} if t else {}, nothing if t else each, values)

    def _without_known(self, states: dict[int, Any], hidden: Any, values: Vector) -> Rows:
        known = np.nan_to_num(self.data.known)
        free = self.data.seen.free
        return Rows(states, sparse.csr_array(hidden[:, free]), values - hidden @ known.T)


def _columns_times(matrix: Any, factors: Vector) -> Any:
    return sparse.csr_array(matrix @ sparse.diags_array(factors, format="csr"))


def _whitened(now: tuple[dict[int, Any], Any], before: tuple[dict[int, Any], Any], carry: float) -> Any:
    """Return (u_t − φ u_{t−1})/√(1−φ²)."""
    size = 1 / np.sqrt(1 - carry**2)
    states = {s: size * matrix for s, matrix in now[0].items()}
    for s, matrix in before[0].items():
        states[s] = states.get(s, 0 * matrix) - size * carry * matrix
    return states, size * (now[1] - carry * before[1])
