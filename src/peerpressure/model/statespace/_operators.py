"""The operators of the state-space form: layout of the state, one step forwards and back, and the initial state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from peerpressure.model.step import Array, StateLayout, Update, column_product, in_columns


class Transition(ABC):
    """One step z_t = F z_{t−1} + B x₀ + G w_t, as an operator.

    Columns are arrays of shape (entries,) or (entries, m), in any memory order: C-ordered rows are passed as their
    transpose at no cost. They may leave out the noise memory, as columns of y and x only: it counts as 0 then, and the
    result leaves it out, too.

    Attributes
    ----------
    layout : StateLayout
        The layout of z.
    noise_std : array of shape (agents,)
        Standard deviation of each public opinion given z_{t−1} without its noise memory.

    See Also
    --------
    transitions : The steps of a system.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import Transition, transitions
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> step = next(transitions(model, 1))
    >>> isinstance(step, Transition), step.forward(model.start_state, hidden=model.x0)
    (True, array([1.5, 1.5]))
    """

    layout: StateLayout
    noise_std: Array

    @property
    def draws(self) -> int:
        """The number of entries of w_t: 0 if noise is frozen, one per agent in discrete time."""
        return self.layout.agents

    @abstractmethod
    def forward(self, columns: Array, hidden: Array | None = None, noise: Array | None = None) -> Array:
        """Return F Z + B X + G W.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.
        hidden : array of shape (agents,) or (agents, m), optional
            Hidden opinions X; 0 by default.
        noise : array of shape (draws,) or (draws, m), optional
            Independent draws W of unit variance; 0 by default.

        Returns
        -------
        array
            The columns after the step, in the shape of ``columns``.
        """

    @abstractmethod
    def adjoint(self, columns: Array) -> Array:
        """Return Fᵀ Z.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.

        Returns
        -------
        array
            The product, in the shape of ``columns``.
        """

    @abstractmethod
    def hidden_adjoint(self, columns: Array) -> Array:
        """Return Bᵀ Z.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.

        Returns
        -------
        array of shape (agents,) or (agents, m)
            The product.
        """

    @abstractmethod
    def noise_adjoint(self, columns: Array) -> Array:
        """Return Gᵀ Z.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.

        Returns
        -------
        array of shape (draws,) or (draws, m)
            The product.
        """

    @abstractmethod
    def hidden_input(self) -> Array:
        """Return B as a dense matrix, (states, agents)."""

    @abstractmethod
    def noise_input(self) -> Array:
        """Return G as a dense matrix, (states, draws)."""

    @abstractmethod
    def spread_bound(self, bound: Array) -> Array:
        """Return a bound on the std of y and x after the step, from one before it; noise memory left out.

        Parameters
        ----------
        bound : array of shape (entries,)
            Bound on the standard deviations before the step.

        Returns
        -------
        array of shape (entries,)
            Bound on those after it.
        """


@final
@dataclass(frozen=True, eq=False)
class ModelTransition(Transition):
    """One step of the discrete model, in O(edges) for each column.

    Parameters
    ----------
    layout : StateLayout
        The layout of z.
    update : Update
        Gain, coupling and rate of adaptation of the step.
    noise_std : array of shape (agents,)
        Standard deviation of each public opinion given z_{t−1} without its noise memory.
    phi : float
        Autocorrelation of the noise at lag one, from −1 to 1.

    See Also
    --------
    statespace.transition : The step of a model that leads to a time.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import transition
    >>> transition(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0)), 1).noise_std
    array([0.5, 0.5])
    """

    layout: StateLayout
    update: Update
    noise_std: Array
    phi: float

    @property
    def draws(self) -> int:
        """The number of entries of w_t: 0 if noise is frozen, else one per agent."""
        return 0 if self.phi == 1 else self.layout.agents

    @cached_property
    def _innovation_std(self) -> float:
        """√(1−φ²), the part of u_t that is drawn at step t."""
        # Factored, because 1 − φ² cancels for φ near 1.
        return math.sqrt((1 - self.phi) * (1 + self.phi))

    @property
    def noise_weights(self) -> Array:
        """The weights of an agent's u_t in its own y_t and, where that is in the state, x_{t+1}; (1 or 2, agents)."""
        if not self.layout.has_hidden:
            return self.noise_std[None]
        rate = self.update.adaptation_rate
        return np.stack([self.noise_std, np.zeros_like(self.noise_std) if rate is None else rate * self.noise_std])

    def forward(self, columns: Array, hidden: Array | None = None, noise: Array | None = None) -> Array:
        """Return F Z + B X + G W for Z (states, m), X (agents, m) and W (draws, m)."""
        at, update, n = self.layout, self.update, self.layout.agents
        if columns.shape[0] == n:
            # The usual case, public opinions only: conjugate gradients call it so often that every operation counts.
            out = update.couple(columns)
            if noise is not None:
                out += in_columns(self.noise_std, columns) * noise
            if hidden is not None:
                out += in_columns(update.gain, columns) * hidden
            return out
        coupled = column_product(update.adjacency, columns[:n])
        out = np.empty_like(columns)
        public = np.multiply(in_columns(update.coupling_scale, columns), coupled, out=out[:n])
        update.keep(public, columns[:n])
        # Columns may leave out the noise memory, which is decided by their length.
        if columns.shape[0] > at.memory.start:
            memory = np.multiply(columns[at.memory], self.phi, out=out[at.memory])
            if noise is not None and self.draws:
                # u_t first, since y_t contains the noise of its own step.
                memory += self._innovation_std * noise
            public += in_columns(self.noise_std, columns) * memory
        elif noise is not None:
            public += in_columns(self.noise_std, columns) * noise
        preferred = columns[at.hidden] if at.has_hidden else hidden
        if preferred is not None:
            # The product is no longer needed, and large arrays cost more to allocate than to fill.
            public += np.multiply(in_columns(update.gain, columns), preferred, out=coupled)
        # After y_t, because x_{t+1} adapts to the y_t of this step.
        if at.has_hidden:
            self._adapt(columns[at.hidden], public, out[at.hidden])
        return out

    def adjoint(self, columns: Array) -> Array:
        """Return Fᵀ Z for Z (states, m)."""
        # Public opinions are never overwritten; only longer states need a copy.
        return self.adjoint_inplace(columns if columns.shape[0] == self.layout.agents else columns.copy(order="K"))

    def adjoint_inplace(self, columns: Array) -> Array:
        """Return Fᵀ Z for columns that may be overwritten."""
        if columns.shape[0] == self.layout.agents:
            return self.update.couple_adjoint(columns)
        return self.adjoints_inplace(columns, with_noise=False)[0]

    def adjoints_inplace(self, columns: Array, *, with_noise: bool = True) -> tuple[Array, Array]:
        """Return Fᵀ Z and Gᵀ Z, which share most of their work, for columns that are overwritten."""
        # Large arrays cost more to allocate than to fill; make as few as possible.
        at, update, rate = self.layout, self.update, self.update.adaptation_rate
        public, hidden = columns[at.public], columns[at.hidden]
        # Transposes of the parts of a step, in reverse order: adaptation, then coupling and gain, then noise.
        if at.has_hidden and rate is not None:
            public += in_columns(rate, columns) * hidden
            hidden *= in_columns(1 - rate, columns)
        # Cᵀ = Aᵀ diag(c) + diag(kept).
        work = in_columns(update.coupling_scale, columns) * public
        coupled = update.keep(column_product(update.transposed, work), public)
        if at.has_hidden:
            hidden += np.multiply(in_columns(update.gain, columns), public, out=work)
        remembers = columns.shape[0] > at.memory.start
        noise = work
        if with_noise or remembers:
            np.multiply(in_columns(self.noise_std, columns), public, out=noise)
        if remembers:
            noise += columns[at.memory]
            # u_{t−1} enters through φ u_{t−1} only.
            np.multiply(noise, self.phi, out=columns[at.memory])
        if columns.shape[0] > at.agents:
            # Last, since gain and noise above still read the weights of y_t.
            public[...] = coupled
            coupled = columns
        return coupled, self._innovations(noise)

    def hidden_adjoint(self, columns: Array) -> Array:
        """Return Bᵀ Z, (agents, m), for Z (states, m); 0 where x₀ enters at the start only."""
        if self.layout.has_hidden:
            return np.zeros_like(columns[self.layout.public])
        return np.asarray(in_columns(self.update.gain, columns) * columns[self.layout.public])

    def noise_adjoint(self, columns: Array) -> Array:
        """Return Gᵀ Z, (draws, m), for Z (states, m)."""
        return self._innovations(self._noise_weight(columns, self._public_weight(columns)))

    def _noise_weight(self, columns: Array, public: Array) -> Array:
        """Return the weight of u_t in Zᵀz_t, through y_t and as noise memory."""
        weight = np.asarray(in_columns(self.noise_std, columns) * public)
        if columns.shape[0] > self.layout.memory.start:
            weight += columns[self.layout.memory]
        return weight

    def _innovations(self, noise: Array) -> Array:
        """Return the weights of w_t from those of u_t, in the same array."""
        # White noise has an innovation of 1; the multiplication is saved.
        if self.phi:
            noise *= self._innovation_std
        # Frozen noise has no draws after the start, and an empty result.
        return noise[: self.draws]

    def hidden_input(self) -> Array:
        """Return B as a dense matrix, (states, agents)."""
        gain = 0.0 if self.layout.has_hidden else self.update.gain
        return np.eye(self.layout.states, self.layout.agents) * gain

    def noise_input(self) -> Array:
        """Return G as a dense matrix, (states, draws)."""
        return self.forward(np.zeros((self.layout.states, self.draws)), noise=np.eye(self.draws))

    def spread_bound(self, bound: Array) -> Array:
        """Return a bound on the std of y and x after the step, from one before it; noise memory left out."""
        # Every entry of |C|, g and η lies in [0, 1], so the step itself bounds what it adds up.
        n = self.layout.agents
        public = self.noise_std + self.update.absolute.couple(bound[:n])
        if not self.layout.has_hidden:
            return public
        public = public + self.update.gain * bound[n:]
        return np.concatenate([public, self._adapt(bound[n:], public, np.empty(n))])

    def _adapt(self, hidden: Array, public: Array, out: Array) -> Array:
        """Write x + η ∘ (y − x) to ``out``."""
        # None if hidden opinions are in the state but constant.
        rate = self.update.adaptation_rate
        if rate is None:
            out[...] = hidden
            return out
        np.subtract(public, hidden, out=out)
        out *= in_columns(rate, public)
        out += hidden
        return out

    def _public_weight(self, columns: Array) -> Array:
        """Return the weight of y_t in Zᵀz_t, directly and through the hidden opinions that adapt to it."""
        public, rate = columns[self.layout.public], self.update.adaptation_rate
        if not self.layout.has_hidden or rate is None:
            return public
        return np.asarray(public + in_columns(rate, columns) * columns[self.layout.hidden])


