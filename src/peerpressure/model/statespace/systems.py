"""Models and SDEs as state-space systems: their layout, initial state and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar, Literal, Protocol, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import ModelError, TooLargeError, message
from peerpressure.model import Model
from peerpressure.model.statespace._operators import (
    AveragedStep,
    DenseTransition,
    InitialState,
    ModelTransition,
    Transition,
)
from peerpressure.model.step import Array, StateLayout as StateLayout  # noqa: PLC0414, users find it here
from peerpressure.networks import Network
from peerpressure.noise import Noise
from peerpressure.schedules import Schedule
from peerpressure.sde import SDE, GaussianTransition, exact_transitions
from peerpressure.sde.euler import euler_map
from peerpressure.support.progress import check_cancelled

# Steps of an SDE have dense matrices of this many rows, and multiply them at every step.
LARGEST_SDE = 1_000
_BUILD = "build one first: Model(network, hidden=...)"
# Numbers in the steps that are kept for repeated passes, 64 MB.
_CACHE_MAX_FLOATS = 2**23
# Schedules are evaluated for so many steps at once.
STEPS_TOGETHER = 1024


class System(Protocol):
    """What models in discrete time (`Model`) and in continuous time (`SDE`) have in common.

    Attributes
    ----------
    is_continuous : bool
        Whether time is continuous.

    See Also
    --------
    transitions : The steps of a system.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import System
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> systems: list[System] = [model, SDE(model, step=0.5)]
    >>> [10 * system.step for system in systems]
    [10, 5.0]
    """

    is_continuous: ClassVar[bool]

    @property
    def model(self) -> Model:
        """The model that an SDE was made from, or the model itself."""
        ...

    @property
    def path_method(self) -> Literal["exact", "taylor", "euler"] | None:
        """How paths are drawn in continuous time; None in discrete time, whose steps need no method."""
        ...

    @property
    def step(self) -> float:
        """The time from one state to the next; 1 in discrete time."""
        ...

    @property
    def layout(self) -> StateLayout:
        """Which entries of the state are public opinions, hidden opinions and noise memory."""
        ...

    @property
    def deviations(self) -> Array:
        """Standard deviations of noise as it enters with the weight of an opinion, without their scale over time."""
        ...

    @property
    def n(self) -> int:
        """The number of agents."""
        ...

    @property
    def network(self) -> Network:
        """The network, or the aggregate of one that changes."""
        ...

    @property
    def x0(self) -> Array:
        """The initial hidden opinions."""
        ...

    @property
    def s(self) -> Array:
        """The stubbornness of each agent."""
        ...

    @property
    def pressure(self) -> Schedule:
        """The peer pressure."""
        ...

    @property
    def noise(self) -> Noise:
        """The noise."""
        ...

    @property
    def start_state(self) -> Array:
        """The public opinions at time 0."""
        ...

    @property
    def consensus_value(self) -> float:
        """The consensus value v."""
        ...

    def with_model(self, model: Model) -> System:
        """Return a system of another model, in the same kind of time and with the same settings.

        Parameters
        ----------
        model : Model
            The other model.

        Returns
        -------
        System
            The model itself, or its SDE.
        """
        ...


def checked_system(system: object) -> System:
    """Return a `Model` or `SDE` unchanged and raise for anything else: the check of what users pass.

    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import checked_system
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> checked_system(SDE(model)).model is model
    True
    """
    if not is_system(system):
        raise ModelError(message("the model must be a Model or an SDE", got=type(system).__name__, remedy=_BUILD))
    return system


def is_system(value: object) -> TypeGuard[System]:
    """Return whether a value is a `Model` or an `SDE`.

    >>> from peerpressure.model.statespace import is_system
    >>> is_system("a model")
    False
    """
    return isinstance(value, (Model, SDE))


def discrete_model(model: object, what: str = "this") -> Model:
    """Return a model in discrete time unchanged and raise for anything else, an SDE included.

    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import discrete_model
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> discrete_model(model) is model
    True
    """
    if not isinstance(model, Model):
        remedy = "pass the Model that it was made from" if is_system(model) else _BUILD
        rule = f"{what} is defined for a Model, in discrete time"
        raise ModelError(message(rule, got=type(model).__name__, remedy=remedy))
    return model


def initial_state(system: System, *, hidden: bool = False) -> InitialState:
    """Return the state at time 0, as a function of x₀ and of the first draw of correlated noise.

    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import initial_state
    >>> initial_state(Model(k2(), hidden=[1.0, 2.0], start=[0.5, 0.0])).offset
    array([0.5, 0. ])
    """
    model, layout = system.model, _layout(system, hidden=hidden)
    offset = np.zeros(layout.states)
    from_hidden = isinstance(model.start, str)
    if not from_hidden:
        offset[layout.public] = model.start_state
    return InitialState(layout, offset, from_hidden)


def is_invertible(model: Model) -> bool:
    """Whether preferred opinions follow from complete outputs as one series of independent draws for each agent.

    Agents who keep their public opinions show no preferred ones. With white noise these steps are left out; with other
    noise they would leave gaps of a different length for each agent.
    """
    return not model.keeps or not model.noise.autocorrelation


def shows_start(model: Model) -> NDArray[np.bool_]:
    """Return which agents show their x₀ at step 1, as they keep y₀ = x₀; (agents,)."""
    kept = model.update(1).kept
    return np.zeros(model.n, np.bool_) if kept is None or not initial_state(model).starts_from_hidden else kept > 0


def _layout(system: System, *, hidden: bool) -> StateLayout:
    # In continuous time hidden opinions are part of the state only if they adapt.
    return system.layout.with_hidden if hidden and not system.is_continuous else system.layout


def transition(model: Model, t: int, *, hidden: bool = False, layout: StateLayout | None = None) -> ModelTransition:
    """Return the step of a discrete model that leads to time t.

    Parameters
    ----------
    model : Model
        The model.
    t : int
        Time at the end of the step, t ≥ 1.
    hidden : bool, default False
        Whether to include hidden opinions even if they are constant.
    layout : StateLayout, optional
        The layout, if already available.

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
    >>> from peerpressure.model.statespace import transition
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> transition(model, 1).forward(model.start_state, hidden=model.x0)
    array([1.5, 1.5])
    """
    return next(model_transitions(model, range(t, t + 1), hidden=hidden, layout=layout))


def model_transitions(
    model: Model, times: range, *, hidden: bool = False, layout: StateLayout | None = None
) -> Iterator[ModelTransition]:
    """Yield the steps of a discrete model that lead to these times, in their order, forwards or backwards.

    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import model_transitions
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> [float(step.noise_std[0]) for step in model_transitions(model, range(3, 0, -2))]
    [0.25, 0.5]
    """
    layout = layout or _layout(model, hidden=hidden)
    std, phi = model.noise.deviations(model.n), model.noise.autocorrelation
    for first in range(0, len(times), STEPS_TOGETHER):
        block = times[first : first + STEPS_TOGETHER]
        for update, scale in zip(model.updates(block), model.noise.scale(block), strict=True):
            # The gain is applied to ε as to x: noise is part of the preferred opinion.
            yield ModelTransition(layout, update, update.gain * (std * scale), phi)


def averaged_transitions(model: Model, times: range, layout: StateLayout) -> Iterator[AveragedStep]:
    """Yield the steps of any model that lead to these times, averaged over who updates where that is random."""
    activation = model.activation
    if activation is None or not activation.is_random:
        yield from (AveragedStep(step, step, None) for step in model_transitions(model, times, layout=layout))
        return
    q = activation.probabilities
    masks = activation.pairs - np.outer(q, q)
    for step in model_transitions(model.synchronous, times, layout=layout):
        yield AveragedStep(replace(step, update=step.update.lazy(q), noise_std=q * step.noise_std), step, masks)


def transition_table(model: Model, last: int) -> Callable[[int], ModelTransition]:
    """Return a function from t to the step that leads to it, for passes in either direction of time.

    The steps are kept where all of them are small, and made at each call where they are not.

    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import transition_table
    >>> at = transition_table(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0)), 3)
    >>> at(3).noise_std
    array([0.25, 0.25])
    """
    # Steps of a static network share its adjacency; those of a temporal one may have a matrix each.
    matrices = model.network.adjacency.nnz if model.temporal_network is not None else 0
    if (model.n + matrices) * last > _CACHE_MAX_FLOATS:
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
        Whether to include hidden opinions even if they are constant.

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
    >>> from peerpressure.model.statespace import initial_state, transitions
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
    yield from model_transitions(system.model, range(first, last + 1), hidden=hidden)


def retained(model: Model, last: int) -> Array:
    """Return the weight π_t = Π_{s≤t} (1 − η_s) that x₀ keeps in an agent's own x_{t+1}, for t = 0…last.

    Given the public opinions, x_{t+1} = π_t ∘ x₀ + k_t with k_t the adopted part.
    The shape is (last + 1, agents) or (last + 1, 1).

    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.model.statespace import retained
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


