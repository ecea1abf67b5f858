"""The model: agents on a network with hidden opinions and with public opinions under growing peer pressure.

``Model.update(t)`` is the affine map of one step. The rest of the package reads it, directly or as the linear operator
of ``statespace``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from peerpressure.errors import ModelError, message
from peerpressure.model.activation import Activation, as_activation
from peerpressure.model.adaptation import Adaptation, as_adaptation
from peerpressure.model.affine import coefficients, least_own_weight
from peerpressure.model.step import Array, StateLayout, Update, known_hidden
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.networks.limits import limit_state
from peerpressure.networks.topics import per_agent
from peerpressure.networks.validation import Isolated, checked_isolated
from peerpressure.noise import Noise, as_noise, noise_from_dict
from peerpressure.schedules import Linear, Schedule, as_schedule, schedule_from_dict
from peerpressure.support.parameters import is_labelled
from peerpressure.support.progress import check_cancelled
from peerpressure.support.text import curve, html_sketch, html_table

# A mapping or a series of pandas is matched by label, everything else taken in the order of the agents.
PerAgent: TypeAlias = Sequence[float] | Sequence[Sequence[float]] | NDArray[Any] | Mapping[Any, Any]

# Coefficients of so many agent-steps are computed at a time, 128 kB: most of the work on small networks is in calls.
_BLOCK_MAX_FLOATS = 1 << 14


@final
@dataclass(frozen=True, eq=False, init=False)
class Model:
    """Agents with hidden opinions x₀ and noisy public opinions y_t under peer pressure ρ_t.

    y_t = g_t ∘ (x₀ + ε_t) + C_t y_{t−1},  g_t = s/(s + ρ_t d),  C_t = (S + ρ_t D)⁻¹ρ_t A.

    Parts that change nothing are dropped: an adaptation of rate 0 becomes None, and a temporal network that never
    changes a plain one. Opinions have the unit of ``hidden`` throughout, and time is counted in steps.

    Parameters
    ----------
    network : Network or TemporalNetwork
        Weighted edges between agents. A temporal network is the attribute ``temporal_network``, and ``network`` is its
        aggregate: all pairs that are ever linked, with their mean weights.
    hidden : sequence of float, mapping or pandas.Series, optional
        Hidden opinions x₀, one finite number for each agent. They may be left out if they are unknown: data can then
        be read and x₀ estimated, while runs and verdicts, which need them, are errors. A plain sequence is in the order
        of the agents, a mapping or a series by their labels. On a network with topics, an array of shape
        (agents, topics), or a data frame with agents as rows and topics as columns; what is given for each agent
        elsewhere then holds for all of its topics, unless it has this shape, too.
    stubbornness : float, sequence of float, mapping or pandas.Series, default 1.0
        Weight s > 0 of an agent's own opinion, one for all or one for each agent. An agent of stubbornness ∞ is a
        zealot, who shows its own opinion, with its noise, whatever others show: it listens to nobody, and its edges to
        others are dropped. In continuous time it counts as an agent of stubbornness 1 without neighbours.
    pressure : Schedule, float, str or sequence of float, default ``Linear()``
        Peer pressure ρ_t ≥ 0 at t ≥ 1: a schedule, a constant, a formula in t, or a table of values.
    noise : Noise, float, sequence of float, mapping, pandas.Series or str, optional
        Noise ε_t on hidden opinions; none by default. Numbers are standard deviations of Gaussian noise, one for all
        or one for each agent, and a text is a law with its parameters, as on the command line: "laplace:0.3".
    start : float, sequence of float, mapping, pandas.Series or "hidden", default "hidden"
        Public opinions y₀ at time 0.
    adaptation : Adaptation, Schedule, float or str, optional
        Rate η_t at which hidden opinions adapt, x_{t+1} = x_t + η_t ∘ (y_t − x_t); constant by default.
    susceptibility : float, sequence of float, mapping or pandas.Series, default 1.0
        Factor b ≥ 0 of the pressure on each agent, ρ_i = b_i ρ_t. Only s/b counts, and becomes the stubbornness of the
        model; an agent of susceptibility 0 is a zealot.
    isolated : {"own", "keep"}, optional
        What an agent without neighbours shows at a step of a temporal network: its own preferred opinion, or its last
        public opinion. By default the rule of the temporal network, "keep" for recorded contacts, in which a person
        without a contact expresses nothing, and for gossip.
    activation : float, sequence of float, mapping, pandas.Series, array of shape (steps, n) or "single", default 1.0
        Who updates at a step, while the others keep their public opinions: each agent with a probability in (0, 1], one
        for all or one for each agent; one agent, uniformly chosen, for "single"; or the agents with a 1 in the row of
        the step, for a table of 0 and 1.
    temporal_network : TemporalNetwork, optional
        The temporal network of which ``network`` is the aggregate. ``dataclasses.replace`` passes it on; elsewhere
        a temporal network is given as ``network``.

    Attributes
    ----------
    network : Network
        The network, or the aggregate of a temporal network.
    hidden : array of shape (n,) or None
        One number for each agent, read-only; None if they are unknown, in which case ``x0`` raises an error.
    stubbornness : array of shape (n,)
        One number for each agent, read-only.
    pressure : Schedule
        Peer pressure ρ_t.
    noise : Noise
        Noise ε_t.
    start : array of shape (n,) or "hidden"
        Public opinions y₀ as given; ``start_state`` is always an array.
    adaptation : Adaptation or None
        None if hidden opinions are constant.
    temporal_network : TemporalNetwork or None
        None if the network is constant.
    isolated : {"own", "keep"}
        "own" where the network is constant.
    activation : Activation or None
        None if everybody updates at every step.

    Raises
    ------
    ModelError
        If agents of a temporal network never meet, a number is missing, not finite or out of range, or agents of a
        constant network who never have neighbours should keep their opinions.

    See Also
    --------
    SDE : The model in continuous time.
    simulate : Run the model.
    moments : Its exact mean and variance.

    References
    ----------
    .. [1] C. Griffin, A. Squicciarini and F. Jia, "Consensus in Complex Networks with Noisy Agents and Peer Pressure".

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], stubbornness=[3.0, 1.0])
    >>> model.consensus_value
    1.25
    >>> model.update(1)(model.start_state)
    array([1.25, 1.5 ])
    >>> Model(k2(), hidden=[1.0, 2.0], stubbornness=[float("inf"), 1.0]).consensus_value  # that of the zealot
    1.0
    """

    network: Network
    hidden: Array | None
    stubbornness: Array
    pressure: Schedule
    noise: Noise
    start: Array | Literal["hidden"]
    adaptation: Adaptation | None
    temporal_network: TemporalNetwork | None
    isolated: Isolated
    activation: Activation | None

    def __init__(
        self,
        network: Network | TemporalNetwork,
        hidden: PerAgent | None = None,
        stubbornness: float | PerAgent = 1.0,
        pressure: Schedule | float | str | Sequence[float] = Linear(),  # noqa: B008 — frozen, so sharing it is safe
        noise: Noise | float | PerAgent | str | None = None,
        start: float | PerAgent | str = "hidden",
        adaptation: Adaptation | Schedule | float | str | None = None,
        *,
        susceptibility: float | PerAgent = 1.0,
        isolated: Isolated | None = None,
        activation: float | PerAgent | ArrayLike | Activation | Literal["single"] | None = None,
        temporal_network: TemporalNetwork | None = None,
    ) -> None:
        # The dataclass is frozen; only the constructor sets fields.
        set_field = object.__setattr__
        # ``temporal_network`` is an argument for ``dataclasses.replace``, which passes every field to the constructor.
        temporal = network if isinstance(network, TemporalNetwork) else temporal_network
        network = network.aggregate if isinstance(network, TemporalNetwork) else network
        # First, because the checks of the other parts need the number of agents.
        set_field(self, "network", _checked_network(network, temporal, isolated))
        set_field(self, "temporal_network", _checked_temporal_network(temporal, network))
        set_field(self, "isolated", _checked_rule(isolated, self.network, self.temporal_network))
        set_field(self, "hidden", None if hidden is None else self._per_agent("hidden", hidden))
        set_field(self, "stubbornness", self._own_weight(stubbornness, susceptibility))
        self._drop_edges_of_zealots()
        set_field(self, "pressure", as_schedule(pressure))
        set_field(self, "noise", _checked_noise(noise, network))
        set_field(self, "adaptation", _checked_adaptation(adaptation, network))
        set_field(self, "activation", as_activation(activation, self.network))
        set_field(self, "start", start if isinstance(start, str) else self._per_agent("start", start, one_for_all=True))
        if isinstance(start, str) and start != "hidden":
            rule = "the start must be 'hidden', one opinion for all agents, or one for each"
            raise ModelError(message(rule, got=repr(start), remedy="leave it out to start from the hidden opinions"))
        # s > 0 for all agents makes S + ρD invertible at every pressure, 0 included.
        bad = np.flatnonzero(self.stubbornness <= 0)
        if bad.size:
            got = f"{self.s[bad[0]]:g} at agent {network.labels[bad[0]]!r} ({bad.size} such in all)"
            remedy = "an agent with no weight on its own opinion has no part in the average; use a small positive value"
            raise ModelError(message("stubbornness must be positive", got=got, remedy=remedy))

    def _own_weight(self, stubbornness: float | PerAgent, susceptibility: float | PerAgent) -> Array:
        """Return s/b, ∞ for zealots: multiplying s and the pressure on an agent by one factor changes nothing."""
        s = self._per_agent("stubbornness", stubbornness, one_for_all=True, infinite=True)
        if isinstance(susceptibility, float | int) and susceptibility == 1:
            return s
        b = self._per_agent("susceptibility", susceptibility, one_for_all=True)
        if np.any(b < 0):
            got = f"{b.min():g} at agent {self.network.labels[int(b.argmin())]!r}"
            remedy = "0 is for agents who ignore all others; distrust is a negative weight in the network"
            raise ModelError(message("susceptibility must not be negative", got=got, remedy=remedy))
        with np.errstate(divide="ignore"):
            weight: Array = s / b
        weight.flags.writeable = False
        return weight

    def _drop_edges_of_zealots(self) -> None:
        """Replace infinite stubbornness by stubbornness 1 and no in-edges, which is equivalent."""
        zealots = np.isinf(self.stubbornness)
        if not zealots.any():
            return
        if self.temporal_network is not None:
            rule, remedy = "zealots need a network that does not change", "give them a very large stubbornness instead"
            raise ModelError(message(rule, got=repr(self.temporal_network), remedy=remedy))
        finite = np.where(zealots, 1.0, self.stubbornness)
        finite.flags.writeable = False
        object.__setattr__(self, "stubbornness", finite)
        object.__setattr__(self, "network", self.network.silenced(np.flatnonzero(zealots)))

    def _per_agent(
        self, name: str, value: float | PerAgent, *, one_for_all: bool = False, infinite: bool = False
    ) -> Array:
        network = self.network
        names = network.agents, network.topics, network.labels
        return per_agent(name, value, *names, one_for_all=one_for_all, infinite=infinite)

    # What a model shares with an SDE. Code that reads either need not ask which one it is (statespace.System).

    is_continuous: ClassVar[bool] = False
    step: ClassVar[float] = 1
    path_method: ClassVar[None] = None

    @property
    def model(self) -> Model:
        """The model itself."""
        return self

    def with_model(self, model: Model) -> Model:
        """Return another model in the same kind of time, which is that model.

        Parameters
        ----------
        model : Model
            The other model.

        Returns
        -------
        Model
            The same.
        """
        return model

    @cached_property
    def layout(self) -> StateLayout:
        """Which entries of the state are public opinions, hidden ones that adapt, and memory of the noise."""
        return StateLayout(self.n, has_hidden=self.adaptation is not None, has_memory=self.noise.has_memory)

    @property
    def deviations(self) -> Array:
        """The standard deviation of each agent's noise before the gain, without its scale over time."""
        return self.noise.deviations(self.n)

    @property
    def n(self) -> int:
        """The number of agents."""
        return self.network.n

    @property
    def x0(self) -> Array:
        """The initial hidden opinions, by their symbol in equations; an error if they are unknown."""
        return known_hidden(self.hidden)

    @property
    def s(self) -> Array:
        """The stubbornness of each agent, by its symbol in equations."""
        return self.stubbornness

    @property
    def start_state(self) -> Array:
        """The public opinions at time 0."""
        return self.x0 if isinstance(self.start, str) else self.start

    @cached_property
    def consensus_value(self) -> float:
        """The consensus value v = Σ s x₀ / Σ s, to which agents converge if peer pressure grows slowly enough.

        On a directed network opinions count by ℓs, with ℓ the left null vector of the Laplacian, and on a balanced
        signed one v is the value of camp 1. If there are several closed classes it is the mean of their values with
        these weights; see ``consensus_state``.
        """
        weights = self.opinion_weights
        if self.network.signed:
            weights = np.abs(self.network.camps) * weights
            return float(weights @ (self.network.camps * self.x0) / (weights.sum() or 1.0))
        return float(weights @ self.x0 / weights.sum())

    @cached_property
    def opinion_weights(self) -> Array:
        """Weights ℓs of the opinions in the consensus value, up to their scale; s where the network is symmetric."""
        weights = self.network.left_null_vector * self.s if self.network.directed else self.s
        # Scaled to at most 1 to keep Σ s x₀ from overflowing when v itself is finite.
        return np.asarray(weights / weights.max())

    @cached_property
    def mode_weights(self) -> Array:
        """Weights ϖ = ℓd/Σℓd of the public opinions in the consensus mode; d/Σd where the network is symmetric.

        ϖ is the stationary law of D⁻¹A. If agents update with probabilities q, it is proportional to ℓd/q. If
        nobody who counts listens to anybody, as when all others follow zealots, it is the law of the consensus value,
        proportional to ℓs: the chain stays with agents who listen to nobody.
        """
        weights = self.network.left_null_vector * self.network.degrees
        if not weights.any():
            weights = self.opinion_weights
        elif self._slowness is not None:
            weights = weights * self._slowness
        if self.network.signed:
            # The sign of the camp makes this the mode of opposite opinions; without balance nobody counts.
            weights = self.network.camps * weights
        return np.asarray(weights / (np.abs(weights).sum() or 1.0))

    @cached_property
    def consensus_state(self) -> Array:
        """The limit of the fixed point as ρ → ∞, shape (agents,): v for all agents of one closed class.

        With several closed classes, each has a value of its own, and other agents a mixture of these. On a signed
        network camps have opposite values, and 0 where there is no balance.
        """
        if self.network.is_simple:
            return np.full(self.n, self.consensus_value)
        return limit_state(self.network, self.s, self.x0)

    @cached_property
    def target(self) -> float | Array:
        """What distances are measured to: v, or the limit of each agent where agents come to different ones."""
        if self.network.is_simple:
            return self.consensus_value
        limits = self.consensus_state
        differ = np.ptp(limits) > 1e-12 * float(np.abs(self.x0).max())
        return limits if differ else self.consensus_value

    @cached_property
    def class_values(self) -> Array:
        """The different values of the closed classes as ρ → ∞, in ascending order, and of both camps of each."""
        if isinstance(self.target, float):
            return np.array([self.target])
        values = np.sort(np.concatenate([self.target[members] for members in self.network.closed_classes]))
        # Agents of one class may differ by rounding errors.
        return np.asarray(values[np.diff(values, prepend=-np.inf) > 1e-9 * float(np.abs(self.x0).max())])

    @cached_property
    def kappa(self) -> float:
        """The ratio κ = Σs/Σd; under ρ_t = κt the consensus mode is the running mean of all preferred opinions.

        On a directed network it is κ = Σℓs/Σℓd = Σ ϖs/d, and ∞ if nobody who counts listens to anybody. If agents
        update with probabilities q, it is Σℓs/Σ(ℓd/q).
        """
        ell, degrees = self.network.left_null_vector, self.network.degrees
        if self._slowness is not None:
            degrees = degrees * self._slowness
        if not self.network.directed:
            return float(self.s.sum() / degrees.sum()) if degrees.any() else math.inf
        total = float(ell @ degrees)
        return float(ell @ self.s) / total if total else math.inf

    @property
    def _slowness(self) -> Array | None:
        activation = self.activation
        return None if activation is None or not activation.is_random else 1 / activation.probabilities

    def update(self, t: int) -> Update:
        """Return the affine map from time t − 1 to time t ≥ 1.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        Update
            Gain g_t and coupling C_t, with the rate of adaptation if hidden opinions adapt; called with y_{t−1}, it
            returns y_t without noise.

        Raises
        ------
        ScheduleError
            If the pressure is not defined at t.
        """
        return next(self.updates(range(t, t + 1)))

    def updates(self, times: range) -> Iterator[Update]:
        """Yield the affine maps to each of these times.

        Pressure and rates are evaluated for all of them at once, gains and coupling scales for many.

        Parameters
        ----------
        times : range
            Steps from 1 on, all of which must be legal for the schedules.

        Yields
        ------
        Update
            As from :meth:`update`.
        """
        rates: Iterator[Array | None] = repeat(None)
        if self.adaptation is not None:
            factors = self.adaptation.adaptation_weights(self.n)
            rates = (factors * pace for pace in self.adaptation.pace(times).tolist())
        yield from map(self._update, times, self._gains(times), rates)

    def homogeneous(self, times: ArrayLike) -> tuple[Array, Array]:
        """Return (own_weight, weight) with ρ_t = weight/own_weight, from which gains and couplings are computed.

        Parameters
        ----------
        times : int or array_like of int
            Steps, or times of the schedule.

        Returns
        -------
        own_weight : array of float
            Reciprocal of the larger of 1 and ρ_t, in the shape of ``times``.
        weight : array of float
            The smaller of 1 and ρ_t, in the shape of ``times``.
        """
        own_weight, weight = self.pressure.homogeneous(times)
        # An agent may listen to nobody at a step, for which own_weight 0 would give 0/0.
        return (np.maximum(own_weight, least_own_weight(np.float64)) if self.has_silent_steps else own_weight), weight

    def gains_at(self, t: int, own_weight: Array, weight: Array) -> tuple[Array, Array]:
        """Return gain and coupling scale on the network of step t at pressures ρ = weight/own_weight.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.
        own_weight, weight : array of shape (pressures,) or ()
            Pressures in homogeneous coordinates.

        Returns
        -------
        gain : array of shape (pressures, agents) or (agents,)
            Weight of an agent's own opinion, 0 for agents who keep their public opinion.
        coupling_scale : array of shape (pressures, agents) or (agents,)
            Weight of a neighbour, likewise.
        """
        own_weight, weight = own_weight[..., None], weight[..., None]
        gain, scale = coefficients(own_weight, weight, self.s, self.degrees_at(t))
        kept = self.kept_at(t)
        # Those without neighbours would have a gain of 1, and nothing to couple with.
        return (gain, scale) if kept is None else (gain * (1 - kept), scale * (1 - kept))

    def _gains(self, times: range) -> Iterator[tuple[Array, Array]]:
        """Yield gain and coupling scale at each of these times, computed for blocks of them."""
        own_weights, weights = self.homogeneous(times)
        same = self.temporal_network is None and not self.keeps
        length = max(1, _BLOCK_MAX_FLOATS // self.n) if same else 1
        for begin in range(0, len(times), length):
            block = slice(begin, begin + length)
            yield from zip(*self.gains_at(times[begin], own_weights[block], weights[block]), strict=True)

    def _update(self, t: int, gain_and_scale: tuple[Array, Array], adaptation_rate: Array | None) -> Update:
        check_cancelled()  # every computation reads a model step by step and can be cancelled here
        A = self.adjacency_at(t)
        changing = self.temporal_network
        transposed = (
            self.network.transposed if changing is None else changing.transposed_at(t) if changing.directed else A
        )
        return Update(*gain_and_scale, self.hidden, A, transposed, adaptation_rate, self.kept_at(t))

    def kept_at(self, t: int) -> Array | None:
        """Return 1 for agents who keep their public opinion at step t, 0 for others; None if nobody does.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        array of shape (n,) or None
            The weight of an agent's own last public opinion.
        """
        if self.isolated == "own" and self.activation is None:
            return None
        silent = np.zeros(self.n, np.bool_) if self.isolated == "own" else self.degrees_at(t) == 0
        if self.activation is not None:
            silent |= ~self.activation.masks(t - 1, t)[0]
        return silent.astype(np.float64) if silent.any() else None

    @cached_property
    def has_silent_steps(self) -> bool:
        """Whether an agent may listen to nobody at some step."""
        return self.temporal_network is not None or not bool(self.network.degrees.min())

    def adjacency_at(self, t: int) -> sparse.csr_array:
        """Return the adjacency matrix of step t.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        scipy.sparse.csr_array of shape (n, n)
            Weights of the edges; the same matrix at all steps where the network is constant.
        """
        return self.network.adjacency if self.temporal_network is None else self.temporal_network.at(t)

    def degrees_at(self, t: int) -> Array:
        """Return the degrees (sums of weights) of step t.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.

        Returns
        -------
        array of shape (n,)
            Sum of the weights of each agent's edges.
        """
        return self.network.degrees if self.temporal_network is None else self.temporal_network.degrees_at(t)

    @property
    def is_plain(self) -> bool:
        """Whether this is the model of the paper: constant network and hidden opinions, everybody updates."""
        return self.is_constant and self.activation is None

    @property
    def is_constant(self) -> bool:
        """Whether network and hidden opinions are constant."""
        return self.temporal_network is None and self.adaptation is None

    @property
    def keeps(self) -> bool:
        """Whether agents may keep their public opinions at some step."""
        return self.isolated == "keep" or self.activation is not None

    @cached_property
    def synchronous(self) -> Model:
        """The same model in which everybody updates at every step."""
        return self if self.activation is None else replace(self, activation=None)

    def hamiltonian(self, t: int, public_before: ArrayLike, public: ArrayLike, preferred: ArrayLike) -> Array:
        """Return the social energy of each agent at time t, which ``update`` minimises in the agent's own y.

        H_i = ½ s_i (ξ_i − y_i)² + ½ ρ_t Σ_j |w_ij| (±y_j,before − y_i)², with − where the weight is negative.

        Parameters
        ----------
        t : int
            Step, t ≥ 1.
        public_before : array_like of shape (n,)
            Public opinions y_{t−1}.
        public : array_like of shape (n,)
            Public opinions y at which the energy is evaluated.
        preferred : array_like of shape (n,)
            Preferred opinions ξ_t = x₀ + ε_t.

        Returns
        -------
        array of shape (n,)
            Energy H_i of each agent, in squared units of opinion.
        """
        before, y, xi = (np.asarray(values, dtype=np.float64) for values in (public_before, public, preferred))
        # Each term is positive, which keeps the relative precision of the energy near consensus; the square multiplied
        # out would be a small difference of large terms there.
        edges = self.adjacency_at(t).tocoo()
        difference = np.sign(edges.data) * before[edges.col] - y[edges.row]
        disagreement = np.bincount(edges.row, weights=np.abs(edges.data) * difference**2, minlength=self.n)
        return np.asarray(0.5 * self.s * (xi - y) ** 2 + 0.5 * float(self.pressure(t)) * disagreement)

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return plain values and arrays from which ``from_parts`` builds an equal model, for files.

        Returns
        -------
        facts : dict
            Pressure, noise, start and adaptation as plain values.
        arrays : dict of str to array
            Network, hidden opinions, stubbornness and start.
        """
        facts = {
            "pressure": self.pressure.to_dict(),
            "noise": self.noise.to_dict(),
            "start": "hidden" if isinstance(self.start, str) else "given",
            "adaptation": None if self.adaptation is None else self.adaptation.to_dict(),
            "temporal": self.temporal_network is not None,
            "isolated": self.isolated,
            "activation": None if self.activation is None else self.activation.kind,
        }
        network = self.network if self.temporal_network is None else self.temporal_network
        # Prefixed, because networks choose the names of their arrays themselves.
        arrays: dict[str, Any] = {f"network_{name}": values for name, values in network.arrays().items()}
        arrays |= {"stubbornness": self.s}
        # Left out if they are unknown, because an archive has arrays only.
        arrays |= {} if self.hidden is None else {"opinions": self.hidden}
        arrays |= {} if isinstance(self.start, str) else {"start": self.start}
        return facts, arrays if self.activation is None else arrays | {"activation": self.activation.values}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Model:
        """Return the model that ``parts`` took apart.

        Parameters
        ----------
        facts : mapping
            The first value that ``parts`` returned.
        arrays : mapping of str to array
            The second one.

        Returns
        -------
        Model
            An equal model.
        """
        network = {name.removeprefix("network_"): arrays[name] for name in arrays if name.startswith("network_")}
        adaptation, kind = facts["adaptation"], facts["activation"]
        return cls(
            (TemporalNetwork if facts["temporal"] else Network).from_arrays(network),
            hidden=arrays.get("opinions"),
            stubbornness=arrays["stubbornness"],
            pressure=schedule_from_dict(facts["pressure"]),
            noise=noise_from_dict(facts["noise"]),
            start="hidden" if facts["start"] == "hidden" else arrays["start"],
            adaptation=None if adaptation is None else Adaptation.from_dict(adaptation),
            isolated=facts["isolated"],
            activation=None if kind is None else Activation(kind, np.array(arrays["activation"])),
        )

    def description(self) -> dict[str, Any]:
        """Return the parts of the model in words, with the consensus value: the provenance of a run.

        Returns
        -------
        dict
            Texts for the keys ``network``, ``pressure`` and ``noise``, ``adaptation`` and ``activation`` if any,
            and ``isolated`` where the network is temporal; the number ``consensus_value``, if x₀ is known.
        """
        network = self.network if self.temporal_network is None else self.temporal_network
        words = {"network": repr(network), "pressure": str(self.pressure), "noise": str(self.noise)}
        adapting = {} if self.adaptation is None else {"adaptation": str(self.adaptation)}
        rule = {} if self.temporal_network is None else {"isolated": self.isolated}
        updating = {} if self.activation is None else {"activation": str(self.activation)}
        agreed = {} if self.hidden is None else {"consensus_value": self.consensus_value}
        return words | agreed | adapting | rule | updating

    def __repr__(self) -> str:
        network = self.network if self.temporal_network is None else self.temporal_network
        moving = "" if self.adaptation is None else f", adapting by {self.adaptation}"
        silent = ", isolated agents keep their opinions" if self.isolated == "keep" else ""
        updating = "" if self.activation is None else f", {self.activation}"
        return (
            f"Model({network!r}, hidden {_reach(self.hidden)}{moving}, stubbornness {_reach(self.s)}, "
            f"{self.pressure}, {self.noise}{silent}{updating})"
        )

    def _repr_html_(self) -> str:
        network = self.network if self.temporal_network is None else self.temporal_network
        parts = {
            "network": repr(network),
            "hidden opinions": _reach(self.hidden),
            "stubbornness": _reach(self.s),
            "peer pressure": str(self.pressure),
            "noise": str(self.noise),
            "start": "the hidden opinions" if isinstance(self.start, str) else "given",
            "adaptation": self.adaptation,
            "updates": self.activation,
        }
        rows = [(name, str(part)) for name, part in parts.items() if part is not None]
        points = [] if self.hidden is None else curve(np.arange(1, self.n + 1), np.sort(self.hidden))
        return f"<div>{html_table(rows, 'Model')}{html_sketch([points], 'hidden opinions in ascending order')}</div>"


def _reach(values: Array | None) -> str:
    """Return the range of values in words."""
    if values is None:
        return "unknown"
    return f"{values[0]:.4g}" if np.ptp(values) == 0 else f"{values.min():.4g}–{values.max():.4g}"


def require_synchronous(model: Model, what: str, remedy: str) -> None:
    """Raise an error for what is defined only where everybody updates at every step."""
    if model.activation is not None:
        rule = f"{what} requires that everybody updates at every step"
        raise ModelError(message(rule, got=str(model.activation), remedy=remedy))


def _checked_network(network: object, temporal_network: TemporalNetwork | None, isolated: object) -> Network:
    if not isinstance(network, Network):
        remedy = "wrap it: Network.from_networkx(graph), Network.from_edges(edges) or Network(matrix)"
        raise ModelError(message("the network must be a Network", got=type(network).__name__, remedy=remedy))
    # A record of contacts says nothing about what agents who never meet would do.
    rule = isolated or getattr(temporal_network, "isolated", "own")
    if temporal_network is not None and rule == "keep" and not network.is_connected:
        remedy = "take the largest component, or let isolated agents show their own opinions"
        raise ModelError(
            message("all agents must meet, if only over time", got=repr(network), remedy=remedy), argument="isolated"
        )
    return network


def _checked_temporal_network(temporal_network: object, network: Network) -> TemporalNetwork | None:
    if temporal_network is None:
        return None
    if not isinstance(temporal_network, TemporalNetwork) or temporal_network.n != network.n:
        rule = f"a temporal network must be a TemporalNetwork of the {network.n} agents"
        remedy = "pass the temporal network itself as the network"
        raise ModelError(message(rule, got=repr(temporal_network)[:120], remedy=remedy))
    # One that never changes is its aggregate. Dropping it here saves every reader of the model from checking for it.
    return None if temporal_network.is_constant else temporal_network


def _checked_rule(rule: object, network: Network, temporal_network: TemporalNetwork | None) -> Isolated:
    if temporal_network is not None:
        return temporal_network.isolated if rule is None else checked_isolated(rule, ModelError)
    if rule is not None and checked_isolated(rule, ModelError) == "keep" and not network.degrees.all():
        alone = np.flatnonzero(network.degrees == 0)
        got = f"no neighbour ever for agent {network.labels[alone[0]]!r} ({alone.size} such in all)"
        remedy = "remove these agents, or let them show their own opinions, as on a constant network they do"
        raise ModelError(message("agents who keep their opinions need neighbours at some step", got=got, remedy=remedy))
    # Nobody is isolated only at times.
    return "own"


def _per_pair(values: float | Array, network: Network) -> float | Array:
    """Return values of the agents for each of their topics."""
    k = len(network.topics)
    return np.repeat(values, k) if k > 1 and np.shape(values) == (network.n // k,) else values


def _checked_adaptation(value: object, network: Network) -> Adaptation | None:
    adaptation, n = as_adaptation(value), network.n
    if adaptation is not None:
        own = adaptation.adaptation_weight
        weights = _per_pair(own, network)
        adaptation = adaptation if weights is own else replace(adaptation, adaptation_weight=weights)
    if adaptation is not None and np.ndim(adaptation.adaptation_weight) and np.size(adaptation.adaptation_weight) != n:
        rule = f"adaptation_weight must be one number, or one for each of the {n} agents"
        got = f"{np.size(adaptation.adaptation_weight)} of them"
        raise ModelError(message(rule, got=got, remedy="check their number"))
    # An adaptation that moves nobody is none.
    return None if adaptation is None or adaptation.is_zero else adaptation


def _checked_noise(value: Any, network: Network) -> Noise:
    # Names of agents and topics can be matched here, where they are known, and only here.
    several = is_labelled(value) or (hasattr(value, "__len__") and not isinstance(value, str) and np.ndim(value) > 0)
    names = network.agents, network.topics, network.labels
    noise = as_noise(per_agent("noise", value, *names, one_for_all=True) if several else value)
    std = _per_pair(noise.std, network)
    # Only here can the number of deviations be compared with that of the agents.
    if np.ndim(std) and np.shape(std) != (network.n,):
        rule = f"the noise must have one standard deviation, or one for each of the {network.size}"
        raise ModelError(message(rule, got=f"{np.size(std)} of them", remedy="check their number"))
    return noise if std is noise.std else replace(noise, std=std)
