"""The model as a linear state-space model, for discrete and continuous time alike.

The state z = (y, x, u) has the public opinions y, the hidden opinions x where they adapt, and the memory u of the
noise where it is correlated in time. With n agents it has n, 2n or 3n entries, in this order, and moves by

    z_t = F_t z_{t−1} + B_t x₀ + G_t w_t,   z_0 = a + B_0 x₀ + G_0 w_0,   w_t independent, mean 0, variance I.

A step of the discrete `Model` with noise std σ_t and autocorrelation φ (0 if white, 1 if frozen) is

    u_t = φ u_{t−1} + √(1−φ²) w_t,
    y_t = C_t y_{t−1} + g_t ∘ x_t + g_t σ_t ∘ u_t,
    x_{t+1} = x_t + η_t ∘ (y_t − x_t),

so that z_t has x_{t+1}, the hidden opinions after step t. Where opinions are constant, x_t = x₀ enters through B_t;
where noise is white, u_t = w_t is no part of the state. A step of the `SDE` has dense F, B and G.

`initial_state` gives z_0 and `transitions` the steps; readers of either need not ask which kind of model it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, final
from weakref import WeakKeyDictionary

import numpy as np

from peerpressure.errors import ModelError, TooLargeError, message
from peerpressure.model import Model, Update, Vector
from peerpressure.networks import Network
from peerpressure.progress import checkpoint
from peerpressure.sde import SDE, StepLaw, exact_transitions

System: TypeAlias = Model | SDE

# Steps of an SDE have dense matrices of this many rows, and multiply them at every step.
LARGEST_SDE = 1_000
# SciPy multiplies a sparse matrix with few columns more slowly than column by column.
FEW_COLUMNS = 8
_BUILD = "build one first: Model(network, hidden=...)"
# Numbers in the steps that are kept for repeated passes, 64 MB.
KEPT_NUMBERS = 2**23
# Schedules are evaluated for so many steps at once.
STEPS_TOGETHER = 1024


@final
@dataclass(frozen=True)
class StateLayout:
    """Which entries of the state z are public opinions, hidden opinions and noise memory.

    Parameters
    ----------
    agents : int
        Number n of agents; public opinions are the first n entries.
    has_hidden : bool, default False
        Whether n hidden opinions follow.
    has_memory : bool, default False
        Whether n numbers of noise memory come last.

    See Also
    --------
    state_layout : The layout of a system.

    Examples
    --------
    >>> from peerpressure.statespace import StateLayout
    >>> layout = StateLayout(3, has_hidden=True)
    >>> layout.states, layout.public, layout.hidden
    (6, slice(0, 3, None), slice(3, 6, None))
    """

    agents: int
    has_hidden: bool = False
    has_memory: bool = False

    @cached_property
    def states(self) -> int:
        """The number of entries of z."""
        return self.agents * (1 + self.has_hidden + self.has_memory)

    @cached_property
    def public(self) -> slice:
        """The entries of y_t."""
        return slice(0, self.agents)

    @cached_property
    def hidden(self) -> slice:
        """The entries of x_{t+1}; empty where hidden opinions are no part of the state."""
        return slice(self.agents, self.agents * (1 + self.has_hidden))

    @cached_property
    def memory(self) -> slice:
        """The entries of u_t; empty where noise is white."""
        return slice(self.hidden.stop, self.states)


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
    >>> from peerpressure.statespace import Transition, transitions
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> step = next(transitions(model, 1))
    >>> isinstance(step, Transition), step.forward(model.start_state, hidden=model.x0)
    (True, array([1.5, 1.5]))
    """

    layout: StateLayout
    noise_std: Vector

    @property
    def draws(self) -> int:
        """The number of entries of w_t: 0 where noise is frozen, else one per agent."""
        return self.layout.agents

    @abstractmethod
    def forward(self, columns: Vector, hidden: Vector | None = None, noise: Vector | None = None) -> Vector:
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
    def adjoint(self, columns: Vector) -> Vector:
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
    def hidden_adjoint(self, columns: Vector) -> Vector:
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
    def noise_adjoint(self, columns: Vector) -> Vector:
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
    def hidden_input(self) -> Vector:
        """Return B as a dense matrix, (states, agents)."""

    @abstractmethod
    def noise_input(self) -> Vector:
        """Return G as a dense matrix, (states, draws)."""

    @abstractmethod
    def spread_bound(self, bound: Vector) -> Vector:
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
    >>> from peerpressure.statespace import transition
    >>> transition(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0)), 1).noise_std
    array([0.5, 0.5])
    """

    layout: StateLayout
    update: Update
    noise_std: Vector
    phi: float

    @property
    def draws(self) -> int:
        """The number of entries of w_t: 0 where noise is frozen, else one per agent."""
        return 0 if self.phi == 1 else self.layout.agents

    @cached_property
    def _innovation_std(self) -> float:
        """√(1−φ²), the part of u_t that is drawn at step t."""
        # Factored, because 1 − φ² cancels for φ near 1.
        return math.sqrt((1 - self.phi) * (1 + self.phi))

    @property
    def noise_weights(self) -> Vector:
        """The weights of an agent's u_t in its own y_t and, where that is in the state, x_{t+1}; (1 or 2, agents)."""
        if not self.layout.has_hidden:
            return self.noise_std[None]
        rate = self.update.adaptation_rate
        return np.stack([self.noise_std, np.zeros_like(self.noise_std) if rate is None else rate * self.noise_std])

    def forward(self, columns: Vector, hidden: Vector | None = None, noise: Vector | None = None) -> Vector:
        """Return F Z + B X + G W for Z (states, m), X (agents, m) and W (draws, m)."""
        at, update, n = self.layout, self.update, self.layout.agents
        if columns.shape[0] == n:
            # The usual case, public opinions only: conjugate gradients call it so often that every operation counts.
            out = _product(update.adjacency, columns)
            out *= _like(update.coupling_scale, columns)
            if noise is not None:
                out += _like(self.noise_std, columns) * noise
            if hidden is not None:
                out += _like(update.gain, columns) * hidden
            return out
        coupled = _product(update.adjacency, columns[:n])
        out = np.empty_like(columns)
        public = np.multiply(_like(update.coupling_scale, columns), coupled, out=out[:n])
        # Columns may leave out the noise memory, which is decided by their length.
        if columns.shape[0] > at.memory.start:
            memory = np.multiply(columns[at.memory], self.phi, out=out[at.memory])
            if noise is not None and self.draws:
                # u_t first, since y_t contains the noise of its own step.
                memory += self._innovation_std * noise
            public += _like(self.noise_std, columns) * memory
        elif noise is not None:
            public += _like(self.noise_std, columns) * noise
        preferred = columns[at.hidden] if at.has_hidden else hidden
        if preferred is not None:
            # The product is of no more use, and large arrays cost more to allocate than to fill.
            public += np.multiply(_like(update.gain, columns), preferred, out=coupled)
        # After y_t, because x_{t+1} adapts to the y_t of this step.
        if at.has_hidden:
            self._adapt(columns[at.hidden], public, out[at.hidden])
        return out

    def adjoint(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for Z (states, m)."""
        # Public opinions are never overwritten, so that copies are made only of longer states.
        return self.overwriting_adjoint(columns if columns.shape[0] == self.layout.agents else columns.copy(order="K"))

    def overwriting_adjoint(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns that may be overwritten.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.

        Returns
        -------
        array
            The product, in the shape of ``columns``.
        """
        if columns.shape[0] == self.layout.agents:
            return _product(self.update.transposed, _like(self.update.coupling_scale, columns) * columns)
        return self.overwriting_adjoints(columns, with_noise=False)[0]

    def overwriting_adjoints(self, columns: Vector, *, with_noise: bool = True) -> tuple[Vector, Vector]:
        """Return Fᵀ Z and Gᵀ Z, which share most of their work, for columns that are overwritten.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.
        with_noise : bool, default True
            Whether the second product is used; without it that is of no use.

        Returns
        -------
        state : array of shape (states,) or (states, m)
            The product Fᵀ Z.
        noise : array of shape (draws,) or (draws, m)
            The product Gᵀ Z.
        """
        # Large arrays cost more to allocate than to fill, so that as few as possible are made.
        at, update, rate = self.layout, self.update, self.update.adaptation_rate
        public, hidden = columns[at.public], columns[at.hidden]
        # Transposes of the parts of a step, in reverse order: adaptation, then coupling and gain, then noise.
        if at.has_hidden and rate is not None:
            public += _like(rate, columns) * hidden
            hidden *= _like(1 - rate, columns)
        # Cᵀ = Aᵀ diag(c).
        work = _like(update.coupling_scale, columns) * public
        coupled = _product(update.transposed, work)
        if at.has_hidden:
            hidden += np.multiply(_like(update.gain, columns), public, out=work)
        remembers = columns.shape[0] > at.memory.start
        noise = work
        if with_noise or remembers:
            np.multiply(_like(self.noise_std, columns), public, out=noise)
        if remembers:
            noise += columns[at.memory]
            # u_{t−1} enters through φ u_{t−1} only.
            np.multiply(noise, self.phi, out=columns[at.memory])
        if columns.shape[0] > at.agents:
            # Last, since gain and noise above still read the weights of y_t.
            public[...] = coupled
            coupled = columns
        return coupled, self._innovations(noise)

    def hidden_adjoint(self, columns: Vector) -> Vector:
        """Return Bᵀ Z, (agents, m), for Z (states, m); 0 where x₀ enters at the start only."""
        if self.layout.has_hidden:
            return np.zeros_like(columns[self.layout.public])
        return np.asarray(_like(self.update.gain, columns) * columns[self.layout.public])

    def noise_adjoint(self, columns: Vector) -> Vector:
        """Return Gᵀ Z, (draws, m), for Z (states, m)."""
        return self._innovations(self._noise_weight(columns, self._public_weight(columns)))

    def _noise_weight(self, columns: Vector, public: Vector) -> Vector:
        """Return the weight of u_t in Zᵀz_t, through y_t and as noise memory."""
        weight = np.asarray(_like(self.noise_std, columns) * public)
        if columns.shape[0] > self.layout.memory.start:
            weight += columns[self.layout.memory]
        return weight

    def _innovations(self, noise: Vector) -> Vector:
        """Return the weights of w_t from those of u_t, in the same array."""
        # White noise has an innovation of 1; the multiplication is saved.
        if self.phi:
            noise *= self._innovation_std
        # Frozen noise has no draws after the start, and an empty result.
        return noise[: self.draws]

    def hidden_input(self) -> Vector:
        """Return B as a dense matrix, (states, agents)."""
        gain = 0.0 if self.layout.has_hidden else self.update.gain
        return np.eye(self.layout.states, self.layout.agents) * gain

    def noise_input(self) -> Vector:
        """Return G as a dense matrix, (states, draws)."""
        return self.forward(np.zeros((self.layout.states, self.draws)), noise=np.eye(self.draws))

    def spread_bound(self, bound: Vector) -> Vector:
        """Return a bound on the std of y and x after the step, from one before it; noise memory left out."""
        # Every entry of |C|, g and η lies in [0, 1], so that the step itself bounds what it adds up.
        n = self.layout.agents
        public = self.noise_std + self.update.absolute.couple(bound[:n])
        if not self.layout.has_hidden:
            return public
        public = public + self.update.gain * bound[n:]
        return np.concatenate([public, self._adapt(bound[n:], public, np.empty(n))])

    def _adapt(self, hidden: Vector, public: Vector, out: Vector) -> Vector:
        """Write x + η ∘ (y − x) to ``out``."""
        # None where hidden opinions are in the state but constant.
        rate = self.update.adaptation_rate
        if rate is None:
            out[...] = hidden
            return out
        np.subtract(public, hidden, out=out)
        out *= _like(rate, public)
        out += hidden
        return out

    def _public_weight(self, columns: Vector) -> Vector:
        """Return the weight of y_t in Zᵀz_t, directly and through the hidden opinions that adapt to it."""
        public, rate = columns[self.layout.public], self.update.adaptation_rate
        if not self.layout.has_hidden or rate is None:
            return public
        return np.asarray(public + _like(rate, columns) * columns[self.layout.hidden])


@final
@dataclass(frozen=True, eq=False)
class DenseTransition(Transition):
    """One step y_t = F y_{t−1} + B x₀ + G w_t with dense matrices: a step of the SDE.

    Parameters
    ----------
    matrix, hidden_matrix, noise_root : array of shape (agents, agents)
        The matrices F, B and G.

    See Also
    --------
    sde.transition : The law of a step in continuous time.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.statespace import DenseTransition
    >>> step = DenseTransition(0.5 * np.eye(2), 0.5 * np.eye(2), 0.1 * np.eye(2))
    >>> step.forward(np.array([1.0, 2.0])), step.noise_std
    (array([0.5, 1. ]), array([0.1, 0.1]))
    """

    matrix: Vector
    hidden_matrix: Vector
    noise_root: Vector
    layout: StateLayout = field(init=False)
    noise_std: Vector = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", StateLayout(self.matrix.shape[0]))
        # Rows of a root of the covariance: their norms are the standard deviations.
        object.__setattr__(self, "noise_std", np.linalg.norm(self.noise_root, axis=1))

    def forward(self, columns: Vector, hidden: Vector | None = None, noise: Vector | None = None) -> Vector:
        """Return F Z + B X + G W for Z, X and W of shape (agents, m)."""
        out = self.matrix @ columns
        for matrix, values in ((self.hidden_matrix, hidden), (self.noise_root, noise)):
            if values is not None:
                out += matrix @ values
        return np.asarray(out)

    def adjoint(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for Z (agents, m)."""
        return np.asarray(self.matrix.T @ columns)

    def hidden_adjoint(self, columns: Vector) -> Vector:
        """Return Bᵀ Z, (agents, m)."""
        return np.asarray(self.hidden_matrix.T @ columns)

    def noise_adjoint(self, columns: Vector) -> Vector:
        """Return Gᵀ Z, (agents, m)."""
        return np.asarray(self.noise_root.T @ columns)

    def hidden_input(self) -> Vector:
        """Return B, (agents, agents)."""
        return self.hidden_matrix

    def noise_input(self) -> Vector:
        """Return G, (agents, agents)."""
        return self.noise_root

    def spread_bound(self, bound: Vector) -> Vector:
        """Return a bound on the std of y after the step, from one before it."""
        # Standard deviations are subadditive whatever the correlations, so that this is a bound.
        return np.asarray(self.noise_std + np.abs(self.matrix) @ bound)


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
    >>> from peerpressure.statespace import initial_state
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> initial_state(model).forward(hidden=model.x0)
    array([1., 2.])
    """

    layout: StateLayout
    offset: Vector
    starts_from_hidden: bool

    @property
    def draws(self) -> int:
        """The number of entries of w_0: one per agent where noise has a memory."""
        return self.layout.agents * self.layout.has_memory

    def forward(self, hidden: Vector | None = None, noise: Vector | None = None) -> Vector:
        """Return B_0 X + G_0 W, of which at least one is given.

        Parameters
        ----------
        hidden : array of shape (agents,) or (agents, m), optional
            Hidden opinions X.
        noise : array of shape (draws,) or (draws, m), optional
            Independent draws W of unit variance.

        Returns
        -------
        array of shape (states,) or (states, m)
            The sum.
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

    def hidden_adjoint(self, columns: Vector) -> Vector:
        """Return B_0ᵀ Z.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.

        Returns
        -------
        array of shape (agents,) or (agents, m)
            The product.
        """
        out = columns[self.layout.public] * float(self.starts_from_hidden)
        if self.layout.has_hidden:
            out += columns[self.layout.hidden]
        return np.asarray(out)

    def noise_adjoint(self, columns: Vector) -> Vector:
        """Return G_0ᵀ Z.

        Parameters
        ----------
        columns : array of shape (states,) or (states, m)
            The columns Z.

        Returns
        -------
        array of shape (draws,) or (draws, m)
            The product.
        """
        return columns[self.layout.memory]


def model_of(system: System) -> Model:
    """Return the model that an SDE was made from, or the model itself.

    Parameters
    ----------
    system : Model or SDE
        The system.

    Returns
    -------
    Model
        Its model.

    Raises
    ------
    ModelError
        If it is neither: the check of everything that is computed from a model.

    See Also
    --------
    discrete_model : Accepts discrete time only.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import model_of
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> model_of(SDE(model)) is model
    True
    """
    model: object = system.model if isinstance(system, SDE) else system
    if not isinstance(model, Model):
        raise ModelError(message("the model must be a Model or an SDE", got=type(system).__name__, remedy=_BUILD))
    return model


def discrete_model(model: object) -> Model:
    """Return a model in discrete time as it is; an SDE is an error, too.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    Model
        The same.

    Raises
    ------
    ModelError
        If it is not a ``Model``.

    See Also
    --------
    model_of : Accepts an SDE, too.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import discrete_model
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> discrete_model(model) is model
    True
    """
    if not isinstance(model, Model):
        remedy = "pass the Model that it was made from" if isinstance(model, SDE) else _BUILD
        raise ModelError(
            message("this is defined for a Model, in discrete time", got=type(model).__name__, remedy=remedy)
        )
    return model


def with_model(system: System, model: Model) -> System:
    """Return the same kind of system made from another model.

    Parameters
    ----------
    system : Model or SDE
        The system.
    model : Model
        The other model.

    Returns
    -------
    Model or SDE
        The model, or an SDE with the settings of ``system``.

    See Also
    --------
    model_of : The model of a system.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import with_model
    >>> with_model(SDE(Model(k2(), hidden=[1.0, 2.0]), step=0.5), Model(k2(), hidden=[0.0, 1.0])).step
    0.5
    """
    return replace(system, model=model) if isinstance(system, SDE) else model


def step_length(system: System) -> float:
    """Return the time from one state to the next: the step of an SDE, and 1 in discrete time.

    Parameters
    ----------
    system : Model or SDE
        The system.

    Returns
    -------
    float
        Length of a step.

    See Also
    --------
    transitions : The steps.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import step_length
    >>> step_length(SDE(Model(k2(), hidden=[1.0, 2.0]), step=0.5))
    0.5
    """
    return system.step if isinstance(system, SDE) else 1


def noise_deviations(system: System) -> Vector:
    """Return the standard deviations of noise as it enters with the weight of an opinion.

    Parameters
    ----------
    system : Model or SDE
        The system.

    Returns
    -------
    array, (agents,)
        Standard deviations, without their scale over time.

    See Also
    --------
    transitions : The steps, with the noise of each.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import noise_deviations
    >>> noise_deviations(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5)))
    array([0.5, 0.5])
    """
    return system.deviations if isinstance(system, SDE) else system.noise.deviations(system.n)


def state_layout(system: System, *, hidden: bool = False) -> StateLayout:
    """Return the layout of the state of a system.

    Parameters
    ----------
    system : Model or SDE
        The system.
    hidden : bool, default False
        Whether to include hidden opinions even where they are constant; an SDE never includes them.

    Returns
    -------
    StateLayout
        Which entries are public opinions, hidden opinions and noise memory.

    See Also
    --------
    initial_state : The state at time 0.

    Examples
    --------
    >>> from peerpressure import AR1, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import state_layout
    >>> state_layout(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0, temporal=AR1(0.5))))
    StateLayout(agents=2, has_hidden=False, has_memory=True)
    """
    model = model_of(system)
    # The SDE has constant hidden opinions by definition, which enter through B.
    adapts = model.adaptation is not None or (hidden and isinstance(system, Model))
    return StateLayout(model.n, has_hidden=adapts, has_memory=model.noise.has_memory)


def initial_state(system: System, *, hidden: bool = False) -> InitialState:
    """Return the state at time 0, as a function of x₀ and of the first draw of correlated noise.

    Parameters
    ----------
    system : Model or SDE
        The system.
    hidden : bool, default False
        Whether to include hidden opinions even where they are constant.

    Returns
    -------
    InitialState
        Offset and operators.

    See Also
    --------
    transitions : The steps that follow.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import initial_state
    >>> initial_state(Model(k2(), hidden=[1.0, 2.0], start=[0.5, 0.0])).offset
    array([0.5, 0. ])
    """
    model, layout = model_of(system), state_layout(system, hidden=hidden)
    offset = np.zeros(layout.states)
    from_hidden = isinstance(model.start, str)
    if not from_hidden:
        offset[layout.public] = model.start_state
    return InitialState(layout, offset, from_hidden)


def transition(model: Model, t: int, *, hidden: bool = False, layout: StateLayout | None = None) -> ModelTransition:
    """Return the step of a discrete model that leads to time t.

    Parameters
    ----------
    model : Model
        The model.
    t : int
        Time at the end of the step, t ≥ 1.
    hidden : bool, default False
        Whether to include hidden opinions even where they are constant.
    layout : StateLayout, optional
        The layout, where it is at hand already.

    Returns
    -------
    ModelTransition
        The step.

    See Also
    --------
    transitions : The steps of a whole run.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import transition
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> transition(model, 1).forward(model.start_state, hidden=model.x0)
    array([1.5, 1.5])
    """
    update, noise = model.update(t), model.noise
    std = np.zeros(model.n) if noise.is_zero else update.gain * (noise.std * float(noise.scale(t)))
    return ModelTransition(layout or state_layout(model, hidden=hidden), update, std, noise.autocorrelation)


def model_transitions(
    model: Model, times: range, *, hidden: bool = False, layout: StateLayout | None = None
) -> Iterator[ModelTransition]:
    """Yield the steps of a discrete model that lead to these times, in their order, forwards or backwards.

    Parameters
    ----------
    model : Model
        The model.
    times : range
        Times at the ends of the steps, each at least 1.
    hidden : bool, default False
        Whether to include hidden opinions even where they are constant.
    layout : StateLayout, optional
        The layout, where it is at hand already.

    Yields
    ------
    ModelTransition
        The steps.

    See Also
    --------
    transition : One step.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import model_transitions
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> [float(step.noise_std[0]) for step in model_transitions(model, range(3, 0, -2))]
    [0.25, 0.5]
    """
    layout = layout or state_layout(model, hidden=hidden)
    std, phi = model.noise.deviations(model.n), model.noise.autocorrelation
    for first in range(0, len(times), STEPS_TOGETHER):
        block = times[first : first + STEPS_TOGETHER]
        for update, scale in zip(model.updates(block), model.noise.scale(block), strict=True):
            # The gain is applied to ε as to x: noise is part of the preferred opinion.
            yield ModelTransition(layout, update, update.gain * (std * scale), phi)


def transition_table(model: Model, last: int) -> Callable[[int], ModelTransition]:
    """Return a function from t to the step that leads to it, for passes in either direction of time.

    The steps are kept where all of them are small, and made at each call where they are not.

    Parameters
    ----------
    model : Model
        The model.
    last : int
        The last step, at least 1.

    Returns
    -------
    callable
        Function of a step from 1 to ``last`` that returns its ``ModelTransition``.

    See Also
    --------
    transitions : The same in order of time.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import transition_table
    >>> at = transition_table(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0)), 3)
    >>> at(3).noise_std
    array([0.25, 0.25])
    """
    # Steps of a static network share its adjacency; those of a temporal one may have a matrix each.
    matrices = model.network.adjacency.nnz if model.temporal_network is not None else 0
    if (model.n + matrices) * last > KEPT_NUMBERS:
        # Making a step costs O(n), no more than the pass over the state that uses it.
        return lambda t: transition(model, t)
    kept = dict(enumerate(model_transitions(model, range(1, last + 1)), 1))
    return kept.__getitem__


def transitions(system: System, last: int, first: int = 1, *, hidden: bool = False) -> Iterator[Transition]:
    """Yield the steps that lead to times first, …, last; those of an SDE end at multiples of its step.

    Parameters
    ----------
    system : Model or SDE
        The system.
    last : int
        The last step, at least 1.
    first : int, default 1
        The first step, at least 1.
    hidden : bool, default False
        Whether to include hidden opinions even where they are constant.

    Yields
    ------
    Transition
        The step that leads to each time.

    See Also
    --------
    initial_state : The state before the first step.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import initial_state, transitions
    >>> model = Model(k2(), hidden=[1.0, 2.0], start=[0.0, 0.0])
    >>> state = initial_state(model).offset
    >>> for step in transitions(model, 2):
    ...     state = step.forward(state, hidden=model.x0)
    >>> bool((state == model.update(2)(model.update(1)(model.start_state))).all())
    True
    """
    if isinstance(system, SDE):
        yield from _sde_transitions(system, last, first)
        return
    yield from model_transitions(system, range(first, last + 1), hidden=hidden)


def retained(model: Model, last: int) -> Vector:
    """Return the weight π_t = Π_{s≤t} (1 − η_s) that x₀ keeps in an agent's own x_{t+1}, for t = 0…last.

    Given the public opinions, x_{t+1} = π_t ∘ x₀ + k_t with k_t the adopted part.

    Parameters
    ----------
    model : Model
        The model.
    last : int
        The last step, at least 0.

    Returns
    -------
    array of shape (last + 1, agents) or (last + 1, 1)
        Weights from 0 to 1; one column where all agents have the same ones.

    See Also
    --------
    theory.retention : The same with half-lives and information.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.statespace import retained
    >>> retained(Model(k2(), hidden=[1.0, 2.0], adaptation=0.5), 3).ravel()
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    adaptation = model.adaptation
    if adaptation is None:
        return np.ones((last + 1, 1))
    factor = np.atleast_1d(np.asarray(adaptation.adaptation_weight, dtype=np.float64))
    staying = np.ones((last + 1, factor.size))
    staying[1:] -= adaptation.pace(np.arange(1, last + 1))[:, None] * factor
    # A product of numbers in [0, 1] cannot overflow; underflow to 0 is the correct limit.
    return np.asarray(np.cumprod(staying, axis=0))