# The steps 1, 2, … of the latest equation on each network. They do not depend on opinions, so the equation may be
# another object than before, such as that of an observer who does not know them.
_kept_steps: WeakKeyDictionary[Network, tuple[object, dict[int, DenseTransition]]] = WeakKeyDictionary()


def _kept(sde: SDE) -> dict[int, DenseTransition]:
    """Return the steps that are kept for an equation, by number, to which more may be added."""
    model = sde.model
    settings = (sde.step, sde.scaling, sde.path_method)
    # A temporal network has an aggregate of its own, so its steps need nothing else to identify them.
    parts = (sde.s.tobytes(), sde.pressure.to_dict(), sde.noise, model.adaptation, model.temporal_network is None)
    likeness = (settings, parts)
    cached = _kept_steps.get(sde.network)
    if cached is None or cached[0] != likeness:
        cached = _kept_steps[sde.network] = (likeness, {})
    return cached[1]


def _sde_transitions(sde: SDE, last: int, first: int) -> Iterator[DenseTransition]:
    if sde.layout.states > LARGEST_SDE:
        limit = LARGEST_SDE * sde.n // sde.layout.states
        rule = f"tests of fit in continuous time take at most {limit:,} agents"
        raise TooLargeError(message(rule, got=f"{sde.n:,}", remedy="look at a part of the network"))
    # An observer passes over the steps more than once, and making one takes some ten matrix products.
    kept, made = _kept(sde), None
    for k in range(first, last + 1):
        check_cancelled()
        step = kept.get(k)
        if step is not None:
            # Steps are made one after the other, and those that follow a kept one start again.
            made = None
        else:
            made = made or _made_transitions(sde, last, k)
            step = next(made)
            if 3 * sde.layout.states**2 * k <= 2 * _CACHE_MAX_FLOATS:
                # By number: several threads may make the same steps.
                kept[k] = step
        yield step


def _made_transitions(sde: SDE, last: int, first: int) -> Iterator[DenseTransition]:
    if sde.path_method == "euler":
        yield from (_euler_transition(sde, k) for k in range(first, last + 1))
        return
    known: tuple[GaussianTransition, DenseTransition] | None = None
    for law in exact_transitions(sde, first, last):
        # If nothing changes in time, one law serves all steps.
        if known is None or law is not known[0]:
            # Frozen noise has no draws after the start.
            root = law.root[:, :0] if sde.noise.is_frozen else law.root
            known = law, DenseTransition(sde.layout, law.matrix, law.hidden, root)
        yield known[1]


def _euler_transition(sde: SDE, k: int) -> DenseTransition:
    """Return Euler's step, by whose law paths drawn with that method are read."""
    # Independent between agents in a step of Euler; a longer, exact step correlates them through the coupling.
    at, n = sde.layout, sde.n
    nothing = np.zeros((at.states, n))
    hidden = nothing if at.has_hidden else euler_map(sde, k, nothing, hidden=np.eye(n))
    noise = nothing[:, :0] if sde.noise.is_frozen else euler_map(sde, k, nothing, noise=np.eye(n))
    return DenseTransition(at, euler_map(sde, k, np.eye(at.states)), hidden, noise)