@final
@dataclass(frozen=True, eq=False)
class DenseTransition(Transition):
    """One step z_t = F z_{t−1} + B x₀ + G w_t with dense matrices: a step of the SDE.

    Parameters
    ----------
    layout : StateLayout
        The layout of z.
    matrix : array of shape (states, states)
        The matrix F.
    hidden_matrix : array of shape (states, agents)
        The matrix B.
    noise_root : array of shape (states, draws)
        The matrix G.

    See Also
    --------
    sde.transition : The law of a step in continuous time.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.model.statespace import DenseTransition, StateLayout
    >>> step = DenseTransition(StateLayout(2), 0.5 * np.eye(2), 0.5 * np.eye(2), 0.1 * np.eye(2))
    >>> step.forward(np.array([1.0, 2.0])), step.noise_std
    (array([0.5, 1. ]), array([0.1, 0.1]))
    """

    layout: StateLayout
    matrix: Array
    hidden_matrix: Array
    noise_root: Array
    noise_std: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_std", self._spread[self.layout.public])

    @cached_property
    def _spread(self) -> Array:
        """Standard deviations of y and x given z_{t−1} without its noise memory, which has unit variance."""
        opinions = slice(0, self.layout.memory.start)
        # Rows of a root of the covariance: their norms are the standard deviations.
        root = np.concatenate([self.matrix[opinions, self.layout.memory], self.noise_root[opinions]], axis=1)
        return np.asarray(np.linalg.norm(root, axis=1))

    @property
    def draws(self) -> int:
        """The number of entries of w_t, up to that of z."""
        return int(self.noise_root.shape[1])

    def forward(self, columns: Array, hidden: Array | None = None, noise: Array | None = None) -> Array:
        """Return F Z + B X + G W for Z (states, m), X (agents, m) and W (draws, m)."""
        size = columns.shape[0]
        out = self._matrix(size) @ columns
        for matrix, values in ((self.hidden_matrix, hidden), (self.noise_root, noise)):
            if values is not None:
                out += matrix[:size] @ values
        return np.asarray(out)

    def adjoint(self, columns: Array) -> Array:
        """Return Fᵀ Z for Z (states, m)."""
        return np.asarray(self._matrix(columns.shape[0]).T @ columns)

    def _matrix(self, size: int) -> Array:
        # Columns may leave out the noise memory, which is decided by their length.
        return self.matrix if size == self.layout.states else self.matrix[:size, :size]

    def hidden_adjoint(self, columns: Array) -> Array:
        """Return Bᵀ Z, (agents, m)."""
        return np.asarray(self.hidden_matrix[: columns.shape[0]].T @ columns)

    def noise_adjoint(self, columns: Array) -> Array:
        """Return Gᵀ Z, (draws, m)."""
        return np.asarray(self.noise_root[: columns.shape[0]].T @ columns)

    def hidden_input(self) -> Array:
        """Return B, (states, agents)."""
        return self.hidden_matrix

    def noise_input(self) -> Array:
        """Return G, (states, draws)."""
        return self.noise_root

    def spread_bound(self, bound: Array) -> Array:
        """Return a bound on the std of y and x after the step, from one before it; noise memory left out."""
        # Standard deviations are subadditive whatever the correlations, so this is a bound.
        return np.asarray(self._spread + np.abs(self._matrix(bound.size)) @ bound)