# The steps 1, 2, … of the latest equation on each network. They do not depend on opinions, so that the equation may be
# another object than before, as that of an observer who does not know them.
_kept_steps: WeakKeyDictionary[Network, tuple[object, dict[int, DenseTransition]]] = WeakKeyDictionary()


def _kept(sde: SDE) -> dict[int, DenseTransition]:
    """Return the steps that are kept for an equation, by number, to which more may be added."""
    likeness = (sde.step, sde.scaling, sde.path_method, sde.s.tobytes(), sde.pressure.to_dict(), sde.noise)
    found = _kept_steps.get(sde.network)
    if found is None or found[0] != likeness:
        found = _kept_steps[sde.network] = (likeness, {})
    return found[1]


def _sde_transitions(sde: SDE, last: int, first: int) -> Iterator[DenseTransition]:
    if sde.n > LARGEST_SDE:
        rule = f"in continuous time outputs can be judged for at most {LARGEST_SDE:,} agents"
        raise TooLargeError(message(rule, got=f"{sde.n:,}", remedy="look at a part of the network"))
    # An observer passes over the steps more than once, and making one takes some ten matrix products.
    kept, made = _kept(sde), None
    for k in range(first, last + 1):
        checkpoint()
        step = kept.get(k)
        if step is not None:
            # Steps are made one after the other, and those that follow a kept one begin anew.
            made = None
        else:
            made = made or _made_transitions(sde, last, k)
            step = next(made)
            if 3 * sde.n**2 * k <= 2 * KEPT_NUMBERS:
                # By number: several threads may make the same steps.
                kept[k] = step
        yield step


