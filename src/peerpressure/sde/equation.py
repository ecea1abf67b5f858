"""The model in continuous time: a linear stochastic differential equation.

    dy = (S + ρD)⁻¹[S(x₀ − y) − ρLy] dt + G_t dw = (g ∘ x₀ + C y − y) dt + G_t dw

The drift is one step of the discrete model at pressure ρ(t) minus the state. The physics therefore stays in
``affine.py``, and an Euler step of length 1 is the discrete model. Hidden opinions that adapt and correlated noise are
further parts of a linear state (``LinearDrift``); a temporal network changes its coefficients at whole times.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from peerpressure.errors import AdaptationError, ModelError, ScheduleError, contrast, message
from peerpressure.model import Model, require_synchronous
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array, StateLayout, Update, in_columns
from peerpressure.networks import Network
from peerpressure.noise import Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Schedule, Table
from peerpressure.support.dates import whole_steps
from peerpressure.support.progress import check_cancelled
from peerpressure.support.text import html_table

# The drift of the state z = (y, x, u) at one time, as an operator.
#
#     dy = (C y − y + g ∘ x + G u) dt     with correlated noise, or G dw in place of G u dt with white noise
#     dx = η ∘ (y − x) dt                 if hidden opinions adapt; x = x₀ otherwise
#     du = −θ u dt + √(2θ) dw             if noise is an Ornstein–Uhlenbeck process
#
# Everything that follows the law of an equation reads it from here: moments, exact steps, densities.


@final
@dataclass(frozen=True, eq=False)
class LinearDrift:
    """The drift dz = (H z + K x₀) dt + N dw at one time.

    ``noise_weight`` is the diagonal of G, and ``reversion`` the rate θ at which correlated noise reverts to 0. Columns
    may leave out the memory of the noise, which counts as 0 then.
    """

    layout: StateLayout
    update: Update
    noise_weight: Array
    reversion: float

    def forward(self, columns: Array) -> Array:
        """Return H Z for columns of shape (states,) or (states, m)."""
        at, update = self.layout, self.update
        public = columns[at.public]
        moved = update.couple(public) - public
        if columns.shape[0] == at.agents:
            return moved
        out = np.empty_like(columns)
        if at.has_hidden:
            hidden = columns[at.hidden]
            moved += in_columns(update.gain, columns) * hidden
            out[at.hidden] = in_columns(self.adaptation_rate, columns) * (public - hidden)
        if columns.shape[0] > at.memory.start:
            moved += in_columns(self.noise_weight, columns) * columns[at.memory]
            out[at.memory] = -self.reversion * columns[at.memory]
        out[at.public] = moved
        return out

    def adjoint(self, columns: Array) -> Array:
        """Return Hᵀ Z for columns of shape (states,) or (states, m)."""
        at, update = self.layout, self.update
        public = columns[at.public]
        moved = update.couple_adjoint(public) - public
        if columns.shape[0] == at.agents:
            return moved
        out = np.empty_like(columns)
        if at.has_hidden:
            adapted = in_columns(self.adaptation_rate, columns) * columns[at.hidden]
            moved += adapted
            out[at.hidden] = in_columns(update.gain, columns) * public - adapted
        if columns.shape[0] > at.memory.start:
            out[at.memory] = in_columns(self.noise_weight, columns) * public - self.reversion * columns[at.memory]
        out[at.public] = moved
        return out

    def adjoint_rows(self, rows: Array) -> Array:
        """Return Hᵀλ for each of the rows λ of shape (m, states), by one sparse product."""
        return self.adjoint(np.ascontiguousarray(rows.T)).T

    @property
    def adaptation_rate(self) -> Array:
        """The rate η of each agent, (agents,)."""
        rate = self.update.adaptation_rate
        return np.zeros(self.layout.agents) if rate is None else rate

    @property
    def driven(self) -> slice:
        """The entries of the state that dw acts on."""
        return self.layout.memory if self.layout.has_memory else self.layout.public

    @property
    def diffusion(self) -> Array:
        """The diagonal of N for these entries, (agents,)."""
        if not self.layout.has_memory:
            return self.noise_weight
        return np.full(self.layout.agents, np.sqrt(2 * self.reversion))

    @property
    def hidden_weight(self) -> Array | float:
        """The diagonal of K for public opinions, (agents,): the gain, and 0 where x is part of the state."""
        return 0.0 if self.layout.has_hidden else self.update.gain


# The equation.

Scaling: TypeAlias = Literal["printed", "model"]
Method: TypeAlias = Literal["auto", "exact", "taylor", "euler"]

# Up to this size "auto" chooses exact paths: a step takes 30 ms, and 0.2 s for 500 agents.
LARGEST_AUTO = 200
# Times before the first whole step at which schedules are checked; discrete models do not read them there.
FIRST_TIME = 1e-12
EARLY_TIMES = np.geomspace(1e-6, 1.0, 61)


@final
@dataclass(frozen=True, eq=False)
class SDE:
    """The model in continuous time: dy = (b_t − B_t y) dt + G_t dw with B_t = I − C_t and b_t = g_t ∘ x₀.

    Hidden opinions that adapt follow dx = η_t ∘ (y − x) dt and take the place of x₀. AR(1) noise of coefficient φ
    becomes an Ornstein–Uhlenbeck process with the same autocorrelation φ^|t − t′|, for real times: G_t dw becomes
    G_t u dt with du = −θ u dt + √(2θ) dw and θ = −log φ. Frozen noise is the case θ = 0. A table of pressures, or of
    other numbers, has its k-th value from time k − 1 to time k, and a temporal network the edges of step k. Agents who
    keep their opinion while they are isolated have dy = 0 then.

    Parameters
    ----------
    model : Model
        A model with Gaussian noise (white, frozen, or AR(1) with φ > 0) or none.
    step : float, default 0.1
        The interval h between recorded times, which is also the length of Euler's steps.
    scaling : {"printed", "model"}, default "printed"
        The factor of the noise: (S + ρD)⁻¹ as in the paper's equation, or (S + ρD)⁻¹S as in the discrete model.
    method : {"auto", "exact", "taylor", "euler"}, default "auto"
        How paths are drawn. "exact" draws from the exact Gaussian law of a step, for as many agents as memory allows.
        "taylor" sums the stochastic Taylor series over parts of a step, chosen to make mean and variance accurate to
        about 0.1 %; the run states its estimate of the error. "euler" is Euler–Maruyama with steps of at most 1, each
        with the coefficients of its end: an error of first order in the step, which is not estimated. "auto" is exact
        for up to 200 agents and beyond "taylor", or "euler" if opinions adapt, the network changes or noise is
        correlated: the series is for constant hidden opinions, one network and white noise.

    Raises
    ------
    ModelError
        If the model has no continuous form, or the step or a word is invalid.

    See Also
    --------
    Model : The model in discrete time.
    simulate : Draw paths.
    moments : Exact mean and variance.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5)))
    >>> sde.rate(1.0, sde.start_state)
    array([ 0.5, -0.5])
    >>> sde.noise_size(1.0)
    array([0.25, 0.25])
    """

    model: Model
    step: float = 0.1
    scaling: Scaling = "printed"
    method: Method = "auto"
    is_continuous: ClassVar[bool] = True
    _only_step: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        _check_model(self.model)
        object.__setattr__(self, "step", _checked_step(self.step))
        _check_word("scaling", self.scaling, ("printed", "model"), "'printed' is the equation as it is published")
        _check_word(
            "method", self.method, ("auto", "exact", "taylor", "euler"), "'auto' chooses by the number of agents"
        )
        if self.method == "taylor" and not self.is_plain:
            rule = "Taylor steps are for constant hidden opinions, a network that does not change and white noise"
            raise ModelError(
                message(rule, got=repr(self.model), remedy="use the method exact or euler"), argument="SDE.method"
            )
        # Eigenvalues of B lie in [0, 2], so 1 − hλ leaves [−1, 1] for h > 1.
        if self.path_method == "euler" and self.step > 1:
            rule = "an Euler step must not be longer than 1, where the scheme becomes unstable"
            remedy = f"use the method {'taylor' if self.is_plain else 'exact'}, or a step of at most 1"
            raise ModelError(
                message(rule, got=contrast(1.0, self.step, digits=6)[1], remedy=remedy), argument="SDE.method"
            )

    def with_model(self, model: Model) -> SDE:
        """Return the equation of another model with the same settings.

        Parameters
        ----------
        model : Model
            The other model.

        Returns
        -------
        SDE
            Its equation.
        """
        return replace(self, model=model)

    @property
    def n(self) -> int:
        """The number of agents."""
        return self.model.n

    @property
    def network(self) -> Network:
        """The network, or the aggregate of one that changes."""
        return self.model.network

    @property
    def x0(self) -> Array:
        """The hidden opinions."""
        return self.model.x0

    @property
    def s(self) -> Array:
        """The stubbornness of each agent."""
        return self.model.s

    @property
    def noise(self) -> Noise:
        """The noise; its standard deviation is that of w over one unit of time, or of u at any time if correlated."""
        return self.model.noise

    @property
    def pressure(self) -> Schedule:
        """The peer pressure ρ(t), read at real t > 0."""
        return self.model.pressure

    @property
    def start_state(self) -> Array:
        """The public opinions at time 0."""
        return self.model.start_state

    @property
    def consensus_value(self) -> float:
        """The consensus value v = Σ s x₀ / Σ s."""
        return self.model.consensus_value

    @property
    def centre(self) -> float:
        """The opinion that solvers subtract from all others: v, or 0 where weights have signs."""
        return 0.0 if self.network.signed or self.model.hidden is None else self.consensus_value

    @property
    def path_method(self) -> Literal["exact", "taylor", "euler"]:
        """How paths are drawn, with "auto" resolved."""
        if self.method == "auto":
            beyond: Literal["taylor", "euler"] = "taylor" if self.is_plain else "euler"
            return "exact" if self.n <= LARGEST_AUTO else beyond
        return self.method

    @property
    def is_plain(self) -> bool:
        """Whether this is the equation of the paper: one network, constant hidden opinions and white noise."""
        return self.model.is_plain and not self.noise.has_memory

    @property
    def is_steady(self) -> bool:
        """Whether nothing but the state depends on time."""
        rate = None if self.model.adaptation is None else self.model.adaptation.rate
        schedules = (self.pressure, self.noise.time_scale, *(() if rate is None else (rate,)))
        return self.model.temporal_network is None and all(isinstance(each, Constant) for each in schedules)

    @cached_property
    def layout(self) -> StateLayout:
        """Which entries of the state are public opinions, hidden ones that adapt, and memory of the noise."""
        return StateLayout(self.n, has_hidden=self.model.adaptation is not None, has_memory=self.noise.has_memory)

    @cached_property
    def reversion(self) -> float:
        """The rate θ = −log φ at which correlated noise reverts to 0: 0 where it is frozen, ∞ where it is white."""
        return -math.log(self.noise.autocorrelation) if self.noise.has_memory else math.inf

    def time(self, k: int) -> float:
        """Return the time k·h at the end of step k.

        Parameters
        ----------
        k : int
            Number of steps.

        Returns
        -------
        float
            Time, in the unit in which ``step`` is given.
        """
        return k * self.step

    def homogeneous(self, t: ArrayLike) -> tuple[Array, Array]:
        """Return (own_weight, weight) with ρ(t) = weight/own_weight, at one time or several.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        own_weight : array of float
            Reciprocal of the larger of 1 and ρ(t), in the shape of ``t``.
        weight : array of float
            The smaller of 1 and ρ(t), in the shape of ``t``.
        """
        return self.model.homogeneous(self.pressure.reading_times(np.asarray(t, dtype=np.float64)))

    def noise_scale(self, t: ArrayLike) -> Array:
        """Return the common factor of the noise, at one time or several.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        array of float
            Factors of the standard deviation, in the shape of ``t``.
        """
        times, scale = np.asarray(t, dtype=np.float64), self.noise.time_scale
        if isinstance(scale, Constant):
            return np.full(times.shape, scale.value)
        return self.noise.scale(scale.reading_times(times))

    def adaptation_pace(self, t: ArrayLike) -> Array:
        """Return the common factor of the rates of adaptation, at one time or several.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        array of float
            Rates from 0 to 1, in the shape of ``t``; 0 if hidden opinions are constant.
        """
        times, adaptation = np.asarray(t, dtype=np.float64), self.model.adaptation
        if adaptation is None:
            return np.zeros_like(times)
        return adaptation.pace(adaptation.rate.reading_times(times))

    def network_step(self, t: float) -> int:
        """Return the step k whose network applies at time t, k − 1 < t ≤ k.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.

        Returns
        -------
        int
            Step of the temporal network, from 1 on.
        """
        return int(whole_steps(t)) if self._only_step is None else self._only_step

    def on_network(self, k: int) -> SDE:
        """Return the equation with the network of step k at all times, for the stretch of time in which it applies.

        Parameters
        ----------
        k : int
            Step of the temporal network, from 1 on.

        Returns
        -------
        SDE
            The same equation otherwise.
        """
        equation = replace(self)
        object.__setattr__(equation, "_only_step", k)
        return equation

    def update(self, t: float) -> Update:
        """Return the discrete model's affine map at the pressure of a real time t.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.

        Returns
        -------
        Update
            Gain g and coupling C, with the rate of adaptation if hidden opinions adapt.
        """
        # Every solver evaluates the equation here and can be cancelled here.
        check_cancelled()
        model, k, transposed, rate = self.model, 1, self.network.transposed, None
        if model.temporal_network is not None:
            k = self.network_step(t)
            transposed = model.temporal_network.transposed_at(k)
        if model.adaptation is not None:
            rate = model.adaptation.adaptation_weights(self.n) * float(self.adaptation_pace(t))
        # dy = 0 for those who keep their opinion, without noise.
        gains, kept = model.gains_at(k, *self.homogeneous(t)), model.kept_at(k)
        return Update(*gains, model.hidden, model.adjacency_at(k), transposed, rate, kept)

    def linear_drift(self, t: float) -> LinearDrift:
        """Return the drift of the whole state at time t.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.

        Returns
        -------
        LinearDrift
            The drift as an operator, with the weights of noise and hidden opinions.
        """
        update = self.update(t)
        return LinearDrift(self.layout, update, self.noise_size(t, update), self.reversion)

    def drift(self, t: float) -> tuple[sparse.csr_array, Array]:
        """Return the matrix B and the vector b of the drift b − B z of the state at time t.

        Where the state is y, that is B = I − C and b = g ∘ x₀.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.

        Returns
        -------
        matrix : scipy.sparse.csr_array of shape (states, states)
            Matrix B.
        vector : array of shape (states,)
            Vector b, in units of opinion per unit of time.
        """
        at, drift = self.layout, self.linear_drift(t)
        update, vector = drift.update, np.zeros(at.states)
        vector[at.public] = drift.hidden_weight * self.x0
        one = sparse.eye_array(self.n, format="csr")
        blocks: list[list[Any]] = [[one - update.coupling]]
        if at.has_hidden:
            rate = sparse.diags_array(drift.adaptation_rate)
            blocks = [[*blocks[0], -sparse.diags_array(update.gain)], [-rate, rate]]
        if at.has_memory:
            rows = [[*row, None] for row in blocks]
            rows[0][-1] = -sparse.diags_array(drift.noise_weight)
            blocks = [*rows, [*[None] * len(blocks), drift.reversion * one]]
        return sparse.csr_array(sparse.block_array(blocks, format="csr")), vector

    def rate(self, t: float, public: Array, hidden: Array | None = None) -> Array:
        """Return the drift of y at time t without noise, for states of shape (agents,) or (agents, batch).

        Parameters
        ----------
        t : float
            Time, t ≥ 0.
        public : array of shape (n,) or (n, batch)
            Public opinions y.
        hidden : array of shape (n,) or (n, batch), optional
            Hidden opinions, x₀ by default.

        Returns
        -------
        array
            Opinion per unit of time, in the shape of ``public``.
        """
        return np.asarray(self.update(t)(public, hidden=hidden) - public)

    @cached_property
    def deviations(self) -> Array:
        """The deviation of each agent's noise before the gain: σ/s as printed, σ in the model."""
        std = self.noise.deviations(self.n)
        # The gain multiplies by s/(s + ρd); dividing by s leaves the printed factor 1/(s + ρd).
        return std / self.s if self.scaling == "printed" else std

    def noise_size(self, t: float, update: Update | None = None) -> Array:
        """Return the diagonal of G at time t, which is σ/(s + ρd) as printed and sσ/(s + ρd) in the model.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.
        update : Update, optional
            The update of time t, if already available.

        Returns
        -------
        array of shape (n,)
            Standard deviation of each agent's noise over one unit of time; of correlated noise, the weight of u.
        """
        gain = (update or self.update(t)).gain
        return np.asarray(gain * self.deviations * self.noise_scale(t))

    def __repr__(self) -> str:
        noise = "as printed" if self.scaling == "printed" else "as in the model"
        return f"SDE({self.model!r}, step {self.step:g}, noise {noise}, {self.path_method} paths)"

    def _repr_html_(self) -> str:
        noise = "as printed in the paper" if self.scaling == "printed" else "as in the model"
        rows = [("step", f"{self.step:g}"), ("noise", noise), ("paths", self.path_method)]
        return f"<div>{html_table(rows, 'Continuous time')}{self.model._repr_html_()}</div>"


