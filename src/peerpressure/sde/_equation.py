"""The model in continuous time: a linear stochastic differential equation.

    dy = (S + ρD)⁻¹[S(x₀ − y) − ρLy] dt + G_t dw = (g ∘ x₀ + C y − y) dt + G_t dw

The drift is one step of the discrete model at pressure ρ(t) minus the state. The physics therefore stays in
``affine.py``, and an Euler step of length 1 is the discrete model.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from peerpressure.affine import coefficients, least_relief
from peerpressure.errors import ModelError, ScheduleError, message
from peerpressure.model import Model, Update, Vector, require_synchronous
from peerpressure.networks import Network
from peerpressure.noise import Gaussian, Noise, NoNoise
from peerpressure.progress import checkpoint
from peerpressure.schedules import Schedule, Table

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

    A table of pressures has the value ρ_k from time k − 1 to time k.

    Parameters
    ----------
    model : Model
        A model with a constant network, constant hidden opinions, and white Gaussian noise or none.
    step : float, default 0.1
        The interval h between recorded times, which is also the length of Euler's steps.
    scaling : {"printed", "model"}, default "printed"
        The factor of the noise: (S + ρD)⁻¹ as in the paper's equation, or (S + ρD)⁻¹S as in the discrete model.
    method : {"auto", "exact", "taylor", "euler"}, default "auto"
        How paths are drawn. "exact" draws from the exact Gaussian law of a step, for as many agents as memory allows.
        "taylor" sums the stochastic Taylor series over parts of a step, chosen so that mean and variance are right to
        about 0.1 %; the run states its estimate of the error. "euler" is Euler–Maruyama with steps of at most 1, each
        with the coefficients of its end: an error of first order in the step, which is not estimated. "auto" is exact
        for up to 200 agents and "taylor" beyond.

    Raises
    ------
    ModelError
        If the model has no continuous form, or the step or a word is not legal.

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

    def __post_init__(self) -> None:
        _check_model(self.model)
        object.__setattr__(self, "step", _checked_step(self.step))
        _check_word("scaling", self.scaling, ("printed", "model"), "'printed' is the equation as it is published")
        _check_word(
            "method", self.method, ("auto", "exact", "taylor", "euler"), "'auto' chooses by the number of agents"
        )
        # Eigenvalues of B lie in [0, 2], so that 1 − hλ leaves [−1, 1] for h > 1.
        if self.path_method == "euler" and self.step > 1:
            rule = "an Euler step must not be longer than 1, where the scheme becomes unstable"
            raise ModelError(message(rule, got=f"{self.step:g}", remedy="use method='taylor', or a step of at most 1"))

    @property
    def n(self) -> int:
        """The number of agents."""
        return self.model.n

    @property
    def network(self) -> Network:
        """The network, the same at all times."""
        return self.model.network

    @property
    def x0(self) -> Vector:
        """The hidden opinions."""
        return self.model.x0

    @property
    def s(self) -> Vector:
        """The stubbornness of each agent."""
        return self.model.s

    @property
    def noise(self) -> Noise:
        """The noise; its standard deviation is that of w over one unit of time."""
        return self.model.noise

    @property
    def pressure(self) -> Schedule:
        """The peer pressure ρ(t), read at real t > 0."""
        return self.model.pressure

    @property
    def start_state(self) -> Vector:
        """The public opinions at time 0."""
        return self.model.start_state

    @property
    def consensus_value(self) -> float:
        """The consensus value v = Σ s x₀ / Σ s."""
        return self.model.consensus_value

    @property
    def centre(self) -> float:
        """The opinion that solvers subtract from all others: v, or 0 where weights have signs."""
        return 0.0 if self.network.signed else self.consensus_value

    @property
    def path_method(self) -> Literal["exact", "taylor", "euler"]:
        """How paths are drawn, with "auto" resolved."""
        if self.method == "auto":
            return "exact" if self.n <= LARGEST_AUTO else "taylor"
        return self.method

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

    def homogeneous(self, t: ArrayLike) -> tuple[Vector, Vector]:
        """Return (relief, weight) with ρ(t) = weight/relief, at one time or several.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        relief : array of float
            Reciprocal of the larger of 1 and ρ(t), in the shape of ``t``.
        weight : array of float
            The smaller of 1 and ρ(t), in the shape of ``t``.
        """
        relief, weight = self.pressure.homogeneous(self.pressure.reading_times(np.asarray(t, dtype=np.float64)))
        # For agents who listen to nobody an infinite pressure would give 0/0.
        return (np.maximum(relief, least_relief(np.float64)) if self.model.has_silent_steps else relief), weight

    def noise_scale(self, t: ArrayLike) -> Vector:
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
        return self.noise.scale(self.noise.time_scale.reading_times(np.asarray(t, dtype=np.float64)))

    def update(self, t: float) -> Update:
        """Return the discrete model's affine map at the pressure of a real time t.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.

        Returns
        -------
        Update
            Gain g and coupling C.
        """
        # Solvers evaluate the equation here only, so that each of them can be cancelled.
        checkpoint()
        gain, coupling_scale = coefficients(*self.homogeneous(t), self.s, self.network.degrees)
        return Update(gain, coupling_scale, self.x0, self.network.adjacency, self.network.transposed)

    def drift(self, t: float) -> tuple[sparse.csr_array, Vector]:
        """Return the matrix B = I − C and the vector b = g ∘ x₀ of the drift b − B y at time t.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.

        Returns
        -------
        matrix : scipy.sparse.csr_array of shape (n, n)
            Matrix B.
        vector : array of shape (n,)
            Vector b, in units of opinion per unit of time.
        """
        update = self.update(t)
        return sparse.csr_array(sparse.eye_array(self.n, format="csr") - update.coupling), update.gain * self.x0

    def rate(self, t: float, public: Vector) -> Vector:
        """Return the drift b − B y at time t, for states of shape (agents,) or (agents, batch).

        Parameters
        ----------
        t : float
            Time, t ≥ 0.
        public : array of shape (n,) or (n, batch)
            Public opinions y.

        Returns
        -------
        array
            Opinion per unit of time, in the shape of ``public``.
        """
        return np.asarray(self.update(t)(public) - public)

    @property
    def deviations(self) -> Vector:
        """The deviation of each agent's noise before the gain: σ/s as printed, σ in the model."""
        std = self.noise.deviations(self.n)
        # The gain multiplies by s/(s + ρd), so that dividing by s leaves the printed factor 1/(s + ρd).
        return std / self.s if self.scaling == "printed" else std

    def noise_size(self, t: float, update: Update | None = None) -> Vector:
        """Return the diagonal of G at time t, which is σ/(s + ρd) as printed and sσ/(s + ρd) in the model.

        Parameters
        ----------
        t : float
            Time, t ≥ 0.
        update : Update, optional
            The update of time t, where it is at hand already.

        Returns
        -------
        array of shape (n,)
            Standard deviation of each agent's noise over one unit of time.
        """
        gain = (update or self.update(t)).gain
        return np.asarray(gain * self.deviations * self.noise_scale(t))

    def __repr__(self) -> str:
        noise = "as printed" if self.scaling == "printed" else "as in the model"
        return f"SDE({self.model!r}, step {self.step:g}, noise {noise}, {self.path_method} paths)"