def _made_transitions(sde: SDE, last: int, first: int) -> Iterator[DenseTransition]:
    if sde.path_method == "euler":
        yield from (_euler_transition(sde, k) for k in range(first, last + 1))
        return
    known: tuple[StepLaw, DenseTransition] | None = None
    for law in exact_transitions(sde, first, last):
        # Where nothing changes in time, one law serves all steps.
        if known is None or law is not known[0]:
            known = law, DenseTransition(law.matrix, law.hidden, law.root)
        yield known[1]


def _euler_transition(sde: SDE, k: int) -> DenseTransition:
    """Return Euler's step, by whose law paths drawn with that method are read."""
    h, one = sde.step, np.eye(sde.n)
    update = sde.update(sde.time(k))
    # Independent between agents in a step of Euler; a longer, exact step correlates them through the coupling.
    noise = math.sqrt(h) * sde.noise_size(sde.time(k), update)
    return DenseTransition((1 - h) * one + h * update.couple(one), np.diag(h * update.gain), np.diag(noise))


def _like(values: Vector, columns: Vector) -> Vector:
    return values[:, None] if columns.ndim == 2 else values


def _product(matrix: Any, columns: Vector) -> Vector:
    """Return the product of a sparse matrix with columns, one by one where these are few and contiguous in memory."""
    if columns.ndim == 2 and columns.shape[1] == 1:
        return np.asarray(matrix @ columns[:, 0])[:, None]
    if columns.ndim == 2 and columns.shape[1] <= FEW_COLUMNS and columns.strides[0] == columns.itemsize:
        # Columns contiguous, as in the input, so that later steps take this branch again.
        out = np.empty((matrix.shape[0], columns.shape[1]), order="F")
        for column in range(columns.shape[1]):
            out[:, column] = matrix @ columns[:, column]
        return out
    return np.asarray(matrix @ columns)