def _check_model(model: object) -> None:
    if not isinstance(model, Model):
        remedy = "build one first: SDE(Model(network, hidden))"
        raise ModelError(message("an SDE is made from a Model", got=type(model).__name__, remedy=remedy))
    if not isinstance(model.noise, (Gaussian, NoNoise)):
        rule = "in continuous time the noise is Brownian motion, so the model's noise must be Gaussian"
        raise ModelError(message(rule, got=model.noise, remedy="take Gaussian noise or none"))
    if model.noise.has_memory and model.noise.autocorrelation <= 0:
        rule = "in continuous time correlated noise is an Ornstein–Uhlenbeck process, whose autocorrelation is above 0"
        remedy = "use a coefficient between 0 and 1, or white noise"
        raise ModelError(message(rule, got=model.noise, remedy=remedy))
    require_synchronous(model, "continuous time", "use such a model in discrete time")
    for schedule in (model.pressure, model.noise.time_scale):
        _check_early_times(schedule)
    if model.adaptation is not None:
        _check_early_rates(model.adaptation)
    _check_first_noise(model.noise)


def _check_early_rates(adaptation: Adaptation) -> None:
    if isinstance(adaptation.rate, Table):
        return
    try:
        adaptation.pace(EARLY_TIMES)
    except AdaptationError as error:
        rule = "in continuous time opinions adapt at a rate from 0 to 1 from time 0 on"
        got = f"{adaptation}, of which {str(error).split(', got ', 1)[-1].split(';')[0]}"
        raise ModelError(message(rule, got=got, remedy="shift it, as in 0.1/(1 + t)")) from error