def _check_model(model: object) -> None:
    if not isinstance(model, Model):
        remedy = "build one first: SDE(Model(network, hidden))"
        raise ModelError(message("an SDE is made from a Model", got=type(model).__name__, remedy=remedy))
    if not isinstance(model.noise, (Gaussian, NoNoise)):
        rule = "in continuous time the noise is Brownian motion, so the model's noise must be Gaussian"
        raise ModelError(message(rule, got=model.noise, remedy="take Gaussian noise or none"))
    if model.noise.has_memory:
        rule = "in continuous time noise must be independent from one time to the next"
        raise ModelError(message(rule, got=model.noise, remedy="use temporal='white'"))
    for word, change in (("network", model.temporal_network), ("hidden state", model.adaptation)):
        if change is not None:
            rule = f"in continuous time the {word} must stay the same"
            raise ModelError(message(rule, got=change, remedy="use such a model in discrete time"))
    require_synchronous(model, "continuous time", "use such a model in discrete time")
    for schedule in (model.pressure, model.noise.time_scale):
        _check_early_times(schedule)
    _check_first_noise(model.noise.time_scale)


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


def _check_first_noise(time_scale: Schedule) -> None:
    # ∫ t^(−2γ) dt diverges at 0 from γ = ½ on. The margin absorbs the rounding error of the estimated γ.
    if steepness(time_scale) >= 0.5 - 1e-6:
        rule = "in continuous time noise must not gather an infinite variance at once, as t^(−½) does"
        got = f"a factor {time_scale.formula_text} over time"
        raise ModelError(message(rule, got=got, remedy="shift it, as in (1 + t)^(−½)"))


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