@final
@dataclass(frozen=True, eq=False)
class AveragedStep:
    """A step: ``averaged`` over who updates, and ``synchronous``, as it is for those who do.

    With the change δ_t = g_t ∘ (x + ε_t) + C_t y_{t−1} − y_{t−1} of those who update, and masks m_t of mean q that are
    independent of it, y_t = (y_{t−1} + q ∘ δ_t) + (m_t − q) ∘ δ_t. The first part is an affine map with the gain q ∘ g,
    the coupling QC and the share 1 − q of the old opinion; the second has mean 0, is uncorrelated with everything of
    the past, and has the covariance Cov(m) ∘ E[δδᵀ].

    ``masks`` is the covariance of the masks, (agents, agents); None if it is known who updates, and both are one.
    """

    averaged: ModelTransition
    synchronous: ModelTransition
    masks: Array | None

    def added_by_chance(self, mean: Array, P: Array, R: Array, hidden: Array) -> Array | None:
        """Return the covariance that the masks add to the public opinions, Cov(m) ∘ E[δδᵀ], (agents, agents).

        ``mean`` and ``P`` are the mean and covariance of the state before the step, and ``R`` its covariance with the
        noise memory.
        """
        if self.masks is None:
            return None
        n, N, phi = len(self.masks), self.synchronous.noise_std, self.synchronous.phi
        expected = self._change(mean, hidden)
        covariance = self._change(np.ascontiguousarray(self._change(P).T))
        if R.size:
            cross = phi * self._change(R) * N
            covariance += cross + cross.T
        covariance[np.diag_indices(n)] += N**2
        covariance += np.outer(expected, expected)
        covariance *= self.masks
        return covariance

    def _change(self, columns: Array, hidden: Array | None = None) -> Array:
        n = self.synchronous.layout.agents
        return np.asarray(self.synchronous.forward(columns, hidden=hidden)[:n] - columns[:n])

    @property
    def reaches(self) -> Array:
        """The weights of an agent's own y_t in y_t and, where that is in the state, x_{t+1}; (1 or 2, agents)."""
        rate, n = self.averaged.update.adaptation_rate, self.averaged.layout.agents
        later = [] if not self.averaged.layout.has_hidden else [np.zeros(n) if rate is None else rate]
        return np.stack([np.ones(n), *later])