def _check_early_times(schedule: Schedule) -> None:
    # A table is constant from time 0 to 1 and was checked when it was made.
    if isinstance(schedule, Table):
        return
    try:
        schedule(EARLY_TIMES)
    except ScheduleError as error:
        rule = f"in continuous time a schedule must be a number ≥ 0 from time 0 on, and {schedule} is not before t = 1"
        remedy = "shift it, as t·log(1 + t) does with t·log(t)"
        raise ModelError(message(rule, got=str(error).split(", got ", 1)[-1].split(";")[0], remedy=remedy)) from error


def _check_first_noise(noise: Noise) -> None:
    # ∫ t^(−2γ) dt diverges at 0 from γ = ½ on, and ∫ t^(−γ) dt, by which correlated noise acts, from γ = 1 on. The
    # margin absorbs the rounding error of the estimated γ.
    power, limit = ("−1", 1.0) if noise.has_memory else ("−½", 0.5)
    if steepness(noise.time_scale) >= limit - 1e-6:
        rule = f"in continuous time noise must not gather an infinite variance at once, as t^({power}) does"
        got = f"a factor {noise.time_scale.formula_text} over time"
        raise ModelError(message(rule, got=got, remedy=f"shift it, as in (1 + t)^({power})"))


def steepness(time_scale: Schedule) -> float:
    """Return γ where a scale over time grows like t^(−γ) towards time 0, and 0 where it does not grow.

    >>> from peerpressure.schedules import Power
    >>> round(steepness(Power(-0.3)), 12), steepness(Power(0.3))
    (0.3, 0.0)
    """
    if isinstance(time_scale, Table):
        return 0.0
    # A ratio over two decades this near to 0 gives the leading power, whatever is added to it at larger t.
    earlier, later = time_scale(np.array([FIRST_TIME / 100, FIRST_TIME]))
    return float(max(0.0, np.log(earlier / later) / np.log(100))) if later > 0 else 0.0


def _checked_step(step: object) -> float:
    # True would pass as the number 1.
    value = math.nan if isinstance(step, bool) or not isinstance(step, numbers.Real) else float(step)
    if not (math.isfinite(value) and value > 0):
        rule = "the step must be a positive, finite number"
        raise ModelError(message(rule, got=repr(step), remedy="0.1 is the default"))
    return value


def _check_word(name: str, value: object, words: tuple[str, ...], remedy: str) -> None:
    if value not in words:
        legal = ", ".join(repr(word) for word in words)
        raise ModelError(message(f"{name} must be one of {legal}", got=repr(value), remedy=remedy))