@final
@dataclass(frozen=True, eq=False)
class InitialState:
    """The state z_0 = a + B_0 x₀ + G_0 w_0 at time 0.

    The public part y₀ is x₀ or a given start, in the offset; x_1 is x₀; noise memory has its stationary variance 1, and
    w_0 its draws.

    Attributes
    ----------
    layout : StateLayout
        The layout of z.
    offset : array of shape (states,)
        The vector a.
    starts_from_hidden : bool
        Whether y₀ = x₀.

    See Also
    --------
    initial_state : That of a system.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import initial_state
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> initial_state(model).forward(hidden=model.x0)
    array([1., 2.])
    """

    layout: StateLayout
    offset: Array
    starts_from_hidden: bool

    @property
    def draws(self) -> int:
        """The number of entries of w_0: one per agent where noise has a memory."""
        return self.layout.agents * self.layout.has_memory

    def forward(self, hidden: Array | None = None, noise: Array | None = None) -> Array:
        """Return B_0 X + G_0 W, of which at least one is given.

        The shape is (states,) or (states, m).
        """
        given = hidden if hidden is not None else noise
        assert given is not None
        out = np.zeros((self.layout.states, *given.shape[1:]))
        if hidden is not None:
            out[self.layout.public] = hidden if self.starts_from_hidden else 0.0
            if self.layout.has_hidden:
                out[self.layout.hidden] = hidden
        if noise is not None and self.draws:
            # Unit variance: the stationary law of u, for AR(1) and frozen noise alike.
            out[self.layout.memory] = noise
        return out

    def hidden_adjoint(self, columns: Array) -> Array:
        """Return B_0ᵀ Z.

        The shape is (agents,) or (agents, m).
        """
        out = columns[self.layout.public] * float(self.starts_from_hidden)
        if self.layout.has_hidden:
            out += columns[self.layout.hidden]
        return np.asarray(out)

    def noise_adjoint(self, columns: Array) -> Array:
        """Return G_0ᵀ Z.

        The shape is (draws,) or (draws, m).
        """
        return columns[self.layout.memory]
